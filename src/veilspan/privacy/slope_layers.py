r"""A sharp bound on the remove direction of objective perturbation, slope by slope.

One row more moves the tilt along its own direction only, so two neighbouring tables differ by a
map of the line: u -> u - t(u), u ~ N(0, 1) on the table without the row, where the slope t of the
row (in units of the noise) does not increase, falls no faster than ``rate`` = smoothness / lam and
has |t| <= a = clip / s. ``docs/explanation/objective_perturbation.md`` proves (the layer theorem)
that over all such t, for c = e^epsilon >= 1,

    delta(epsilon) <= integral over o in [0, a] of  M(o) + Z(o),
    M(o) = max over v <= u_o of [(1 + rate) phi(v - o) - c phi(v)] / rate,   u_o = epsilon/o + o/2,
    Z(o) = max(0, (1 + rate) phi(o) - c phi(0)) / rate        (0 for slopes of one sign),

and that for one release at one epsilon > k, up to a stated a, nothing less is true of all losses.
(The loss that comes near it depends on epsilon: none meets the whole curve, and under composition
nothing is shown to be met.) M(o) is what the layer of slopes between o and o + do costs where it
costs most. With r = 1 - 1/m, m the likelihood ratio at the best v, k = log(1 + rate) and
A(r) = epsilon - k - log(1 - r),

    v^2 = 2 A / (r (2 - r)),   o = r v,   M = (1 + rate) r phi((1 - r) v) / rate,

as long as o < o_b = sqrt(2 rate epsilon / (2 + rate)); beyond it v = u_o and M is the derivative of
the Gaussian delta in its length, whose integral is known. So only [0, o_b] needs quadrature.

*Quadrature from above.* M does not decrease on [0, o_b], as v > o there, so right ends of cells are
upper bounds. Where (epsilon - k)/o - o/2 >= 1 at a right end, v - o >= 1 holds for every maximiser
of the cell; phi is convex there, M a maximum of convex functions, and trapezoids are upper bounds.
That is proved in real arithmetic. In float64 nothing under the quadrature is a difference of near
numbers (``_slope``), so its error is of the order of 1e-10 or less, which ``ROUNDING`` covers. The
two closed forms are written so that they do not cancel either: both were within 1e-13 of 60 digits
in 3,000 random cases each (a test repeats it).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from veilspan.privacy.loss_variables import Lines

CELLS = 48  # of the quadrature; with POINTS delta is at most 1 % too large below 1e-3 (a test)
POINTS = 320  # of epsilon in the part where delta falls
FLAT_POINTS = 40  # of epsilon below k, where delta is nearly straight in e^epsilon
FARTHEST = 9.3  # normal quantile of the last epsilon: less than 1e-19 is left
ROUNDING = 1e-9  # relative, added to every delta
DENSITY = 1 / math.sqrt(2 * math.pi)
BISECTIONS = 30  # o of the top is then within 1e-9 of a, from above
SQRT2, ROOT = math.sqrt(2), math.sqrt(math.pi / 2)  # R(t) = ROOT erfcx(t / SQRT2)
SHORT = 0.05  # lengths below which the difference of two R is integrated instead, as in ``gdp``
NODES, WEIGHTS = np.polynomial.legendre.leggauss(5)
NO_TAIL, FARTHEST_DENSITY = -30.0, 1e3  # Phi(-t) is 1 to the last bit below, phi(t) is 0 beyond


@dataclass(frozen=True)
class Layers:
    """The worst privacy loss of removing a row with slopes up to ``length`` = a in noise units.

    Slopes have one sign, or both (``sides`` = 2), and fall by at most ``rate`` per unit of u.
    """

    length: float
    rate: float
    sides: int = 1

    def delta(self, epsilon: np.ndarray) -> np.ndarray:
        """Largest delta at each epsilon >= 0, or a little more; an increasing array."""
        k = math.log1p(self.rate)
        total = _inner_layers(self.length, self.rate, epsilon)
        border = np.sqrt(2 * self.rate * epsilon / (2 + self.rate))
        total += np.maximum(
            gaussian_delta(self.length, epsilon) - gaussian_delta(border, epsilon), 0.0
        ) * (border < self.length)
        if self.sides == 2:
            total += _centre(self.length, self.rate, epsilon)
        # The coarser bound of the same page; the smaller one where quadrature is rough.
        coarse = np.where(epsilon >= k, gaussian_delta(self.length, epsilon - k), 1.0)
        return np.asarray(np.minimum(np.minimum(total, coarse) * (1 + ROUNDING), 1.0))

    def survival(self, x: np.ndarray) -> np.ndarray:
        """P(L >= x) of the variable with finitely many values whose delta is nowhere less."""
        values, tails = _atoms(self)
        return np.asarray(tails[np.searchsorted(values, x - 1e-12, side="left")])

    def log_moment(self, order: float) -> float:
        r"""Log E e^(order L), or more.

        A moment is 1 plus an integral of delta(epsilon) with non-negative weights (order + 1) order
        e^(order epsilon) and ``order`` at 0. Up to the last epsilon X of the atoms take their
        delta, which gives their moment with (order + 1) e^(order X) at infinity; beyond it that of
        the coarser variable k + a u + a^2/2, which gives at most its moment from X on. That
        variable bounds every increasing function of the loss, so its whole moment will do as well.
        """
        from scipy.special import log_ndtr

        k, a = math.log1p(self.rate), self.length
        coarse = Lines((0.0, a), (k, a * a / 2 + k)).log_moment(order)
        values, tails = _atoms(self)
        with np.errstate(divide="ignore"):
            logs = order * values + np.log(tails[:-1] - tails[1:])
            last = order * values[-1] + np.log(tails[-1] * (order + 1))
        beyond = order * (k + a * a / 2) + (order * a) ** 2 / 2 + log_ndtr(order * a - FARTHEST)
        fine = float(np.logaddexp(np.logaddexp.reduce(logs), np.logaddexp(last, beyond)))
        return min(coarse, fine)


def gaussian_delta(length: float | np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """Delta of a Gaussian release that one row moves by ``length`` (0 where that is 0).

    As in ``gdp``, phi(t) (R(t) - R(t + length)), and for short lengths the integral of 1 - s R(s):
    the textbook form subtracts nearly equal numbers.
    """
    from scipy.special import erfcx

    far = np.maximum(length, 1e-300)
    with np.errstate(over="ignore"):
        t = np.minimum(epsilon / far - far / 2, FARTHEST_DENSITY)
    near = np.maximum(t, NO_TAIL)
    apart = ROOT * (erfcx(near / SQRT2) - erfcx((near + far) / SQRT2))
    places = near[..., None] + np.asarray(far)[..., None] * (1 + NODES) / 2
    heights = 1 - places * ROOT * erfcx(places / SQRT2)
    close = far / 2 * (heights @ WEIGHTS)
    delta = DENSITY * np.exp(-np.square(near) / 2) * np.where(far < SHORT, close, apart)
    return np.asarray(np.where(t < NO_TAIL, 1.0, np.clip(delta, 0.0, 1.0)))


def _inner_layers(length: float, rate: float, epsilon: np.ndarray) -> np.ndarray:
    """Integral of M over [0, min(a, o_b)], from above, by x = r - least."""
    gap = epsilon - math.log1p(rate)
    top = np.where(gap < 0, np.expm1(epsilon) / (1 + rate), rate / (1 + rate))
    low = np.zeros(len(epsilon))
    for _ in range(BISECTIONS):  # the least x with o >= a, or that of o_b
        middle = (low + top) / 2
        beyond = _slope(middle, gap)[1] >= length
        low, top = np.where(beyond, low, middle), np.where(beyond, middle, top)
    share = 1 - np.linspace(1.0, 0.0, CELLS + 1) ** 2  # M is largest at the top, by far
    r, o = _slope(top[:, None] * share, gap[:, None])
    o = np.maximum.accumulate(o, axis=1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        v = np.where(r > 0, o / r, math.inf)
        value = (1 + rate) / rate * DENSITY * r * np.exp(-np.square((1 - r) * v) / 2)
        convex = gap[:, None] / o[:, 1:] - o[:, 1:] / 2 >= 1
    value = np.where(r > 0, value, 0.0)
    height = np.where(convex, (value[:, :-1] + value[:, 1:]) / 2, value[:, 1:])
    return np.asarray(np.einsum("ij,ij->i", height, np.diff(o, axis=1)))


def _slope(x: np.ndarray, gap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""The parameter r = least + x and its o(r), which is 0 at x = 0 and increases.

    Where epsilon < k, r begins at ``least`` = 1 - e^gap, and A = gap - log(1 - r) is a difference
    of equal numbers there: its rounding, under the root, would cut off the first layers. But
    1 - r = e^gap (1 - x e^-gap), so A = -log(1 - x e^-gap), which does not cancel.
    """
    below = np.minimum(gap, 0.0)
    r = x - np.expm1(below)
    top = np.maximum(gap, 0.0) - np.log1p(-np.minimum(x * np.exp(-below), 1.0 - 2.0**-53))
    return r, np.asarray(np.sqrt(np.maximum(2 * r * top / (2 - r), 0.0)))


