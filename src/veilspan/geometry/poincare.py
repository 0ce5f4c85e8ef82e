"""Hyperbolic space as the open unit ball, where points are easy to draw and to bound."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from veilspan.geometry._arguments import check_size
from veilspan.geometry._linalg import FloatArray, dot, drop
from veilspan.geometry.base import Manifold, TransportKind

#: Points are kept this far inside the ball, at hyperbolic distance about 35 from the centre: nine
#: units in the last place, without which 1 - |x|^2 could round to 0.
_MARGIN = 1e-15


class PoincareBall(Manifold):
    r"""The open unit ball of R^n with <u, v>_x = 4 u.v / (1 - |x|^2)^2, curvature -1.

    The textbook formulas subtract nearly equal numbers near the boundary. Here, with d = y - x,
    a = 1 - |x|^2, b = 1 - |y|^2:

    * exp: x + a r q / |q|^2, q = u/|u| + r x, r = tanh(|u| / a): Moebius addition of x and r u/|u|
      with the common part taken out;
    * log: along a d - |d|^2 x, with the length of the distance;
    * dist: 2 asinh(|d| / sqrt(a b));
    * parallel transport: b/a times the gyration gyr[y, -x] u, expanded in d;
    * Gaussian: (a / 2) z, since the metric only scales.

    Parameters
    ----------
    n : int
        Dimension of the ball.
    """

    transport_kind: TransportKind = "parallel"
    _parameters: ClassVar[tuple[str, ...]] = ("n",)

    def __init__(self, n: int) -> None:
        self.n = check_size("PoincareBall", "n", n, 1)
        super().__init__((self.n,), dim=self.n)

    def _inner(self, x: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray:
        return drop(4 * dot(u, v) / (1 - dot(x, x)) ** 2)

    def _dist(self, x: FloatArray, y: FloatArray) -> FloatArray:
        return drop(_distance(1 - dot(x, x), 1 - dot(y, y), y - x))

    def _exp(self, x: FloatArray, u: FloatArray) -> FloatArray:
        length = np.sqrt(dot(u, u))
        a = 1 - dot(x, x)
        radius = np.tanh(length / a)
        q = u / (length + (length == 0)) + radius * x
        squared = dot(q, q)
        q *= a * radius / (squared + (squared == 0))
        q += x
        return _keep_inside(q)

    def _log(self, x: FloatArray, y: FloatArray) -> FloatArray:
        d = y - x
        a, b, dd = 1 - dot(x, x), 1 - dot(y, y), dot(d, d)
        direction = a * d - dd * x
        length = np.sqrt(dot(direction, direction))
        return (0.5 * a * _distance(a, b, d) / (length + (length == 0))) * direction

    def _transport(self, x: FloatArray, y: FloatArray, u: FloatArray) -> FloatArray:
        d = y - x
        xx, yy, dd, xd = dot(x, x), dot(y, y), dot(d, d), dot(x, d)
        xu, du = dot(x, u), dot(d, u)
        a, b = 1 - xx, 1 - yy
        along_d = (2 * xd - a) * xu - xx * du
        along_x = a * du - dd * xu
        return (b / a) * (u + (2 / (dd + a * b)) * (along_d * d + along_x * x))

    def _project(self, x: FloatArray, v: FloatArray) -> FloatArray:
        return self._spread(v, x).copy()

    def _egrad2rgrad(self, x: FloatArray, g: FloatArray) -> FloatArray:
        return (0.5 * (1 - dot(x, x))) ** 2 * g

    def _from_coordinates(self, x: FloatArray, c: FloatArray) -> FloatArray:
        return (0.5 * (1 - dot(x, x))) * c

    def _to_coordinates(self, x: FloatArray, u: FloatArray) -> FloatArray:
        return (2 / (1 - dot(x, x))) * u

    def _random_point(self, rng: np.random.Generator, size: tuple[int, ...]) -> FloatArray:
        # A Gaussian of expected squared norm 1 at the centre, followed along the geodesic.
        u = rng.standard_normal((*size, self.n)) * (0.5 / np.sqrt(self.n))
        return self._exp(np.zeros(self.n), u)

    def _reference_point(self) -> FloatArray:
        return np.zeros(self.n)

    def _contains(self, x: FloatArray, atol: float) -> Any:
        return drop(dot(x, x)) < 1


def _distance(a: FloatArray, b: FloatArray, d: FloatArray) -> FloatArray:
    """Distance from d = y - x, a = 1 - |x|^2 and b = 1 - |y|^2, accurate for close points too."""
    return 2 * np.arcsinh(np.sqrt(dot(d, d) / (a * b)))


def _keep_inside(y: FloatArray) -> FloatArray:
    """Pull points that rounding put on the boundary back into the ball."""
    squared = dot(y, y)
    limit = 1 - _MARGIN
    if np.max(squared, initial=0.0) <= limit * limit:
        return y
    return y * np.minimum(1, limit / np.sqrt(np.maximum(squared, 0.5)))
