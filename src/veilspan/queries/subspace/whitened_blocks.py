r"""Moments of rows whitened around a current estimate: what the recursive spherical PCA asks.

Given a basis V (D x r) and a scale s, a row splits into w = V^T x and z = x - V w, and

    y = (w, z/s) / |(w, z/s)| = (a, b),      |a|^2 + |b|^2 = 1,

is the direction of the row after stretching everything outside of V by 1/s. y does not depend on
the length of x. Rows far from V relative to s have |a| near 0 and drop out: a gross outlier has
influence of order s. Where inliers are spread unevenly inside of V, a symmetric r x r matrix K with
eigenvalues of at least 1 evens them out, (K w, z/s) in place of (w, z/s): then no direction of V is
told by few rows alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.curator.rows import Block
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
from veilspan.queries.subspace.sphered import Rays, SpheredQuery, to_rays


@dataclass(frozen=True)
class Whitened:
    """Coordinates w (or K w) in V, residuals z, and 1/|(w, z/s)|^2 (0 for zero rows)."""

    inside: np.ndarray
    outside: np.ndarray
    inverse: np.ndarray


def split(
    block: Block,
    center: np.ndarray | None,
    basis: np.ndarray,
    scale: float,
    stretch: np.ndarray | None = None,
) -> Whitened:
    """Coordinates in the basis, stretched if that is asked, the rest, and the whitened length.

    The residual is formed row by row: |x|^2 - |w|^2 would lose half of its digits, and with them
    the accuracy at small scales.
    """
    rays = to_rays(block, center)
    inside = rays.x @ basis
    outside = rays.x - inside @ basis.T
    if stretch is not None:
        inside = inside @ stretch
    w2 = np.einsum("ij,ij->i", inside, inside)
    z2 = np.einsum("ij,ij->i", outside, outside)
    total = w2 + z2 / scale**2
    present = total > 0
    return Whitened(inside, outside, np.where(present, 1.0, 0.0) / np.where(present, total, 1.0))


class WhitenedBlocks(SpheredQuery):
    r"""Sum of A = a a^T (r x r) and B = b a^T (D x r, orthogonal to V).

    The point is (V, s), or (V, s, K) with a stretch inside of V.

    Sensitivity. Of y = (a, b) nothing counts but its length, 1, so K does not matter. With
    t = |a|^2, |A|_F^2 = t^2 and |B|_F^2 = t (1 - t). For y y^T as a block matrix,

        |y y^T - y' y'^T|_F^2 = |A - A'|^2 + 2 |B - B'|^2 + |b b^T - b' b'^T|^2 <= 2.

    *replace-one*: the pair (A, sqrt(2) B) therefore moves by at most sqrt(2); its norm is
    sqrt(2 t - t^2) <= 1. Nothing is gained by weighing A less: b' = -b at t = 1/2 moves sqrt(2) B
    alone by sqrt(2).
    *add-remove*: the pair (A/2, sqrt(2) B) has norm^2 t^2/4 + 2 t (1 - t) = 2 t - 7 t^2/4, at most
    4/7 (at t = 4/7). Half the weight of A costs little, because the noise of B decides.

    The parts are weighted for the relation that the query is made for.

    Rounding. Each row's residual z is formed before anything is multiplied or added up, so that
    only rows' own short parts meet in the sum: its terms have the norms |b| |a| that the bound of
    ``privacy.grid`` counts. (Summing x a^T and taking V off at the end would round relative to
    |x| |a|, which is up to 1/s longer.) The computed (w, z/s) of a unit row errs by at most
    e sqrt(1 + 1/s^2), e = ``residual_roundings`` u, and its length is at least min(1, 1/s): its
    direction y turns by at most sqrt(2) e max(s, 1/s). Two unit vectors y, y' at an angle t have
    |y y^T - y' y'^T|_F <= sqrt(2) t, which bounds what (A, sqrt(2) B) moves. Hence 2 e max(s, 1/s),
    and D + r + 64 roundings for the normalisation, the weight and the products. What rounding
    leaves of b along V is part of this: y needs not be split orthogonally for any of it, nor for
    the sensitivity. With a stretch the computed (K w, z/s) errs by at most (e + r u) (|K| + 1/s),
    |K| the Frobenius norm, and is as long as before at least (no eigenvalue of K is below 1):
    2 (e + r u) (|K| + 1/s) max(1, s).

    Parameters
    ----------
    neighbors : {"replace-one", "add-remove"}
        Neighbour relation.
    center : array, optional
        Public centre.
    """

    def __init__(self, neighbors: Neighbors, center: np.ndarray | None = None) -> None:
        super().__init__(center)
        replace = neighbors == "replace-one"
        self.weights = (1.0, math.sqrt(2)) if replace else (0.5, math.sqrt(2))
        self.bound = 1.0 if replace else math.sqrt(4 / 7)

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """Symmetric r x r matrices and tangent vectors at V, weighted."""
        basis = point[0]
        size = basis.shape[1]
        tangent = TangentSpace(Grassmann(n_features, size), basis)
        return ProductSpace((SymmetricSpace(size), tangent), self.weights)

    def prepare(self, block: Block, point: Any) -> Whitened:
        """Split every row at V and find its whitened length."""
        return split(block, self.center, *point)

    def norms(self, block: Whitened, point: Any) -> np.ndarray:
        """Norm of (A, B) with the weights of the space."""
        t = np.einsum("ij,ij->i", block.inside, block.inside) * block.inverse
        t = np.clip(t, 0.0, 1.0)
        first, second = self.weights
        return np.asarray(np.sqrt((first * t) ** 2 + second**2 * t * (1 - t)))

    def weighted_sum(self, block: Whitened, weights: np.ndarray, point: Any) -> Any:
        """A = sum w_i a a^T, B = sum w_i b a^T."""
        scale = point[1]
        weighted = (weights * block.inverse)[:, None] * block.inside
        first = block.inside.T @ weighted
        return (first + first.T) / 2, (block.outside.T @ weighted) / scale

    def sensitivity(self, neighbors: Neighbors) -> float:
        """Sqrt(2), or the bound, see above."""
        return math.sqrt(2) if neighbors == "replace-one" else self.bound

    def row_floats(self, n_features: int, point: Any) -> int:
        """The row, its residual and its parts in V."""
        return 3 * n_features + 4 * point[0].shape[1]

    def roundoff(self, n_features: int, point: Any) -> float:
        """See the class; the bound may be below 1."""
        basis, scale, *stretch = point
        rank = basis.shape[1]
        error = residual_roundings(n_features, rank)
        turned = 2 * error * max(scale, 1 / scale)
        if stretch:
            longest = float(np.linalg.norm(stretch[0])) + 1 / scale
            turned = 2 * (error + rank) * longest * max(1.0, scale)
        return (turned + n_features + rank + 64.0) / self.bound


class TylerBlock(SpheredQuery):
    r"""Sum of a a^T for a = T^T E^T x / sqrt(|T^T E^T x|^2 + |x - E E^T x|^2 / c).

    The point is (E, T, c): q leading directions, a whitening of their q x q block, and the variance
    c outside. This is one step of Tyler's M-estimator for a scatter matrix that is free in E and
    isotropic outside of it.

    Sensitivity. |a| <= 1. *add-remove*: |a a^T|_F = |a|^2 <= 1. *replace-one*: as for any rank-one
    symmetric matrices of norm at most 1, sqrt(2).

    Rounding. a is a part of the direction of y = (T^T w, z / sqrt(c)) with w = E^T x and the
    residual z, which is formed row by row: |x|^2 - |w|^2 would err by D u |x|^2 whatever is left.
    For a unit row the computed y errs by at most e (|T| + 1/sqrt(c)), e = ``residual_roundings`` u
    and |T| the Frobenius norm (which covers the product with T too), and its length is at least
    min(least singular value of T, 1/sqrt(c)). The quotient bounds the angle that it turns by, and
    sqrt(2) times that what a a^T moves.
    """

    bound = 1.0

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """Symmetric q x q matrices."""
        return SymmetricSpace(point[0].shape[1])

    def prepare(self, block: Block, point: Any) -> np.ndarray:
        """The vectors a, one for each row; their length is at most 1."""
        directions, whitening, outside = point
        rays = to_rays(block, self.center)
        inside = rays.x @ directions
        residual = rays.x - inside @ directions.T
        rest = np.einsum("ij,ij->i", residual, residual) / outside
        white = inside @ whitening
        total = np.einsum("ij,ij->i", white, white) + rest
        return np.asarray(white / np.sqrt(np.where(total > 0, total, 1.0))[:, None])

    def norms(self, block: np.ndarray, point: Any) -> np.ndarray:
        """Norm of a a^T, which is |a|^2."""
        return np.einsum("ij,ij->i", block, block)

    def weighted_sum(self, block: np.ndarray, weights: np.ndarray, point: Any) -> np.ndarray:
        """Sum of w a a^T."""
        scaled = np.sqrt(weights)[:, None] * block
        return np.asarray(scaled.T @ scaled)

    def sensitivity(self, neighbors: Neighbors) -> float:
        """Sqrt(2) or 1, as the class derives."""
        return math.sqrt(2) if neighbors == "replace-one" else 1.0

    def row_floats(self, n_features: int, point: Any) -> int:
        """The row, its residual and its coordinates."""
        return 3 * n_features + 4 * point[0].shape[1]

    def roundoff(self, n_features: int, point: Any) -> float:
        """Roundings in one contribution; the class derives them."""
        directions, whitening, outside = point
        stretched = 1 / math.sqrt(outside)
        least = min(float(np.linalg.svd(whitening, compute_uv=False)[-1]), stretched)
        error = residual_roundings(n_features, directions.shape[1])
        turned = error * (float(np.linalg.norm(whitening)) + stretched) / least
        return math.sqrt(2) * turned + n_features + directions.shape[1] + 64.0


class ResidualDifference(SpheredQuery):
    r"""Sum of |x - P x| - |x - P' x| over unit rows, for two subspaces; the point is (V, V').

    Negative if rows lie nearer to V on the whole: the robust objective of V less that of V'.

    Sensitivity. Both lengths lie in [0, 1], so a contribution lies in [-1, 1]. *add-remove*: 1.
    *replace-one*: 2, met by a row of V (off V') and one of V' (off V).

    Rounding. Each length errs by no more than its residual (``residual_roundings``).
    """

    bound = 1.0

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """One number: the difference, summed over rows."""
        return VectorSpace((1,))

    def prepare(self, block: Block, point: Any) -> np.ndarray:
        """What each row contributes: how much further it lies from V than from V'."""
        rays = to_rays(block, self.center)
        first, second = (self._residual(rays, basis) for basis in point)
        return np.asarray((first - second) * np.sqrt(rays.over_length()))

    def norms(self, block: np.ndarray, point: Any) -> np.ndarray:
        """Size of each difference, at most 1."""
        return np.abs(block)

    def weighted_sum(self, block: np.ndarray, weights: np.ndarray, point: Any) -> np.ndarray:
        """Sum of the differences, each times its weight."""
        return np.array([weights @ block])

    def roundoff(self, n_features: int, point: Any) -> float:
        """Roundings of both residuals of a unit row, and of their difference."""
        errors = (residual_roundings(n_features, basis.shape[1]) for basis in point)
        return sum(errors) + n_features + 64.0

    @staticmethod
    def _residual(rays: Rays, basis: np.ndarray) -> np.ndarray:
        outside = rays.x - (rays.x @ basis) @ basis.T
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", outside, outside)))
