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

    def __init__(self) -> None:
        super().__init__(None)

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

    A row x becomes 0 where x.m > c |x| and stays as it is, bit for bit, elsewhere. A zero row is a
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
        inside = self.holds(rays_of(block))
        if block.is_sparse:
            kept = block.x.copy()
            kept.data[np.repeat(inside, np.diff(kept.indptr))] = 0.0
            return replace(block, x=kept)
        return replace(block, x=np.where(inside[:, None], 0.0, block.x))

    def holds(self, rays: Rays) -> np.ndarray:
        """Which rows point into the cap."""
        return along(rays, self.direction) > self.cosine * np.sqrt(rays.squares)


@row_map
def along(rays: Rays, direction: np.ndarray) -> np.ndarray:
    """Inner product of each ray with a direction, the same bits in a block of any size."""
    if isinstance(rays.x, np.ndarray):
        return row_dots(rays.x, np.broadcast_to(direction, rays.x.shape))
    return np.asarray(rays.x @ direction)  # one entry of a row after the other


def rays_of(block: Block) -> Rays:
    """Rows as directions from the origin, sparse ones still sparse."""
    return to_sparse_rays(block.x) if block.is_sparse else to_rays(block, None)


@dataclass(frozen=True)
class Sides:
    """Unit rows outside of a cap (zeros inside), who is inside, and who is on its side."""

    kept: np.ndarray
    inside: np.ndarray
    ahead: np.ndarray


class CapSums(SpheredQuery):
    r"""Sum of unit rows outside of a cap, rows inside of it, rows on its side of the origin.

    The point is (m, c), the direction and the cosine of an :class:`OutsideCap`. A row contributes
    (z k, i, a): k = 1 - i says that it is outside of the cap, i that it is inside, a that z.m > 0,
    so that i <= a.

    Sensitivity. *add-remove*: the longest contribution is that of a row outside and ahead, (z, 0, 1):
    sqrt(2); inside it is (0, 1, 1), as long. *replace-one*: by where the two rows are,

        outside, outside:  |z - z'|^2 + (a - a')^2 <= 4 + 1
        outside, inside:   |z|^2 + 1 + (a - 1)^2 <= 3
        inside, inside:    0,

    so sqrt(5), met by z' = -z for z.m > 0 outside of the cap. The three are one Gaussian release,
    so what counts is the length of all of it.

    Rounding. Whether a row is inside or ahead is decided by a per-row map, of the same bits in every
    block: the contribution is defined by them.
    """

    bound = math.sqrt(2)

    def __init__(self) -> None:
        super().__init__(None)

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """A vector of one entry a column, and two numbers."""
        return ProductSpace((VectorSpace((n_features,)), VectorSpace((2,))), (1.0, 1.0))

    def prepare(self, block: Block, point: tuple[np.ndarray, float]) -> Sides:
        """Unit rows, and on which side of the cap's edge and of the origin they are."""
        return look_at(block, OutsideCap(*point))

    def norms(self, block: Sides, point: Any) -> np.ndarray:
        """Length of (z k, i, a)."""
        outside = np.einsum("ij,ij->i", block.kept, block.kept)
        return np.sqrt(outside + block.inside + block.ahead)

    def weighted_sum(self, block: Sides, weights: np.ndarray, point: Any) -> Any:
        """Sum of the rows outside, and of the weights inside and ahead."""
        numbers = np.array([weights @ block.inside, weights @ block.ahead])
        return block.kept.T @ weights, numbers

    def sensitivity(self, neighbors: Neighbors) -> float:
        """Sqrt(5), or the bound, as the class derives."""
        return math.sqrt(5) if neighbors == "replace-one" else self.bound


@row_map
def look_at(block: Block, cap: OutsideCap) -> Sides:
    """Each row by itself: its direction if it is outside of a cap, and where it is."""
    rays = rays_of(block)
    inside = cap.holds(rays)
    ahead = along(rays, cap.direction) > 0
    x = rays.x if isinstance(rays.x, np.ndarray) else rays.x.toarray()
    kept = np.sqrt(rays.over_length(~inside))[:, None] * x
    return Sides(np.asarray(kept), inside.astype(float), (ahead | inside).astype(float))
