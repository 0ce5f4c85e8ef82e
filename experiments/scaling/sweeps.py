"""Which estimators are fitted to tables of which sizes, and what their cost models say.

A model of cost is a power of each size where that size dominates. For time, with everything else
fixed:

* ``PCA``: one second moment of n rows, 2 n D^2 operations; its r eigenvectors cost less.
* ``RobustPCA``: a few releases, each at most a second moment. How many follows from noisy answers.
  The eigenvalues of a moment, D^3 operations, take less time than its n rows up to D = n / 6.
* ``FrechetMean``: eigendecompositions of every n points, d^3 each.
* ``MatrixCompletion``: a covariance of the users' rows, then 13 times a few eigenvectors of items^2
  numbers, each in some hundreds of products with them.
* ``LogisticRegression``: two products with the table, n D operations, per step. Rows are mapped
  into the unit ball first: once, if that takes at most 64 MB (``rows.KEPT_BYTES``), at every
  step if more. Both are proportional to n D, the second 2 to 3 times as slow, so a range across the
  boundary has no exponent: each side has its own.
* ``SubspaceTracker``: two products with the basis, n d operations, per row, also of the first d
  rows, which the basis is built from.

Memory beyond the table has to stay what it is when rows (or users) are added, because rows are
read in blocks; in the other sizes it grows with the answer.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

EPSILON, DELTA = 1.0, 1e-7  # delta below 1 over the most rows, a million
RATINGS = 20  # of each user
STREAM_BLOCK = 1_000  # rows that come at once


@dataclass(frozen=True)
class Sweep:
    """One size of one estimator's table is varied.

    ``full`` and ``quick`` are the ranges, ``sizes`` the other sizes, ``smaller`` what they are at
    quick. ``time`` is the expected exponent, or with ``at_most`` a bound on it; ``memory`` bounds
    that of memory.
    """

    model: str
    variable: str
    full: tuple[int, int]
    quick: tuple[int, int]
    sizes: dict[str, int]
    time: float
    memory: float
    why: str
    smaller: dict[str, int] = field(default_factory=dict)
    at_most: bool = False

    @property
    def name(self) -> str:
        return f"{self.model}, {self.variable}"

    def values(self, scale: str) -> list[int]:
        """Sizes at even steps of the logarithm."""
        low, high = self.full if scale == "full" else self.quick
        if scale == "tiny":
            low = max(2, min(low, 100))
            high = 4 * low
        count = {"tiny": 3, "quick": 7, "full": 9}[scale]
        return sorted({round(v) for v in np.geomspace(low, high, count)})

    def fixed(self, scale: str) -> dict[str, int]:
        """The sizes that are not varied."""
        others = {**self.sizes, **({} if scale == "full" else self.smaller)}
        return {k: min(v, 100) for k, v in others.items()} if scale == "tiny" else others

    def at(self, value: int, scale: str) -> dict[str, int]:
        """All sizes of one fit."""
        return {**self.fixed(scale), self.variable: value}


SWEEPS = (
    Sweep("PCA", "n", (5_000, 500_000), (2_000, 100_000), {"D": 100, "r": 5}, 1, 0,
          "one pass over the rows, in blocks"),
    Sweep("PCA", "D", (16, 1_600), (20, 800), {"n": 20_000, "r": 5}, 2, 2,
          "a second moment has D^2 entries, n products each", {"n": 5_000}),
    Sweep("PCA", "r", (1, 100), (1, 100), {"n": 20_000, "D": 200}, 0, 0,
          "a second moment is the same for any r"),
    Sweep("RobustPCA", "n", (5_000, 500_000), (2_000, 60_000), {"D": 50, "r": 5}, 1, 0,
          "every release is a pass over the rows, in blocks"),
    Sweep("RobustPCA", "D", (16, 1_600), (20, 600), {"n": 10_000, "r": 5}, 2, 2,
          "a release is at most a second moment, of D^2 entries", {"n": 3_000}, at_most=True),
    Sweep("RobustPCA", "r", (1, 100), (1, 50), {"n": 10_000, "D": 200}, 1, 1,
          "a release is at most a product of the rows with r directions, or one without r",
          {"n": 3_000}, at_most=True),
    Sweep("FrechetMean", "n", (2_000, 200_000), (600, 15_000), {"d": 5}, 1, 0,
          "eigendecompositions of all points at each step"),
    Sweep("FrechetMean", "d", (2, 200), (2, 40), {"n": 40}, 3, 2,
          "an eigendecomposition of each point takes d^3 operations", at_most=True),
    Sweep("MatrixCompletion", "users", (10_000, 1_000_000), (5_000, 200_000), {"items": 100}, 1, 0,
          "one covariance of all users, in blocks"),
    Sweep("MatrixCompletion", "items", (40, 4_000), (40, 800), {"users": 20_000}, 2, 2,
          "a covariance has items^2 entries", {"users": 5_000}),
    Sweep("LogisticRegression", "n", (5_000, 500_000), (2_000, 60_000), {"D": 14}, 1, 0,
          "the same number of passes over the rows, in blocks"),
    Sweep("LogisticRegression", "D", (30, 3_000), (40, 1_600), {"n": 2_500}, 1, 1,
          "two products with the table at each step"),
    Sweep("LogisticRegression, large", "n", (5_000, 500_000), (2_000, 60_000), {"D": 50}, 1, 0,
          "as many passes over rows that are mapped anew in each"),
    Sweep("SubspaceTracker", "rows", (1_000, 100_000), (1_000, 40_000), {"n": 200, "d": 10}, 1, 0,
          "the same work for every row"),
    Sweep("SubspaceTracker", "n", (100, 10_000), (100, 4_000), {"rows": 1_000, "d": 10}, 1, 1,
          "two products with a basis of n d entries for every row"),
    Sweep("SubspaceTracker", "d", (2, 200), (2, 80), {"rows": 1_000, "n": 2_000}, 1, 1,
          "two products with a basis of n d entries for every row"),
)  # fmt: skip


def releases(model: Any) -> int:
    """Noisy answers that a fitted model took; 1 where it is not private."""
    statement = getattr(model, "privacy_", None)
    return sum(event.count for event in statement.events) if statement is not None else 1


# ---------------------------------------------------------------- tables and fits


def prepared(model: str, sizes: dict[str, int]) -> Callable[[], Any]:
    """A fit as a function of nothing; its table is made here and not part of the cost."""
    return _MODELS[model](**sizes)


def _spherical(n: int, dim: int, r: int) -> np.ndarray:
    """Unit rows near an r-dimensional subspace; generated in place, without copies."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((n, dim))
    rows[:, : max(1, min(r, dim - 1))] *= 4
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def _pca(n: int, D: int, r: int) -> Callable[[], Any]:
    from veilspan import PCA

    rows = _spherical(n, D, r)
    return lambda: PCA(r, epsilon=EPSILON, delta=DELTA).fit(rows)


