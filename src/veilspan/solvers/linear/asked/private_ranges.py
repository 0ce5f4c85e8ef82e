r"""Ranges of columns from noisy histograms, where nobody knows them in advance.

Each column is counted in bins that grow by factors of 4 away from zero, on both sides, from 4^-24
to 4^32 (about 4e-15 to 2e19; what lies beyond counts in the outermost bins:
:mod:`~veilspan.solvers.linear.asked.log_grid`). One release holds all
columns, with noise of std s on each count. An end of a range is found by walking inwards from the
outermost bin until the counts say that rows are there.

A second release, optional, counts in equal bins between the two ends found, because such bins are
wide far away from zero (years 1990 to 2020 all lie between 1024 and 4096). It has as many bins as
noise lets one tell apart, 64 at most, and leaves out what there is nothing to add to: columns that
were not found, and those of zeros and numbers up to 1 of either sign (one-hot codes). With g
columns in it a row moves it by sqrt(g) under add-remove and by sqrt(2 g) under replace-one; which
columns those are follows from the first answer. Its ends, moved outwards by 0.15 of the width for
tails that noise hides, stay within the bins in which the first ones lie. Where nothing between the
ends found stands above the noise, they are kept.

**Columns that show nothing.** Where no bin but that of zero stands above the noise, nor rows are
missing in that of zero, nothing is known of a column, and any range would be one of noise.
It is not *found*: whoever scales rows by the ranges leaves it out.

Columns far from zero are looked at again by :mod:`~veilspan.solvers.linear.asked.narrow_columns`.

**Lengths and targets.** How long rows are once they are scaled, and where targets lie
(:mod:`~veilspan.solvers.linear.asked.target_range`), is asked in the same way of tables of one
column: a row then has one vote in all, sensitivity 1 under add-remove and sqrt(2) under
replace-one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from veilspan.curator.curator import Answer, Curator
from veilspan.queries.linear.column_choice import ColumnChoice, RowLengths
from veilspan.queries.linear.column_histograms import ColumnHistograms
from veilspan.queries.linear.row_scaling import RowScaling
from veilspan.solvers.linear.asked.log_grid import (
    LOG_EDGES,
    UNIT,
    UNIT_BIN,
    ZERO_BIN,
    close_edges,
    next_edge,
)
from veilspan.solvers.linear.asked.missing_rows import (
    misses_rows,
    tells_rows,
    widen_beyond,
    widen_to_zero,
)
from veilspan.solvers.noisy_counts import FAILURE, find_outermost, noise_quantile

RANGES, FINER, LENGTH = "ranges", "finer ranges", "length"
#: Share of a column's entries (of those that are not zero) that its range should hold.
COVERAGE = 0.99
#: The same where nothing is hidden: ends are those of the outermost bins that rows are in.
WHOLE = 1 - 2.0**-53
#: Rows in one bin, or in two beside one another, may all be alike: more tell how wide they lie.
ALIKE_BINS = 2
#: Equal bins of the second release: at most and at least, and stds that one of average mass has.
MOST_BINS, FEWEST_BINS, CLEARANCE = 64, 4, 8.0
#: What ends of the second release are moved outwards by, over the width, where there is noise.
TAIL = 0.15
#: Share of the rows at zero from which a column is one of zeros with exceptions.
MOSTLY = 0.5
#: Stds of the noise that a single test of a column must show. One in fifty columns of zeros passes
#: it, which costs its length; at 3, many that hold something were left out (R^2 .59 in place of .66
#: on covertype at epsilon 0.1).
LIKELY = 2.0
#: Lengths of rows are told apart by factors of 2^(1/4), down to a 64th of the longest possible.
LENGTHS = 2.0 ** (np.arange(-24, 1) / 4)
#: Share of rows that may be shortened.
LONG_ROWS = 0.02


@dataclass(frozen=True)
class ColumnRanges:
    """Released ranges of p columns.

    Attributes
    ----------
    low, high : array of shape (p,)
        Ends, low < high; both 0 where nothing was found.
    n_rows : float
        Number of rows, public or as the histograms have it.
    found : array of shape (p,), bool
        Whether the column showed anything beside zeros above the noise.
    mostly_zero : array of shape (p,), bool
        Whether more than half of the rows are at zero, by the noisy counts.
    told : array of shape (p,), bool
        Whether counts tell how wide rows lie in the range and that most are in it; asked for where
        ranges are widened, else true.
    one_point : bool or array of shape (p,), bool
        Whether a range far from zero is that of rows which are all alike, as far as counts tell.
    """

    low: np.ndarray
    high: np.ndarray
    n_rows: float
    found: np.ndarray
    mostly_zero: np.ndarray
    told: np.ndarray
    one_point: np.ndarray | bool = False


def private_ranges(
    curator: Curator,
    coverage: float = COVERAGE,
    *,
    first: str = RANGES,
    second: str | None = FINER,
    failure: float = FAILURE,
    widen: bool = False,
) -> ColumnRanges:
    """Ask for the ranges of all columns of the curator's rows.

    Parameters
    ----------
    curator : Curator
        Whose plan holds the events.
    coverage : float
        Share of a column's entries (of those that are not zero) that its range should hold.
    first, second : str
        Names of the events that pay; without a second one the ends found first are kept.
    failure : float
        Probability of an end that noise alone has made: see :func:`ranges_from_histogram`. Where
        no end is that sure, a column is found in its fullest bin, if noise alone makes one so full
        with probability ``FAILURE`` at most: any range there is better than none.
    widen : bool
        Whether ranges that leave out rows, by the counts, are widened:
        :mod:`~veilspan.solvers.linear.asked.missing_rows` says how, and for what.
    """
    check_coverage(coverage)
    width = curator.n_features
    answer = curator.answer(ColumnHistograms(width, LOG_EDGES), event=first)
    # Every row votes once in every column, so the counts hold the number of rows.
    rows = float(curator.plan.n_rows or max(1.0, float(answer.value.sum()) / width))
    zeros = np.clip(answer.value[:, ZERO_BIN], 0.0, rows)
    active = rows - zeros
    low, high, found = ranges_from_histogram(answer, active, coverage, LOG_EDGES, failure)
    found &= ~((low == LOG_EDGES[ZERO_BIN - 1]) & (high == LOG_EDGES[ZERO_BIN]))
    if failure >= FAILURE:  # else what is likely is not enough
        low, high, found = _with_likely_bins(answer, rows, low, high, found)
    else:
        low, high, found = _with_clear_bins(answer, low, high, found)
    low, high = np.where(found, low, 0.0), np.where(found, high, 0.0)
    told = np.ones(width, dtype=bool)
    ranges = ColumnRanges(low, high, rows, found, zeros > MOSTLY * rows, told)
    if second is None:
        return ranges
    between = low, high
    if widen:
        public = curator.plan.n_rows is not None
        told = tells_rows(answer, LOG_EDGES, rows, between, public_rows=public)
        ranges = replace(ranges, told=told)
        between = widen_to_zero(answer, rows, between, public_rows=public)
    on_grid = answer if widen else None
    return _refined(curator, ranges, between, active, coverage, second, failure, on_grid)


def coverage_of(curator: Curator, event: str, coverage: float) -> float:
    """The coverage under noise; without any there is no reason to leave a row outside."""
    return coverage if curator.planned(event).noise_multiplier > 0 else WHOLE


def _refined(
    curator: Curator,
    ranges: ColumnRanges,
    between: tuple[np.ndarray, np.ndarray],
    active: np.ndarray,
    coverage: float,
    event: str,
    failure: float,
    on_grid: Answer | None,
) -> ColumnRanges:
    """The same with ends from equal bins in between, for columns that there is more to tell of.

    ``on_grid`` has the counts by which ranges are widened; None where they are not.
    """
    ends = np.array(between)
    simple = ranges.mostly_zero & (np.abs(ends) <= UNIT).all(axis=0)
    chosen = np.flatnonzero(ranges.found & ~simple)
    if not chosen.size:
        chosen = np.array([0])  # a plan is asked as it stands
    low, high = ends[:, chosen]
    center, scale = (low + high) / 2, np.where(high > low, (high - low) / 2, 1.0)
    query = ColumnHistograms(chosen.size, np.linspace(-1.0, 1.0, 2))
    noise = curator.planned(event).noise_multiplier
    std = noise * query.sensitivity(curator.plan.neighbors)
    edges = np.linspace(-1.0, 1.0, count_bins(ranges.n_rows, std) + 1)
    view = curator.mapped(ColumnChoice(chosen), chosen.size)
    query = ColumnHistograms(chosen.size, edges)
    answer = view.answer(query, (center, scale), event=event)
    first, last, passed = ranges_from_histogram(answer, active[chosen], coverage, edges, failure)
    # A column keeps its range where noise hides all of the bins, or its rows lie outside.
    better = ranges.found[chosen] & passed & (first < 1.0) & (last > -1.0)
    seen = passed & ((last - first) * (len(edges) - 1) / 2.0 > ALIKE_BINS + 0.5)
    if on_grid is not None:
        better &= ~misses_rows(answer, edges, ranges.n_rows, (first, last))
    margin = TAIL * (last - first) * (answer.noise_std > 0)  # tails that the noise hides
    first, last = first - margin, last + margin
    # The outermost bins of the first walk are known to hold rows.
    inner = np.minimum(center + scale * first, next_edge(ranges.low[chosen]))
    outer = np.maximum(center + scale * last, -next_edge(-ranges.high[chosen]))
    inner, outer = np.maximum(low, inner), np.minimum(high, outer)
    better &= inner < outer
    ends[0, chosen], ends[1, chosen] = np.where(better, inner, low), np.where(better, outer, high)
    told = ranges.told.copy()
    if on_grid is not None and answer.noise_std > 0:
        grid = replace(on_grid, value=np.asarray(on_grid.value)[chosen])
        further = widen_beyond(answer, grid, ranges.n_rows, (low, high))
        held = ranges.found[chosen]
        ends[0, chosen] = np.where(held, np.minimum(ends[0, chosen], further[0]), 0.0)
        ends[1, chosen] = np.where(held, np.maximum(ends[1, chosen], further[1]), 0.0)
        told[chosen] &= seen | (ends[0, chosen] * ends[1, chosen] <= 0)
    return replace(ranges, low=ends[0], high=ends[1], told=told)


def _with_likely_bins(
    answer: Answer, rows: float, low: np.ndarray, high: np.ndarray, found: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add columns that hold more than zeros, in bins none of which is sure.

    Rows that are missing in the bin of zero are one test a column, not one a bin; they are most
    likely in the bin of 1, as ones of a code, where both counts together are one test as well.
    """
    counts, std = answer.value, answer.noise_std
    missing = rows - counts[:, ZERO_BIN]
    codes = ~found & (missing + counts[:, UNIT_BIN] >= np.sqrt(2.0) * LIKELY * std)
    beside = np.delete(counts, ZERO_BIN, axis=1)
    best = np.argmax(beside, axis=1)
    best = np.where(codes, UNIT_BIN, best + (best >= ZERO_BIN))
    surely = missing >= noise_quantile(len(counts), 1) * std
    seen = ~found & (codes | (surely & (beside.max(axis=1) >= LIKELY * std)))
    seen &= missing > 0  # without noise nothing is likely
    ends = close_edges(LOG_EDGES)
    low, high = np.where(seen, ends[best], low), np.where(seen, ends[best + 1], high)
    return low, high, found | seen


