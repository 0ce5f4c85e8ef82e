"""What the three geometries of positive definite matrices share."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from veilspan.geometry._linalg import FloatArray, sym, transpose
from veilspan.geometry.base import Manifold, check_size


class SPDBase(Manifold):
    """Symmetric positive definite n x n matrices; every symmetric matrix is tangent.

    Parameters
    ----------
    n : int
        Size of the matrices.
    """

    _parameters: ClassVar[tuple[str, ...]] = ("n",)

    def __init__(self, n: int) -> None:
        self.n = check_size(type(self).__name__, "n", n, 1)
        super().__init__((self.n, self.n), dim=self.n * (self.n + 1) // 2)

    def _project(self, x: FloatArray, v: FloatArray) -> FloatArray:
        return sym(v) + np.zeros_like(x) if x.ndim > v.ndim else sym(v)

    def _random_point(self, rng: np.random.Generator, size: tuple[int, ...]) -> FloatArray:
        # Wishart with 2n degrees of freedom and mean I: well conditioned at every size.
        z = rng.standard_normal((*size, self.n, 2 * self.n))
        return sym(z @ transpose(z) / (2 * self.n))

    def _contains(self, x: FloatArray, atol: float) -> Any:
        scale = np.maximum(1, self._size(x))
        symmetric = self._size(x - transpose(x)) <= atol * scale
        return symmetric & (np.linalg.eigvalsh(x)[..., 0] > 0)

    def _cholesky(self, x: FloatArray) -> FloatArray:
        try:
            return np.linalg.cholesky(x)
        except np.linalg.LinAlgError:
            raise ValueError(_not_positive(self)) from None

    def _eigh(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues, ascending and positive, and eigenvectors of a point."""
        lam, p = np.linalg.eigh(x)
        if not np.min(lam[..., 0], initial=np.inf) > 0:
            raise ValueError(_not_positive(self))
        return lam, p


def _not_positive(manifold: Manifold) -> str:
    return f"{manifold}: a point is not positive definite in float64"


def congruence(a: FloatArray, s: FloatArray) -> FloatArray:
    """A S A^T for a symmetric S, symmetrised against rounding."""
    return sym(a @ s @ transpose(a))
