"""Rows seen through a public map of each row, without a second table in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from veilspan.curator.rows import Block, Rows

#: A mapped table of at most so many bytes is kept, for solvers that walk over it hundreds of times.
#: It decides time and memory only: rows get the same bits whichever way they are mapped.
KEPT_BYTES = 64_000_000


class MappedRows(Rows):
    """Rows seen through a map, block by block, each time anew.

    The rows may be mapped ones themselves: a map of each row after a map of each row is one.
    """

    def __init__(self, rows: Rows, row_map: Callable[[Block], Block], n_features: int) -> None:
        self.n_rows, self.n_features = rows.n_rows, n_features  # a map leaves no row out
        self.is_sparse = rows.is_sparse
        self._before = rows
        self._map = row_map

    def blocks(self, rows_per_block: int) -> Iterator[Block]:
        """Yield blocks of at most ``rows_per_block`` rows, each mapped when it is asked for."""
        for block in self._before.blocks(rows_per_block):
            mapped = self._map(block)
            # Whether a row takes part is nothing that a map decides, or could lose.
            yield mapped if block.present is None else replace(mapped, present=block.present)

    def _size_with(self, n_features: int) -> float:
        """Bytes of the table if it had so many columns, as before the map."""
        return self._before._size_with(n_features)

    def map_now(self, row_map: Callable[[Block], Block]) -> Rows:
        """Map all rows now, and return the mapped table as ordinary rows."""
        return self._before.map_now(lambda block: row_map(self._map(block)))

    def paired(self, coins: np.random.Generator, least: int = 4) -> Rows:
        """Not offered: no method pairs mapped rows."""
        raise TypeError("mapped rows are not paired: pair the rows first, then map them.")