def _centre(length: float, rate: float, epsilon: np.ndarray) -> np.ndarray:
    r"""Integral of Z over [0, q]: both signs of the slope at once, possible below k only.

    It is [(1 + rate)(Phi(q) - 1/2) - e^epsilon phi(0) q] / rate. With g = (Phi(q) - 1/2)/(phi(0) q)
    that is phi(0) q e^epsilon (e^(k - epsilon + log g) - 1) / rate. As q^2 <= 2 (k - epsilon) and
    log g >= -q^2/6, the exponent loses no digits.
    """
    left = np.maximum(math.log1p(rate) - epsilon, 0.0)
    reach = np.minimum(length, np.sqrt(2 * left))
    grown = np.expm1(left + _log_mean_density(reach))
    scale = np.exp(np.minimum(epsilon, math.log1p(rate))) * DENSITY
    return np.asarray(np.maximum(scale * reach * grown, 0.0) / rate)


def _log_mean_density(q: np.ndarray) -> np.ndarray:
    """Log of the mean of phi over [0, q], relative to phi(0); a series where q is short."""
    from scipy.special import erf

    x = q / SQRT2
    n = np.arange(1, 20)
    terms = (-1.0) ** n / (np.cumprod(n.astype(float)) * (2 * n + 1))
    series = np.log1p((np.minimum(x, 1.0)[..., None] ** (2 * n)) @ terms)
    direct = np.log(erf(np.maximum(x, 1.0)) * math.sqrt(math.pi) / (2 * np.maximum(x, 1.0)))
    return np.asarray(np.where(x <= 1, series, direct))


