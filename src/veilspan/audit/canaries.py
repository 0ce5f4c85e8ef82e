r"""Canaries for one-run audits: rows that are easy to notice, and what stands there without them.

How well a canary can be told from the others depends on how far their shifts of the answers are
from being orthogonal. For a table without targets the answers are second moments, and

    x = C (q_i + q_j) / sqrt 2,   z = C (q_i - q_j) / sqrt 2,
    x x^T - z z^T = C^2 (q_i q_j^T + q_j q_i^T)

for an orthonormal frame q_1, ..., q_d: one such pair uses the whole sensitivity sqrt 2 C^2 of
replace-one, and the shifts of all d (d - 1) / 2 pairs i < j are orthogonal to each other. Each
canary is then a game of its own, the best case of the bound. (Random directions overlap by
(x . y)^2, about 1/d each: 700 of them in 50 columns hide noise that is halved, 700 of these do
not.) Under add-remove a canary stands against nothing; x x^T is never orthogonal to more than d - 1
others, so bases stand after one another. Gradients live in d dimensions: orthonormal rows, d of
them at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.audit.inputs import ball_of, kind_of, make_dense, row_length

#: How far out canaries lie in a ball. On its very edge rounding could put some of them outside.
INSIDE = 0.999


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
        """Number of rows beside the canaries, the same whatever the coins say."""
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
    """Canaries as long as the estimator's bounds allow, as orthogonal as can be.

    In their place stands, under replace-one, a row at a right angle (tables), the same row with
    another target, the point opposite to it (manifolds), or the opposite ratings.
    """
    if count < 2:
        raise ValueError(f"a one-run audit needs two or more canaries; got {count}.")
    kind = kind_of(estimator)
    if kind == "stream":
        raise ValueError("a stream is audited by audit(); a one-run audit needs one table.")
    makers = {"points": _make_points, "ratings": _make_ratings}
    base, inside, outside = makers.get(kind, _make_rows)(estimator, X, y, count, rng)
    return Canaries(base, inside, outside if estimator.neighbors == "replace-one" else None)


def _make_rows(estimator: Any, X: Any, y: Any, count: int, rng: np.random.Generator) -> Any:
    x = make_dense(X, absent=0.0)
    length = row_length(estimator, x.shape[1])
    if y is None:
        if estimator.neighbors == "replace-one" and x.shape[1] > 1:
            one, two = _make_crossed_pairs(x.shape[1], count, rng)
            return (x,), (length * one,), (length * two,)
        rows = length * _draw_orthonormal(x.shape[1], count, rng)
        return (x,), (rows,), (np.zeros_like(rows),)  # one column: no right angle but zero
    targets = np.asarray(y)
    low, high = _find_farthest_targets(estimator, targets)
    rows = length * _draw_orthonormal(x.shape[1], count, rng)
    return (x, targets), (rows, np.full(count, low)), (rows, np.full(count, high))


def _make_crossed_pairs(
    width: int, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (q_i + q_j) / sqrt 2, (q_i - q_j) / sqrt 2; a new frame when one is used up."""
    ones, twos, left = [], [], count
    first, second = np.triu_indices(width, 1)
    while left > 0:
        frame = _draw_frame(width, rng)
        chosen = rng.permutation(len(first))[:left]
        a, b = frame[first[chosen]], frame[second[chosen]]
        ones.append((a + b) / np.sqrt(2))
        twos.append((a - b) / np.sqrt(2))
        left -= len(chosen)
    return np.concatenate(ones), np.concatenate(twos)


def _draw_orthonormal(width: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Unit rows, ``width`` of them at a time orthonormal."""
    frames = [_draw_frame(width, rng) for _ in range(-(-count // width))]
    return np.concatenate(frames)[:count]


def _draw_frame(width: int, rng: np.random.Generator) -> np.ndarray:
    return np.asarray(np.linalg.qr(rng.standard_normal((width, width)))[0].T)


def _find_farthest_targets(estimator: Any, targets: np.ndarray) -> tuple[Any, Any]:
    """Two targets as far apart as the estimator's bounds allow."""
    if kind_of(estimator) == "classes":
        labels = np.unique(targets)
        return labels[0], labels[-1]
    low, high = getattr(estimator, "target_range", None) or (targets.min(), targets.max())
    return float(low), float(high)


def _make_points(estimator: Any, X: Any, y: Any, count: int, rng: np.random.Generator) -> Any:
    ball = ball_of(estimator)
    manifold, center = ball.manifold, ball.center
    points = np.asarray(X, dtype=np.float64).reshape(-1, *manifold.point_shape)
    reach = INSIDE * (ball.radius if np.isfinite(ball.radius) else 1.0)
    ends = []
    for _ in range(count):
        direction = manifold.random_tangent(center, 1.0, rng)
        direction = reach * direction / manifold.norm(center, direction)
        ends.append((manifold.exp(center, direction), manifold.exp(center, -direction)))
    inside, outside = (np.array(side) for side in zip(*ends))
    return (points,), (inside,), (outside,)


def _make_ratings(estimator: Any, X: Any, y: Any, count: int, rng: np.random.Generator) -> Any:
    ratings = make_dense(X, absent=np.nan)
    low, high = estimator.rating_range
    liked = rng.random((count, ratings.shape[1])) < 0.5
    rated = np.argsort(rng.random(liked.shape), axis=1) < estimator.max_ratings_per_user
    sides = (np.where(liked, high, low), np.where(liked, low, high))
    inside, outside = (np.where(rated, side, np.nan) for side in sides)
    return (ratings,), (inside,), (outside,)
