"""Columns of numbers, read and mapped to [-1, 1] in few passes over blocks that fit the cache."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from veilspan.tables.cell_rules import CellReader
from veilspan.tables.cells import BooleanCells, Cells, DateCells, NumberCells
from veilspan.tables.columns import BooleanColumn, Column, DateColumn, NumberColumn


class NumberColumns:
    """Columns of numbers of a batch; one matrix if they stand at equal distances in memory.

    Those of a data frame made from an array do, and one copy of a block of rows is then quicker
    than one a column.
    """

    def __init__(self, cells: list[NumberCells]) -> None:
        self.cells = cells
        self.matrix = _find_matrix(cells)
        #: Whether all of them are floats without marks for what is missing.
        self.are_plain = all(c.missing is None and c.values.dtype == np.float64 for c in cells)


def _find_matrix(cells: list[NumberCells]) -> np.ndarray | None:
    """The columns as one view, if all of them lie in one array.

    Columns of several arrays may stand at equal distances by chance (any two do). A view over
    both would span whatever lies between them, and NumPy's copies of it have no end.
    """
    if len({id(_owner_of(each.values)) for each in cells}) != 1:
        return None
    if len(cells) < 2 or any(c.missing is not None or c.values.dtype != np.float64 for c in cells):
        return None
    values = [each.values for each in cells]
    addresses = [each.ctypes.data for each in values]
    steps = {after - before for before, after in pairwise(addresses)}
    strides = {each.strides[0] for each in values}
    if len(steps) > 1 or len(strides) > 1:
        return None
    # A view of what the columns hold and nothing else: column i begins where it did.
    shape, by = (len(cells[0]), len(cells)), (strides.pop(), steps.pop())
    return np.lib.stride_tricks.as_strided(values[0], shape, by, subok=False, writeable=False)


def _owner_of(values: np.ndarray) -> np.ndarray:
    """The array that a view is of."""
    while isinstance(values.base, np.ndarray):
        values = values.base
    return values


class NumberBlock:
    """The columns of numbers of some rows, mapped in place in few passes.

    The public numbers of the columns are repeated for every row of a block, so that each pass is
    one loop over all of it.
    """

    def __init__(self, readers: list[CellReader], n_rows: int) -> None:
        self._n_rows = n_rows
        scales = [reader.scale for reader in readers]
        self._middle_of = np.array([scale.middle for scale in scales], dtype=np.float64)
        self._factor_of = np.array([scale.factor for scale in scales], dtype=np.float64)
        self._whole = [i for i, reader in enumerate(readers) if _is_whole(reader.column)]
        self._logs = [(i, scale) for i, scale in enumerate(scales) if scale.log]
        self._missing_numbers = readers[0].missing_numbers if readers else ()
        self._only_scaled = not (self._whole or self._logs or self._missing_numbers)
        self._readers = readers

    @cached_property
    def _middles(self) -> np.ndarray:
        return np.tile(self._middle_of, (self._n_rows, 1))

    @cached_property
    def _factors(self) -> np.ndarray:
        return np.tile(self._factor_of, (self._n_rows, 1))

    @cached_property
    def _fills(self) -> np.ndarray:
        fills = np.array([reader.fill for reader in self._readers], dtype=np.float64)
        return np.tile(fills, (self._n_rows, 1))

    def encode(self, columns: NumberColumns, start: int, block: np.ndarray) -> np.ndarray | None:
        """Write the encoded rows from ``start`` on to ``block``; return what is missing, if any."""
        n = len(block)
        if self._only_scaled and columns.matrix is not None:
            # The copy and the first step in one pass, undone if something is missing.
            np.subtract(columns.matrix[start : start + n], self._middles[:n], out=block)
            if _is_finite(block):
                self._scale(block)
                return None
        self._copy(columns, start, block)
        for number in self._missing_numbers:
            block[block == number] = np.nan
        missing = self._fill_missing(block)
        for i in self._whole:
            np.rint(block[:, i], out=block[:, i])
        for i, scale in self._logs:
            # A copy: NumPy's logarithm of entries side by side is the one of the definition.
            block[:, i] = scale.terms(block[:, i].copy())
        block -= self._middles[:n]
        self._scale(block)
        return missing

    def encode_columns(
        self, columns: NumberColumns, start: int, out: np.ndarray, places: list[int]
    ) -> list[np.ndarray | None]:
        """The same to rows of ``out``, a row for each column; what is missing of each, if any.

        Columns of a table in memory lie one after the other: encoded as they lie they need not be
        turned into rows, which takes longer than all of their arithmetic.
        """
        first, n = places[0], len(places)
        missing: list[np.ndarray | None] = [None] * n
        left: Any = range(n)
        if self._only_scaled and columns.are_plain and places[-1] - first == n - 1:
            # Arithmetic first: the extremes of what comes out tell whether anything was odd.
            block = out[first : first + n]
            self._subtract_middles(columns, start, block)
            block *= self._factor_of[:, None]
            left = _clip_finite(block)
        for i in left:
            missing[i] = self._encode_column(i, columns.cells[i], start, out[places[i]])
        return missing

    def _subtract_middles(self, columns: NumberColumns, start: int, block: np.ndarray) -> None:
        rows, middles = slice(start, start + block.shape[1]), self._middle_of
        if columns.matrix is not None:
            np.subtract(columns.matrix[rows].T, middles[:, None], out=block)
            return
        for cells, middle, row in zip(columns.cells, middles, block):
            np.subtract(cells.values[rows], middle, out=row)

    def _encode_column(
        self, i: int, cells: NumberCells, start: int, column: np.ndarray
    ) -> np.ndarray | None:
        reader, rows = self._readers[i], slice(start, start + len(column))
        column[:] = cells.values[rows]
        if cells.missing is not None:
            column[cells.missing[rows]] = np.nan
        for number in self._missing_numbers:
            column[column == number] = np.nan
        missing = None
        if not _is_finite(column):
            missing = ~np.isfinite(column)
            column[missing] = reader.fill
        if _is_whole(reader.column):
            np.rint(column, out=column)
        if reader.scale.log:
            column[:] = reader.scale.terms(column)
        column -= reader.scale.middle
        column *= reader.scale.factor
        np.clip(column, -1.0, 1.0, out=column)
        return missing

    def _scale(self, block: np.ndarray) -> None:
        block *= self._factors[: len(block)]
        np.clip(block, -1.0, 1.0, out=block)

    @staticmethod
    def _copy(columns: NumberColumns, start: int, block: np.ndarray) -> None:
        rows = slice(start, start + len(block))
        if columns.matrix is not None:
            block[:] = columns.matrix[rows]
            return
        for i, cells in enumerate(columns.cells):
            block[:, i] = cells.values[rows]
            if cells.missing is not None:
                block[cells.missing[rows], i] = np.nan

    def _fill_missing(self, block: np.ndarray) -> np.ndarray | None:
        if _is_finite(block):
            return None
        missing = ~np.isfinite(block)
        np.copyto(block, self._fills[: len(block)], where=missing)
        return missing


def _is_finite(block: np.ndarray) -> bool:
    """Whether a block has no NaN and no infinity; False also if its numbers are too large to add.

    A sum is not finite beside either, and is one quick pass. (A product of BLAS would be another,
    but wakes its threads for every block.)
    """
    return bool(np.isfinite(np.add.reduce(block.reshape(-1))))


def _clip_finite(columns: np.ndarray) -> np.ndarray:
    """Clip columns whose numbers are all finite; say which are not, or overflowed.

    A NaN anywhere makes the extremes NaN. Where they are within the range a clip changes nothing.
    """
    low, high = np.minimum.reduce(columns, axis=1), np.maximum.reduce(columns, axis=1)
    finite = np.isfinite(low) & np.isfinite(high)
    if (finite & ~((low >= -1.0) & (high <= 1.0))).any():
        np.clip(columns, -1.0, 1.0, out=columns)  # one call takes less than one for each column
    return np.flatnonzero(~finite)


def read_values(reader: CellReader, cells: Cells) -> np.ndarray:
    """The values of cells in their column's own terms, not rounded, NaN for missing: one a cell."""
    column = reader.column
    if isinstance(column, NumberColumn) and isinstance(cells, NumberCells):
        return _read_numbers(reader, cells)
    if isinstance(column, DateColumn) and isinstance(cells, DateCells):
        days = cells.values.astype("datetime64[D]")
        return np.where(np.isnat(days), np.nan, days.astype(np.int64).astype(np.float64))
    if isinstance(column, BooleanColumn) and isinstance(cells, BooleanCells):
        values = cells.values.astype(np.float64)
        return values if cells.missing is None else np.where(cells.missing, np.nan, values)
    found = cells.distinct()
    return reader.read_all(found.values)[found.codes]


def _read_numbers(reader: CellReader, cells: NumberCells) -> np.ndarray:
    values = np.array(cells.values, dtype=np.float64)
    if cells.missing is not None:
        values[cells.missing] = np.nan
    values[~np.isfinite(values)] = np.nan
    for number in reader.missing_numbers:
        values[values == number] = np.nan
    return values


def number_cells(reader: CellReader, cells: Cells) -> NumberCells:
    """Cells of a column of numbers, read if they are stored as anything else."""
    return cells if isinstance(cells, NumberCells) else NumberCells(read_values(reader, cells))


def _is_whole(column: Column) -> bool:
    return isinstance(column, NumberColumn) and column.integer
