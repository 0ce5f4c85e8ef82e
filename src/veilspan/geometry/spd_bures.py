"""Positive definite matrices with the Bures-Wasserstein metric of optimal transport."""

from __future__ import annotations

import numpy as np

from veilspan.geometry._linalg import FloatArray, frobenius, gram, sym, transpose
from veilspan.geometry._spd import SPDBase, rotation
from veilspan.geometry.base import TransportKind


class SPDBuresWasserstein(SPDBase):
    r"""Positive definite matrices with <U, V>_X = tr(Lyap_X[U] V) / 2.

    Lyap_X[U] = M solves M X + X M = U. This is optimal transport between centred Gaussians. The
    map L -> L L^T from flat matrices is a Riemannian submersion (Bhatia, Jain and Lim 2019), so
    with X = L L^T, L the Cholesky factor:

    * Gaussian: Z L^T + L Z^T, its differential; the adjoint is U -> Lyap_X[U] L;
    * exp: (I + M) X (I + M), as long as I + M stays positive definite, that is, closer than the
      square root of the least eigenvalue of X;
    * log and dist: D L^T + L D^T and |D| with D = L_Y Q - L, Q the rotation that brings a factor
      of Y closest to L. No inverse and no cancelling traces. D is horizontal, D = M L with a
      symmetric M, so it is also the coordinates of the logarithm.
    * transport: through the identity, where it is parallel: in the eigenvectors of X divide by
      sqrt(lam_r + lam_s), in those of Y multiply. An isometry; parallel only if X and Y commute.

    Parameters
    ----------
    n : int
        Size of the matrices.
    """

    transport_kind: TransportKind = "isometric"

    def _inner(self, x: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray:
        lam, p = self._eigh(x)
        pt = transpose(p)
        rotated = pt @ u @ p
        return 0.5 * frobenius(rotated / _sums(lam), rotated if v is u else pt @ v @ p)

    def _dist(self, x: FloatArray, y: FloatArray) -> FloatArray:
        d = self._displacement(self._cholesky(x), y)
        return np.sqrt(frobenius(d, d))

    def _exp(self, x: FloatArray, u: FloatArray) -> FloatArray:
        lam, p = self._eigh(x)
        m = transpose(p) @ u @ p
        m /= _sums(lam)
        diagonal = np.einsum("...ii->...i", m)
        diagonal += 1
        m *= np.sqrt(lam)[..., None, :]
        return gram(p @ m)

    def _log(self, x: FloatArray, y: FloatArray) -> FloatArray:
        low = self._cholesky(x)
        return _submerge(low, self._displacement(low, y))

    def _log_coordinates(self, x: FloatArray, y: FloatArray) -> FloatArray:
        return self._displacement(self._cholesky(x), y)

    def _transport(self, x: FloatArray, y: FloatArray, u: FloatArray) -> FloatArray:
        lx, p = self._eigh(x)
        ly, q = self._eigh(y)
        at_identity = (transpose(p) @ u @ p) / np.sqrt(_sums(lx))
        turn = transpose(q) @ p
        return sym(q @ ((turn @ at_identity @ transpose(turn)) * np.sqrt(_sums(ly))) @ transpose(q))

    def _egrad2rgrad(self, x: FloatArray, g: FloatArray) -> FloatArray:
        return 4 * sym(sym(g) @ x)

    def _from_coordinates(self, x: FloatArray, c: FloatArray) -> FloatArray:
        return _submerge(self._cholesky(x), c)

    def _to_coordinates(self, x: FloatArray, u: FloatArray) -> FloatArray:
        lam, p = self._eigh(x)
        pt = transpose(p)
        return p @ ((pt @ u @ p) / _sums(lam)) @ (pt @ self._cholesky(x))

    def _displacement(self, low: FloatArray, y: FloatArray) -> FloatArray:
        """D = L_Y Q - L with the orthogonal Q for which it is least."""
        factor = self._cholesky(y)
        return factor @ rotation(transpose(low) @ factor) - low


def _submerge(low: FloatArray, c: FloatArray) -> FloatArray:
    """C L^T + L C^T: the differential of L -> L L^T along C."""
    half = c @ transpose(low)
    return half + transpose(half)


def _sums(lam: FloatArray) -> FloatArray:
    return lam[..., :, None] + lam[..., None, :]
