r"""Mapped rows on a grid of 2^-15: kept as whole numbers of two bytes, in memory or on a disk.

Solvers walk over mapped rows tens of times, and a map that draws curves takes longer than the walk.
Kept as floats its rows need a hundred times the room of the table, so a map may round them to
multiples of h = 2^-15 (:func:`onto_grid`). They are then h times 16-bit integers, without loss.

*Rounding is a part of the map.* It looks at one row, so neighbouring tables stay neighbouring, and
it is there whether rows are kept or not, and however many there are: a rule by their number would
move all rows at once where that number is private.

*Rows stay in the unit ball.* A row x with |x| <= 1 is rounded to the nearest multiples k h. Where
that made it longer than 1, sum_j k_j^2 > 2^30, it is rounded towards zero instead: then |k_j h| is
at most |x_j|, so that sum_j k_j^2 is at most 2^30 |x|^2. What float64 left of |x| <= 1 is
|x|^2 <= 1 + 2^-31 for less than a million columns, and sum_j k_j^2 a whole number, so it is at most
2^30. All these sums are of whole numbers below 2^53 and exact in any order: the squared length of a
kept row has no rounding error.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from veilspan.curator.row_maps import row_map
from veilspan.curator.row_store import RowStore
from veilspan.curator.rows import Block, MappedRows, Rows, row_dots
from veilspan.curator.secret_file import check_room
from veilspan.privacy.errors import TemporaryFolderError

#: What entries are multiples of. The waves, bins and scores of a table model are 0.005 to 0.5 long,
#: and what is asked of them carries noise of a thousandth at the least.
STEP = 2.0**-15
KEPT_AS, LARGEST = np.int16, 2.0**15 - 1
#: Numbers that are mapped in one go, and a temporary array or two of them beside.
MAPPED_NUMBERS = 1_000_000


@row_map
def onto_grid(rows: np.ndarray) -> np.ndarray:
    """Round rows of the unit ball to multiples of 2^-15, in place; they stay in the ball."""
    rows *= 1.0 / STEP
    codes = np.rint(rows)
    np.clip(codes, -LARGEST, LARGEST, out=codes)
    long = row_dots(codes, codes) > 1.0 / STEP**2
    if long.any():
        codes[long] = np.clip(np.trunc(rows[long]), -LARGEST, LARGEST)
    codes += 0.0  # -0 becomes 0, as whole numbers have it
    np.multiply(codes, STEP, out=rows)
    return rows


class GridRows(MappedRows):
    """Rows seen through a map onto the grid, mapped in the first walk and kept for all others.

    Where the temporary folder cannot take them they are mapped in every walk: the same bits, and
    nothing that anybody would have to be told.
    """

    _kept: Rows | None = None
    _tried = False

    def blocks(self, rows_per_block: int) -> Iterator[Block]:
        """Yield blocks of at most ``rows_per_block`` rows, in order."""
        if not self._tried:
            self._kept, self._tried = self._keep(), True
        if self._kept is None:
            yield from self._walk(rows_per_block)
            return
        for block in self._kept.blocks(rows_per_block):
            block.x.flags.writeable = True  # floats made of the kept numbers for this block alone
            np.multiply(block.x, STEP, out=block.x)
            block.x.flags.writeable = False
            # Exact in any order, so the quickest one will do.
            block.__dict__["squared_lengths"] = np.vecdot(block.x, block.x)
            yield block

    def _keep(self) -> Rows | None:
        """All rows as whole numbers; None where there is no room for them."""
        store: RowStore | None = None
        try:
            check_room(2 * self.n_rows * self.n_features)
            for block in self._walk(max(1, MAPPED_NUMBERS // self.n_features)):
                if store is None:
                    with_targets = block.y is not None
                    store = RowStore(self.n_features, with_targets=with_targets, dtype=KEPT_AS)
                store.add((block.x * (1.0 / STEP)).astype(KEPT_AS), block.y, block.present)
        except TemporaryFolderError:
            return None
        return None if store is None or store.n_rows < 2 else store.finish()
