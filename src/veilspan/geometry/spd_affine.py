"""Positive definite matrices, affine-invariant metric."""

from __future__ import annotations

import numpy as np

from veilspan.geometry._linalg import (
    FloatArray,
    expm_sym,
    frobenius,
    gram,
    scale_columns,
    sym,
    transpose,
)
from veilspan.geometry._spd import SPDBase, congruence
from veilspan.geometry.base import TransportKind


class SPDAffineInvariant(SPDBase):
    r"""Positive definite matrices with <U, V>_X = tr(X^-1 U X^-1 V).

    Every congruence M -> G M G^T is an isometry (Pennec, Fillard and Ayache 2006), so all follows
    from the identity through X = L L^T, L the Cholesky factor, S = L^-1 U L^-T:

    * exp: (L e^(S/2)) (L e^(S/2))^T, which is positive definite whatever the rounding;
    * log: L log(L^-1 Y L^-T) L^T;
    * parallel transport: E U E^T with E = L (L^-1 Y L^-T)^(1/2) L^-1 = (Y X^-1)^(1/2);
    * Gaussian: L sym(Z) L^T, whose diagonal at the identity has variance 1 and the rest 1/2;
    * retraction: X + U + U X^-1 U / 2, the geodesic to second order, positive definite for every U.

    Parameters
    ----------
    n : int
        Size of the matrices.
    """

    transport_kind: TransportKind = "parallel"

    def _inner(self, x: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray:
        white = np.linalg.inv(self._cholesky(x))
        a = white @ u @ transpose(white)
        return frobenius(a, a if v is u else white @ v @ transpose(white))

    def _dist(self, x: FloatArray, y: FloatArray) -> FloatArray:
        white = np.linalg.inv(self._cholesky(x))
        logs = np.log(self._positive(np.linalg.eigvalsh(congruence(white, y))))
        return np.sqrt(np.einsum("...i,...i->...", logs, logs))

    def _exp(self, x: FloatArray, u: FloatArray) -> FloatArray:
        low = self._cholesky(x)
        white = np.linalg.inv(low)
        half = congruence(white, u)
        half *= 0.5
        return gram(low @ expm_sym(half))

    def _log(self, x: FloatArray, y: FloatArray) -> FloatArray:
        low = self._cholesky(x)
        lam, p = self._eigh(congruence(np.linalg.inv(low), y))
        frame = low @ p
        return sym(scale_columns(frame, np.log(lam)) @ transpose(frame))

    def _retract(self, x: FloatArray, u: FloatArray) -> FloatArray:
        half = np.linalg.inv(self._cholesky(x)) @ u
        return sym(x + u + 0.5 * (transpose(half) @ half))

    def _transport(self, x: FloatArray, y: FloatArray, u: FloatArray) -> FloatArray:
        low = self._cholesky(x)
        white = np.linalg.inv(low)
        lam, p = self._eigh(congruence(white, y))
        e = scale_columns(low @ p, np.sqrt(lam)) @ (transpose(p) @ white)
        return congruence(e, u)

    def _egrad2rgrad(self, x: FloatArray, g: FloatArray) -> FloatArray:
        return congruence(x, sym(g))

    def _from_coordinates(self, x: FloatArray, c: FloatArray) -> FloatArray:
        low = self._cholesky(x)
        return sym(low @ c @ transpose(low))

    def _to_coordinates(self, x: FloatArray, u: FloatArray) -> FloatArray:
        return congruence(np.linalg.inv(self._cholesky(x)), u)

    def _positive(self, lam: FloatArray) -> FloatArray:
        if not np.min(lam, initial=np.inf) > 0:
            raise ValueError(f"{self}: a point is not positive definite in float64")
        return lam
