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
  which a tenth of all do moves out to the next edge of the grid, or, where zero lies between, to as
  far as the other end.

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
    closed = close_edges(edges)
    inside = (closed[:-1] >= ends[0][:, None]) & (closed[1:] <= ends[1][:, None])
    outside = rows - np.sum(answer.value * inside, axis=1)
    terms = np.sum(inside if public_rows else ~inside, axis=1)
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
    answer: Answer, rows: float, ends: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """What ends that equal bins were counted between have to reach: lows, and highs.

    A low of inf, or a high of -inf, asks for nothing: few rows lie beyond that end.

    Parameters
    ----------
    answer : Answer
        Counts in equal bins between the ends, and in the two open ones.
    rows : float
        Number of rows.
    ends : pair of arrays
        Lows and highs.
    """
    low, high = ends
    few = few_rows(rows, answer.noise_std)
    below, above = answer.value[:, 0] > few, answer.value[:, -1] > few
    lower = np.where(low > 0, -high, -next_edge(-low))
    upper = np.where(high < 0, -low, next_edge(high))
    return np.where(below, lower, np.inf), np.where(above, upper, -np.inf)


def few_rows(rows: float, std: np.ndarray | float) -> np.ndarray | float:
    """Rows that a range may leave out, and that noise of this std may make of them."""
    return MISSED * rows + STDS * std
