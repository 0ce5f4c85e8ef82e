"""Rows seen through a public map of each row, without a second table in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from veilspan.curator.rows import Block, Rows

#: A mapped table of at most so many bytes is kept, for solvers that walk over it hundreds of times.
#: It decides time and memory only: rows get the same bits whichever way they are mapped.
KEPT_BYTES = 64_000_000
#: Rows that are mapped in one go when the table is kept.
_ROWS_AT_ONCE = 4096


def map_rows(rows: Rows, row_map: Callable[[Block], Block], n_features: int) -> Rows:
    """The rows after a public map that looks at one row at a time.

    Neighbouring tables stay neighbouring: whoever exchanges, adds or removes one row before the map
    does so after it. The map is a part of the preparation of rows and costs nothing.

    Parameters
    ----------
    rows : Rows
        The table and its targets.
    row_map : callable
        From a block to a block with the same rows in the same order.
    n_features : int
        Columns after the map.

    Returns
    -------
    Rows
        Mapped once if that takes at most ``KEPT_BYTES``; block by block, each time, if more.
    """
    mapped = MappedRows(rows, row_map, n_features)
    return mapped.materialise() if mapped.materialised_bytes() <= KEPT_BYTES else mapped


class MappedRows(Rows):
    """Rows seen through a map, block by block, each time anew.

    The rows may be mapped ones themselves: a map of each row after a map of each row is one.
    """

    def __init__(self, rows: Rows, row_map: Callable[[Block], Block], n_features: int) -> None:
        self._hold(rows._x, rows._y, rows._present)
        self.n_rows, self.n_features = rows.n_rows, n_features  # a map leaves no row out
        self._before = rows
        self._map = row_map

    def blocks(self, rows_per_block: int) -> Iterator[Block]:
        """Yield blocks of at most ``rows_per_block`` rows, each mapped when it is asked for."""
        for block in self._before.blocks(rows_per_block):
            mapped = self._map(block)
            # Whether a row takes part is nothing that a map decides, or could lose.
            yield mapped if block.present is None else replace(mapped, present=block.present)

    def materialised_bytes(self) -> int:
        """Size of the mapped table: 8 bytes a number, 16 with its place if sparse."""
        if isinstance(self._x, np.ndarray):
            return 8 * self.n_rows * self.n_features
        return 16 * (int(self._x.nnz) + self.n_rows)

    def materialise(self) -> Rows:
        """Map all rows now and return the mapped table as ordinary rows."""
        parts = [block.x for block in self.blocks(_ROWS_AT_ONCE)]
        return Rows.checked_before(_stack(parts), self._y, self._present)

    def paired(self, coins: np.random.Generator, least: int = 4) -> Rows:
        """Not offered: no method pairs mapped rows."""
        raise TypeError("mapped rows are not paired: pair the rows first, then map them.")


def _stack(parts: list[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    from scipy import sparse

    return sparse.csr_array(sparse.vstack(parts, format="csr"))
