r"""Where rows point: the sums by which a robust PCA finds out which centre it needs.

A row counts by its direction z = x/|x| alone (a zero row has none, z = 0). Rows to both sides of
the origin have directions that cancel; an offset, or a cluster far away, leaves a mean direction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block, row_dots
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace, ProductSpace, VectorSpace
from veilspan.queries.subspace.sphered import Rays, SpheredQuery, to_rays, to_sparse_rays

#: Weight of the number of rows beside their sum. Under add-remove it makes a contribution 4 %
#: longer, and the number is known to 3.5 noises of the sum: to 1 % of 10,000 rows at epsilon 1.
COUNT_WEIGHT = 0.3


class DirectionSum(SpheredQuery):
    r"""Sum of unit rows, and the number of rows, times w = 0.3, beside it.

    Sensitivity. A row contributes (z, w), |z| <= 1. *add-remove*: sqrt(1 + w^2), met by any row but
    zero. *replace-one*: the number stays, |z - z'| <= 2, met by z' = -z.
    """

    bound = math.sqrt(1 + COUNT_WEIGHT**2)

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """A vector of one entry a column, and one number with its weight."""
        parts = (VectorSpace((n_features,)), VectorSpace((1,)))
        return ProductSpace(parts, (1.0, COUNT_WEIGHT))

    def norms(self, block: np.ndarray, point: Any) -> np.ndarray:
        """Length of (z, w): the bound, or w for a zero row."""
        return np.sqrt(np.einsum("ij,ij->i", block, block) + COUNT_WEIGHT**2)

    def weighted_sum(self, block: np.ndarray, weights: np.ndarray, point: Any) -> Any:
        """Sum of the unit rows, and of the weights."""
        return block.T @ weights, np.array([weights.sum()])

    def sensitivity(self, neighbors: Neighbors) -> float:
        """2, or the bound, as the class derives."""
        return 2.0 if neighbors == "replace-one" else self.bound


@dataclass(frozen=True, eq=False)
class OutsideCap:
    r"""Rows whose direction is within an angle of a released one are set to zero.

    A row x becomes 0 where x.m/|x| > c and stays as it is, bit for bit, elsewhere. A zero row is a
    row like any other to every question about unit rows: it counts, and contributes zero, which is
    shorter than what their sensitivities allow.

    Attributes
    ----------
    direction : array of shape (n_features,)
        m, of length 1.
    cosine : float
        c, positive: no zero row is inside.
    """

    direction: np.ndarray
    cosine: float

    @row_map
    def __call__(self, block: Block) -> Block:
        """The same block, with zeros for rows inside of the cap."""
        inside = cosines_to(rays_of(block), self.direction) > self.cosine
        if block.is_sparse:
            kept = block.x.copy()
            kept.data[np.repeat(inside, np.diff(kept.indptr))] = 0.0
            return replace(block, x=kept)
        return replace(block, x=np.where(inside[:, None], 0.0, block.x))


@row_map
def cosines_to(rays: Rays, direction: np.ndarray) -> np.ndarray:
    """Cosine of the angle of each row with a direction, 0 for zero rows; rays from ``rays_of``."""
    if isinstance(rays.x, np.ndarray):
        dots = row_dots(rays.x, np.broadcast_to(direction, rays.x.shape))
    else:
        dots = rays.x @ direction  # one entry of a row after the other
    return np.asarray(dots / np.sqrt(np.where(rays.squares > 0, rays.squares, 1.0)))


def rays_of(block: Block) -> Rays:
    """Rows as directions from the origin, sparse ones still sparse, dense ones stored by rows.

    A row that is stored by columns is added up in another order where it is alone. Its bits decide
    on which side of an edge it is, so they must not depend on how many others are in its block.
    """
    if block.is_sparse:
        return to_sparse_rays(block.x)
    return to_rays(Block(np.ascontiguousarray(block.x)), None)


@dataclass(frozen=True)
class Placed:
    """Unit rows, in which ring each is (the last column: outside of all), and who is ahead."""

    unit: np.ndarray
    rings: np.ndarray
    ahead: np.ndarray


class RingSums(SpheredQuery):
    r"""Sums of unit rows by rings around a direction, their numbers, and how many are ahead.

    The point is (m, (c_1, ..., c_K)), a direction and falling positive cosines: nested caps, with K
    rings between their edges (the first is the smallest cap) and what is outside of all. A row
    contributes (z at its ring, 1 at its ring, a): z among K + 1 vectors, the 1 among K numbers
    (none where it is outside), and a = 1 where z.m > 0. A row in a ring is ahead.

    All nested caps are told by one release, and for no more than one of them would cost: a row is
    in one ring.

    Sensitivity. *add-remove*: the longest is that of a row in a ring, (z, 1, 1): sqrt(3).
    *replace-one*: by where the two rows are,

        both outside:         |z - z'|^2 + (a - a')^2 <= 4 + 1
        both in one ring:     |z - z'|^2 <= 4
        in two rings:         |z|^2 + |z'|^2 + 2 <= 4
        in a ring, outside:   |z|^2 + |z'|^2 + 1 + (1 - a')^2 <= 4,

    so sqrt(5), met by z' = -z for z.m > 0 outside of all.

    Rounding. In which ring a row is, and whether it is ahead, is decided by a per-row map, of the
    same bits in every block: the contribution is defined by them.
    """

    bound = math.sqrt(3)

    def __init__(self) -> None:
        super().__init__(None)  # rings are around the origin

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """K + 1 vectors of one entry a column, K numbers, and one more."""
        rings = len(point[1])
        parts = (VectorSpace((rings + 1, n_features)), VectorSpace((rings + 1,)))
        return ProductSpace(parts, (1.0, 1.0))

    def prepare(self, block: Block, point: tuple[np.ndarray, tuple[float, ...]]) -> Placed:
        """Unit rows, and where each of them is."""
        return place(block, *point)

    def norms(self, block: Placed, point: Any) -> np.ndarray:
        """Length of (z, 1 where it is in a ring, a)."""
        squares = np.einsum("ij,ij->i", block.unit, block.unit)
        return np.sqrt(squares + (1.0 - block.rings[:, -1]) + block.ahead)

    def weighted_sum(self, block: Placed, weights: np.ndarray, point: Any) -> Any:
        """Weighted sums of unit rows by ring; of the weights by ring, and of those ahead."""
        weighted = weights[:, None] * block.rings
        counts = weighted.sum(axis=0)
        counts[-1] = weights @ block.ahead
        return weighted.T @ block.unit, counts

    def sensitivity(self, neighbors: Neighbors) -> float:
        """Sqrt(5), or the bound, as the class derives."""
        return math.sqrt(5) if neighbors == "replace-one" else self.bound

    def row_floats(self, n_features: int, point: Any) -> int:
        """The row, scaled, a copy, and where it is."""
        return 4 * n_features + 3 * (len(point[1]) + 1)


@row_map
def place(block: Block, direction: np.ndarray, cosines: tuple[float, ...]) -> Placed:
    """Each row by itself: its direction, its ring, and whether it is ahead."""
    rays = rays_of(block)
    ahead = cosines_to(rays, direction)
    inside = [ahead > cosine for cosine in cosines]
    edges = np.stack([np.zeros(block.n_rows, bool), *inside, np.ones(block.n_rows, bool)], axis=1)
    x = rays.x if isinstance(rays.x, np.ndarray) else rays.x.toarray()
    return Placed(
        np.asarray(np.sqrt(rays.over_length())[:, None] * x),
        np.diff(edges.astype(float), axis=1),
        (ahead > 0).astype(float),
    )
