"""The least-absolute-deviations loss on the Grassmannian: its geodesic gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veilspan.curator.rows import Block
from veilspan.geometry import Grassmann
from veilspan.privacy.spaces import AnswerSpace, TangentSpace
from veilspan.queries.subspace.sphered import GuardedQuery, to_rays


@dataclass(frozen=True)
class SplitRows:
    """Rows x of any length split at a subspace: x = V w + z."""

    along: np.ndarray  # w
    residual: np.ndarray  # z
    norms: np.ndarray  # of the contributions
    factors: np.ndarray  # the contribution is -factor z w^T


class GeodesicGradient(GuardedQuery):
    r"""Sum of the gradients of the distances |Q_V x| of unit rows to a subspace V.

    With w = V^T x and the residual z = Q_V x = x - V w, a row contributes

        - z w^T / max(|z|, guard),

    a tangent vector of the Grassmannian at V (V^T z = 0), and nothing if z = 0. Without the guard
    it is the gradient of |Q_V x| in V (Maunu, Yu & Lerman 2022, eq. (2.1), whose printed sign is
    the opposite: a step along minus the printed expression climbs). With it, it is the gradient
    of Huber's loss of |z|, quadratic below the guard.

    Sensitivity. The norm is |w| |z| / max(|z|, guard) <= |w| <= |x| = 1. *add-remove*: 1.
    *replace-one*: 2 by the triangle inequality. Neither can be lowered: x = cos(t) v + sin(t) z and
    its mirror image cos(t) v - sin(t) z, with v in V and z orthogonal to it, contribute
    -+ cos(t) z v^T as long as sin(t) >= guard, at distance 2 cos(t). Both hold at every point and
    for every guard.

    Rounding. z is known to e = ``residual_roundings`` 2^-53 of a unit row, w to less. The factor
    1 / max(|z|, guard) <= 1 / guard errs by at most e / guard of itself, so a contribution errs by
    at most 2 e / guard + e and a few roundings. The sum is left as it comes: what rounding leaves
    of it along V is part of that, and the projection on the tangent space follows the noise.

    Parameters
    ----------
    guard : float
        Residual length below which a row's weight stops growing.
    center : array of shape (D,), optional
        Public centre.
    """

    bound = 1.0

    def space(self, n_features: int, point: np.ndarray) -> AnswerSpace:
        """Tangent vectors of the Grassmannian at the subspace; noise on them is tangent too."""
        return TangentSpace(Grassmann(n_features, point.shape[1]), point)

    def prepare(self, block: Block, point: np.ndarray) -> SplitRows:
        """Split the rows as they are; the scaling to length 1 is part of the factors.

        Residuals are formed: |x|^2 - |w|^2 would lose all digits of a residual below 1e-8 |x|.
        """
        rays = to_rays(block, self.center)
        along = rays.x @ point
        residual = along @ point.T
        np.subtract(rays.x, residual, out=residual)
        lengths = np.sqrt(np.einsum("ij,ij->i", residual, residual))
        sizes = np.sqrt(np.where(rays.squares > 0, rays.squares, 1.0))
        factors = 1.0 / (sizes * np.maximum(lengths, self.guard * sizes))
        norms = np.sqrt(np.einsum("ij,ij->i", along, along)) * lengths * factors
        return SplitRows(along, residual, norms, factors)

    def norms(self, block: SplitRows, point: np.ndarray) -> np.ndarray:
        """|w| |z| / max(|z|, guard) of the unit row."""
        return block.norms

    def weighted_sum(self, block: SplitRows, weights: np.ndarray, point: np.ndarray) -> np.ndarray:
        """- Z^T diag(weight factor) W; coordinates of the Grassmannian are the entries."""
        return -(block.residual.T @ ((weights * block.factors)[:, None] * block.along))

    def row_floats(self, n_features: int, point: np.ndarray) -> int:
        """The row, centred, its residual, and its coordinates twice."""
        return 3 * n_features + 2 * point.shape[1]
