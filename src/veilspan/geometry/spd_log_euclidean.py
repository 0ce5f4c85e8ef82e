"""Positive definite matrices with the metric that makes the matrix logarithm an isometry."""

from __future__ import annotations

import numpy as np

from veilspan.geometry._linalg import FloatArray, expm_sym, frobenius, gram, scale_columns, sym
from veilspan.geometry._linalg import transpose as t
from veilspan.geometry._spd import SPDBase
from veilspan.geometry.base import TransportKind


class SPDLogEuclidean(SPDBase):
    r"""Positive definite matrices with <U, V>_X = tr(Dlog_X[U] Dlog_X[V]).

    The matrix logarithm is an isometry onto flat symmetric matrices (Arsigny and others 2007). In
    the eigenvectors P of X its derivative divides entrywise by the logarithmic means

        K_rs = (lam_r - lam_s) / (log lam_r - log lam_s),   K_rr = lam_r,

    so Dlog_X[U] = P [(P^T U P) / K] P^T and its inverse multiplies by K.

    * exp, log: of log X + Dlog_X[U], and back;
    * parallel transport: the inverse of Dlog_Y, after Dlog_X;
    * Gaussian: P [K * sym(Z)] P^T. The law of sym(Z) is invariant under rotation, so coordinates
      live in the eigenvectors of X and one rotation is saved: compare them at one X only.

    Parameters
    ----------
    n : int
        Size of the matrices.
    """

    transport_kind: TransportKind = "parallel"

    def _inner(self, x: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray:
        lam, p = self._eigh(x)
        kernel = _log_means(lam)
        a = (t(p) @ u @ p) / kernel
        return frobenius(a, a if v is u else (t(p) @ v @ p) / kernel)

    def _dist(self, x: FloatArray, y: FloatArray) -> FloatArray:
        d = self._logm(y) - self._logm(x)
        return np.sqrt(frobenius(d, d))

    def _exp(self, x: FloatArray, u: FloatArray) -> FloatArray:
        lam, p = self._eigh(x)
        half = sym(t(p) @ u @ p)
        half /= _log_means(lam)
        diagonal = np.einsum("...ii->...i", half)
        diagonal += np.log(lam)
        half *= 0.5
        return gram(p @ expm_sym(half))

    def _log(self, x: FloatArray, y: FloatArray) -> FloatArray:
        lam, p = self._eigh(x)
        return sym(p @ (_log_means(lam) * self._difference(lam, p, y)) @ t(p))

    def _log_coordinates(self, x: FloatArray, y: FloatArray) -> FloatArray:
        return self._difference(*self._eigh(x), y)

    def _difference(self, lam: FloatArray, p: FloatArray, y: FloatArray) -> FloatArray:
        """P^T (log Y - log X) P for X = P diag(lam) P^T."""
        mu, q = self._eigh(y)
        turn = t(p) @ q
        d = sym(scale_columns(turn, np.log(mu)) @ t(turn))
        diagonal = np.einsum("...ii->...i", d)
        diagonal -= np.log(lam)
        return d

    def _transport(self, x: FloatArray, y: FloatArray, u: FloatArray) -> FloatArray:
        lam, p = self._eigh(x)
        mu, q = self._eigh(y)
        turn = t(q) @ p
        flat = (t(p) @ u @ p) / _log_means(lam)
        return sym(q @ (_log_means(mu) * (turn @ flat @ t(turn))) @ t(q))

    def _egrad2rgrad(self, x: FloatArray, g: FloatArray) -> FloatArray:
        lam, p = self._eigh(x)
        return sym(p @ (_log_means(lam) ** 2 * (t(p) @ sym(g) @ p)) @ t(p))

    def _from_coordinates(self, x: FloatArray, c: FloatArray) -> FloatArray:
        lam, p = self._eigh(x)
        inside = sym(c)
        return p @ (_log_means(lam) * inside) @ t(p)

    def _to_coordinates(self, x: FloatArray, u: FloatArray) -> FloatArray:
        lam, p = self._eigh(x)
        return (t(p) @ u @ p) / _log_means(lam)

    def _logm(self, x: FloatArray) -> FloatArray:
        lam, p = self._eigh(x)
        return scale_columns(p, np.log(lam)) @ t(p)


def _log_means(lam: FloatArray) -> FloatArray:
    """Logarithmic means, as geometric mean times sinh(h)/h: exact for equal eigenvalues too."""
    half = 0.5 * np.log(lam)
    h = half[..., :, None] - half[..., None, :]
    root = np.sqrt(lam)
    same = h == 0
    means = np.sinh(h)
    means /= np.where(same, 1.0, h)
    means[same] = 1.0
    means *= root[..., :, None] * root[..., None, :]
    return means
