"""Hyperbolic space as the upper sheet of a hyperboloid."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from veilspan.geometry._arguments import check_size
from veilspan.geometry._linalg import FloatArray, dot, drop
from veilspan.geometry.base import Manifold, TransportKind


class Lorentz(Manifold):
    r"""Vectors of R^n with <x, x>_L = -1 and x_1 > 0, curvature -1, dimension n - 1.

    <u, v>_L = -u_1 v_1 + u_2 v_2 + ... + u_n v_n, positive on tangent vectors <x, u>_L = 0. Write
    x' for x without its first entry.

    * Gaussian: (s, z + s / (1 + x_1) x') with s = <x', z>, z of n - 1 normals: parallel transport
      from the apex. Projecting n ambient normals would not do: its variance along the radius is
      1 + 2 |x'|^2.
    * inner: of these coordinates, u' - u_1 / (1 + x_1) x', far out more accurate than <u, v>_L.
    * log, dist: from q = <y - x, y - x>_L = 4 sinh(dist / 2)^2, without cancellation.
    * parallel transport: u + <y, u>_L / (1 - <x, y>_L) (x + y).

    Parameters
    ----------
    n : int
        Number of entries of a point.
    """

    transport_kind: TransportKind = "parallel"
    _parameters: ClassVar[tuple[str, ...]] = ("n",)

    def __init__(self, n: int) -> None:
        self.n = check_size("Lorentz", "n", n, 2)
        super().__init__((self.n,), dim=self.n - 1, coordinate_shape=(self.n - 1,))

    def _inner(self, x: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray:
        a = self._to_coordinates(x, u)
        return drop(dot(a, a if v is u else self._to_coordinates(x, v)))

    def _dist(self, x: FloatArray, y: FloatArray) -> FloatArray:
        return drop(2 * np.arcsinh(0.5 * np.sqrt(_gap(x, y)[1])))

    def _exp(self, x: FloatArray, u: FloatArray) -> FloatArray:
        c = self._to_coordinates(x, u)
        length = np.sqrt(dot(c, c))
        y = np.cosh(length) * x + (np.sinh(length) / (length + (length == 0))) * u
        return _lift(y)

    def _log(self, x: FloatArray, y: FloatArray) -> FloatArray:
        d, q = _gap(x, y)
        sinh = np.sqrt(q * (1 + 0.25 * q))
        factor = 2 * np.arcsinh(0.5 * np.sqrt(q)) / (sinh + (sinh == 0)) + (sinh == 0)
        return factor * (d - (0.5 * q) * x)

    def _transport(self, x: FloatArray, y: FloatArray, u: FloatArray) -> FloatArray:
        d, q = _gap(x, y)
        # <y, u>_L in coordinates at x, where it does not cancel.
        seen = self._to_coordinates(x, d) - (0.5 * q / (1 + head(x))) * x[..., 1:]
        return u + (dot(seen, self._to_coordinates(x, u)) / (2 + 0.5 * q)) * (x + y)

    def _project(self, x: FloatArray, v: FloatArray) -> FloatArray:
        return v + minkowski(x, v) * x

    def _egrad2rgrad(self, x: FloatArray, g: FloatArray) -> FloatArray:
        flipped = g.copy()
        flipped[..., 0] *= -1
        return self._project(x, flipped)

    def _from_coordinates(self, x: FloatArray, c: FloatArray) -> FloatArray:
        tail = x[..., 1:]
        s = dot(tail, c)
        out = np.empty((*s.shape[:-1], self.n))
        body = out[..., 1:]
        np.multiply(tail, s / (1 + head(x)), out=body)
        body += c
        out[..., :1] = s
        return out

    def _to_coordinates(self, x: FloatArray, u: FloatArray) -> FloatArray:
        return u[..., 1:] - (head(u) / (1 + head(x))) * x[..., 1:]

    def _random_point(self, rng: np.random.Generator, size: tuple[int, ...]) -> FloatArray:
        x = np.empty((*size, self.n))
        x[..., 1:] = rng.standard_normal((*size, self.n - 1)) / np.sqrt(self.n - 1)
        return _lift(x)

    def _nearest_point(self, x: FloatArray) -> FloatArray:
        return _lift(x.copy())

    def _reference_point(self) -> FloatArray:
        return np.eye(self.n)[0]

    def _contains(self, x: FloatArray, atol: float) -> Any:
        size = np.maximum(1, drop(dot(x, x)))
        return (np.abs(drop(minkowski(x, x)) + 1) <= atol * size) & (x[..., 0] > 0)


def head(x: FloatArray) -> FloatArray:
    """First entry, in the form that `dot` returns."""
    return x[0] if x.ndim == 1 else x[..., :1]


def minkowski(u: FloatArray, v: FloatArray) -> FloatArray:
    """<u, v>_L, in the form that `dot` returns."""
    return dot(u, v) - 2 * head(u) * head(v)


def _gap(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return d = y - x and q = <d, d>_L = -2 (1 + <x, y>_L) >= 0.

    Far from the apex that q is a small difference of large products. With t = m.d' / (x_1 + y_1)
    for the unit vector m along x' + y', and r the part of d' orthogonal to m, the equation of the
    sheet gives q (1 - t^2) = |r|^2 + 4 t^2, where nothing cancels as long as q is small.
    """
    d, s = y - x, y + x
    tail, m = d[..., 1:], s[..., 1:]
    mm = dot(m, m)
    along = dot(m, tail) / (mm + (mm == 0))
    r = tail - along * m
    t2 = mm * (along / head(s)) ** 2
    direct = -2 * (1 + minkowski(x, y))
    distant = direct > 0.1 * head(x) * head(y)
    return d, np.where(distant, direct, (dot(r, r) + 4 * t2) / (1 - np.where(distant, 0, t2)))


def _lift(y: FloatArray) -> FloatArray:
    """Set the first entry to sqrt(1 + |y'|^2), in place: rounding cannot leave the sheet."""
    tail = y[..., 1:]
    y[..., :1] = np.sqrt(1 + dot(tail, tail))
    return y