def _with_clear_bins(
    answer: Answer, low: np.ndarray, high: np.ndarray, found: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add columns of which one bin, the fullest, stands above the noise of all bins."""
    counts = answer.value.copy()
    counts[:, ZERO_BIN] = -np.inf
    best = np.argmax(counts, axis=1)
    clear = 6 * FAILURE  # a bin is tested once here, where a quantile allows for six times
    level = noise_quantile(*counts.shape, clear) * answer.noise_std
    seen = ~found & (counts.max(axis=1) >= level) & (answer.noise_std > 0)
    ends = close_edges(LOG_EDGES)
    low, high = np.where(seen, ends[best], low), np.where(seen, ends[best + 1], high)
    return low, high, found | seen


def private_length(curator: Curator, row_map: RowScaling) -> float:
    """Ask how long scaled rows are, the constant left out (event "length").

    The length is the upper edge of the outermost bin that rows are in, by the rule of
    :func:`ranges_from_histogram`, such that about 2 % of the rows or fewer are longer; the longest
    possible where noise hides them all. Without noise no row is longer.

    Parameters
    ----------
    curator : Curator
        Over the rows as they are.
    row_map : RowScaling
        A map without a constant that shortens no row; lengths are over its ``row_norm``.
    """
    view = curator.mapped(RowLengths(row_map), 1)
    answer = view.answer(ColumnHistograms(1, LENGTHS), event=LENGTH)
    rows = float(curator.plan.n_rows or max(1.0, float(answer.value.sum())))
    # Lengths above 1 are those of rounding.
    counts = np.append(answer.value[:, :-2], answer.value[:, -2:].sum(axis=1)[:, None], axis=1)
    noise = noise_quantile(1, len(LENGTHS) + 1) * answer.noise_std
    long = LONG_ROWS * rows if answer.noise_std > 0 else 0.0  # nobody is shortened for nothing
    walked = int(find_outermost(counts[:, ::-1], np.array([long]), noise)[0])
    share = LENGTHS[len(LENGTHS) - 1 - walked] if walked < len(LENGTHS) else 1.0
    return float(row_map.row_norm * share)


def count_bins(n_rows: float, noise_std: float) -> int:
    """Equal bins that noise of this std lets one tell apart."""
    if noise_std == 0:
        return MOST_BINS
    return int(min(max(n_rows / (CLEARANCE * noise_std), FEWEST_BINS), MOST_BINS))


def ranges_from_histogram(
    answer: Answer,
    n_rows: float | np.ndarray,
    coverage: float,
    edges: np.ndarray = LOG_EDGES,
    failure: float = FAILURE,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Ends of each column's range, and whether there is one: post-processing of noisy counts.

    Walking inwards from the outermost bin, with N_m the noisy count of the first m bins and c_m
    that of the last of them, the end is the outer edge of the first bin with

        c_m >= max(q n, z s)    or    N_m >= max(q n, z s sqrt(m)),      q = (1 - coverage) / 2,

    s the noise's std and z the normal quantile of level failure / (6 p B): three events in each of
    two tails, p columns and B bins, so that with probability 1 - failure over the noise all of the
    following hold. (a) No bin outside the outermost row's own is taken: N_m and c_m are noise
    there. (b) Where both walks end, and before they have passed each other, fewer than
    max(q n, z s sqrt(B)) + z s sqrt(B) rows lie beyond an end. Elsewhere there is no range.

    So from n = z s sqrt(B) / q rows on, fewer than 2 q n = (1 - coverage) n of them lie beyond
    either end. With fewer rows ranges do not become too wide; they lose tails of up to
    2 z s sqrt(B) rows, in practice about z s, a bin's own threshold.

    Parameters
    ----------
    answer : Answer
        Of :class:`~veilspan.queries.linear.column_histograms.ColumnHistograms`.
    n_rows : float or array of shape (p,)
        n: rows that the coverage refers to, for each column.
    coverage : float
        Share of these rows that should lie inside.
    edges : array of shape (B - 1,)
        The bins; the open ones at the ends are given the width of their neighbours.
    failure : float
        See above.

    Returns
    -------
    low, high, passed
        Ends, and whether both walks found one; what the ends are elsewhere means nothing.
    """
    check_coverage(coverage)
    counts = np.asarray(answer.value)
    width, bins = counts.shape
    quantile = noise_quantile(width, bins, failure)
    wanted = np.broadcast_to(np.asarray(n_rows, dtype=np.float64) * (1 - coverage) / 2, (width,))
    noise = quantile * answer.noise_std
    ends = close_edges(edges)
    first = find_outermost(counts, wanted, noise)
    last = bins - 1 - find_outermost(counts[:, ::-1], wanted, noise)
    passed = (first <= last) & (first < bins) & (last >= 0)
    first, last = np.where(passed, first, 0), np.where(passed, last, 0)
    return ends[first], ends[last + 1], passed


def check_coverage(coverage: float) -> None:
    """Refuse a coverage that no range has."""
    if not 0 < coverage < 1:
        raise ValueError(f"coverage must lie strictly between 0 and 1; got {coverage}.")
