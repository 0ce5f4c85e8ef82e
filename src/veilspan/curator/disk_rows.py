"""Rows that wait on a disk for their block: the same blocks, bit for bit, as rows in memory.

This is the cache of solvers that walk over rows again and again: a table is read and encoded once,
and each walk reads encoded rows from the disk, or from what the operating system still has of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from veilspan.curator.array_file import ArrayFile, Form
from veilspan.curator.rows import Block, Rows


def row_forms(width: int, dtype: Any, *, with_targets: bool, group: int = 1) -> list[Form]:
    """What a unit has on the disk: numbers, targets, and who takes part, of one row or several."""
    rows = () if group == 1 else (group,)
    return [((*rows, width), dtype), (rows, np.float64) if with_targets else None, (rows, bool)]


def store_by_columns(x: np.ndarray, length: int) -> np.ndarray:
    """The rows of a block as a view of columns with room for ``length`` rows.

    A single row of its own would be stored by rows as well, and be added up in their order.
    """
    found = np.empty((x.shape[1], max(2, length))).T[: len(x)]
    found[:] = x
    return found


class DiskRows(Rows):
    """Rows whose blocks are read when they are asked for, in each walk anew.

    They are those of rows in memory: the same rows in the same order in blocks of the same sizes,
    as float64 arrays stored by rows, so whatever is computed of a block has the same bits.

    Parameters
    ----------
    file : ArrayFile
        The rows, by ``row_forms``.
    marked : bool
        Whether it was said who takes part; otherwise blocks do not say it either.
    by_columns : bool
        Whether blocks are stored by columns, as those of rows that are encoded on demand.
    """

    is_sparse = False

    def __init__(self, file: ArrayFile, *, marked: bool, by_columns: bool = False) -> None:
        self._file, self._marked, self._by_columns = file, marked, by_columns
        (self.n_features,), _ = file.forms[0] or ((0,), None)
        self.n_rows = file.n_rows

    def blocks(self, rows_per_block: int) -> Iterator[Block]:
        """Yield float64 blocks of at most ``rows_per_block`` rows, in order."""
        for start in range(0, self.n_rows, rows_per_block):
            x, y, present = self._file.read(start, start + rows_per_block)
            x = np.asarray(x, dtype=np.float64)
            if self._by_columns:
                x = store_by_columns(x, rows_per_block)
            x.flags.writeable = False
            yield Block(x, y, present if self._marked else None)

    def _size_with(self, n_features: int) -> float:
        """No end of bytes: mapped rows are not kept in memory if these are not."""
        return float("inf")

    def paired(self, coins: np.random.Generator, least: int = 4) -> Rows:
        """Differences of randomly paired rows, each row in at most one pair.

        Rows are put into a uniformly random order that does not look at them, and neighbours in it
        are subtracted: a uniformly random matching, as that of rows in memory.
        """
        from veilspan.curator.row_places import place_on_disk

        if self.n_rows < least:
            raise ValueError(f"pairs need at least {least} rows.")
        file = place_on_disk(self._file, self.n_rows, coins, keep=True)
        return _PairedDiskRows(file, marked=self._marked)


class _PairedDiskRows(DiskRows):
    """Differences of rows 0 and 1, 2 and 3, and so on; one row is left out if they are odd."""

    def __init__(self, file: ArrayFile, *, marked: bool) -> None:
        super().__init__(file, marked=marked)
        self.n_rows //= 2

    def blocks(self, rows_per_block: int) -> Iterator[Block]:
        """Yield differences as dense float64 blocks."""
        for start in range(0, self.n_rows, rows_per_block):
            stop = min(start + rows_per_block, self.n_rows)
            x, _, present = self._file.read(2 * start, 2 * stop)
            x = np.asarray(x, dtype=np.float64)
            both = None
            if self._marked and present is not None:
                both = present[0::2] & present[1::2]
            yield Block(x[0::2] - x[1::2], present=both)

    def paired(self, coins: np.random.Generator, least: int = 4) -> Rows:
        """Not offered: no method pairs rows twice."""
        raise TypeError("pairs are not paired again: pair the rows themselves.")
