r"""Ranges of columns that lie close together far from zero: seconds since 1970, numbers of people.

On the grid of :mod:`~veilspan.solvers.linear.asked.private_ranges` all of 1,000,000,000 to
1,000,000,999 is one bin, and one look at equal bins in between leaves a range of some ten million:
scaled by it, every row looks the same. So columns whose range excludes zero and has ends within a
factor of 16, two bins of the grid, are looked at again, up to six times: each look counts in equal
bins over the range that is known, as many as noise lets one tell apart. A range is replaced only if

* a look cuts it to half or less: rows that fill their range keep it, tails included; and
* the bins that are left hold all rows but twice the share that a range may miss, by their noisy
  counts, up to two stds of the noise in those.

Then it is looked at again; a column of which a look tells less is done.

**One point.** Where the last look at a column still had all of its rows in one bin, nothing is
known of how far they lie apart. If that bin is also below a millionth of where it lies, the column
is taken to be the same for everybody: divided by so little, what noise has learned of it would be a
coefficient of any size. Columns that vary by more stay, whatever was seen of them.

**Privacy.** A look at g columns is a :class:`~veilspan.queries.linear.column_histograms.
ColumnHistograms`: every row has one vote in each of them, so it moves by sqrt(g) under add-remove
and by sqrt(2 g) under replace-one, and noise follows g. Which columns those are, and the points
they are counted around, come from earlier answers alone. The number of looks is planned: where no
column is left, a look is asked for nevertheless and not used, so that what is spent, and how often
rows are read, tells nothing.

What this does not find: two groups far apart, such as zeros beside numbers of people. Their range
is that of both.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.queries.linear.column_choice import ColumnChoice
from veilspan.queries.linear.column_histograms import ColumnHistograms
from veilspan.solvers.linear.asked.private_ranges import (
    ALIKE_BINS,
    TAIL,
    ColumnRanges,
    count_bins,
    ranges_from_histogram,
)
from veilspan.solvers.noisy_counts import FAILURE

NARROW, NARROW_TARGETS = "narrow columns", "narrow targets"
#: Looks of a plan: with 10 bins each, seven digits.
LOOKS = 6
#: Largest over smallest end of a column that is looked at: two bins of the grid.
CLOSE_ENDS = 16.0
#: Most that may be left of a range for it to be replaced.
LEFT = 0.5
#: Rows outside of what is left, over the share that a range may miss, and stds of noise beside.
MISSED, STDS = 2.0, 2.0
#: Width of a range, over its middle, below which floats are too few to tell bins apart.
LEAST_WIDTH = 2.0**-36
#: Width of a range, over its larger end, up to which rows that were all in one bin are one point.
#: An hour of seconds since 1970 is twice as much.
POINT_WIDTH = 2.0**-20


def zoom_in(
    curator: Curator, ranges: ColumnRanges, coverage: float, event: str, failure: float = FAILURE
) -> ColumnRanges:
    """Ask again for ranges far from zero, as often as the plan says.

    Parameters
    ----------
    curator : Curator
        Whose plan holds the event.
    ranges : ColumnRanges
        As released so far.
    coverage : float
        Share of a column's entries that its range should hold.
    event : str
        What pays.
    failure : float
        Probability of an end that noise alone has made, in each look.
    """
    low, high, told = ranges.low.copy(), ranges.high.copy(), ranges.told.copy()
    open_columns = ranges.found & ~ranges.mostly_zero & _far_from_zero(low, high)
    alone = np.zeros(low.shape, dtype=bool)
    for _ in range(curator.planned(event).count):
        wide = _is_wide(low, high, LEAST_WIDTH)
        open_columns &= wide
        chosen = np.flatnonzero(open_columns)
        asked = chosen if chosen.size else np.array([0])  # a plan is asked as it stands
        first, last, better, bins = _look(
            curator, low[asked], high[asked], asked, ranges.n_rows, coverage, event, failure
        )
        open_columns[:] = False
        if chosen.size:
            open_columns[chosen] = better
            alone[chosen] = better & (bins == 1)
            low[chosen] = np.where(better, first, low[chosen])
            high[chosen] = np.where(better, last, high[chosen])
            told[chosen] = (bins > ALIKE_BINS) | (told[chosen] & ~better)
    one_point = alone & ~_is_wide(low, high, POINT_WIDTH)
    return replace(ranges, low=low, high=high, told=told, one_point=one_point)


def _is_wide(low: np.ndarray, high: np.ndarray, part: float) -> np.ndarray:
    """Whether ranges are wider than a part of their larger ends."""
    return np.asarray(high - low > part * np.maximum(np.abs(low), np.abs(high)))


def _far_from_zero(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Whether zero is outside, by more than a fifteenth of the width."""
    near, far = np.minimum(np.abs(low), np.abs(high)), np.maximum(np.abs(low), np.abs(high))
    return (low * high > 0) & (far <= CLOSE_ENDS * near)


def _look(
    curator: Curator,
    low: np.ndarray,
    high: np.ndarray,
    asked: np.ndarray,
    rows: float,
    coverage: float,
    event: str,
    failure: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """New ends by one look at these columns, where they are worth taking, and bins in between."""
    center, scale = low / 2 + high / 2, np.where(high > low, high / 2 - low / 2, 1.0)
    query = ColumnHistograms(asked.size, np.linspace(-1.0, 1.0, 2))
    std = curator.planned(event).noise_multiplier * query.sensitivity(curator.plan.neighbors)
    edges = np.linspace(-1.0, 1.0, count_bins(rows, std) + 1)
    view = curator.mapped(ColumnChoice(asked), asked.size)
    query = ColumnHistograms(asked.size, edges)
    answer = view.answer(query, (center, scale), event=event)
    first, last, passed = ranges_from_histogram(answer, rows, coverage, edges, failure)
    first, last = np.maximum(first, -1.0), np.minimum(last, 1.0)
    middles = (edges[1:] + edges[:-1]) / 2
    inside = (middles > first[:, None]) & (middles < last[:, None])
    outside = rows - np.sum(answer.value[:, 1:-1] * inside, axis=1)
    bins = np.where(passed, inside.sum(axis=1), 0)
    few = MISSED * (1 - coverage) * rows + STDS * answer.noise_std * np.sqrt(bins)
    margin = TAIL * (last - first) * (answer.noise_std > 0)  # tails that the noise hides
    better = passed & (last - first <= 2.0 * LEFT) & (last > first) & (outside <= few)
    # Not beyond the range that was known: rows out there were few.
    first, last = np.maximum(first - margin, -1.0), np.minimum(last + margin, 1.0)
    return center + scale * first, center + scale * last, better, bins
