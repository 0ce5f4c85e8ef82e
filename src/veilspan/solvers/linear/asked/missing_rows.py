r"""Ranges that leave out more rows than they may, by their own counts, are widened.

Bins are taken for a range one by one, each where rows are surely in it. With much noise a column
that fills three or four bins shows one of them: the range is then that bin, and clips most rows to
its ends. How many rows it leaves out is known far better than where they are: with m bins inside,
each counted with noise of std s,

    outside = n - (counts of the bins inside),      noise of std  s sqrt(m),

and under a number of rows that was summed from all B bins, s sqrt(B - m). Rows are missing where
``outside`` exceeds a tenth of all by four stds: fewer cost little when they are clipped, and noise
alone says so once in 30,000 times. What is done then is post-processing of counts that were paid
for, and asks nothing more:

* A range of the grid becomes (-h, h) with h the larger end in size: rows that are missing are as
  likely nearer to zero or of the other sign, and equal bins in between are counted next.
* Ends from equal bins in between are not taken if rows are missing in them.
* Beside equal bins, each of the two open ones says how many rows lie beyond that end. An end beyond
  which a tenth of all do moves out over the bins of the grid until their counts hold all but so
  many of those rows (after j of them, with noise of std sqrt(s'^2 + j s^2), s' that of the open
  bin), or, where zero lies between, to as far as the other end.

**What noise hides** is said (:func:`tells_rows`): where it could make half of all rows of nothing,
no count tells that few are outside; and where a range far from zero was seen in one or two bins,
its rows may lie much closer together than it is wide. (A range around zero is as wide as its rows
are large, up to a factor of the grid.)

This is for targets. A range of theirs that is too wide costs little, as noise follows the
residuals; one that is too narrow cuts targets, which bends every slope and was seen to cost more
than the model was worth (R^2 of -0.24 in place of 0.65). A column of features that is scaled by too
wide a range loses what it says, and one that is clipped keeps a part.
"""

from __future__ import annotations

import numpy as np

from veilspan.curator.curator import Answer
from veilspan.solvers.linear.asked.log_grid import LOG_EDGES, close_edges, next_edge

#: Share of the rows that a range may leave out before it is widened, and stds of noise beside.
#: At a thousandth, hours of work a week (a tenth of them beyond the fullest bin, on both sides) had
#: a range twice as wide, and R^2 was lower by a hundredth at epsilon 0.1.
MISSED, STDS = 0.1, 4.0
#: Share of the rows that counts must be able to miss for a range to be trusted.
HALF = 0.5


def misses_rows(
    answer: Answer,
    edges: np.ndarray,
    rows: float,
    ends: tuple[np.ndarray, np.ndarray],
    *,
    public_rows: bool = True,
) -> np.ndarray:
    """Whether ranges leave out more rows than they may, for each column.

    Parameters
    ----------
    answer : Answer
        Counts in bins.
    edges : array
        Of the bins.
    rows : float
        Number of rows.
    ends : pair of arrays
        Lows and highs, among the edges (closed at the ends).
    public_rows : bool
        Whether the number of rows is known without these counts.
    """
    outside = rows - np.sum(answer.value * _inside(edges, ends), axis=1)
    terms = _terms(edges, ends, public_rows)
    return np.asarray(outside > few_rows(rows, answer.noise_std * np.sqrt(terms)))


def widen_to_zero(
    answer: Answer,
    rows: float,
    ends: tuple[np.ndarray, np.ndarray],
    *,
    public_rows: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Ranges of the grid, around zero where rows are missing in them: see :func:`misses_rows`."""
    low, high = ends
    missing = misses_rows(answer, LOG_EDGES, rows, ends, public_rows=public_rows)
    far = np.maximum(np.abs(low), np.abs(high))
    return np.where(missing, -far, low), np.where(missing, far, high)


def widen_beyond(
    answer: Answer, on_grid: Answer, rows: float, ends: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """What ends that equal bins were counted between have to reach: lows, and highs.

    A low of inf, or a high of -inf, asks for nothing: few rows lie beyond that end.

    Parameters
    ----------
    answer : Answer
        Counts in equal bins between the ends, and in the two open ones.
    on_grid : Answer
        Counts of the same columns in the bins of the grid.
    rows : float
        Number of rows.
    ends : pair of arrays
        Lows and highs.
    """
    low, high = ends
    few = few_rows(rows, answer.noise_std)
    below, above = answer.value[:, 0], answer.value[:, -1]
    stds = answer.noise_std, on_grid.noise_std
    upper = _walk_out(above, np.asarray(on_grid.value), high, rows, stds)
    lower = -_walk_out(below, np.asarray(on_grid.value)[:, ::-1], -low, rows, stds)
    lower, upper = np.where(low > 0, -high, lower), np.where(high < 0, -low, upper)
    return np.where(below > few, lower, np.inf), np.where(above > few, upper, -np.inf)


def _walk_out(
    beyond: np.ndarray,
    on_grid: np.ndarray,
    high: np.ndarray,
    rows: float,
    stds: tuple[float, float],
) -> np.ndarray:
    """The edge of the grid above each end from which on few of the rows beyond it are left."""
    reached = np.array(high, dtype=np.float64)
    left, taken = np.array(beyond, dtype=np.float64), np.zeros(len(high))
    for _ in range(len(LOG_EDGES)):
        std = np.sqrt(stds[0] ** 2 + taken * stds[1] ** 2)
        going = (left > few_rows(rows, std)) | (taken == 0)
        going &= reached < LOG_EDGES[-1]
        place = np.searchsorted(LOG_EDGES, reached, side="right")
        left -= np.where(going, np.take_along_axis(on_grid, place[:, None], axis=1)[:, 0], 0.0)
        reached, taken = np.where(going, next_edge(reached), reached), taken + going
    return reached


def tells_rows(
    answer: Answer,
    edges: np.ndarray,
    rows: float,
    ends: tuple[np.ndarray, np.ndarray],
    *,
    public_rows: bool,
) -> np.ndarray:
    """Whether noise is small enough to tell a range that leaves out half of the rows.

    Parameters are those of :func:`misses_rows`; what comes out follows from public numbers and from
    where the range lies.
    """
    terms = _terms(edges, ends, public_rows)
    return np.asarray(few_rows(rows, answer.noise_std * np.sqrt(terms)) <= HALF * rows)


def _terms(edges: np.ndarray, ends: tuple[np.ndarray, np.ndarray], public_rows: bool) -> np.ndarray:
    """Counts whose noise is in the number of rows outside."""
    inside = _inside(edges, ends)
    return np.asarray(np.sum(inside if public_rows else ~inside, axis=1))


def _inside(edges: np.ndarray, ends: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    closed = close_edges(edges)
    return np.asarray((closed[:-1] >= ends[0][:, None]) & (closed[1:] <= ends[1][:, None]))


def few_rows(rows: float, std: np.ndarray | float) -> np.ndarray | float:
    """Rows that a range may leave out, and that noise of this std may make of them."""
    return MISSED * rows + STDS * std
