r"""The arithmetic of a stream: how far one row turns the basis, and the loop over rows.

Plain functions of numbers and arrays, compiled by :mod:`veilspan.streaming.kernels` if Numba is
there. The NumPy engine calls :func:`turn` as it is. What a stream remembers between rows is one array of
numbers, so that it can be stopped, stored and resumed without losing a bit.
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
    #: Constant fraction, or the first one of a diminishing rule.
    size: float
    #: Rows that are taken greedily at first, and the time scale of a diminishing rule.
    warm_up: float
    #: Given noise-to-signal ratio, or a negative number: estimate it.
    noise_ratio: float
    #: Rows that an estimated noise level remembers.
    memory: float
    #: Smallest fraction.
    floor: float
    #: Height of the sum at which a change is flagged; 0 never does.
    alarm: float


# Places in the memory of a stream.
ROWS = 0  # rows that came, also those without use
AGE = 1  # rows used since the start or the last change
NOISE = 2  # estimated variance of the noise per entry
POWER = 3  # mean square of an entry
USUAL = 4  # usual residual ratio
SPREAD = 5  # mean square of its departures
ALARM = 6  # sum of departures that flags a change
CHANGES = 7  # changes flagged
LAST_CHANGE = 8  # the row of the last one
SKIPPED = 9  # rows with too few observed entries
SCALE = 10  # size of an ordinary residual entry, for the robust fits
SEEDED = 11  # rows that the starting basis was built from
SIZE = 12

# The estimate moves down three times as readily as up: see NoisyStep.
_UP, _DOWN = 0.5, 1.5
# Departures of the residual ratio, in standard deviations: at most this much counts ...
_LARGEST_DEPARTURE = 4.0
# ... and this much is ordinary.
_ALLOWANCE = 1.0
# Rows that the usual ratio remembers.
_USUAL_ROWS = 200.0
# Differences of residual ratios below this are rounding.
_RATIO_ROUNDING = 1e-9


def new_memory() -> Array:
    """The memory of a stream before its first row."""
    return np.zeros(SIZE)


def turn(
    settings: Settings,
    memory: Array,
    energy: float,
    residual: float,
    projection: float,
    observed: int,
    rank: int,
) -> float:
    r"""Tangent of the angle to turn by, and the memory brought up to date.

    Parameters
    ----------
    settings, memory
        The rule, and what is remembered of the rows before.
    energy, residual, projection : float
        Squared norms of the observed row, of its residual and of its coefficients.
    observed, rank : int
        Observed entries m and dimension d.
    """
    memory[ROWS] += 1.0
    # Residuals at the level of rounding are no direction; neither are rows of zeros.
    if not energy > 0.0 or not projection > 0.0:
        return 0.0
    memory[AGE] += 1.0
    spare = observed - rank
    _watch(settings, memory, residual / energy)
    fraction = _fraction(settings, memory, energy, residual, observed, spare)
    _learn_noise(settings, memory, residual / spare, energy / observed)
    if residual <= 1e-30 * energy:
        return 0.0
    return max(fraction, settings.floor) * math.sqrt(residual / projection)


def _fraction(
    settings: Settings, memory: Array, energy: float, residual: float, observed: int, spare: int
) -> float:
    if settings.kind == CONSTANT:
        return settings.size
    if settings.kind == DIMINISHING:
        return settings.size * min(1.0, settings.warm_up / memory[AGE])
    if settings.kind == NOISY and memory[AGE] > settings.warm_up:
        if settings.noise_ratio >= 0.0:
            ratio = settings.noise_ratio
            noise = ratio / (1.0 + ratio) * spare / observed * energy
        else:
            noise = memory[NOISE] * spare
        return max(0.0, 1.0 - noise / max(residual, 1e-300))
    return 1.0


def _learn_noise(settings: Settings, memory: Array, level: float, power: float) -> None:
    """Running expectile of the residual per degree of freedom, and mean power."""
    past = memory[AGE] - settings.warm_up
    if past <= 1.0:
        memory[NOISE] = level
        memory[POWER] = power
        return
    gain = max(1.0 / past, 1.0 / settings.memory)
    step = level - memory[NOISE]
    # At most to the new value itself: the expectile must not overshoot below zero.
    memory[NOISE] += min(gain * (_UP if step > 0.0 else _DOWN), 1.0) * step
    memory[POWER] += gain * (power - memory[POWER])


def _watch(settings: Settings, memory: Array, ratio: float) -> None:
    r"""Page's cumulative sum of the residual ratio: flag a change of the subspace.

    Departures from the usual ratio count in standard deviations, at most 4 each, less 1; their sum,
    never below zero, flags at ``settings.alarm``. A single wild row can therefore not flag, and
    slow drift, which the tracker follows, does not either.
    """
    if settings.alarm <= 0.0 or memory[AGE] <= settings.warm_up:
        return
    past = memory[AGE] - settings.warm_up
    if past <= 1.0:
        memory[USUAL] = ratio
        memory[SPREAD] = ratio * ratio
        return
    spread = max(math.sqrt(memory[SPREAD]), _RATIO_ROUNDING)
    departure = (ratio - memory[USUAL]) / spread
    departure = max(-_LARGEST_DEPARTURE, min(_LARGEST_DEPARTURE, departure))
    memory[ALARM] = max(0.0, memory[ALARM] + departure - _ALLOWANCE)
    if memory[ALARM] >= settings.alarm:
        memory[ALARM] = 0.0
        memory[CHANGES] += 1.0
        memory[LAST_CHANGE] = memory[ROWS]
        memory[AGE] = 1.0  # back to the warm-up
        return
    gain = max(1.0 / past, 1.0 / _USUAL_ROWS)
    memory[USUAL] += gain * departure * spread
    memory[SPREAD] += gain * (departure * departure - 1.0) * spread * spread


def full_rows(basis: Array, rows: Array, settings: Settings, memory: Array, ratios: Array) -> None:
    """Rows without missing entries, one after another; ``basis`` and ``memory`` change in place."""
    d, n = basis.shape
    weights, rest = np.empty(d), np.empty(n)
    for t in range(rows.shape[0]):
        row = rows[t]
        energy, residual, projection = 0.0, 0.0, 0.0
        for i in range(n):
            energy += row[i] * row[i]
            rest[i] = row[i]
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
        tangent = turn(settings, memory, energy, residual, projection, n, d)
        if tangent > 0.0:
            turn_basis(basis, weights, row - rest, rest, tangent, residual, projection)


def partial_rows(
    basis: Array, rows: Array, settings: Settings, memory: Array, ratios: Array
) -> None:
    """Rows with missing entries (NaN): least squares on what was observed.

    The residual is zero where nothing was observed (Balzano, Nowak & Recht 2010). It is orthogonal
    to the basis because the normal equations hold, so the step keeps the basis orthonormal.
    """
    d, n = basis.shape
    places = np.empty(n, np.int64)
    seen, values = np.empty((n, d)), np.empty(n)
    weights, rest, fitted = np.empty(d), np.empty(n), np.empty(n)
    for t in range(rows.shape[0]):
        m = 0
        energy, residual, projection = 0.0, 0.0, 0.0
        for i in range(n):
            rest[i] = 0.0
            if not np.isnan(rows[t, i]):
                places[m] = i
                values[m] = rows[t, i]
                energy += values[m] * values[m]
                m += 1
        for k in range(m):
            for j in range(d):
                seen[k, j] = basis[j, places[k]]
        if m <= d or not solve_observed(seen, values, m, n, weights):
            memory[ROWS] += 1.0
            memory[SKIPPED] += 1.0
            ratios[t] = np.nan
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
        tangent = turn(settings, memory, energy, residual, projection, m, d)
        if tangent > 0.0:
            for i in range(n):
                fitted[i] = 0.0
            for j in range(d):
                for i in range(n):
                    fitted[i] += weights[j] * basis[j, i]
            turn_basis(basis, weights, fitted, rest, tangent, residual, projection)


def turn_basis(
    basis: Array,
    weights: Array,
    fitted: Array,
    rest: Array,
    tangent: float,
    residual: float,
    projection: float,
) -> None:
    r"""Eq. (4): :math:`U + [(\cos\theta - 1) p / |p| + \sin\theta\, r / |r|]\, w^T / |w|`."""
    along, across = turn_factors(tangent, residual, projection)
    for i in range(rest.shape[0]):
        rest[i] = along * fitted[i] + across * rest[i]
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

    One step of refinement brings the residual's inner products with the basis back to rounding.
    Returns False, and no solution, if a pivot is below a thousandth of m/n, the mean eigenvalue of
    the normal matrix of a spread-out basis: then some direction was hardly observed.
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
            if a > b:
                factor[a, b] = total / factor[b, b]
            elif total > 1e-3 * m / n:
                factor[a, a] = math.sqrt(total)
            else:
                return False
    right = np.empty(d)
    for j in range(d):
        weights[j] = 0.0
    for _ in range(2):
        for j in range(d):
            right[j] = 0.0
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
