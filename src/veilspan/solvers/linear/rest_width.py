r"""How wide the residuals of a first fit are: one noisy histogram, walked in from both ends.

Targets lie in [-1, 1] and so do predictions; what is left is counted in 32 equal cells of [-1, 1],
what lies beyond in the outermost. A row has one vote: sensitivity 1 under add-remove and sqrt(2)
under replace-one (:class:`~veilspan.queries.linear.column_histograms.ColumnHistograms`, one column).
The width is what lies between the cells at which the counts from either end reach 5 % of the rows,
or twice the noise of the sum of eight cells where that is more: post-processing.
"""

from __future__ import annotations

import math

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.queries.linear.column_histograms import ColumnHistograms
from veilspan.queries.linear.table_features import RestColumn

WIDTH = "width"
CELLS = 32
#: Share of the rows beyond each end, and the least width, in cells.
TAIL, LEAST = 0.05, 1.5
#: Stds of the noise of so many cells that a tail must stand above.
NOISE_STDS, NOISE_CELLS = 2.0, 8


def ask_width(curator: Curator, rest: RestColumn) -> float:
    """Half of the width of the residuals, on the scale of targets in [-1, 1] (event "width")."""
    edges = np.linspace(-1.0, 1.0, CELLS + 1)[1:-1]
    answer = curator.mapped(rest, 1).answer(ColumnHistograms(1, edges), event=WIDTH)
    counts = np.asarray(answer.value)[0]
    # Every row has one vote, so the counts hold the number of rows.
    rows = float(curator.plan.n_rows or max(1.0, counts.sum()))
    tail = max(TAIL, NOISE_STDS * answer.noise_std * math.sqrt(NOISE_CELLS) / rows)
    ends = [_reach(side / rows, tail) for side in (counts, counts[::-1])]
    return max(CELLS - sum(ends), LEAST) / CELLS


def _reach(shares: np.ndarray, tail: float) -> int:
    """Cells that are passed before the tail's share is reached; 0 if it never is."""
    return int(np.argmax(np.cumsum(shares) >= tail))
