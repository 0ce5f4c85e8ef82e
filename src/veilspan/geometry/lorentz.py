"""Hyperbolic space as the upper sheet of a hyperboloid."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from veilspan.geometry._arguments import check_size
from veilspan.geometry._linalg import FloatArray, dot, drop
from veilspan.geometry._twofold import inner, two_product, two_sum
from veilspan.geometry.base import Manifold, TransportKind

#: Entries of a block of points: 64 kilobytes, a dozen of which stay in the cache.
_ENTRIES = 2**13
#: Two points count as distant where q exceeds this share of the product of their first entries:
#: there q is no small difference of large numbers, and the direct formula has all its digits. The
#: place hardly matters: from 0.025 to 0.4, 1,500 random pairs had the same errors of `dist`.
_DISTANT = 0.1
#: |x'|^2 below which x is the apex up to rounding, far above where squares underflow.
_AT_APEX = 1e-200


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
    * coordinates of log: asinh(|v|) v / |v| with v the boost of y that takes x to the apex
      (`_boost`), to a few roundings at any distance from the apex below 35. The entries of log
      itself are up to e^r times longer, and coordinates made of them lose as many digits.

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

    def _log_coordinates(self, x: FloatArray, y: FloatArray) -> FloatArray:
        if x.ndim > 1 or y.ndim > 2:
            return super()._log_coordinates(x, y)
        v = _boost(x[1:], np.atleast_2d(y)[:, 1:])
        length = np.sqrt(dot(v, v))
        v *= np.arcsinh(length) / (length + (length == 0)) + (length == 0)
        return v.reshape((*y.shape[:-1], self.n - 1))

    def _exp_coordinates(self, x: FloatArray, c: FloatArray) -> FloatArray:
        # The boost of (cosh |c|, sinh |c| c / |c|) that takes the apex to x.
        length = np.sqrt(dot(c, c))
        sinhc = np.sinh(length) / (length + (length == 0)) + (length == 0)
        tail = x[..., 1:]
        along = np.cosh(length) + sinhc * dot(tail, c) / (1 + head(x))
        y = np.empty((*np.broadcast_shapes(x.shape[:-1], c.shape[:-1]), self.n))
        y[..., 1:] = sinhc * c + along * tail
        return _lift(y)

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
    """First entry x_1, in the form that `dot` returns: a scalar, or with the last axis kept."""
    return x[0] if x.ndim == 1 else x[..., :1]


def minkowski(u: FloatArray, v: FloatArray) -> FloatArray:
    """<u, v>_L, in the form that `dot` returns: a scalar, or with the last axis kept."""
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
    distant = direct > _DISTANT * head(x) * head(y)
    return d, np.where(distant, direct, (dot(r, r) + 4 * t2) / (1 - np.where(distant, 0, t2)))


def _boost(x: FloatArray, y: FloatArray) -> FloatArray:
    r"""Entries after the first of each y, boosted so that x comes to the apex; |v| = sinh(dist).

    Points are given by their entries x', y' after the first alone, which say all. The boost is
    v = y' - y_1 x' + (x'.y') x' / (1 + x_1), a difference of numbers e^(2 r) times as long as v.
    Write d = y' - x' = s x' + w with w orthogonal to x'. Then v = w + t x'/|x'|,

        t = |x'| ((1 + s) x_1 - y_1) = |x'| (s (2 + s) - |w|^2) / ((1 + s) x_1 + y_1),

    the second form by x_1^2 = 1 + |x'|^2 and y_1^2 = 1 + (1 + s)^2 |x'|^2 + |w|^2, for 1 + s > 0.

    Error. d is held exactly in two parts, and s and w are computed with twice the digits: w errs by
    u |w| and O(n u^2) |d|. The entries after the first of a point that moves with speed 1 move with
    speed at most e^r at distance r of the apex, so |d| <= e^r (e^D - 1) <= 2 e^r |v| for D = dist,
    and the second term is below u |v| as long as n e^r u is well below 1 (r < 33 or so). In t two
    terms cancel, T = |x'| |w|^2 / ((1 + s) x_1 + y_1) and t + T, each known to a few u of itself.
    They are not long: the boost back gives y_1 = x_1 cosh(D) + |x'| t. If t >= 0 then
    y_1 >= |x'| |w| and T <= |w|. If t < 0 then y_1 >= |x'| (sqrt(1 + |w|^2 + t^2) - |t|)
    >= |x'| (1 + |w|^2) / (sqrt(1 + |w|^2) + 2 |t|), hence T <= |w| + 2 |t|. So T <= 3 |v|, and v is
    known to a few u |v|. Further out, and where squares overflow, the result is less exact, but a
    function of x and that y alone all the same.
    """
    size = float(dot(x, x))
    if size < _AT_APEX:  # the boost is the identity to first order, and x'/|x'| is not needed
        return y - np.sqrt(1 + dot(y, y)) * x
    out = np.empty(y.shape)
    step = max(1, _ENTRIES // len(x))
    for i in range(0, len(y), step):
        out[i : i + step] = _boost_block(x, size, y[i : i + step])
    return out


def _boost_block(x: FloatArray, size: float, y: FloatArray) -> FloatArray:
    """As `_boost`, for as many points as stay in the cache.

    Inside, points lie along the last axis, so that `_twofold` adds up over the first one. A pair of
    arrays (value, correction) stands for their sum with twice the digits of float64.
    """
    base = x[:, None]
    gap, rest = two_sum(np.ascontiguousarray(y.T), -base)
    square = inner(base, base, np.zeros_like(base))
    along = inner(base, gap, rest)
    # s = along / square to twice the digits: a quotient, and a second one of what it leaves.
    high = along[0] / square[0]
    back, error = two_product(high, square[0])
    low = (((along[0] - back) - error) + along[1] - high * square[1]) / square[0]
    # w = d - s x', the same way.
    part, error = two_product(base, high)
    total, lost = two_sum(gap, -part)
    w = np.ascontiguousarray((total + (((lost - error) + rest) - low * base)).T)
    s = (high + low)[:, None]
    near, far = two_sum(np.ones_like(high), high)
    ratio = (near + (far + low))[:, None]  # 1 + s, which may be far shorter than s
    root, head_x, head_y = np.sqrt(size), np.sqrt(1 + size), np.sqrt(1 + dot(y, y))
    # The form of t that does not cancel needs 1 + s > 0; behind x, the plain one does not either.
    ahead = ratio > 0
    below = np.where(ahead, ratio * head_x + head_y, 1.0)
    t = np.where(ahead, (s * (2 + s) - dot(w, w)) / below, ratio * head_x - head_y) * root
    w += t * (x / root)
    return w


def _lift(y: FloatArray) -> FloatArray:
    """Set the first entry to sqrt(1 + |y'|^2), in place: rounding cannot leave the sheet."""
    tail = y[..., 1:]
    y[..., :1] = np.sqrt(1 + dot(tail, tail))
    return y
