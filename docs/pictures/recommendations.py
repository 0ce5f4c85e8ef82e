"""Recommendations: prediction error over epsilon, and over the number of users."""

from typing import Any

import numpy as np

from veilspan import MatrixCompletion
from veilspan.datasets import make_ratings
from veilspan.metrics import rmse

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
USERS = (1000, 3000, 10_000, 30_000)
SEEDS = range(3)


def draw(style: Any) -> Any:
    """Two panels that share the axis of errors."""
    figure, ((left, right),) = style.panels(1, 2, width=3.7, height=3.1, sharey=True)
    left.semilogx(EPSILONS, [median_error(10_000, e) for e in EPSILONS], **style.OURS.line(),
                  label="MatrixCompletion")  # fmt: skip
    left.axhline(median_error(10_000, np.inf), **style.PLAIN.line(), label="without privacy")
    left.axhline(float(np.median([own_mean(10_000, seed) for seed in SEEDS])),
                 **style.BASELINE.line(), label="a user's own mean")  # fmt: skip
    left.set(xlabel="ε (10,000 users)", ylabel="error of held-out ratings (RMSE)",
             title="A larger budget")  # fmt: skip
    left.legend(loc="center right")
    right.semilogx(USERS, [median_error(n, 1.0) for n in USERS], **style.OURS.line())
    right.semilogx(USERS, [np.median([own_mean(n, seed) for seed in SEEDS]) for n in USERS],
                   **style.BASELINE.line())  # fmt: skip
    right.set(xlabel="users (ε = 1)", title="More users")
    return figure


def ratings(users: int, seed: int) -> Any:
    """Return 20 ratings of 100 items by each of many users."""
    return make_ratings(users, 100, n_components=2, ratings_per_user=20, random_state=seed)


def median_error(users: int, epsilon: float) -> float:
    """Return the median error of a model over seeds."""
    return float(np.median([_error(users, epsilon, seed) for seed in SEEDS]))


def _error(users: int, epsilon: float, seed: int) -> float:
    data = ratings(users, seed)
    model = MatrixCompletion(
        rating_range=(1, 5), max_ratings_per_user=20, epsilon=epsilon, random_state=seed
    )
    return rmse(model.fit(data.train).predict(data.train), data.test)


def own_mean(users: int, seed: int) -> float:
    """Return the error of predicting a user's own mean: it needs nobody else."""
    data = ratings(users, seed)
    count = np.maximum(np.diff(data.train.indptr), 1)
    means = np.asarray(data.train.sum(axis=1)).ravel() / count
    return rmse(np.repeat(means[:, None], data.train.shape[1], axis=1), data.test)
