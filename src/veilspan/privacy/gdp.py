r"""Gaussian differential privacy: exact composition, and exact conversion to (epsilon, delta).

A full-batch Gaussian release with noise multiplier z (noise std over sensitivity) is mu-GDP with
mu = 1/z, any adaptive sequence of them is mu-GDP with mu^2 = sum 1/z_t^2 (Dong, Roth & Su 2022,
Corollary 3.3), and mu-GDP is (epsilon, delta)-DP exactly for

    delta(epsilon) = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)

(Balle & Wang 2018, Theorem 8; Dong et al., Corollary 2.13). Nothing is lost on the way, so no
numerical accountant is needed for these.

With t = epsilon/mu - mu/2 one has e^epsilon phi(t + mu) = phi(t), hence

    delta = phi(t) (R(t) - R(t + mu)),      R(t) = Phi(-t)/phi(t) = sqrt(pi/2) erfcx(t/sqrt 2),

which keeps its accuracy where the textbook form subtracts two nearly equal numbers. For small mu
this one would too; there, by R' = t R - 1, the difference is the integral of 1 - s R(s) over
(t, t + mu), whose integrand is positive and smooth.

Rounding. log delta = -t^2/2 + log(R(t) - R(t + mu)) + const. t itself is rounded by a few units of
the larger of epsilon/mu and mu/2, which moves log delta by at most |t| + R(t)/(R(t) - R(t+mu))
<= |t| + 2 + 1/mu times as much, with |t| + 1 in place of 2 + 1/mu where the integral is used; R and
1 - s R(s) are good to a few units times 1 + s^2. All this is far below :func:`_rounding`, which
:func:`delta_of` adds, so that it is never below the truth (tests/privacy/test_gdp.py compares with
sixty digits over the whole range of a budget).
"""

from __future__ import annotations

import math
from functools import lru_cache

# Roots are moved this far (relatively) to the side that keeps the promise: far more than the
# rounding of whoever adds up the squares of what they calibrated, see ``plan`` and ``meter``.
_SAFETY = 1e-9
# Below this mu the difference of two R is an integral: by five nodes of Gauss and Legendre, whose
# error is below mu^10 max |(s R)^(10)| / 1e10, nothing beside a rounding.
_SMALL_MU = 0.05
_UNIT = 2.0**-53
#: Smaller ones, and the densities on the way to them, have no full precision in float64. A budget
#: has a little more (see ``budget``), so that a ledger may cut its delta into parts.
LEAST_DELTA = 1e-304


def delta_of(mu: float, epsilon: float) -> float:
    """Smallest delta for which mu-GDP implies (epsilon, delta)-DP, rounded up."""
    if mu < 0 or math.isnan(mu) or math.isnan(epsilon):
        raise ValueError("mu must be at least 0 and epsilon a number; one of them is not.")
    if mu == 0 or epsilon == math.inf:
        return 0.0
    if mu == math.inf:
        return 1.0
    t = epsilon / mu - mu / 2
    if t < -30:  # Phi(-t) is 1 to the last bit
        return 1.0
    if t > 1e150:  # whose square is no number
        return 0.0
    density = math.exp(-t * t / 2) / math.sqrt(2 * math.pi)
    exact = density * _mills_difference(t, mu)
    return min(1.0, exact * (1 + _rounding(mu, epsilon, t)))


def _mills_difference(t: float, mu: float) -> float:
    """R(t) - R(t + mu) without cancellation; the top of this file says how."""
    from scipy.special import erfcx

    root = math.sqrt(2)
    if mu >= _SMALL_MU:
        return math.sqrt(math.pi / 2) * float(erfcx(t / root) - erfcx((t + mu) / root))
    nodes, weights = _five_nodes()
    places = [t + mu * (1 + node) / 2 for node in nodes]
    heights = [1 - s * math.sqrt(math.pi / 2) * float(erfcx(s / root)) for s in places]
    return mu / 2 * math.fsum(weight * height for weight, height in zip(weights, heights))


@lru_cache(maxsize=1)
def _five_nodes() -> tuple[tuple[float, ...], tuple[float, ...]]:
    from numpy.polynomial.legendre import leggauss

    nodes, weights = leggauss(5)
    return tuple(nodes.tolist()), tuple(weights.tolist())


def _rounding(mu: float, epsilon: float, t: float) -> float:
    """Bound on the relative error of delta in float64: the terms named at the top of this file.

    16 units stand for what is called a few there.
    """
    terms = epsilon / mu + mu / 2
    return 16 * _UNIT * (4 + 2 * t * t + (abs(t) + 2) * (terms + 2) + min(1 / mu, 1 / _SMALL_MU))


def epsilon_of(mu: float, delta: float) -> float:
    """Smallest epsilon for which mu-GDP implies (epsilon, delta)-DP, rounded up."""
    _check_delta(delta)
    if mu == math.inf:
        return math.inf
    if delta_of(mu, 0.0) <= delta:
        return 0.0
    high = mu * mu / 2 + mu * math.sqrt(2 * math.log(1 / delta))  # the tail bound, always enough
    from scipy.optimize import brentq

    def excess(epsilon: float) -> float:
        # In logarithms the curve is smooth to the end; 1e-320 keeps the one of 0 finite.
        return math.log(max(delta_of(mu, epsilon), 1e-320)) - math.log(delta)

    epsilon = brentq(excess, 0.0, high, xtol=1e-13 * high, rtol=1e-13) * (1 + _SAFETY)
    while delta_of(mu, epsilon) > delta:
        epsilon *= 1 + _SAFETY
    return float(epsilon)


@lru_cache(maxsize=256)
def mu_of(epsilon: float, delta: float) -> float:
    """Largest mu for which mu-GDP implies (epsilon, delta)-DP, rounded down."""
    _check_delta(delta)
    if math.isnan(epsilon) or epsilon < 0:
        raise ValueError(f"epsilon must be >= 0; got {epsilon}.")
    if epsilon == math.inf:
        return math.inf
    from scipy.optimize import brentq

    def excess(log_mu: float) -> float:
        return math.log(max(delta_of(math.exp(log_mu), epsilon), 1e-320)) - math.log(delta)

    # delta_of increases in mu from 0 to 1, so widening always ends.
    low = high = math.log(epsilon + math.sqrt(delta)) / 2
    while excess(low) > 0:
        low -= 1.0
    while excess(high) < 0:
        high += 1.0
    mu = math.exp(brentq(excess, low, high, xtol=1e-12, rtol=1e-14)) * (1 - _SAFETY)
    while delta_of(mu, epsilon) > delta:
        mu *= 1 - _SAFETY
    return mu


def total_mu(mus: list[float]) -> float:
    """Mu of an adaptive composition: the root of the sum of squares, which loses nothing."""
    return math.sqrt(math.fsum(mu * mu for mu in mus))


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie strictly between 0 and 1; got {delta}.")
    if delta < LEAST_DELTA:
        raise ValueError(f"delta must be at least {LEAST_DELTA:g}; got {delta:g}.")
