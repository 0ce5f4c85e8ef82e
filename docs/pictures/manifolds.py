"""Manifolds: a private mean of covariance matrices, seen as ellipses, and its error over rows."""

from typing import Any

import numpy as np

from veilspan import FrechetMean
from veilspan.datasets import make_spd
from veilspan.geometry import SPD, Ball

ROWS = (200, 500, 1000, 2000, 5000, 10_000)
SEEDS = range(3)


def draw(style: Any) -> Any:
    """Ellipses of matrices and means on the left, distances to the true mean on the right."""
    figure, ((left, right),) = style.panels(1, 2, width=3.7, height=3.2)
    ellipses(left, style)
    for epsilon, look in ((0.3, style.CORRECTED.line(linestyle="--")), (1.0, style.OURS.line())):
        errors = [median_distance(n, epsilon) for n in ROWS]
        right.loglog(ROWS, errors, label=f"ε = {epsilon:g}", **look)
    right.loglog(ROWS, [median_distance(n, np.inf) for n in ROWS], **style.PLAIN.line(),
                 label="without privacy")  # fmt: skip
    right.set(xlabel="matrices (3 × 3)", ylabel="distance to the true mean",
              title="Error of the mean")  # fmt: skip
    right.legend()
    return figure


def ellipses(ax: Any, style: Any) -> None:
    """Draw 60 of 1,000 matrices, their private mean, and the average of entries."""
    # Long and thin in changing directions: the average of entries is larger than any of them.
    rng = np.random.default_rng(3)
    turns = rng.normal(0.6, 0.6, 1000)
    frames = np.array([[np.cos(turns), -np.sin(turns)], [np.sin(turns), np.cos(turns)]])
    frames = np.moveaxis(frames, -1, 0)
    points = frames @ np.diag([4.0, 0.1]) @ frames.swapaxes(1, 2)
    for matrix in points[:60]:
        ax.plot(*outline(matrix), color="#BBBBBB", linewidth=0.5)
    ball = Ball.from_eigenvalues(SPD(2), 0.01, 100.0)
    mean = FrechetMean(SPD(2), epsilon=1.0, ball=ball, random_state=0).fit(points).mean_
    ax.plot(*outline(mean), color=style.OURS.color, label="private Fréchet mean, ε = 1")
    ax.plot(*outline(points.mean(0)), color=style.BLUE, linestyle="--", label="average of entries")
    ax.set(aspect="equal", xticks=[], yticks=[], title="Covariances of 60 people of 1,000",
           ylim=(-2.2, 3.2))  # fmt: skip
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    ax.legend(loc="upper left")


def outline(matrix: Any) -> Any:
    """Return the ellipse of a covariance matrix."""
    angles = np.linspace(0, 2 * np.pi, 100)
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(values)) @ np.array([np.cos(angles), np.sin(angles)])


def median_distance(n: int, epsilon: float) -> float:
    """Return the median distance between the released mean and the truth."""
    return float(np.median([_distance(n, epsilon, seed) for seed in SEEDS]))


def _distance(n: int, epsilon: float, seed: int) -> float:
    sample = make_spd(n, 3, random_state=seed)
    ball = Ball.from_eigenvalues(SPD(3), 0.01, 100.0)
    mean = FrechetMean(SPD(3), epsilon=epsilon, ball=ball, random_state=seed).fit(sample.points)
    return float(SPD(3).dist(sample.center, mean.mean_))
