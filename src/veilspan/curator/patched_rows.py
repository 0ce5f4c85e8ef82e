"""Rows of which a public map changes some, without a second table in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from veilspan.curator.query import BLOCK_BYTES
from veilspan.curator.rows import KEPT_BYTES, Block, Rows

RowMap = Callable[[np.ndarray], np.ndarray]
#: Arrays of a block's size that a map may hold at once, a guess from above: blocks are made so
#: small that all of them together fit into ``BLOCK_BYTES``.
_COPIES = 8


class PatchedRows(Rows):
    """Rows after a public map of each that leaves most of them as they are.

    The map is run once over the table, block by block, and only the rows that it changes are kept,
    up to ``KEPT_BYTES`` of them; where there are more, it is run again in each walk. Either way the
    memory in use does not grow with the table. The map looks at one row at a time, bit for bit, so
    neighbouring tables stay neighbouring, and it does not matter which block a row was mapped in.

    Parameters
    ----------
    rows : Rows
        A dense table.
    row_map : callable
        From an array of rows to one of the same shape. It may refuse rows that do not have the
        public form.
    """

    def __init__(self, rows: Rows, row_map: RowMap) -> None:
        self._hold(rows._x, rows._y, rows._present)
        self._map = row_map
        self._changed, self._patches = self._look()

    def blocks(self, rows_per_block: int) -> Iterator[Block]:
        """Yield blocks of at most ``rows_per_block`` rows, with the changed rows put in."""
        start = 0
        for block in super().blocks(rows_per_block):
            yield self._map_block(block, start)
            start += block.n_rows

    def _map_block(self, block: Block, start: int) -> Block:
        if self._patches is None:
            return replace(block, x=self._map(block.x))
        first, last = np.searchsorted(self._changed, (start, start + block.n_rows))
        if first == last:
            return block
        x = block.x.copy()
        x[self._changed[first:last] - start] = self._patches[first:last]
        return replace(block, x=x)

    def _look(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Numbers of the rows that the map changes, and what it makes of them if they are few."""
        numbers, values = [np.empty(0, dtype=np.intp)], [np.empty((0, self.n_features))]
        start, room = 0, KEPT_BYTES // (8 * self.n_features)
        for block in super()._cut(max(1, BLOCK_BYTES // (8 * _COPIES * self.n_features))):
            mapped = self._map(block.x)  # over all of the table: it also checks the form
            changed = np.flatnonzero((mapped != block.x).any(axis=1))
            room -= len(changed)
            if room >= 0:
                numbers.append(changed + start)
                values.append(mapped[changed])
            else:  # too many to keep: let go of what was kept, and go on for the check
                numbers, values = numbers[:1], values[:1]
            start += block.n_rows
        return np.concatenate(numbers), np.concatenate(values) if room >= 0 else None

    def paired(self, coins: np.random.Generator, least: int = 4) -> Rows:
        """Not offered: no method pairs mapped rows."""
        raise TypeError("mapped rows are not paired: pair the rows first, then map them.")
