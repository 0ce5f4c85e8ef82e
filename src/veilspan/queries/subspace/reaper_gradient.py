"""The REAPER loss over relaxed projectors: its subgradient."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.curator.rows import Block
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace, SymmetricSpace
from veilspan.queries.subspace.sphered import GuardedQuery, to_rays


@dataclass(frozen=True)
class RowsAndResiduals:
    """Rows x of any length beside (I - P) x."""

    rows: np.ndarray
    residuals: np.ndarray
    norms: np.ndarray  # of the contributions
    factors: np.ndarray  # the contribution is -factor sym((I - P) x x^T)


class ReaperGradient(GuardedQuery):
    r"""Sum of the subgradients of |(I - P) x| over unit rows, at a symmetric matrix P.

    A row contributes M = - sym(z x^T) with z = (I - P) x / max(|(I - P) x|, guard), and nothing if
    (I - P) x = 0. Without the guard it is the subgradient of the REAPER loss (Lerman, McCoy, Tropp
    & Zhang 2015; Maunu, Yu & Lerman 2022, eq. (4.1), which lacks the 1/N of a mean).

    Sensitivity. Let A = I - P, y = A x / |A x| and c = x.y, so that M = t sym(y x^T) with some t in
    [0, 1], and |sym(y x^T)|_F^2 = (1 + c^2)/2 <= 1.

    *add-remove*: 1, met by the eigenvectors of A (c = 1).

    *replace-one*: sqrt(2). First let t = t' = 1. The distance of two contributions is

        |M - M'|^2 = 1 + (c^2 + c'^2)/2 - (y.y')(x.x') - (y.x')(x.y').

    The bivectors x ^ y and x' ^ y' have the lengths s = sqrt(1 - c^2) and s', and the inner product
    (x.x')(y.y') - (x.y')(y.x'), so (y.y')(x.x') >= (y.x')(x.y') - s s'. Because A is symmetric,
    (y.x')(x.y') = (x'.A x)^2 / (|A x| |A x'|) >= 0. Together

        |M - M'|^2 <= 1 + (c^2 + c'^2)/2 + s s' <= 1 + (c^2 + c'^2 + s^2 + s'^2)/2 = 2.

    For other t and t' the squared distance is a convex function of (t, t') on [0, 1]^2, hence at
    most its value at a corner: |M - M'|^2, |M|^2, |M'|^2 or 0, none above 2. Two orthogonal
    eigenvectors of A meet it. Only the symmetry of P is used, and it is checked.

    Rounding. The computed P x errs by at most D u |P|_F for a unit row (its entries are inner
    products of length D, and | |P| |x| | <= |P|_F), the subtraction by u (1 + |P|_F). A
    contribution errs by at most 2 / guard times that, as in ``GeodesicGradient``.

    Parameters
    ----------
    guard : float
        Residual length below which a row's weight stops growing (Huber's loss of the length).
    center : array of shape (D,), optional
        Public centre.
    """

    bound = 1.0

    def space(self, n_features: int, point: np.ndarray) -> AnswerSpace:
        """Symmetric matrices, and a check that P is one: the sensitivity rests on it."""
        if point.shape != (n_features, n_features) or not np.array_equal(point, point.T):
            raise ValueError("ReaperGradient: the point must be a symmetric matrix.")
        return SymmetricSpace(n_features)

    def prepare(self, block: Block, point: np.ndarray) -> RowsAndResiduals:
        """Residuals of the rows as they are; the scaling to length 1 is part of the factors."""
        rays = to_rays(block, self.center)
        residuals = rays.x @ point
        np.subtract(rays.x, residuals, out=residuals)
        squares = np.einsum("ij,ij->i", residuals, residuals)
        sizes = np.sqrt(np.where(rays.squares > 0, rays.squares, 1.0))
        factors = 1.0 / (sizes * np.maximum(np.sqrt(squares), self.guard * sizes))
        inner = np.einsum("ij,ij->i", rays.x, residuals)
        # |sym(z x^T)|^2 = (|x|^2 |z|^2 + (x.z)^2) / 2; the factors go first: squares may be huge.
        lengths = np.sqrt(squares) * sizes * factors
        norms = np.sqrt((lengths**2 + (inner * factors) ** 2) / 2)
        return RowsAndResiduals(rays.x, residuals, norms, factors)

    def norms(self, block: RowsAndResiduals, point: np.ndarray) -> np.ndarray:
        """Sqrt((|z|^2 + c^2) / 2) of the unit row."""
        return block.norms

    def weighted_sum(
        self, block: RowsAndResiduals, weights: np.ndarray, point: np.ndarray
    ) -> np.ndarray:
        """- sym(Z^T diag(weight factor) X): one product."""
        half = block.residuals.T @ ((weights * block.factors)[:, None] * block.rows)
        return np.asarray((half + half.T) / -2)

    def sensitivity(self, neighbors: Neighbors) -> float:
        """Sqrt(2) or 1, see above."""
        return math.sqrt(2) if neighbors == "replace-one" else 1.0

    def residual_error(self, n_features: int, point: Any) -> float:
        """Roundings in (I - P) x of a unit row, as the class derives them."""
        return (n_features + 1.0) * float(np.linalg.norm(point)) + 2.0

    def row_floats(self, n_features: int, point: Any) -> int:
        """The row, centred and weighted, and its residual."""
        return 4 * n_features
