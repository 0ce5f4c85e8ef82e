"""Canaries for one-run audits: rows that are easy to notice, and what stands there without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.audit.inputs import ball_of, dense, kind_of, row_length


@dataclass(frozen=True, eq=False)
class Canaries:
    """A table whose last places hold canaries or what stands for them.

    Attributes
    ----------
    base : tuple of arrays
        Arguments of ``fit`` without canaries: ``(X,)`` or ``(X, y)``.
    inside : tuple of arrays
        One row (and target) for each canary.
    outside : tuple of arrays, optional
        What is in its place if it is out (replace-one); None if nothing is (add-remove).
    """

    base: tuple[np.ndarray, ...]
    inside: tuple[np.ndarray, ...]
    outside: tuple[np.ndarray, ...] | None

    def __len__(self) -> int:
        return len(self.inside[0])

    @property
    def n_rows(self) -> int:
        """Rows without canaries."""
        return len(self.base[0])

    def table(self, coins: np.ndarray) -> tuple[np.ndarray, ...]:
        """Arguments of ``fit`` with the canaries whose coin is true."""
        if self.outside is None:
            parts = [kept[coins] for kept in self.inside]
        else:
            parts = [
                np.where(coins.reshape(-1, *[1] * (one.ndim - 1)), one, other)
                for one, other in zip(self.inside, self.outside)
            ]
        return tuple(np.concatenate(pair) for pair in zip(self.base, parts))


def canaries_for(estimator: Any, X: Any, y: Any, count: int, rng: np.random.Generator) -> Canaries:
    """Canaries as long as the estimator's bounds allow, in random directions.

    In their place stands, under replace-one, a row at a right angle (tables), the same row with
    another target, the point opposite to it (manifolds), or the opposite ratings.
    """
    if count < 2:
        raise ValueError(f"a one-run audit needs two or more canaries; got {count}.")
    kind = kind_of(estimator)
    if kind == "stream":
        raise ValueError("a stream is audited by audit(); a one-run audit needs one table.")
    makers = {"points": _points, "ratings": _ratings}
    base, inside, outside = makers.get(kind, _rows)(estimator, X, y, count, rng)
    return Canaries(base, inside, outside if estimator.neighbors == "replace-one" else None)


def _rows(estimator: Any, X: Any, y: Any, count: int, rng: np.random.Generator) -> Any:
    x = dense(X, absent=0.0)
    directions = _unit(rng.standard_normal((count, x.shape[1])))
    length = row_length(estimator, x.shape[1])
    if y is None:
        across = rng.standard_normal(directions.shape)
        across -= np.sum(across * directions, axis=1, keepdims=True) * directions
        return (x,), (length * directions,), (length * _unit(across),)
    targets = np.asarray(y)
    one, two = _ends(estimator, targets)
    rows = length * directions
    return (x, targets), (rows, np.full(count, one)), (rows, np.full(count, two))


def _ends(estimator: Any, targets: np.ndarray) -> tuple[Any, Any]:
    """Two targets as far apart as the estimator's bounds allow."""
    if kind_of(estimator) == "classes":
        labels = np.unique(targets)
        return labels[0], labels[-1]
    low, high = getattr(estimator, "target_range", None) or (targets.min(), targets.max())
    return float(low), float(high)


def _points(estimator: Any, X: Any, y: Any, count: int, rng: np.random.Generator) -> Any:
    ball = ball_of(estimator)
    manifold, center = ball.manifold, ball.center
    points = np.asarray(X, dtype=np.float64).reshape(-1, *manifold.point_shape)
    reach = 0.999 * (ball.radius if np.isfinite(ball.radius) else 1.0)
    ends = []
    for _ in range(count):
        direction = manifold.random_tangent(center, 1.0, rng)
        direction = reach * direction / manifold.norm(center, direction)
        ends.append((manifold.exp(center, direction), manifold.exp(center, -direction)))
    inside, outside = (np.array(side) for side in zip(*ends))
    return (points,), (inside,), (outside,)


def _ratings(estimator: Any, X: Any, y: Any, count: int, rng: np.random.Generator) -> Any:
    ratings = dense(X, absent=np.nan)
    low, high = estimator.rating_range
    liked = rng.random((count, ratings.shape[1])) < 0.5
    rated = np.argsort(rng.random(liked.shape), axis=1) < estimator.max_ratings_per_user
    sides = (np.where(liked, high, low), np.where(liked, low, high))
    inside, outside = (np.where(rated, side, np.nan) for side in sides)
    return (ratings,), (inside,), (outside,)


def _unit(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))
