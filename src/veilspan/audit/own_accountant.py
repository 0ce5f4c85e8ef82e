r"""An accountant of the audits' own: what realised distances cost, by formulas used nowhere else.

The library accounts with ``privacy.gdp`` and ``dp_accounting``, upwards. This file counts from
below and shares no code with them, so that a fault in either shows as a difference.

*Full-batch steps* at distances m_1, m_2, ... (in units of their noise) are one Gaussian pair at
distance m = sqrt(sum m_t^2), with

    2 delta(e) = erfc((e/m - m/2) / sqrt 2) - exp(e) erfc((e/m + m/2) / sqrt 2),  e = epsilon.

*Sampled steps.* A row of contribution u takes part with probability q. The pair of a step is, in
one dimension and with unit noise,

    add-remove    (1-q) N(0) + q N(m)  and  N(0), in both orders,     m = |u|;
    replace-one   (1-q) N(0) + q N(m)  and  (1-q) N(0) + q N(-m),     m = |u - v| / 2.

The second is what two rows at distance 2 m can do at most if both contributions are at most m long;
whoever keeps to a bound C has m <= C, so a correct mechanism is never refuted by it, and a pair of
opposite rows is counted in full.

*From below.* The line is cut into cells; telling only the cell is post-processing, so the pair of
cell masses is easier to hide. Their losses log(p/q) are rounded down to a grid, masses below 1e-15
are dropped. All three only lower delta. Steps are composed by multiplying the
transforms of their loss distributions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from veilspan.privacy.neighbors import Neighbors

CELLS = 2_000  # of the line, per step
BINS = 2**15  # of the joint loss distribution of up to ten steps
MORE_BINS = 2**19  # beyond: every step is rounded down once
LEAST_MASS = 1e-15  # of a cell: rarer ones would stretch the grid of losses for nothing
REACH = 8.5  # standard deviations on both sides; 1e-17 of the mass lies beyond
TRANSFORM_ERROR = 1e-13  # absolute, of a sum over a product of transforms of this size


@dataclass(frozen=True)
class Shift:
    """One step of a release: how far apart its two answers are, in units of its noise.

    Attributes
    ----------
    distance : float
        Of a full-batch step; of a sampled one, if the row takes part.
    rate : float
        Probability that a row takes part.
    """

    distance: float
    rate: float = 1.0


def gaussian_delta(distance: float, epsilon: float) -> float:
    """Delta at ``epsilon`` of two unit Gaussians at a distance."""
    if distance == 0:
        return 0.0
    if math.isinf(distance):
        return 1.0
    near, far = epsilon / distance - distance / 2, epsilon / distance + distance / 2
    # e^epsilon erfc(far) in logarithms: each factor alone may leave the range of float64.
    return max(0.0, (math.erfc(near / math.sqrt(2)) - math.exp(_log_erfc(far) + epsilon)) / 2)


def _log_erfc(x: float) -> float:
    """Log erfc(x / sqrt 2); for large x by its continued fraction (Abramowitz & Stegun 7.1.14)."""
    if x < 30:
        return math.log(math.erfc(x / math.sqrt(2)))
    z, fraction = x / math.sqrt(2), 0.0
    for k in range(40, 0, -1):
        fraction = (k / 2) / (z + fraction)
    return -z * z - math.log(math.sqrt(math.pi) * (z + fraction))


def realised_delta(shifts: Sequence[Shift], epsilon: float, neighbors: Neighbors) -> float:
    """Lower bound on delta at ``epsilon`` of all steps together."""
    whole = math.sqrt(math.fsum(s.distance**2 for s in shifts if s.rate == 1))
    sampled = [s for s in shifts if s.rate < 1 and s.distance > 0]
    if not sampled or math.isinf(whole):
        return gaussian_delta(whole, epsilon)
    if any(math.isinf(s.distance) for s in sampled):
        # Without noise it is seen with certainty whether the row took part.
        return max(s.rate for s in sampled if math.isinf(s.distance))
    directions = (False, True) if neighbors == "add-remove" else (False,)
    return max(
        _composed_delta([Shift(whole), *sampled], epsilon, neighbors, turned)
        for turned in directions
    )


def _composed_delta(
    steps: Sequence[Shift], epsilon: float, neighbors: Neighbors, turned: bool
) -> float:
    """Delta of the composition, one direction."""
    parts = [_losses(s.distance, s.rate, neighbors, turned) for s in steps if s.distance > 0]
    lowest = [float(losses.min()) for _, losses in parts]
    span = math.fsum(float(losses.max()) - low for (_, losses), low in zip(parts, lowest))
    bins = BINS if len(parts) <= 10 else MORE_BINS
    width = max(span, 1e-12) / (bins - len(parts) - 1)
    transform = np.ones(bins // 2 + 1, dtype=complex)
    for (masses, losses), low in zip(parts, lowest):
        places = np.floor((losses - low) / width).astype(int)
        transform *= np.fft.rfft(np.bincount(places, masses, minlength=bins))
    joint = np.fft.irfft(transform, bins)
    losses = math.fsum(lowest) + width * np.arange(bins)
    gain = -np.expm1(np.minimum(epsilon - losses, 0.0))
    return max(0.0, float(gain @ joint) - TRANSFORM_ERROR)


@lru_cache(maxsize=4096)
def _losses(
    distance: float, rate: float, neighbors: Neighbors, turned: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Cell masses under the first table and their losses."""
    if rate == 1:
        first, second = _cells(((1.0, distance),), distance), _cells(((1.0, 0.0),), distance)
    else:
        near = distance if neighbors == "add-remove" else distance / 2
        rest = (1 - rate, 0.0)
        other = ((1.0, 0.0),) if neighbors == "add-remove" else (rest, (rate, -near))
        first, second = _cells((rest, (rate, near)), near), _cells(other, near)
    if turned:
        first, second = second, first
    kept = (first > LEAST_MASS) & (second > 1e-300)
    return first[kept], np.log(first[kept] / second[kept])


def _cells(mixture: tuple[tuple[float, float], ...], near: float) -> np.ndarray:
    """Masses of a mixture of unit Gaussians, given as (weight, mean), accurate in both tails."""
    from scipy.special import ndtr

    edges = np.linspace(-REACH - near, REACH + near, CELLS + 1)
    total = np.zeros(CELLS)
    for weight, mean in mixture:
        low, high = edges[:-1] - mean, edges[1:] - mean
        left = low + high < 0
        masses = ndtr(np.where(left, high, -low)) - ndtr(np.where(left, low, -high))
        total += weight * masses
    return total
