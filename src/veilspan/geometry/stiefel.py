"""The Stiefel manifold: matrices with orthonormal columns, where the basis itself matters."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from veilspan.geometry._arguments import check_size
from veilspan.geometry._linalg import (
    FloatArray,
    expm,
    frobenius,
    inverse_root,
    polish,
    skew,
    sym,
    transpose,
)
from veilspan.geometry.base import Manifold

StiefelMetric = Literal["euclidean", "canonical"]
_ROOT2 = np.sqrt(2.0)


class Stiefel(Manifold):
    r"""n x p matrices X with X^T X = I.

    A tangent vector is U = X Omega + K with Omega skew and X^T K = 0. Both metrics are
    |U|^2 = alpha |Omega|^2 + |K|^2:

    * ``"euclidean"``: alpha = 1, tr(U^T V), the metric of the ambient matrices;
    * ``"canonical"``: alpha = 1/2, tr(U^T (I - X X^T / 2) V), which counts every angle once.

    Geodesics (Edelman, Arias and Smith 1998; Zimmermann and Hueper 2022), with c = 1/alpha:
    ``exp(U) = [X, K] expm([[c Omega, -K^T K], [I, 0]])[:, :p] expm((1 - c) Omega)``.
    Writing K itself for its QR factors saves the factorisation.

    * Gaussian: Z - X sym(X^T Z), and Z - X X^T Z + sqrt(2) X skew(X^T Z) for the canonical metric.
    * Retraction: the polar factor of X + U, and the Cayley transform for the canonical metric;
      each agrees with the geodesics of its metric to second order.
    * Transport: A_y A_x^*, which for the Euclidean metric is projection on the new tangent space.
      Non-expansive, and that is all that privacy needs.

    There is no closed form for `log` and `dist`.

    Parameters
    ----------
    n, p : int
        Rows and columns, 1 <= p <= n.
    metric : {"euclidean", "canonical"}
        Which inner product.
    """

    _parameters: ClassVar[tuple[str, ...]] = ("n", "p", "metric")

    def __init__(self, n: int, p: int, metric: StiefelMetric = "euclidean") -> None:
        self.n, self.p = check_size("Stiefel", "n", n, 1), check_size("Stiefel", "p", p, 1)
        if self.p > self.n:
            raise ValueError(f"Stiefel: p must not exceed n, got n={n}, p={p}")
        if metric not in ("euclidean", "canonical"):
            raise ValueError(f"Stiefel: metric must be 'euclidean' or 'canonical', got {metric!r}")
        self.metric = metric
        self._canonical = metric == "canonical"
        super().__init__((self.n, self.p), dim=self.n * self.p - self.p * (self.p + 1) // 2)

    def _inner(self, x: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray:
        if not self._canonical:
            return frobenius(u, v)
        xt = transpose(x)
        return frobenius(u, v) - 0.5 * frobenius(xt @ u, xt @ v)

    def _exp(self, x: FloatArray, u: FloatArray) -> FloatArray:
        omega = skew(transpose(x) @ u)
        k = u - x @ omega
        c = 1.0 if self._canonical else 2.0
        p = self.p
        block = np.zeros((*omega.shape[:-2], 2 * p, 2 * p))
        block[..., :p, :p] = c * omega
        np.matmul(transpose(k), k, out=block[..., :p, p:])
        block[..., :p, p:] *= -1
        block[..., p:, :p] = np.eye(p)
        flow = expm(block)[..., :p]
        if not self._canonical:
            flow = flow @ expm(-omega)
        return polish(x @ flow[..., :p, :] + k @ flow[..., p:, :])

    def _log(self, x: FloatArray, y: FloatArray) -> FloatArray:
        self._refuse(
            "log",
            "it has no closed form; compare points with 'separation', or use "
            f"Grassmann({self.n}, {self.p}) if only the span matters",
        )

    def _dist(self, x: FloatArray, y: FloatArray) -> FloatArray:
        self._refuse(
            "dist",
            "it has no closed form; use 'separation' (Frobenius distance), or "
            f"Grassmann({self.n}, {self.p}) if only the span matters",
        )

    def _retract(self, x: FloatArray, u: FloatArray) -> FloatArray:
        if self._canonical:
            return _cayley(x, u)
        gram = transpose(u) @ u
        gram += np.eye(self.p)
        return polish((x + u) @ inverse_root(gram))

    def _transport(self, x: FloatArray, y: FloatArray, u: FloatArray) -> FloatArray:
        if self._canonical:
            return super()._transport(x, y, u)
        return self._project(y, self._spread(u, x))

    def _project(self, x: FloatArray, v: FloatArray) -> FloatArray:
        return v - x @ sym(transpose(x) @ v)

    def _egrad2rgrad(self, x: FloatArray, g: FloatArray) -> FloatArray:
        if self._canonical:
            return g - x @ (transpose(g) @ x)
        return self._project(x, g)

    def _from_coordinates(self, x: FloatArray, c: FloatArray) -> FloatArray:
        if not self._canonical:
            return self._project(x, c)
        xc = transpose(x) @ c
        return c - x @ (xc - _ROOT2 * skew(xc))

    def _to_coordinates(self, x: FloatArray, u: FloatArray) -> FloatArray:
        if self._canonical:
            return u - x @ ((1 - 1 / _ROOT2) * (transpose(x) @ u))
        return self._spread(u, x).copy()

    def _random_point(self, rng: np.random.Generator, size: tuple[int, ...]) -> FloatArray:
        return random_frame(rng, (*size, self.n, self.p))

    def _nearest_point(self, x: FloatArray) -> FloatArray:
        left, _, right = np.linalg.svd(x, full_matrices=False)
        return left @ right

    def _reference_point(self) -> FloatArray:
        return np.eye(self.n, self.p)

    def _contains(self, x: FloatArray, atol: float) -> Any:
        return has_orthonormal_columns(x, atol)


def _cayley(x: FloatArray, u: FloatArray) -> FloatArray:
    """Cayley transform (I - W/2)^-1 (I + W/2) X of the skew W with W X = U (Wen and Yin 2013).

    W = L R^T with L = [PU, X], R = [X, -PU], P = I - X X^T / 2, so that a 2p x 2p system is enough.
    """
    half = u - x @ (0.5 * (transpose(x) @ u))
    lead = np.broadcast_shapes(x.shape, u.shape)
    left = np.concatenate([half, np.broadcast_to(x, lead)], axis=-1)
    right = transpose(np.concatenate([np.broadcast_to(x, lead), -half], axis=-1))
    system = np.eye(left.shape[-1]) - 0.5 * (right @ left)
    return polish(x + left @ np.linalg.solve(system, right @ x))


def random_frame(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """Orthonormal columns, uniform (Haar): QR of normals with the signs of R removed."""
    q, r = np.linalg.qr(rng.standard_normal(shape))
    return q * np.sign(np.einsum("...ii->...i", r))[..., None, :]


def has_orthonormal_columns(x: FloatArray, atol: float) -> Any:
    """Tell whether |X^T X - I| is at most ``atol`` in the Frobenius norm; NaN says no."""
    gap = transpose(x) @ x - np.eye(x.shape[-1])
    return np.sqrt(frobenius(gap, gap)) <= atol
