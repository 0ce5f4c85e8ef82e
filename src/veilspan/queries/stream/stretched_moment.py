"""Second moments of rows that are stretched outside of a public subspace."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from veilspan._scales import check_derived_scale
from veilspan.curator.query import RowQuery
from veilspan.curator.rows import Block, row_dots
from veilspan.curator.weighted_gram import gram_block_rows, weighted_gram
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace, SymmetricSpace
from veilspan.queries.residuals import residual_roundings

#: Least scale s: where clipping leaves nothing of rows outside, smaller ones only lose digits.
SMALLEST_SCALE = 1e-6


class StretchedMoment(RowQuery):
    r"""Sum of y y^T over rows y = V a + (x - V a) / s, a = V^T x, scaled down to length R.

    The point is (V, s) with an orthonormal V (D x r) and 1e-6 <= s <= 1, or ``None`` for y = x.
    With S = V V^T + s (I - V V^T), S (y y^T) S = x x^T: noise of one size on y y^T is s times as
    large on what tells how V is tilted towards the rows.

    Sensitivity. y is a function of its row alone, so it is that of any second moment of rows of
    length R: *add-remove* R^2; *replace-one* |y y^T - w w^T|_F^2 = |y|^4 + |w|^4 - 2 (y.w)^2 <= 2
    R^4, so sqrt(2) R^2, met by orthogonal rows. Both whatever (V, s) is.

    Rounding. The residual z = x - V a is formed row by row and errs by ``residual_roundings`` u
    |x|; y = x + (1/s - 1) z errs by 1/s times that and by three roundings of |y|, so by k |y| in
    all with k <= (residual_roundings + 3) u / s, because |x| <= |y|. Unclipped (|y| <= R), y y^T
    moves by at most 2 k R^2; clipped it is R^2 times that of a unit vector, which turns by at most
    k, and moves by sqrt(2) k R^2. D + 64 roundings of R^2 are for the length, the weight and the
    products. Declared is the bound at the *least* s, for every s: all blocks of a stream then have
    noise of one size, which correlated noise needs; up to 500 columns it is below 1e-6 of the
    sensitivity.

    Parameters
    ----------
    row_norm : float
        Public bound R on the length of a stretched row.
    rank : int
        r, at most: the bound on rounding counts with it.
    """

    def __init__(self, row_norm: float, rank: int) -> None:
        self.row_norm = check_derived_scale(row_norm, "row_norm")
        self.bound = self.row_norm**2
        self.rank = rank

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """Symmetric matrices with the Frobenius norm."""
        return SymmetricSpace(n_features)

    def prepare(self, block: Block, point: Any) -> np.ndarray:
        """Rows with what lies outside of V stretched by 1/s."""
        x = block.dense()
        if point is None:
            return x
        basis, scale = point
        if not SMALLEST_SCALE <= scale <= 1 or basis.shape[1] > self.rank:
            raise ValueError(f"rows are stretched by an s in [{SMALLEST_SCALE:g}, 1], rank r.")
        rest = x - (x @ basis) @ basis.T
        rest *= 1 / scale - 1
        rest += x
        return np.asarray(rest)

    def norms(self, block: np.ndarray, point: Any) -> np.ndarray:
        """Squared length of each stretched row."""
        return row_dots(block, block)

    def weighted_sum(self, block: np.ndarray, weights: np.ndarray, point: Any) -> np.ndarray:
        """Y^T diag(w) Y, as (sqrt(w) Y)^T (sqrt(w) Y): half of the work for BLAS."""
        return weighted_gram(block, np.sqrt(weights))

    def sensitivity(self, neighbors: Neighbors) -> float:
        """Sqrt(2) R^2 or R^2, see above."""
        return math.sqrt(2) * self.bound if neighbors == "replace-one" else self.bound

    def row_floats(self, n_features: int, point: Any) -> int:
        """The row, its residual and its scaled self; the same for every point."""
        return 4 * n_features

    def least_block_rows(self, n_features: int, point: Any, sparse: bool) -> int:
        """Many: the answer has columns^2 numbers."""
        return gram_block_rows(n_features, stays_sparse=False)

    def roundoff(self, n_features: int, point: Any) -> float:
        """Roundings of R^2 in one contribution; the class derives them."""
        turned = 2 * (residual_roundings(n_features, self.rank) + 3) / SMALLEST_SCALE
        return turned + n_features + 64.0
