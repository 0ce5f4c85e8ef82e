"""What the three metrics on positive definite matrices share: points, factors and spectra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from veilspan.geometry._arguments import check_size
from veilspan.geometry._linalg import FloatArray, cholesky, scale_columns, sym, transpose
from veilspan.geometry.base import Manifold

#: Up to this ratio of extreme eigenvalues of M M^T its eigenvectors replace the singular vectors of
#: M. The eigenproblem errs by about 1e-16 of the largest eigenvalue, so the least one keeps 11
#: digits at the border.
_WELL_CONDITIONED = 1e5


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
        return sym(self._spread(v, x))

    def _random_point(self, rng: np.random.Generator, size: tuple[int, ...]) -> FloatArray:
        # Wishart with 2n degrees of freedom and mean I: well conditioned at every size.
        z = rng.standard_normal((*size, self.n, 2 * self.n))
        return sym(z @ transpose(z) / (2 * self.n))

    def _nearest_point(self, x: FloatArray) -> FloatArray:
        return x if np.array_equal(x, transpose(x)) else sym(x)

    def _reference_point(self) -> FloatArray:
        return np.eye(self.n)

    def _contains(self, x: FloatArray, atol: float) -> Any:
        # eigvalsh refuses a whole stack for one NaN; what is not finite is not contained anyway.
        scale = np.maximum(1, self._size(x))
        symmetric = self._size(x - transpose(x)) <= atol * scale
        finite = np.isfinite(scale)
        safe = np.where(finite[..., None, None], x, 0.0)
        return symmetric & finite & (np.linalg.eigvalsh(safe)[..., 0] > 0)

    def _cholesky(self, x: FloatArray) -> FloatArray:
        try:
            return cholesky(x)
        except np.linalg.LinAlgError:
            raise ValueError(_not_positive(self)) from None

    def _eigh(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues, ascending and positive, and eigenvectors of a point."""
        lam, p = np.linalg.eigh(x)
        if not np.min(lam[..., 0], initial=np.inf) > 0:
            raise ValueError(_not_positive(self))
        return lam, p


def _not_positive(manifold: Manifold) -> str:
    return (
        f"{manifold}: a point is not positive definite in float64; add a small multiple of the "
        "identity to it"
    )


def congruence(a: FloatArray, s: FloatArray) -> FloatArray:
    """Return A S A^T for a symmetric S, symmetrised against rounding."""
    return sym(a @ s @ transpose(a))


def relative_spectrum(
    white: FloatArray, factor: Callable[[FloatArray], FloatArray], y: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Orthonormal P and logarithms of lam with W Y W^T = P diag(lam) P^T.

    The eigenproblem loses the least eigenvalues where the condition number is large; there the
    singular values of W H take over, Y = H H^T with H = factor(Y): their condition is its root.
    """
    lam, p = np.linalg.eigh(white @ y @ transpose(white))
    bad = lam[..., 0] * _WELL_CONDITIONED <= lam[..., -1]
    if not bad.any():
        return p, np.log(lam)
    logs = np.log(np.where(bad[..., None], 1.0, lam))
    m = np.broadcast_to(white, p.shape)[bad] @ factor(np.broadcast_to(y, p.shape)[bad])
    p[bad], s, _ = np.linalg.svd(m)
    logs[bad] = 2 * np.log(s)
    return p, logs


def rotation(m: FloatArray) -> FloatArray:
    """Return the orthogonal R that maximises tr(M R): Q P^T, where M = P s Q^T.

    The eigenvectors of M M^T take 60 % of the time of a singular value decomposition but square
    the condition number; where that would cost digits, the latter takes over.
    """
    lam, p = np.linalg.eigh(m @ transpose(m))
    bad = lam[..., 0] * _WELL_CONDITIONED <= lam[..., -1]
    roots = np.sqrt(np.where(bad[..., None], 1.0, lam))
    r = transpose(m) @ (scale_columns(p, 1 / roots) @ transpose(p))
    if bad.any():
        p, _, qt = np.linalg.svd(m[bad])
        r[bad] = transpose(p @ qt)
    return r