@lru_cache(maxsize=64)  # pure: the same layers cost the same
def _atoms(layers: Layers) -> tuple[np.ndarray, np.ndarray]:
    """Losses and survival of a finite variable whose delta is on or above that of ``layers``."""
    a, k = layers.length, math.log1p(layers.rate)
    epsilon = np.concatenate(
        [
            np.linspace(0.0, k, FLAT_POINTS, endpoint=False),
            k + np.linspace(0.0, a * FARTHEST + a * a / 2, POINTS),
        ]
    )
    return atoms_of_profile(epsilon, layers.delta(epsilon))


def atoms_of_profile(epsilon: np.ndarray, delta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Losses x_j >= 0 and P(L >= x_j) with a delta(epsilon) that is not below the true one.

    The true delta is a convex function of e^epsilon, 1 at e^epsilon = 0. It lies below the points
    given, hence below the chords of their lower convex hull, and those are the delta of the
    variable with mass (d_(j-1) - d_j)/(1 - e^(x_(j-1) - x_j)) - (d_j - d_(j+1))/(e^(x_(j+1) - x_j)
    - 1) at each corner x_j, and d_last at infinity. The hull's corners are those where no mass is
    negative. The last element of the tails is the mass at infinity.
    """
    kept, masses = np.arange(len(epsilon)), _masses(epsilon, delta)
    if np.any(masses < 0):
        kept = np.array(_hull(epsilon.tolist(), delta.tolist()))
        masses = np.maximum(_masses(epsilon[kept], delta[kept]), 0.0)
    tails = np.append(masses, delta[kept][-1])[::-1].cumsum()[::-1]
    return epsilon[kept], np.minimum(tails, 1.0)


def _masses(x: np.ndarray, d: np.ndarray) -> np.ndarray:
    steps = np.diff(x)
    fall = -np.diff(d)
    with np.errstate(over="ignore"):
        back = np.concatenate([[1 - d[0]], fall / -np.expm1(-steps)])
        ahead = np.concatenate([fall / np.expm1(steps), [0.0]])
    return np.asarray(back - ahead)


def _hull(x: list[float], d: list[float]) -> list[int]:
    """Corners of the lower convex hull of (e^x, d) and (0, 1), from left to right."""
    kept: list[int] = []
    for j in range(len(x)):
        while kept:
            i = kept[-1]
            before, start = (d[kept[-2]], x[kept[-2]]) if len(kept) > 1 else (1.0, -math.inf)
            back = (before - d[i]) / -math.expm1(start - x[i])
            if back >= (d[i] - d[j]) / math.expm1(min(x[j] - x[i], 700.0)):
                break
            kept.pop()
        kept.append(j)
    return kept
