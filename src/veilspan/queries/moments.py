"""Sums and second moments of rows, each row scaled down to a public bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from veilspan._scales import check_derived_scale
from veilspan.curator.query import RowQuery
from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block, row_dots
from veilspan.curator.sparse_rows import sparse_squares
from veilspan.curator.weighted_gram import gram_block_rows, weighted_gram
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace, SymmetricSpace, VectorSpace


class SecondMoment(RowQuery):
    r"""Sum of x x^T over rows of norm at most R; the point is a public centre, or ``None``.

    A row contributes (x - m)(x - m)^T, of Frobenius norm |x - m|^2, clipped to R^2: the same as
    scaling the centred row down to norm R.

    Sensitivity. *add-remove*: R^2, met by any row of norm R. *replace-one*: for |x|, |y| <= R,

        |x x^T - y y^T|_F^2 = |x|^4 + |y|^4 - 2 (x.y)^2 <= 2 R^4,

    so sqrt(2) R^2, met by orthogonal rows of norm R. (Twice R^2 would be a waste of 41 %.)

    Sparse rows without a centre stay sparse where that is faster; the declared rounding covers both
    ways (see ``curator.weighted_gram``). A centre fills their zeros, and taking it off the sum of
    sparse rows afterwards would cancel digits that the rounding bound counts on.

    Parameters
    ----------
    row_norm : float
        R.
    """

    def __init__(self, row_norm: float) -> None:
        self.row_norm = check_derived_scale(row_norm, "row_norm")
        self.bound = self.row_norm**2

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """Symmetric matrices with the Frobenius norm."""
        return SymmetricSpace(n_features)

    def prepare(self, block: Block, point: Any) -> Any:
        """Rows minus the centre; without one as they came, dense or CSR."""
        return block.x if point is None else block.dense() - point

    def norms(self, block: Any, point: Any) -> np.ndarray:
        """Squared length of each (centred) row."""
        return squared_norms(block)

    def weighted_sum(self, block: Any, weights: np.ndarray, point: Any) -> np.ndarray:
        """X^T diag(w) X, as (sqrt(w) X)^T (sqrt(w) X): half of the work for BLAS."""
        return weighted_gram(block, np.sqrt(weights))

    def sensitivity(self, neighbors: Neighbors) -> float:
        """Sqrt(2) R^2 or R^2, see above."""
        return math.sqrt(2) * self.bound if neighbors == "replace-one" else self.bound

    def row_floats(self, n_features: int, point: Any) -> int:
        """The row, centred and scaled."""
        return 2 * n_features if point is None else 3 * n_features

    def least_block_rows(self, n_features: int, point: Any, sparse: bool) -> int:
        """Many: the answer has columns^2 numbers. A centre fills the zeros of sparse rows."""
        return gram_block_rows(n_features, stays_sparse=sparse and point is None)


class RowSum(RowQuery):
    r"""Sum of rows of norm at most R; divided by a public n, their mean.

    Sensitivity. *add-remove*: R. *replace-one*: |x - y| <= 2 R, met by y = -x.

    Parameters
    ----------
    row_norm : float
        R.
    """

    def __init__(self, row_norm: float) -> None:
        self.row_norm = check_derived_scale(row_norm, "row_norm")
        self.bound = self.row_norm

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """Vectors with one entry a column."""
        return VectorSpace((n_features,))

    def norms(self, block: Block, point: Any) -> np.ndarray:
        """Length of each row of the block."""
        return np.sqrt(squared_norms(block.x))

    def weighted_sum(self, block: Block, weights: np.ndarray, point: Any) -> np.ndarray:
        """Sum of the weighted rows, X^T w."""
        return np.asarray(block.x.T @ weights)


class RowCount(RowQuery):
    """Number of rows that take part, for use where it is not public.

    Sensitivity. *add-remove*: 1. *replace-one*: 1, where a row is exchanged for an absent one,
    which has weight 0; otherwise the count cannot change.
    """

    bound = 1.0

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """A vector of one number, the count."""
        return VectorSpace((1,))

    def norms(self, block: Block, point: Any) -> np.ndarray:
        """Length 1 for each row of the block."""
        return np.ones(block.n_rows)

    def weighted_sum(self, block: Block, weights: np.ndarray, point: Any) -> np.ndarray:
        """Sum of the weights, which are 1 unless a row is left out."""
        return np.array([weights.sum()])

    def sensitivity(self, neighbors: Neighbors) -> float:
        """One, since one row counts one and an absent one nothing."""
        return self.bound


@row_map
def squared_norms(x: Any) -> np.ndarray:
    """Squared length of each row, dense or sparse."""
    if isinstance(x, np.ndarray):
        return row_dots(x, x)
    return sparse_squares(x)
