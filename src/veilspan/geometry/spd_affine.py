"""Positive definite matrices with the metric that no change of basis alters."""

from __future__ import annotations

import numpy as np

from veilspan.geometry._linalg import (
    FloatArray,
    expm_sym,
    frobenius,
    gram,
    inverse_lower,
    scale_columns,
    sym,
    transpose,
)
from veilspan.geometry._spd import SPDBase, congruence, relative_spectrum, rotation
from veilspan.geometry.base import TransportKind


class SPDAffineInvariant(SPDBase):
    r"""Positive definite matrices with <U, V>_X = tr(X^-1 U X^-1 V).

    Every congruence M -> G M G^T is an isometry (Pennec, Fillard and Ayache 2006), so all follows
    from the identity through X = L L^T and Y = H H^T, Cholesky factors, with S = L^-1 U L^-T and
    the singular values L^-1 H = P s Q^T:

    * exp: (L e^(S/2)) (L e^(S/2))^T, which is positive definite whatever the rounding;
    * log: (L P) diag(2 log s) (L P)^T;
    * parallel transport: (H R) S (H R)^T with the rotation R = Q P^T, which equals E U E^T with
      E = (Y X^-1)^(1/2) but keeps lengths whatever the rounding in s;
    * Gaussian: L sym(Z) L^T, whose diagonal at the identity has variance 1 and the rest 1/2;
    * retraction: X + U + U X^-1 U / 2, the geodesic to second order, positive definite for every U.

    Parameters
    ----------
    n : int
        Size of the matrices.
    """

    transport_kind: TransportKind = "parallel"

    def _inner(self, x: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray:
        white = inverse_lower(self._cholesky(x))
        a = white @ u @ transpose(white)
        return frobenius(a, a if v is u else white @ v @ transpose(white))

    def _dist(self, x: FloatArray, y: FloatArray) -> FloatArray:
        white = inverse_lower(self._cholesky(x))
        _, logs = relative_spectrum(white, self._cholesky, y)
        return np.sqrt(np.einsum("...i,...i->...", logs, logs))

    def _exp(self, x: FloatArray, u: FloatArray) -> FloatArray:
        low = self._cholesky(x)
        half = congruence(inverse_lower(low), u)
        half *= 0.5
        return gram(low @ expm_sym(half))

    def _log(self, x: FloatArray, y: FloatArray) -> FloatArray:
        low = self._cholesky(x)
        p, logs = relative_spectrum(inverse_lower(low), self._cholesky, y)
        frame = low @ p
        return sym(scale_columns(frame, logs) @ transpose(frame))

    def _log_coordinates(self, x: FloatArray, y: FloatArray) -> FloatArray:
        # The whitened logarithm itself: two products with L fewer than `log`, and none back.
        p, logs = relative_spectrum(inverse_lower(self._cholesky(x)), self._cholesky, y)
        return sym(scale_columns(p, logs) @ transpose(p))

    def _retract(self, x: FloatArray, u: FloatArray) -> FloatArray:
        half = inverse_lower(self._cholesky(x)) @ u
        return sym(x + u + 0.5 * (transpose(half) @ half))

    def _transport(self, x: FloatArray, y: FloatArray, u: FloatArray) -> FloatArray:
        white = inverse_lower(self._cholesky(x))
        factor = self._cholesky(y)
        turned = factor @ rotation(white @ factor)
        return congruence(turned, white @ u @ transpose(white))

    def _egrad2rgrad(self, x: FloatArray, g: FloatArray) -> FloatArray:
        return congruence(x, sym(g))

    def _from_coordinates(self, x: FloatArray, c: FloatArray) -> FloatArray:
        return congruence(self._cholesky(x), c)

    def _to_coordinates(self, x: FloatArray, u: FloatArray) -> FloatArray:
        return congruence(inverse_lower(self._cholesky(x)), u)
