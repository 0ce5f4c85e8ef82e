"""The Grassmann manifold: subspaces of one dimension, each held as an orthonormal basis."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from veilspan.geometry._arguments import check_size
from veilspan.geometry._linalg import (
    FloatArray,
    frobenius,
    inverse_root,
    polish,
    scale_columns,
    transpose,
)
from veilspan.geometry.base import Manifold, TransportKind
from veilspan.geometry.stiefel import has_orthonormal_columns, random_frame


class Grassmann(Manifold):
    r"""p-dimensional subspaces of R^n.

    A point is any n x p orthonormal basis X of the subspace (never an n x n projector); X and X Q
    are the same point. A tangent vector at X is a matrix U with X^T U = 0 and |U| its Frobenius
    norm; at the basis X Q the same vector is U Q.

    With X^T Y = V cos(S) W^T (one p x p singular value decomposition: S are the principal angles)
    and B = (I - X X^T) Y W, whose columns have the lengths sin(S):

    * log: B diag(S / sin S) V^T. No inverse: exact for coinciding and for orthogonal directions.
    * dist: the length of the vector of angles, S = atan2(sin S, cos S).
    * parallel transport: (U - (B / (1 + cos S) + X V) B^T U) V W^T. The usual formula (Edelman,
      Arias and Smith 1998) with every division by sin S cancelled.
    * exp: X cos(G) + U sinc(G) with G^2 = U^T U: even functions, so eigenvectors of the small Gram
      matrix serve instead of a decomposition of U.
    * Gaussian: Z - X X^T Z.

    Parameters
    ----------
    n, p : int
        Dimension of the space and of the subspaces, 1 <= p <= n.
    """

    transport_kind: TransportKind = "parallel"
    _parameters: ClassVar[tuple[str, ...]] = ("n", "p")

    def __init__(self, n: int, p: int) -> None:
        self.n, self.p = check_size("Grassmann", "n", n, 1), check_size("Grassmann", "p", p, 1)
        if self.p > self.n:
            raise ValueError(f"Grassmann: p must not exceed n, got n={n}, p={p}")
        super().__init__((self.n, self.p), dim=self.p * (self.n - self.p))

    def _inner(self, x: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray:
        return frobenius(u, v)

    def _dist(self, x: FloatArray, y: FloatArray) -> FloatArray:
        _, _, cos, b = _principal(x, y)
        angles = np.arctan2(_lengths(b), cos)
        return np.sqrt(np.einsum("...i,...i->...", angles, angles))

    def _exp(self, x: FloatArray, u: FloatArray) -> FloatArray:
        squared, v = np.linalg.eigh(transpose(u) @ u)
        angles = np.sqrt(np.maximum(squared, 0))
        vt = transpose(v)
        cosine = scale_columns(v, np.cos(angles)) @ vt
        sinc = scale_columns(v, np.sinc(angles / np.pi)) @ vt
        return polish(x @ cosine + u @ sinc)

    def _log(self, x: FloatArray, y: FloatArray) -> FloatArray:
        v, _, cos, b = _principal(x, y)
        sin = _lengths(b)
        # S / sin S tends to 1; below this S and sin S have long been the same float64, and the
        # squares under the root in `_lengths` are about to underflow.
        tiny = sin < 1e-150
        factor = np.where(tiny, 1.0, np.arctan2(sin, cos) / np.where(tiny, 1.0, sin))
        return b @ transpose(scale_columns(v, factor))

    def _retract(self, x: FloatArray, u: FloatArray) -> FloatArray:
        gram = transpose(u) @ u
        gram += np.eye(self.p)
        return polish((x + u) @ inverse_root(gram))

    def _transport(self, x: FloatArray, y: FloatArray, u: FloatArray) -> FloatArray:
        v, wt, cos, b = _principal(x, y)
        turn = v @ wt
        moved = transpose(b) @ u @ turn
        return u @ turn - (scale_columns(b, 1 / (1 + cos)) + x @ v) @ moved

    def _project(self, x: FloatArray, v: FloatArray) -> FloatArray:
        return v - x @ (transpose(x) @ v)

    _egrad2rgrad = _project
    _from_coordinates = _project

    def _to_coordinates(self, x: FloatArray, u: FloatArray) -> FloatArray:
        return self._spread(u, x).copy()

    def _separation(self, x: FloatArray, y: FloatArray) -> FloatArray:
        return self._size(y - x @ (transpose(x) @ y))

    def _random_point(self, rng: np.random.Generator, size: tuple[int, ...]) -> FloatArray:
        return random_frame(rng, (*size, self.n, self.p))

    def _nearest_point(self, x: FloatArray) -> FloatArray:
        left, _, right = np.linalg.svd(x, full_matrices=False)
        return left @ right

    def _reference_point(self) -> FloatArray:
        return np.eye(self.n, self.p)

    def _contains(self, x: FloatArray, atol: float) -> Any:
        return has_orthonormal_columns(x, atol)


def _principal(
    x: FloatArray, y: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return V, W^T, cos(S) and B = (I - X X^T) Y W."""
    xy = transpose(x) @ y
    v, cos, wt = np.linalg.svd(xy)
    return v, wt, np.minimum(cos, 1.0), (y - x @ xy) @ transpose(wt)


def _lengths(b: FloatArray) -> FloatArray:
    """Lengths of the columns of a matrix or of a stack of matrices."""
    return np.sqrt(np.einsum("...ij,...ij->...j", b, b))
