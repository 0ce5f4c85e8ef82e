r"""Several quantiles of one column at once, from its noisy counts.

Values are spread evenly over their bin (over its logarithms on a log scale); those in the cells at
the borders lie on the border. F(t) is the number of values up to t, M that of all values that are
not missing, and the quantile of level q is the first t with F(t) >= q M: exact up to one bin.

*Interval.* G(t) = F(t) - q M is a linear function of counts, and the counts have independent noise
of std s, so its noise is Gaussian with std(t) = s |a(t)|: a is 1 - q for cells below t, f - q for
the bin of t with a share f of it below t, and -q above. At the quantile t* the noiseless G is not
negative, and not positive just below t*. So with z the normal quantile of 97.5 %,

    low = min {t : G(t) >= -z std(t)},       high = max {t : G(t-) <= z std(t-)}

are each on the right side of t* with probability 97.5 %: the interval holds t* with at least 95 %,
whatever the shape of the table. Nothing is approximated but t, which is rounded outwards to a grid
of ``STEPS`` points a bin.

*Whole numbers* reach half a step to both sides, so t* is rounded to the nearest, and is exact where
bins hold one number each. Rounding keeps order: the rounded interval holds the rounded t*.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veilspan.solvers.profile.estimates import LIMITS, Z95, Estimate
from veilspan.solvers.profile.shares import Shares
from veilspan.tables.profiling.column_cells import ColumnCells

#: Points of the grid in each bin.
STEPS = 16


def find_quantiles(
    cells: ColumnCells,
    counts: np.ndarray,
    std: float,
    shares: Shares,
    levels: Sequence[float],
    *,
    firm: bool = True,
) -> dict[float, Estimate]:
    """Quantiles of a column with a range, each with its interval.

    Parameters
    ----------
    cells : ColumnCells
        The cells of the column.
    counts : array
        Noisy counts, the missing last.
    std : float
        Of their noise.
    shares : Shares
        The consistent shares that the values are read from.
    levels : sequence of float
        Between 0 and 1.
    firm : bool
        Whether noise is small beside the number of values; otherwise nothing is measurable.
    """
    grid = _grid(cells)
    below = _below(cells)
    known = counts[:-1]
    consistent = shares.value[:-1]
    total = float(consistent.sum())
    inner = (1.0 * (below @ consistent)) / total if total > 0 else None
    found = {}
    for level in levels:
        low, high = _interval(grid, below, known, std, level)
        value = (low + high) / 2 if inner is None else _first(grid, inner, level)
        found[float(level)] = _judge(cells, min(max(value, low), high), low, high, firm)
    return found


def _grid(cells: ColumnCells) -> np.ndarray:
    """Values at which F is looked at, in the column's own terms: the borders and the bins."""
    assert cells.edges is not None
    edges = np.log(cells.edges) if cells.is_log else cells.edges
    steps = np.arange(STEPS) / STEPS
    inner = (edges[:-1, None] + np.diff(edges)[:, None] * steps).reshape(-1)
    points = np.append(inner, edges[-1])
    points = np.exp(points) if cells.is_log else points
    low, high = cells.range
    return np.concatenate([[low], np.clip(points, low, high), [high]])


def _below(cells: ColumnCells) -> np.ndarray:
    """Share of each cell that lies at or below each point of the grid, the missing left out.

    The first point stands for the lower border with what lies on it, the last for the upper one.
    """
    bins = cells.size - 3
    points = bins * STEPS + 1
    place = np.arange(points) / STEPS
    share = np.clip(place[:, None] - np.arange(bins), 0.0, 1.0)
    inner = np.concatenate([np.ones((points, 1)), share, np.zeros((points, 1))], axis=1)
    first = np.zeros((1, bins + 2))
    first[0, 0] = 1.0
    return np.concatenate([first, inner, np.ones((1, bins + 2))])


def _interval(
    grid: np.ndarray, below: np.ndarray, counts: np.ndarray, std: float, level: float
) -> tuple[float, float]:
    slope = below - level
    gap = slope @ counts
    noise = Z95 * std * np.sqrt(np.sum(slope**2, axis=1))
    reached = np.flatnonzero(gap >= -noise)
    # Between two points of the grid F is linear: the one before is a safe end.
    first = reached[0] if len(reached) else len(grid) - 1
    low = grid[max(first - 1, 0)] if 0 < first < len(grid) - 1 else grid[first]
    # Just below a point F is that of the grid, but at the lower border, where it is nothing.
    before = np.vstack([np.zeros((1, below.shape[1])), below[1:-1], below[-2:-1]]) - level
    gap = before @ counts
    noise = Z95 * std * np.sqrt(np.sum(before**2, axis=1))
    held = np.flatnonzero(gap <= noise)
    last = held[-1] if len(held) else 0
    high = grid[min(last + 1, len(grid) - 1)] if 0 < last < len(grid) - 1 else grid[last]
    return float(low), float(max(low, high))


def _first(grid: np.ndarray, inner: np.ndarray, level: float) -> float:
    """The first value at which the share of values reaches the level, between points linearly."""
    place = int(np.searchsorted(inner, level - 1e-12))
    if place <= 1 or place >= len(grid) - 1:
        return float(grid[min(place, len(grid) - 1)])
    a, b = inner[place - 1], inner[place]
    part = (level - a) / (b - a) if b > a else 1.0
    return float(grid[place - 1] + part * (grid[place] - grid[place - 1]))


def _judge(cells: ColumnCells, value: float, low: float, high: float, firm: bool) -> Estimate:
    ends = np.array([*cells.range, low, high])
    bottom, top, a, b = np.log(ends) if cells.is_log else ends
    fits = firm and bool((b - a) / 2 <= LIMITS.quantile * (top - bottom))
    if cells.is_whole:  # k reaches to k + 1/2, that included
        value, low, high = (float(np.ceil(end - 0.5)) for end in (value, low, high))
    return Estimate(value, low, high, fits)
