r"""Means of numbers, over all people and within groups, as ratios of noisy sums.

A mean is Z / M: the sum of the numbers that are not missing over how many there are. Both are noisy
and their noises are independent, so its interval is that of :mod:`veilspan.solvers.profile.ratios`.
Numbers lie in [-1, 1], so cutting the interval there loses nothing. Where M is not firm, or the
interval wider than the rule of :mod:`veilspan.solvers.profile.estimates` allows, nothing is
measurable.

On a log scale numbers are logarithms, and the mean that is given is the geometric one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veilspan.solvers.profile.estimates import LIMITS, Estimate
from veilspan.solvers.profile.ratios import bound_ratio, is_firm
from veilspan.tables.profiling.column_cells import ColumnCells


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
    if not is_firm(ratio.count, ratio.count_std):
        return 0.0, -1.0, 1.0, False
    mean = ratio.total / ratio.count
    ends = bound_ratio(ratio.total, ratio.total_std, ratio.count, ratio.count_std)
    low, high = (min(max(float(end), -1.0), 1.0) for end in ends)
    return min(max(mean, low), high), low, high, True
