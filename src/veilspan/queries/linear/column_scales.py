r"""Numbers of a row on public and released scales, all from 0 to 1.

A number x of the public range [lo, hi] has

* its *line*, t = (x - lo) / (hi - lo);
* its *cell scale* u = (t + l) / 2, l being the signed logarithm of x in units of a thousandth of
  the range, scaled to [0, 1]: equal cells of u are narrow around zero, where amounts and counts
  lie, and cover all of the range;
* its *place* F = (t + M(u)) / 2, M being the share of rows below u, as a charged histogram of
  the cells has it; F = t where that shows nothing above the noise.

All three look at one entry of one row and public or released numbers, so they are part of a row
map. Where the number is missing (the row says so itself) all features of the column are zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block
from veilspan.queries.linear.table_layout import NONE, TableLayout

#: Parts of the range that the logarithm counts in: below a thousandth it is as good as linear.
LOG_UNITS = 1000.0
#: Where a missing number stands on the cell scale: beyond all cells, where it counts for none.
MISSING_CELL = 2.0


def line_of(layout: TableLayout, x: np.ndarray) -> np.ndarray:
    """t: numbers of encoded rows as parts of their ranges."""
    width = np.where(layout.high > layout.low, layout.high - layout.low, 1.0)
    clipped = np.clip(x[:, layout.numbers], layout.low, layout.high)
    return np.ascontiguousarray((clipped - layout.low) / width)


def cell_scale_of(layout: TableLayout, line: np.ndarray) -> np.ndarray:
    """u: the mean of the line and of a signed log scale, where the latter means something."""
    bent = ~np.isnan(layout.zero)
    zero = np.where(bent, layout.zero, 0.0)

    def log(t: np.ndarray) -> np.ndarray:
        return np.asarray(np.sign(t - zero) * np.log1p(LOG_UNITS * np.abs(t - zero)))

    first, last = log(np.zeros_like(zero)), log(np.ones_like(zero))
    bends = (log(line) - first) / (last - first)
    return np.clip(np.where(bent, (line + bends) / 2, line), 0.0, 1.0)


def present_of(x: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """1 where an entry is there and 0 where the row says that it is missing."""
    there = 1.0 - np.clip(x[:, np.maximum(missing, 0)], 0.0, 1.0)
    return np.asarray(np.where(missing == NONE, 1.0, there))


def flags_of(layout: TableLayout, x: np.ndarray) -> np.ndarray:
    """Entries of 0 and 1, zero where their column is missing."""
    return np.clip(x[:, layout.flags], 0.0, 1.0) * present_of(x, layout.flag_missing)


@dataclass(frozen=True, eq=False)
class CellScale:
    """Rows as the cell scales of their numbers: what the histogram of the mass counts.

    A row keeps to itself (see the top of this module), so neighbouring tables stay neighbouring.

    Parameters
    ----------
    layout : TableLayout
        Where the numbers are.
    """

    layout: TableLayout

    @row_map
    def __call__(self, block: Block) -> Block:
        """u of each number, 2 where it is missing; targets stay."""
        x = block.dense()
        u = cell_scale_of(self.layout, line_of(self.layout, x))
        gone = present_of(x, self.layout.number_missing) < 0.5
        return Block(np.where(gone, MISSING_CELL, u), block.y)


def places_of(line: np.ndarray, u: np.ndarray, mass: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """F: the mean of the line and of the released share of rows below.

    Parameters
    ----------
    line, u : array of shape (n, m)
        Of m numbers.
    mass : array of shape (m, B + 1)
        Share of rows below each border of B equal cells of u.
    shown : bool array of shape (m,)
        Whether the column's mass was seen above the noise.
    """
    cells = mass.shape[1] - 1
    position = u * cells
    cell = np.minimum(position.astype(np.int64), cells - 1)
    column = np.arange(mass.shape[0])
    below, above = mass[column, cell], mass[column, cell + 1]
    found = below + (position - cell) * (above - below)
    return np.clip(np.where(shown, (line + found) / 2, line), 0.0, 1.0)
