"""Runs of other libraries for ``audit_peers.py``, inside their own environment.

    python _audit_peers.py QUESTION SETTINGS

prints as JSON the scores of many runs on two neighbouring tables, the version and the CPU seconds.
Every question has a score and a threshold that were fixed before any run: scores above it are more
frequent on the second table.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

# Two leading directions, one row e_1 exchanged for e_2: 63 and 65 of each, or 64 and 64.
TABLES = ((63, 65), (64, 64))
RADIUS = 30.0


def eigenvector(runs: int, epsilon: float, width: int) -> tuple[list[float], list[float]]:
    """``mechanisms.Bingham``, the step of PCA that draws a component: its first entry, squared."""
    from diffprivlib.mechanisms import Bingham

    def scores(counts: tuple[int, int], seed: int) -> list[float]:
        moment = np.diag([*map(float, counts), *[0.0] * (width - 2)])
        sampler = Bingham(epsilon=epsilon, random_state=np.random.RandomState(seed))
        return [float(sampler.randomise(moment)[0] ** 2) for _ in range(runs)]

    return scores(TABLES[0], 1), scores(TABLES[1], 2)


def pca(runs: int, epsilon: float, width: int) -> tuple[list[float], list[float]]:
    """The whole of ``models.PCA``: as above where the noisy eigenvalue is below 64, else 0."""
    from diffprivlib.models import PCA

    def scores(counts: tuple[int, int], seed: int) -> list[float]:
        rows = np.repeat(np.eye(width)[:2], counts, axis=0)
        source = np.random.RandomState(seed)
        return [score(rows, source) for _ in range(runs)]

    def score(rows: np.ndarray, source: np.random.RandomState) -> float:
        model = PCA(1, epsilon=epsilon, data_norm=1.0, centered=True, random_state=source)
        model.fit(rows.copy())
        eigenvalue = model.explained_variance_[0] * (len(rows) - 1)
        return float(model.components_[0, 0] ** 2) if eigenvalue < 64 else 0.0

    return scores(TABLES[0], 3), scores(TABLES[1], 4)


def logistic(runs: int, epsilon: float) -> tuple[list[float], list[float]]:
    """``models.LogisticRegression`` on two rows of one column: minus |coefficient| x data_norm."""
    from diffprivlib.models import LogisticRegression

    labels = np.array([1, 0])

    def scores(first: float, seed: int) -> list[float]:
        rows, source = np.array([[first], [0.0]]), np.random.RandomState(seed)
        return [score(rows, source) for _ in range(runs)]

    def score(rows: np.ndarray, source: np.random.RandomState) -> float:
        model = LogisticRegression(
            epsilon=epsilon, data_norm=RADIUS, C=1.0, fit_intercept=False, tol=1e-9, max_iter=1000,
            random_state=source,
        )  # fmt: skip
        return -RADIUS * abs(float(model.fit(rows, labels).coef_[0, 0]))

    return scores(0.0, 5), scores(RADIUS, 6)


QUESTIONS: dict[str, Callable[..., tuple[list[float], list[float]]]] = {
    "eigenvector": eigenvector,
    "pca": pca,
    "logistic": logistic,
}


def answer(question: str, settings: dict[str, Any]) -> dict[str, Any]:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first, second = QUESTIONS[question](**settings)
    return {
        "version": version("diffprivlib"),
        "first": first,
        "second": second,
        "cpu": time.process_time() - start,
    }


if __name__ == "__main__":
    print(json.dumps(answer(sys.argv[1], json.loads(sys.argv[2]))))
