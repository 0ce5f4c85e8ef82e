r"""Rényi differential privacy of events: a cross-check, and what a running ledger adds up.

A privacy loss distribution may only be used for a schedule fixed in advance. A ledger that admits
fits one after the other, each chosen after seeing the last, must add something that stays valid
under such choices: mu^2 for Gaussian releases, or the vector of Rényi divergences (Feldman & Zrnic
2021). Conversion to (epsilon, delta) uses Canonne, Kamath & Steinke 2020, Proposition 12.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from veilspan.privacy.events import (
    Event,
    GaussianEvent,
    ObjectiveEvent,
    SampledGaussianEvent,
    SearchEvent,
    merge,
)
from veilspan.privacy.neighbors import Neighbors, check_neighbors
from veilspan.privacy.objective import renyi_objective

#: Orders at which divergences are added up. The best is near 1 where epsilon is large and in the
#: hundreds where it is small. On 18 Gaussian and sampled releases, twice as many orders lowered
#: epsilon by at most 2.3 %, and half as many raised it by up to 28 %.
ORDERS: tuple[float, ...] = (
    *(1 + x / 10 for x in range(1, 100)),
    *(float(a) for a in range(11, 65)),
    *(80.0, 96.0, 128.0, 192.0, 256.0, 384.0, 512.0, 768.0, 1024.0),
)


def renyi_divergences(
    events: Iterable[Event],
    orders: Sequence[float] = ORDERS,
    *,
    neighbors: Neighbors = "replace-one",
) -> np.ndarray:
    """Rényi divergence of all events together at each order (additive over adaptive steps)."""
    check_neighbors(neighbors)
    total = np.zeros(len(orders))
    for event in merge(events):
        if event.noise_multiplier == 0:
            return np.full(len(orders), math.inf)
        if isinstance(event, GaussianEvent):
            total += np.asarray(orders) * event.mu**2 / 2
        elif isinstance(event, ObjectiveEvent):
            total += event.count * renyi_objective(event, orders, neighbors)
        elif isinstance(event, SearchEvent):
            total += event.count * _search(event, orders, neighbors)
        else:
            total += event.count * _sampled(event, orders, neighbors)
    return total


def epsilon_renyi(
    events: Iterable[Event],
    delta: float,
    *,
    neighbors: Neighbors = "replace-one",
    orders: Sequence[float] = ORDERS,
) -> float:
    """Epsilon by Rényi accounting: never below the truth, a few percent above the exact one."""
    divergences = renyi_divergences(events, orders, neighbors=neighbors)
    a = np.asarray(orders)
    if not divergences.any():
        return 0.0
    epsilons = divergences + np.log1p(-1 / a) - (np.log(delta) + np.log(a)) / (a - 1)
    return float(max(0.0, np.min(epsilons)))


def delta_renyi(
    events: Iterable[Event],
    epsilon: float,
    *,
    neighbors: Neighbors = "replace-one",
    orders: Sequence[float] = ORDERS,
) -> float:
    """Delta at epsilon by Rényi accounting, at most 1: the same conversion, solved for delta."""
    divergences = renyi_divergences(events, orders, neighbors=neighbors)
    a = np.asarray(orders)
    logs = (a - 1) * (divergences - epsilon + np.log1p(-1 / a)) - np.log(a)
    return float(min(1.0, math.exp(min(0.0, float(np.min(logs))))))


def _search(event: SearchEvent, orders: Sequence[float], neighbors: Neighbors) -> np.ndarray:
    """Divergence of one search: that of its dearest trial and what the choice adds."""
    from veilspan.privacy.random_search import search_divergences

    kinds = [renyi_divergences(one, orders, neighbors=neighbors) for one in set(event.trials)]
    found = search_divergences(event, np.max(kinds, axis=0), orders, neighbors)
    return np.asarray(found)


def _sampled(
    event: SampledGaussianEvent, orders: Sequence[float], neighbors: Neighbors
) -> np.ndarray:
    """Divergence of one Poisson-sampled step, by quadrature over the dominating pair.

    The pair is that of ``accounting``; its densities are sums of two Gaussians, so the trapezoidal
    rule on a uniform grid converges geometrically and the range is cut where the integrand is
    below e^-60 of its peak.
    """
    s, q = event.noise_multiplier, event.sampling_rate
    # 40 points a standard deviation; at most two million, for multipliers below 0.05 or so.
    reach = 1 + 40 * s + max(orders)  # E_Q (P/Q)^a peaks within |y| <= a
    y = np.linspace(-reach, reach, min(2_000_001, max(40_001, int(2 * reach / s * 40) | 1)))

    def log_mixture(shift: float) -> np.ndarray:
        zero, moved = -(y**2) / (2 * s * s), -((y - shift) ** 2) / (2 * s * s)
        return np.logaddexp(math.log1p(-q) + zero, math.log(q) + moved)

    if neighbors == "replace-one":
        pairs = [(log_mixture(1.0), log_mixture(-1.0))]
    else:
        plain = -(y**2) / (2 * s * s)
        pairs = [(log_mixture(1.0), plain), (plain, log_mixture(1.0))]
    step = math.log(y[1] - y[0]) - math.log(s * math.sqrt(2 * math.pi))
    worst = [max(_log_integral(a * p + (1 - a) * r) + step for p, r in pairs) for a in orders]
    return np.array([max(0.0, value) / (a - 1) for value, a in zip(worst, orders)])


def _log_integral(exponent: np.ndarray) -> float:
    peak = float(exponent.max())
    return peak + math.log(float(np.exp(exponent - peak).sum()))
