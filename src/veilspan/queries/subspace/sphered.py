"""Rows on the unit sphere: the common ground of all robust subspace queries."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.curator.query import RowQuery
from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block, row_dots
from veilspan.curator.sparse_rows import sparse_squares
from veilspan.curator.weighted_gram import gram_block_rows, weighted_gram
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace, SymmetricSpace
from veilspan.queries.residuals import residual_roundings

#: Residuals shorter than this count less, in proportion: their direction is mostly rounding.
GUARD = 1e-6


@dataclass(frozen=True)
class Rays:
    """Rows of which only the direction counts, with their squared lengths.

    Rows too short or too long to square safely have been rescaled; zero rows stay zero.
    """

    x: Any
    squares: np.ndarray

    def over_length(self, weights: np.ndarray | float = 1.0) -> np.ndarray:
        """``weights`` over the squared lengths, 0 for zero rows."""
        present = self.squares > 0
        return np.where(present, weights, 0.0) / np.where(present, self.squares, 1.0)


@row_map
def to_rays(block: Block, center: np.ndarray | None) -> Rays:
    """Rows minus a public centre, as directions."""
    x = block.dense() if block.is_sparse else block.x
    if center is not None:
        # By rows: of a table stored by columns the difference is stored so too, but for one row.
        x = np.ascontiguousarray(x - center)
    squares = row_dots(x, x)
    odd = ~((squares > 1e-250) & (squares < 1e250))
    if odd.any():
        # Other rows stay as they were, in memory too: BLAS rounds another layout otherwise.
        x = x.copy(order="K")
        largest = np.abs(x[odd]).max(axis=1, keepdims=True)
        x[odd] /= np.where(largest > 0, largest, 1.0)
        alone = np.ascontiguousarray(x[odd])
        squares[odd] = row_dots(alone, alone)
    return Rays(x, squares)


@row_map
def to_sparse_rays(x: Any) -> Rays:
    """CSR rows as directions, still CSR."""
    squares = sparse_squares(x)
    odd = ~((squares > 1e-250) & (squares < 1e250))
    if odd.any():
        largest = np.ones(x.shape[0])
        largest[odd] = abs(x[odd]).max(axis=1).toarray().ravel()
        largest[largest == 0] = 1.0
        # Other rows are divided by 1 and keep their bits.
        data = x.data / np.repeat(largest, np.diff(x.indptr))
        x = type(x)((data, x.indices, x.indptr), shape=x.shape)
        squares = sparse_squares(x)
    return Rays(x, squares)


@row_map
def to_sphere(block: Block, center: np.ndarray | None) -> np.ndarray:
    """Rows minus a public centre, each scaled to length 1; a row at the centre stays zero."""
    rays = to_rays(block, center)
    return np.asarray(np.sqrt(rays.over_length())[:, None] * rays.x)


class SpheredQuery(RowQuery):
    """A query over rows on the unit sphere.

    Parameters
    ----------
    center : array of shape (d,), optional
        Public centre, subtracted first.
    """

    def __init__(self, center: np.ndarray | None = None) -> None:
        self.center = center

    def prepare(self, block: Block, point: Any) -> Any:
        """Rows minus the centre, scaled to length 1."""
        return to_sphere(block, self.center)

    def row_floats(self, n_features: int, point: Any) -> int:
        """The row, centred, scaled, and a copy."""
        return 4 * n_features


class GuardedQuery(SpheredQuery):
    """A query that divides by the length of a residual, but never by less than a guard.

    Parameters
    ----------
    guard : float
        Residual length, of a unit row, below which a row's weight stops growing: Huber's loss of
        the residual instead of its length.
    center : array of shape (d,), optional
        Public centre, subtracted first.
    """

    def __init__(self, guard: float = GUARD, center: np.ndarray | None = None) -> None:
        super().__init__(center)
        if not 0 < guard < 1:
            raise ValueError(f"guard must lie strictly between 0 and 1; got {guard}.")
        self.guard = float(guard)

    def roundoff(self, n_features: int, point: Any) -> float:
        """The residual's error over the guard, in the product and in the factor, and once more."""
        error = self.residual_error(n_features, point)
        return error * (2.0 / self.guard + 1.0) + n_features + 64.0

    def residual_error(self, n_features: int, point: Any) -> float:
        """Roundings in the residual of a unit row; the point is a basis of a subspace."""
        return residual_roundings(n_features, point.shape[1])


class SphericalMoment(SpheredQuery):
    r"""Sum of x x^T over unit rows.

    Sensitivity. *add-remove*: |x x^T|_F = 1. *replace-one*: |x x^T - y y^T|_F^2 = 2 - 2 (x.y)^2, so
    sqrt(2), met by orthogonal rows (and 1 if one of them is zero).

    Sparse rows without a centre stay sparse where that is faster; the declared rounding covers both
    ways (see ``curator.weighted_gram``).
    """

    bound = 1.0

    def prepare(self, block: Block, point: Any) -> Rays:
        """Directions; the scaling to length 1 is part of the weights."""
        if block.is_sparse and self.center is None:
            return to_sparse_rays(block.x)
        return to_rays(block, self.center)

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """Symmetric matrices, in which noise is isotropic by the Frobenius norm."""
        return SymmetricSpace(n_features)

    def norms(self, block: Rays, point: Any) -> np.ndarray:
        """Squared length of the unit row: 1, or 0 for a zero row."""
        return block.over_length() * block.squares

    def weighted_sum(self, block: Rays, weights: np.ndarray, point: Any) -> np.ndarray:
        """The sum of w x x^T / |x|^2, as one product of a matrix with itself."""
        return weighted_gram(block.x, np.sqrt(block.over_length(weights)))

    def sensitivity(self, neighbors: Neighbors) -> float:
        """Sqrt(2) or 1, see above."""
        return math.sqrt(2) if neighbors == "replace-one" else 1.0

    def least_block_rows(self, n_features: int, point: Any, sparse: bool) -> int:
        """Many: the answer has columns^2 numbers. A centre fills the zeros of sparse rows."""
        return gram_block_rows(n_features, stays_sparse=sparse and self.center is None)
