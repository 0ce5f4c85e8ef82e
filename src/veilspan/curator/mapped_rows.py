"""Rows seen through a public map of each row, without a second table in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

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
    if isinstance(rows._x, np.ndarray):
        size = 8 * rows.n_rows * n_features
    else:  # a number and its place
        size = 16 * (int(rows._x.nnz) + rows.n_rows)
    return map_now(rows, row_map) if size <= KEPT_BYTES else MappedRows(rows, row_map, n_features)


def map_now(rows: Rows, row_map: Callable[[Block], Block]) -> Rows:
    """Map all rows now, and return the mapped table as ordinary rows."""
    parts = []
    for block in rows.blocks(_ROWS_AT_ONCE):
        parts.append(row_map(block).x)
    if isinstance(parts[0], np.ndarray):
        return Rows.checked_before(np.concatenate(parts), rows._y)
    from scipy import sparse

    return Rows.checked_before(sparse.csr_array(sparse.vstack(parts, format="csr")), rows._y)


class MappedRows(Rows):
    """Rows seen through a map, block by block, each time anew.

    The rows may be mapped ones themselves: a map of each row after a map of each row is one.
    """

    def __init__(self, rows: Rows, row_map: Callable[[Block], Block], n_features: int) -> None:
        self._hold(rows._x, rows._y)
        self.n_rows, self.n_features = rows.n_rows, n_features  # a map leaves no row out
        self._before = rows
        self._map = row_map

    def blocks(self, rows_per_block: int) -> Iterator[Block]:
        """Yield blocks of at most ``rows_per_block`` rows, each mapped when it is asked for."""
        for block in self._before.blocks(rows_per_block):
            yield self._map(block)

    def paired(self, coins: np.random.Generator, least: int = 4) -> Rows:
        """Not offered: no method pairs mapped rows."""
        raise TypeError("mapped rows are not paired: pair the rows first, then map them.")
