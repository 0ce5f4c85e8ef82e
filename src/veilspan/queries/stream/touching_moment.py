r"""What a private stream asks of a block, and how a row with gaps is completed first.

Given a public basis V (D x r) and a public scale s <= 1, a row splits into a = V^T x and
b = (x - V a) / s: everything outside of V is stretched by 1/s. The second moment of the stretched
row y = (a, b) has the blocks a a^T, b a^T and b b^T. A tracker that stands near the subspace needs
the first two only, which are r (D + r) numbers instead of D^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.curator.query import RowQuery
from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block, row_dots
from veilspan.geometry.grassmann import Grassmann
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import (
    AnswerSpace,
    ProductSpace,
    SymmetricSpace,
    TangentSpace,
    VectorSpace,
)
from veilspan.queries.residuals import residual_roundings

_ROOT2 = math.sqrt(2)


@dataclass(frozen=True)
class Split:
    """Coordinates a in V, residuals outside of it (b times s), and |b|^2."""

    inside: np.ndarray
    outside: np.ndarray
    stretched: np.ndarray


class TouchingMoment(RowQuery):
    r"""Sums of A = a a^T, B = b a^T and e = |b|^2 over rows stretched by 1/s outside of V.

    The point is (V, s). A contribution is clipped to R^2, which is the same as scaling the
    *stretched* row (a, b) down to length R.

    Sensitivity. In the space of (A, sqrt(2) B, e) a row has the squared norm

        |a|^4 + 2 |a|^2 |b|^2 + |b|^4 = |y|^4,      y = (a, b).

    *add-remove*: R^2, met by any y of length R. *replace-one*: the inner product of two
    contributions is (a.a')^2 + 2 (a.a')(b.b') + |b|^2 |b'|^2 >= (a.a' + b.b')^2 >= 0 by
    Cauchy-Schwarz, so they are at most sqrt(2) R^2 apart, met by orthogonal rows in V. That is the
    sensitivity of the whole second moment: its blocks A and B carry the same noise here as there,
    and the energy e comes for nothing.

    Rounding. The residual x - V a is formed row by row, before anything is multiplied or added up,
    so the terms of the sum have the norms that the bound of ``privacy.grid`` counts. The computed
    y errs by at most k |x|, k = ``residual_roundings`` u sqrt(1 + 1/s^2) <= sqrt(2) / s times that,
    and |x| <= |y| because s <= 1. The contribution is y y^T with its last block replaced by that
    block's norm, which brings no two of them further apart. Unclipped (|y| <= R) it moves by at
    most 2 |y| k |x| <= 2 k R^2; clipped it is R^2 times that of a unit vector, which turns by at
    most k and moves by sqrt(2) k. Hence 2 k R^2, and D + r + 64 roundings of R^2 for the norm, the
    weight and the products.

    Parameters
    ----------
    row_norm : float
        Public bound R on the length of a stretched row.
    """

    def __init__(self, row_norm: float) -> None:
        self.row_norm = float(row_norm)
        self.bound = self.row_norm**2

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """Symmetric r x r matrices, tangent vectors at V, one number; weighted as above."""
        basis, _ = point
        size = basis.shape[1]
        tangent = TangentSpace(Grassmann(n_features, size), basis)
        return ProductSpace((SymmetricSpace(size), tangent, VectorSpace((1,))), (1.0, _ROOT2, 1.0))

    def prepare(self, block: Block, point: Any) -> Split:
        """Split every row; the rest is formed itself, |x|^2 - |a|^2 would lose half its digits."""
        basis, scale = point
        x = block.dense()
        inside = x @ basis
        rest = x - inside @ basis.T
        return Split(inside, rest, np.einsum("ij,ij->i", rest, rest) / scale**2)

    def norms(self, block: Split, point: Any) -> np.ndarray:
        """Squared length of the stretched row, |y|^2: the norm of what it contributes."""
        return np.einsum("ij,ij->i", block.inside, block.inside) + block.stretched

    def weighted_sum(self, block: Split, weights: np.ndarray, point: Any) -> Any:
        """Sums of A, B and e over the rows, each times its weight."""
        _, scale = point
        weighted = weights[:, None] * block.inside
        first = block.inside.T @ weighted
        second = (block.outside.T @ weighted) / scale
        return (first + first.T) / 2, second, np.array([weights @ block.stretched])

    def sensitivity(self, neighbors: Neighbors) -> float:
        """Sqrt(2) R^2 or R^2, see above."""
        return _ROOT2 * self.bound if neighbors == "replace-one" else self.bound

    def row_floats(self, n_features: int, point: Any) -> int:
        """The row, its rest and its parts in V."""
        return 3 * n_features + 4 * point[0].shape[1]

    def roundoff(self, n_features: int, point: Any) -> float:
        """Roundings of R^2 in one contribution; the class derives them."""
        basis, scale = point
        rank = basis.shape[1]
        turned = 2 * _ROOT2 * residual_roundings(n_features, rank) / scale
        return turned + n_features + rank + 64.0


@row_map
def complete_rows(
    rows: np.ndarray, basis: np.ndarray | None, row_norm: float, ridge: float
) -> np.ndarray:
    r"""Rows scaled down to ``row_norm``, their missing entries (NaN) filled in from a public basis.

    With V_o the rows of the basis V (D x r) where x is observed, an entry is filled by V c,

        c = argmin |x_o - V_o c|^2 + ridge |c|^2 .

    Each row is mapped by itself at public numbers: whoever changes one row before this map changes
    one row after it, so it costs no privacy. Without a basis gaps become zeros. The observed part
    is scaled to at most R before it is used, so no entry can overflow. R / max(|x|, R) is at most 1
    and defined for every row; with R a public scale (:mod:`veilspan._scales`) it is no denormal
    number either. A ridge of at least 1e-6 keeps every row's system far from singular.
    """
    gaps = np.isnan(rows)
    # In one order whatever the order of the table: lengths are rounded by it.
    known = np.ascontiguousarray(np.where(gaps, 0.0, rows))
    lengths = np.sqrt(row_dots(known, known))
    known *= (row_norm / np.maximum(lengths, row_norm))[:, None]
    if basis is not None:
        # One at a time: in a matrix product over the rows with gaps, the rounding of one would
        # depend on how many others there are, and the sensitivity counts on one row moving alone.
        for t in np.flatnonzero(gaps.any(axis=1)):
            known[t, gaps[t]] = _fill_gaps(known[t, ~gaps[t]], gaps[t], basis, ridge)
    return known


def _fill_gaps(known: np.ndarray, gaps: np.ndarray, basis: np.ndarray, ridge: float) -> np.ndarray:
    """The missing entries of one row, from its observed ones."""
    observed = basis[~gaps]
    gram = observed.T @ observed + ridge * np.eye(basis.shape[1])
    return np.asarray(basis[gaps] @ np.linalg.solve(gram, observed.T @ known))
