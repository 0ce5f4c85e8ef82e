r"""Means of numbers, over all people and within groups, as ratios of noisy sums.

A mean is Z / M: the sum of the numbers that are not missing over how many there are. Both are noisy
and their noises are independent: Z has std a, M has std b. For the noiseless mean t the number
Z - t M is Gaussian around 0 with variance a^2 + t^2 b^2, so

    {t : (Z - t M)^2 <= z^2 (a^2 + t^2 b^2)},     z the normal quantile of 97.5 %,

holds it with probability 95 % exactly (Fieller 1954). With g = z^2 b^2 / M^2 < 1 it is the interval

    (Z / M -+ z sqrt(a^2 + (Z/M)^2 b^2 - g a^2) / M) / (1 - g).

Numbers lie in [-1, 1], so cutting the interval there loses nothing. Where M is below 4 b, or the
interval wider than the rule of :mod:`veilspan.solvers.profile.estimates` allows, nothing is
measurable.

On a log scale numbers are logarithms, and the mean that is given is the geometric one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veilspan.solvers.profile.estimates import LIMITS, Z95, Estimate
from veilspan.tables.profiling.column_cells import ColumnCells

#: A denominator is worth dividing by from this many standard deviations on.
FIRM = 4.0


@dataclass(frozen=True)
class Ratio:
    """A sum and a count with the standard deviations of their independent noises."""

    total: float
    total_std: float
    count: float
    count_std: float


def find_mean(cells: ColumnCells, ratio: Ratio) -> Estimate:
    """The mean in the column's own terms, with its interval."""
    value, low, high, firm = divide(ratio)
    fits = firm and (high - low) / 2 <= LIMITS.mean * 2  # the range of scaled numbers is 2 wide
    value, low, high = (float(end) for end in cells.from_scaled(np.array([value, low, high])))
    return Estimate(value, low, high, bool(fits))


def divide(ratio: Ratio) -> tuple[float, float, float, bool]:
    """Z / M, its interval, and whether M is firm; all of [-1, 1] where it is not."""
    z, a, m, b = ratio.total, ratio.total_std, ratio.count, ratio.count_std
    if not (m > 0 and m >= FIRM * b and m >= 1):
        return 0.0, -1.0, 1.0, False
    mean, g = z / m, (Z95 * b / m) ** 2
    spread = Z95 * np.sqrt(a * a + (mean * b) ** 2 - g * a * a) / m
    low, high = (mean - spread) / (1 - g), (mean + spread) / (1 - g)
    low, high = min(max(low, -1.0), 1.0), min(max(high, -1.0), 1.0)
    return float(min(max(mean, low), high)), float(low), float(high), True
