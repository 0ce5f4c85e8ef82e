r"""The arithmetic of a stream: how far one row turns the basis, and the loop over rows.

Plain functions, compiled by :mod:`veilspan.nonprivate.grouse.kernels` if Numba is there; the NumPy
engine calls :func:`turn` as it is. A stream remembers one array of numbers between rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray

GREEDY, NOISY, CONSTANT, DIMINISHING = 0, 1, 2, 3


class Settings(NamedTuple):
    """What the loop over rows needs to know, as plain numbers (also for compiled code)."""

    kind: int
    size: float  # constant fraction, or the first one of a diminishing rule
    warm_up: float  # rows taken greedily at first; the time scale of a diminishing rule
    noise_ratio: float  # noise relative to signal as given; negative: estimate it
    rank: int  # dimension d of the subspace
    gain: float  # one over the rows that slow averages remember
    floor: float  # smallest fraction
    alarm: float  # height of the sum at which a change is flagged; 0 never does


# Places in the memory of a stream.
ROWS = 0  # rows that came, also those without use
SKIPPED = 1  # rows with too few observed entries
LEARNED = 2  # rows learned from
AGE = 3  # the same since the start or the last change
WANTED = 4  # rows that the starting basis is still to be built from
LEVEL = 5  # recent residual per degree of freedom
NOISE = 6  # estimated variance of the noise per entry
EXCESS = 7  # expected error of the subspace in the residual, relative to the noise
LENGTH = 8  # mean squared norm of the coefficients
POWER = 9  # mean square of an observed entry
USUAL = 10  # usual surprise at a residual
SPREAD = 11  # mean square of its departures
ALARM = 12  # sum of them that flags a change
CHANGES = 13  # changes flagged
LAST_CHANGE = 14  # the row of the last one
SCALE = 15  # size of an ordinary residual entry, for the robust fits
SIZE = 16

SMALLEST_PIVOT = 1e-3  # of a normal matrix, relative to the mean eigenvalue m/n
_UNKNOWN_EXCESS = 50.0  # before anything is known, and when the subspace has changed
_BOLDNESS = 1.5  # gain relative to the best for equally strong directions: see NoisyStep
_SURPRISE = 5.0  # normal quantile beyond which noise and expected error do not explain a residual
_LARGEST_SURPRISE, _ORDINARY_SURPRISE = 6.0, 1.0  # see _watch
_ROUNDING = 1e-28  # of a squared residual entry, relative to a squared entry


def new_memory() -> Array:
    """The memory of a stream before its first row."""
    return np.zeros(SIZE)


def skip(memory: Array) -> float:
    """Count a row that cannot be used; its residual ratio is unknown."""
    memory[ROWS], memory[SKIPPED] = memory[ROWS] + 1.0, memory[SKIPPED] + 1.0
    return np.nan


def turn(
    settings: Settings, memory: Array, energy: float, residual: float, projection: float, m: int
) -> float:
    """Tangent of the angle to turn by, with the memory brought up to date.

    The row has m observed entries; ``energy``, ``residual`` and ``projection`` are the squared
    norms of these, of their residual and of the row's coefficients.
    """
    memory[ROWS] += 1.0
    if not (energy > 0.0 and projection > 0.0):  # nothing to turn towards, or from
        return 0.0
    memory[LEARNED] += 1.0
    memory[AGE] += 1.0
    spare = m - settings.rank
    _watch(settings, memory, residual / spare, projection, residual / energy, spare)
    fraction = _fraction(settings, memory, energy, residual, projection, spare)
    fraction = max(fraction, settings.floor)
    _learn_noise(settings, memory, residual / spare, projection, fraction, spare)
    memory[POWER] += max(1.0 / memory[LEARNED], settings.gain) * (energy / m - memory[POWER])
    if residual <= 1e-30 * energy:  # rounding has no direction
        return 0.0
    return fraction * math.sqrt(residual / projection)


def _fraction(
    settings: Settings, memory: Array, energy: float, residual: float, projection: float, spare: int
) -> float:
    if settings.kind == CONSTANT:
        return settings.size
    if settings.kind == DIMINISHING:
        return settings.size * min(1.0, settings.warm_up / memory[AGE])
    if settings.kind == GREEDY or memory[AGE] <= settings.warm_up:
        return 1.0
    if settings.noise_ratio >= 0.0:  # eq. (8)
        ratio = settings.noise_ratio
        noise = ratio / (1.0 + ratio) * energy * spare / (spare + settings.rank)
        return max(0.0, 1.0 - noise / max(residual, 1e-300))
    noise = memory[NOISE] * spare
    excess = memory[EXCESS] * projection / memory[LENGTH]
    part = 2.0 / (9.0 * spare)  # Wilson and Hilferty's quantile of chi-square
    surprising = noise * (1.0 + excess) * (1.0 - part + _SURPRISE * math.sqrt(part)) ** 3
    if residual > surprising:
        return 1.0 - noise / residual
    return _BOLDNESS * excess / (1.0 + _BOLDNESS * excess)


def _learn_noise(
    settings: Settings, memory: Array, level: float, projection: float, fraction: float, spare: int
) -> None:
    """Level of the noise, and the expected error of the subspace: see ``NoisyStep``."""
    memory[EXCESS] = memory[EXCESS] if memory[EXCESS] > 0.0 else _UNKNOWN_EXCESS
    slow = max(1.0 / memory[LEARNED], settings.gain)
    quick = max(1.0 / memory[LEARNED], 1.0 / (2.0 * settings.rank + 10.0))
    memory[LENGTH] += slow * (projection - memory[LENGTH])
    memory[LEVEL] += quick * (level - memory[LEVEL])
    target = memory[LEVEL] / (1.0 + memory[EXCESS])
    step = target - memory[NOISE]
    if memory[AGE] <= settings.warm_up:
        memory[NOISE] = target
    elif step < 0.0:
        memory[NOISE] += quick * step
    else:
        memory[NOISE] += settings.gain * min(step, max(memory[NOISE], 0.01 * target))
    square = fraction * fraction
    relative = (projection + square * memory[NOISE] * spare) / memory[LENGTH]
    change = square / relative - (2.0 * fraction - square) * memory[EXCESS]
    memory[EXCESS] = min(memory[EXCESS] + change / settings.rank, _UNKNOWN_EXCESS)


def _watch(
    settings: Settings, memory: Array, level: float, projection: float, ratio: float, spare: int
) -> None:
    """Flag a change by Page's cumulative sum of surprise at the residuals.

    Surprise is the normal score of chi-square (Wilson & Hilferty 1931), given the estimated noise
    and expected error, relative to its own usual mean and spread. At most 6 count, less 1, and less
    where the basis explains half of the row: a wild row spoils one direction, a change all.
    """
    settled = memory[AGE] > settings.warm_up + 4.0 * settings.rank + 50.0
    if settings.alarm <= 0.0 or not settled or level <= _ROUNDING * memory[POWER]:
        return
    expected = memory[NOISE] * (1.0 + memory[EXCESS] * projection / memory[LENGTH])
    part = 2.0 / (9.0 * spare)
    score = (level / max(expected, _ROUNDING * memory[POWER])) ** (1.0 / 3.0) - 1.0 + part
    spread = max(math.sqrt(memory[SPREAD]), 1.0)
    surprise = (score / math.sqrt(part) - memory[USUAL]) / spread
    surprise = max(-_LARGEST_SURPRISE, min(_LARGEST_SURPRISE, surprise))
    memory[ALARM] = max(0.0, memory[ALARM] + min(1.0, 2.0 * ratio) * surprise - _ORDINARY_SURPRISE)
    memory[USUAL] += settings.gain * surprise * spread
    memory[SPREAD] += settings.gain * ((surprise * spread) ** 2 - memory[SPREAD])
    if memory[ALARM] >= settings.alarm:
        memory[CHANGES] += 1.0
        memory[LAST_CHANGE] = memory[ROWS]
        # Back to the warm-up.
        memory[ALARM], memory[AGE], memory[EXCESS] = 0.0, 1.0, _UNKNOWN_EXCESS


def full_rows(basis: Array, rows: Array, settings: Settings, memory: Array, ratios: Array) -> None:
    """Rows without missing entries, one after another; ``basis`` and ``memory`` change in place."""
    d, n = basis.shape
    weights, rest = np.empty(d), np.empty(n)
    for t in range(rows.shape[0]):
        row = rows[t]
        energy, residual, projection = 0.0, 0.0, 0.0
        rest[:] = row
        for i in range(n):
            energy += row[i] * row[i]
        for j in range(d):
            total = 0.0
            for i in range(n):
                total += basis[j, i] * row[i]
            weights[j] = total
            projection += total * total
        for j in range(d):
            weight = weights[j]
            for i in range(n):
                rest[i] -= weight * basis[j, i]
        for i in range(n):
            residual += rest[i] * rest[i]
        ratios[t] = min(residual / energy, 1.0) if energy > 0.0 else 0.0
        tangent = turn(settings, memory, energy, residual, projection, n)
        if tangent > 0.0:
            factors = turn_factors(tangent, residual, projection)
            turn_basis(basis, weights, row - rest, rest, factors)


def gap_rows(basis: Array, rows: Array, settings: Settings, memory: Array, ratios: Array) -> None:
    """Rows with missing entries (NaN): least squares on what was observed.

    The residual, zero elsewhere (Balzano, Nowak & Recht 2010), is orthogonal to the basis by the
    normal equations, so the step keeps the basis orthonormal.
    """
    d, n = basis.shape
    places = np.empty(n, np.int64)
    seen, values = np.empty((n, d)), np.empty(n)
    weights, rest, fitted = np.empty(d), np.empty(n), np.empty(n)
    for t in range(rows.shape[0]):
        m = 0
        energy, residual, projection = 0.0, 0.0, 0.0
        rest[:] = 0.0
        for i in range(n):
            if not np.isnan(rows[t, i]):
                places[m] = i
                values[m] = rows[t, i]
                energy += values[m] * values[m]
                m += 1
        for k in range(m):
            for j in range(d):
                seen[k, j] = basis[j, places[k]]
        if m <= d or not solve_observed(seen, values, m, n, weights):
            ratios[t] = skip(memory)
            continue
        for j in range(d):
            projection += weights[j] * weights[j]
        for k in range(m):
            total = values[k]
            for j in range(d):
                total -= seen[k, j] * weights[j]
            rest[places[k]] = total
            residual += total * total
        ratios[t] = min(residual / energy, 1.0) if energy > 0.0 else 0.0
        tangent = turn(settings, memory, energy, residual, projection, m)
        if tangent > 0.0:
            factors = turn_factors(tangent, residual, projection)
            fitted[:] = 0.0
            for j in range(d):
                for i in range(n):
                    fitted[i] += weights[j] * basis[j, i]
            turn_basis(basis, weights, fitted, rest, factors)


def turn_basis(
    basis: Array, weights: Array, fitted: Array, rest: Array, factors: tuple[float, float]
) -> None:
    r"""Eq. (4): :math:`U + [(\cos\theta - 1) p / |p| + \sin\theta\, r / |r|]\, w^T / |w|`."""
    for i in range(rest.shape[0]):
        rest[i] = factors[0] * fitted[i] + factors[1] * rest[i]
    for j in range(basis.shape[0]):
        weight = weights[j]
        for i in range(rest.shape[0]):
            basis[j, i] += weight * rest[i]


def turn_factors(tangent: float, residual: float, projection: float) -> tuple[float, float]:
    """What p and r are multiplied by; 1 - cos without cancellation, and no trigonometry."""
    secant = math.sqrt(1.0 + tangent * tangent)
    along = -tangent * tangent / (secant * (1.0 + secant)) / projection
    return along, tangent / secant / math.sqrt(residual * projection)


def solve_observed(seen: Array, values: Array, m: int, n: int, weights: Array) -> bool:
    r"""Least squares :math:`\min |A w - x|` by Cholesky's factor of the d x d normal matrix.

    One refinement brings the residual's inner products with the basis back to rounding. False if a
    pivot is tiny: some direction was hardly observed.
    """
    d = seen.shape[1]
    factor = np.zeros((d, d))
    for k in range(m):
        for a in range(d):
            for b in range(a + 1):
                factor[a, b] += seen[k, a] * seen[k, b]
    for a in range(d):
        for b in range(a + 1):
            total = factor[a, b]
            for c in range(b):
                total -= factor[a, c] * factor[b, c]
            if a == b and not total > SMALLEST_PIVOT * m / n:
                return False
            factor[a, b] = math.sqrt(total) if a == b else total / factor[b, b]
    right = np.empty(d)
    weights[:] = 0.0
    for _ in range(2):
        right[:] = 0.0
        for k in range(m):
            total = values[k]
            for j in range(d):
                total -= seen[k, j] * weights[j]
            for j in range(d):
                right[j] += seen[k, j] * total
        for a in range(d):
            for c in range(a):
                right[a] -= factor[a, c] * right[c]
            right[a] /= factor[a, a]
        for a in range(d - 1, -1, -1):
            for c in range(a + 1, d):
                right[a] -= factor[c, a] * right[c]
            right[a] /= factor[a, a]
            weights[a] += right[a]
    return True
