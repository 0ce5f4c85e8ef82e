"""Linear models: accuracy over rows and budgets, beside scikit-learn without privacy."""

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression as Plain

from veilspan import LogisticRegression

EPSILONS = (0.03, 0.1, 0.3, 1.0, 3.0)
ROWS = (300, 1000, 3000, 10_000, 20_000)
SEEDS = range(3)


def draw(style: Any) -> Any:
    """Two panels that share the axis of accuracies."""
    figure, ((left, right),) = style.panels(1, 2, width=3.7, height=3.1, sharey=True)
    curve(left, style, EPSILONS, [(10_000, epsilon) for epsilon in EPSILONS])
    curve(right, style, ROWS, [(n, 1.0) for n in ROWS])
    left.set(xlabel="ε (10,000 rows)", ylabel="test accuracy, %", title="A larger budget")
    right.set(xlabel="rows (ε = 1)", title="More rows")
    left.legend(loc="lower right")
    return figure


def curve(ax: Any, style: Any, xs: Any, settings: list[tuple[int, float]]) -> None:
    """Draw the median of our accuracies with their range, and scikit-learn's."""
    table = np.array([[accuracies(n, epsilon, seed) for seed in SEEDS] for n, epsilon in settings])
    ours, plain = 100 * table[..., 0], 100 * table[..., 1]
    ax.fill_between(xs, ours.min(1), ours.max(1), color=style.OURS.color, alpha=0.2, linewidth=0)
    ax.semilogx(xs, np.median(ours, 1), **style.OURS.line(), label="private (median, range)")
    ax.semilogx(xs, np.median(plain, 1), **style.PLAIN.line(), label="scikit-learn, not private")


def accuracies(n: int, epsilon: float, seed: int) -> tuple[float, float]:
    """Return our test accuracy and scikit-learn's on the same generated answers."""
    rng = np.random.default_rng(seed)
    weights = 4.0 * np.array([1, -1, 1, -1, 0.5, -0.5, 0.5, 0, 0, 0])  # the same for all seeds
    rows = rng.uniform(0, 1, (n + 5000, 10))
    labels = (rows - 0.5) @ weights + rng.logistic(size=n + 5000) > 0
    model = LogisticRegression(
        feature_range=(0, 1), classes=[False, True], epsilon=epsilon, delta=1e-6, random_state=seed
    )
    train, test = slice(None, n), slice(n, None)
    scores = [
        fitted.fit(rows[train], labels[train]).score(rows[test], labels[test])
        for fitted in (model, Plain(C=1e4))
    ]
    return scores[0], scores[1]
