"""What the two neighbour relations cost: noise of the main release, and accuracy."""

from typing import Any

import numpy as np

from veilspan import PCA, LogisticRegression
from veilspan.datasets import make_haystack
from veilspan.metrics import projection_distance

BUDGETS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
SEEDS = range(9)
RELATIONS = ("add-remove", "replace-one")
TRUTH = np.array([1.0, -1.0, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0]) * 6


def draw(style: Any) -> Any:
    """Two panels: a factor of the root of 2, and one of 2."""
    figure, ((left, right),) = style.panels(1, 2, width=3.8, height=3.3)
    looks = dict(zip(RELATIONS, (style.CORRECTED, style.OURS)))
    for relation in RELATIONS:
        line = looks[relation].line(label=f'"{relation}"')
        left.loglog(BUDGETS, [plane_error(e, relation) for e in BUDGETS], **line)
        right.semilogx(BUDGETS, [accuracy(e, relation) for e in BUDGETS], **line)
    left.set(xlabel="ε", ylabel="error of a plane (1: orthogonal)",
             title="PCA: √2 times the noise")  # fmt: skip
    right.set(xlabel="ε", ylabel="accuracy on new rows",
              title="Logistic regression: 2 times")  # fmt: skip
    best = accuracy(np.inf, "replace-one")
    right.axhline(best, **{**style.PLAIN.line(), "marker": None}, label="without privacy")
    left.legend()
    right.legend(loc="lower right")
    return figure


def plane_error(epsilon: float, relation: str) -> float:
    """Return the median error of a released plane, 4,000 rows of 20 columns."""
    found = []
    for seed in SEEDS:
        data = make_haystack(4000, 20, 2, inlier_share=0.7, noise=0.1, random_state=seed)
        pca = PCA(2, epsilon=epsilon, delta=1e-6, neighbors=relation, random_state=seed)
        found.append(projection_distance(data.subspace, pca.fit(data.rows).components_))
    return float(np.median(found))


def accuracy(epsilon: float, relation: str) -> float:
    """Return the mean accuracy of gradient steps on 600 rows of 8 columns."""
    found = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        x = rng.uniform(-1, 1, (4600, 8)) / np.sqrt(8)
        y = (x @ TRUTH + 0.3 * rng.logistic(size=len(x)) > 0).astype(int)
        model = LogisticRegression(
            row_norm=1.0, classes=[0, 1], solver="gd", epsilon=epsilon, delta=1e-6,
            neighbors=relation, random_state=seed,
            expected_rows=600 if relation == "add-remove" else None,
        )  # fmt: skip
        found.append(model.fit(x[:600], y[:600]).score(x[600:], y[600:]))
    return float(np.mean(found))
