r"""Ranges of columns from noisy histograms, where nobody knows them in advance.

Each column is counted in bins that double in width away from zero, on both sides, from 2^-30 to
2^30 (about 1e-9 to 1e9; what lies beyond counts in the outermost bins). One release holds all
columns, with noise of std s on each count. An end of a range is found by walking inwards from the
outermost bin until the counts say that rows are there; a second release, optional, counts in equal
bins between the two ends found, because doubling bins are wide far away from zero (years 1990 to
2020 all lie between 1024 and 2048).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veilspan.curator.curator import Answer, Curator
from veilspan.privacy.events import GaussianEvent
from veilspan.queries.linear.column_histograms import ColumnHistograms

RANGES = "ranges"
DOUBLINGS = 2.0 ** np.arange(-30, 31)
LOG_EDGES = np.concatenate([-DOUBLINGS[::-1], DOUBLINGS])
ZERO_BIN = len(DOUBLINGS)
LINEAR_EDGES = np.linspace(-1.0, 1.0, 65)
FAILURE = 1e-3  # probability, over the noise, that any column's range breaks its promise


@dataclass(frozen=True)
class ColumnRanges:
    """Released ranges of p columns.

    Attributes
    ----------
    low, high : array of shape (p,)
        Ends, low < high.
    n_rows : float
        Number of rows, public or as the histograms have it.
    found : array of shape (p,), bool
        Whether the column showed anything beside zeros above the noise; [-1, 1] otherwise.
    """

    low: np.ndarray
    high: np.ndarray
    n_rows: float
    found: np.ndarray


def ranges_event(refine: bool = True) -> GaussianEvent:
    """What :func:`private_ranges` asks, to be calibrated with the rest of a plan."""
    return GaussianEvent(RANGES, count=2 if refine else 1)


def private_ranges(
    curator: Curator, coverage: float = 0.99, *, refine: bool = True
) -> ColumnRanges:
    """Ask for the ranges of all columns of the curator's rows (event "ranges").

    Parameters
    ----------
    curator : Curator
        Whose plan holds :func:`ranges_event` with the same ``refine``.
    coverage : float
        Share of a column's entries (of those that are not zero) that its range should hold.
    refine : bool
        Whether to ask a second time, between the ends found first.
    """
    check_coverage(coverage)
    width = curator.n_features
    answer = curator.answer(ColumnHistograms(width, LOG_EDGES), event=RANGES)
    # Every row votes once in every column, so the counts hold the number of rows.
    rows = curator.plan.n_rows or max(1.0, float(answer.value.sum()) / width)
    active = np.clip(rows - answer.value[:, ZERO_BIN], 0.0, rows)
    low, high = ranges_from_histogram(answer, active, coverage, LOG_EDGES)
    found = ~((low == LOG_EDGES[ZERO_BIN - 1]) & (high == LOG_EDGES[ZERO_BIN]))
    low, high = np.where(found, low, -1.0), np.where(found, high, 1.0)
    if refine:
        center, scale = (low + high) / 2, (high - low) / 2
        query = ColumnHistograms(width, LINEAR_EDGES)
        finer = curator.answer(query, (center, scale), event=RANGES)
        ends = ranges_from_histogram(finer, active, coverage, LINEAR_EDGES)
        inner = [center + scale * np.clip(end, -1.0, 1.0) for end in ends]
        # A column of zeros keeps its range, and one whose rows all lie outside the first one too.
        better = found & (inner[0] < inner[1])
        low, high = np.where(better, inner[0], low), np.where(better, inner[1], high)
    return ColumnRanges(low, high, float(rows), found)


def ranges_from_histogram(
    answer: Answer,
    n_rows: float | np.ndarray,
    coverage: float,
    edges: np.ndarray = LOG_EDGES,
    failure: float = FAILURE,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Ends of each column's range: post-processing of noisy counts.

    Walking inwards from the outermost bin, with N_m the noisy count of the first m bins and c_m
    that of the last of them, the end is the outer edge of the first bin with

        c_m >= max(q n, z s)    or    N_m >= max(q n, z s sqrt(m)),      q = (1 - coverage) / 2,

    s the noise's std and z the normal quantile of level failure / (6 p B): three events in each of
    two tails, p columns and B bins, so that with probability 1 - failure over the noise all of the
    following hold. (a) No bin outside the outermost row's own is taken: N_m and c_m are noise
    there. (b) Fewer than max(q n, z s sqrt(B)) + z s sqrt(B) rows lie beyond an end. If nothing
    passes, the bin of the largest noisy count is the range.

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
    """
    check_coverage(coverage)
    counts = np.asarray(answer.value)
    width, bins = counts.shape
    quantile = noise_quantile(width, bins, failure)
    wanted = np.broadcast_to(np.asarray(n_rows, dtype=np.float64) * (1 - coverage) / 2, (width,))
    noise = quantile * answer.noise_std
    ends = np.concatenate([[2 * edges[0] - edges[1]], edges, [2 * edges[-1] - edges[-2]]])
    first = _outermost(counts, wanted, noise)
    last = bins - 1 - _outermost(counts[:, ::-1], wanted, noise)
    lost = first > last  # the two walks passed each other: noise only
    middle = np.argmax(counts, axis=1)
    first, last = np.where(lost, middle, first), np.where(lost, middle, last)
    return ends[first], ends[last + 1]


def noise_quantile(n_features: int, n_bins: int, failure: float = FAILURE) -> float:
    """Normal quantile z of level failure / (6 p B)."""
    from scipy.special import ndtri

    return float(-ndtri(failure / (6 * n_features * n_bins)))


def check_coverage(coverage: float) -> None:
    """Refuse a coverage that no range has."""
    if not 0 < coverage < 1:
        raise ValueError(f"coverage must lie strictly between 0 and 1; got {coverage}.")


def _outermost(counts: np.ndarray, wanted: np.ndarray, noise: float) -> np.ndarray:
    """First bin from the left that rows are in, for each column; one past the end if none."""
    sums, reached = np.cumsum(counts, axis=1), np.arange(1, counts.shape[1] + 1)
    alone = counts >= np.maximum(wanted, noise)[:, None]
    together = sums >= np.maximum(wanted[:, None], noise * np.sqrt(reached))
    # Without noise, and where no row is wanted, an empty bin would do.
    passed = (alone & (counts > 0)) | (together & (sums > 0))
    return np.where(passed.any(axis=1), np.argmax(passed, axis=1), counts.shape[1])
