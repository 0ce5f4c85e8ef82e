"""Robust PCA: the same rows with more and more outliers."""

from typing import Any

import numpy as np

from veilspan import PCA, RobustPCA
from veilspan.datasets import make_haystack
from veilspan.metrics import projection_distance

SEEDS = range(3)
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)


def draw(style: Any) -> Any:
    """Two panels: outliers on a line, and in a cone."""
    figure, (axes,) = style.panels(1, 2, width=3.7, height=3.1, sharey=True)
    methods = (
        ("RobustPCA, ε = 1", RobustPCA, 1.0, style.OURS.line()),
        ("PCA, ε = 1", PCA, 1.0, style.CORRECTED.line(linestyle="--")),
        ("PCA, without privacy", PCA, np.inf, style.PLAIN.line()),
    )
    titles = {"line": "Half of the outliers on one line", "cone": "Outliers in a cone"}
    for ax, (kind, title) in zip(axes, titles.items()):
        for label, method, epsilon, look in methods:
            errors = [median_error(method, epsilon, kind, share) for share in SHARES]
            ax.semilogy([100 * share for share in SHARES], errors, label=label, **look)
        ax.set(xlabel="outliers, % of the rows", title=title)
    axes[0].set_ylabel("error of the plane (1: orthogonal)")
    axes[0].legend(loc="center left")
    return figure


def median_error(method: Any, epsilon: float, kind: str, share: float) -> float:
    """Return the median error over seeds."""
    return float(np.median([_error(method, epsilon, kind, share, seed) for seed in SEEDS]))


def _error(method: Any, epsilon: float, kind: str, share: float, seed: int) -> float:
    data = make_haystack(
        10_000, 20, 2, inlier_share=1 - share, noise=0.05, outliers=kind, random_state=seed
    )
    more = {"center": "origin"} if method is RobustPCA else {}
    fitted = method(2, epsilon=epsilon, delta=1e-6, random_state=seed, **more).fit(data.rows)
    return projection_distance(data.subspace, fitted.components_)