def _robust_pca(n: int, D: int, r: int) -> Callable[[], Any]:
    from veilspan import RobustPCA

    rows = _spherical(n, D, r)
    # A seed, so that the number of releases, which follows noisy answers, can be repeated.
    return lambda: _simulated(lambda: RobustPCA(
        r, epsilon=EPSILON, delta=DELTA, random_state=0).fit(rows))  # fmt: skip


def _simulated(fit: Callable[[], Any]) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*random_state.*")
        return fit()


def _frechet(n: int, d: int) -> Callable[[], Any]:
    from veilspan import Ball, FrechetMean
    from veilspan.datasets import make_spd
    from veilspan.geometry import SPD

    points = make_spd(n, d, spread=0.3 / math.sqrt(d), random_state=1).points
    manifold = SPD(d)
    ball = Ball.from_eigenvalues(manifold, 1e-2, 1e2)
    return lambda: FrechetMean(manifold, epsilon=EPSILON, delta=DELTA, ball=ball).fit(points)


def _completion(users: int, items: int) -> Callable[[], Any]:
    from scipy import sparse

    from veilspan import MatrixCompletion

    rng = np.random.default_rng(0)
    # One item of each of RATINGS equal parts of the catalogue: sorted, none twice.
    edges = np.linspace(0, items, RATINGS + 1).astype(np.int32)
    chosen = rng.integers(edges[:-1], edges[1:], (users, RATINGS), dtype=np.int32)
    taste = rng.uniform(-1, 1, users).astype(np.float32)
    values = taste[:, None] * rng.uniform(-1, 1, items).astype(np.float32)[chosen]
    starts = np.arange(0, users * RATINGS + 1, RATINGS, dtype=np.int32)
    table = sparse.csr_array((values.ravel(), chosen.ravel(), starts), shape=(users, items))
    # By name: the default would ask for no covariance of few users and many items.
    model = MatrixCompletion("covariance", rating_range=(-1.0, 1.0), max_ratings_per_user=RATINGS,
                             center="middle", epsilon=EPSILON, delta=DELTA)  # fmt: skip
    return lambda: model.fit(table)


def _logistic(n: int, D: int) -> Callable[[], Any]:
    from veilspan import LogisticRegression
    from veilspan.solvers.linear.gradient_descent import GradientDescent

    rng = np.random.default_rng(0)
    rows = _spherical(n, D, 1)
    labels = np.where(rng.logistic(size=n) < 8 * rows[:, 0], 1.0, -1.0)
    # By name: the default chooses its solver and steps by the sizes, which would mix two costs.
    model = LogisticRegression(epsilon=EPSILON, delta=DELTA, row_norm=1.0, classes=[-1.0, 1.0],
                               solver=GradientDescent(steps=30))  # fmt: skip
    return lambda: model.fit(rows, labels)


def _large_logistic(n: int, D: int) -> Callable[[], Any]:
    """The same with rows mapped at every step, whatever their size, as those above 64 MB are."""
    from veilspan.curator import rows as curator_rows

    fit = _logistic(n, D)

    def mapped_fit() -> Any:
        usual = curator_rows.KEPT_BYTES
        curator_rows.KEPT_BYTES = 0
        try:
            return fit()
        finally:
            curator_rows.KEPT_BYTES = usual

    return mapped_fit


def _tracker(rows: int, n: int, d: int) -> Callable[[], Any]:
    from veilspan import SubspaceTracker

    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((n, d)))[0].T
    table = rng.standard_normal((rows, d)) @ basis
    table += rng.standard_normal(table.shape) * (0.1 / math.sqrt(n))

    def follow() -> Any:
        tracker = SubspaceTracker(d, random_state=0)
        for start in range(0, rows, STREAM_BLOCK):
            tracker.partial_fit(table[start : start + STREAM_BLOCK])
        return tracker

    return follow


_MODELS: dict[str, Callable[..., Callable[[], Any]]] = {
    "PCA": _pca,
    "RobustPCA": _robust_pca,
    "FrechetMean": _frechet,
    "MatrixCompletion": _completion,
    "LogisticRegression": _logistic,
    "LogisticRegression, large": _large_logistic,
    "SubspaceTracker": _tracker,
}
