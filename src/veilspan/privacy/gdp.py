r"""Gaussian differential privacy, exactly.

A full-batch Gaussian release with noise multiplier z (noise std over sensitivity) is mu-GDP with
mu = 1/z, any adaptive sequence of them is mu-GDP with mu^2 = sum 1/z_t^2 (Dong, Roth & Su 2022,
Corollary 3.3), and mu-GDP is (epsilon, delta)-DP exactly for

    delta(epsilon) = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)

(Balle & Wang 2018, Theorem 8; Dong et al., Corollary 2.13). Nothing is lost on the way, so no
numerical accountant is needed for these.

With t = epsilon/mu - mu/2 one has e^epsilon phi(t + mu) = phi(t), hence

    delta = phi(t) (R(t) - R(t + mu)),      R(t) = Phi(-t)/phi(t) = sqrt(pi/2) erfcx(t/sqrt 2),

which keeps its accuracy where the textbook form subtracts two nearly equal numbers.
"""

from __future__ import annotations

import math
from functools import lru_cache

# Roots are moved this far (relatively) to the side that keeps the promise. The functions are
# accurate to about 1e-12, see tests/privacy/test_gdp.py.
_SAFETY = 1e-9


def delta_of(mu: float, epsilon: float) -> float:
    """Smallest delta for which mu-GDP implies (epsilon, delta)-DP."""
    if mu < 0 or math.isnan(mu) or math.isnan(epsilon):
        raise ValueError("mu must be >= 0 and epsilon a number.")
    if mu == 0 or epsilon == math.inf:
        return 0.0
    if mu == math.inf:
        return 1.0
    from scipy.special import erfcx, log_ndtr, ndtr

    t = epsilon / mu - mu / 2
    if t < -30:  # erfcx would overflow; Phi(-t) is 1 and the second term is tiny there
        return float(ndtr(-t) - math.exp(epsilon + log_ndtr(-t - mu)))
    density = math.exp(-t * t / 2) / math.sqrt(2 * math.pi)
    mills = math.sqrt(math.pi / 2) * (erfcx(t / math.sqrt(2)) - erfcx((t + mu) / math.sqrt(2)))
    return min(1.0, float(density * mills))


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
    """Mu of an adaptive composition: the root of the sum of squares."""
    return math.sqrt(math.fsum(mu * mu for mu in mus))


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie strictly between 0 and 1; got {delta}.")
