r"""Encode tables: by a public schema every row becomes one row of numbers, whatever its cells hold.

The map is total, silent and row-wise. Each cell is read and encoded by a rule of that cell alone
(:mod:`veilspan.tables.cell_rules`), so whoever changes one row of a table changes one encoded row,
and nothing raises, warns or drops a row because of what a cell holds. In floating point as well:
numbers are mapped by operations that take one entry at a time, never by a product over rows, so a
row has the same bits in a batch of any size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from veilspan.curator.row_maps import row_map
from veilspan.tables.cell_rules import FIRST_WEEKDAY, CellReader
from veilspan.tables.cells import BooleanCells, Cells, DateCells, NumberCells
from veilspan.tables.columns import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    NumberColumn,
)

if TYPE_CHECKING:
    from veilspan.tables.schema import Schema
    from veilspan.tables.sources.table_source import TableSource

#: Bytes of encoded rows that are made in one go: all passes over them stay in the cache of a core,
#: and there are enough rows for a pass to take longer than its call. 500,000 rows of 50 mixed
#: columns took 444 ms of CPU with blocks of 64 kB, 186 with 256 kB and 134 with 1 MB.
BLOCK_BYTES = 1024 * 1024


@dataclass(frozen=True, eq=False)
class Encoded:
    """Encoded rows.

    Attributes
    ----------
    x : array of shape (n, len(schema.columns_out))
        Numbers in [-1, 1] and 0 or 1, stored by rows.
    y : array of shape (n,) or None
        Targets: numbers in the user's units within the target's range, or places in
        ``schema.classes``; 0 where there is none. None if targets were not asked for.
    present : array of bool of shape (n,) or None
        Whether a row has a target. A row without one counts, and contributes zero.
    """

    x: np.ndarray
    y: np.ndarray | None = None
    present: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.x)


class Encoder:
    """The encoding of a schema's columns.

    Parameters
    ----------
    schema : Schema
        What is public of the table.
    target : bool
        Whether targets are encoded too; for new rows that have none it is False.
    """

    def __init__(self, schema: Schema, *, target: bool = True) -> None:
        self.schema = schema
        self.width = len(schema.columns_out)
        #: Readers of columns of numbers and of all others, with their places among the encoded.
        self.numbers: list[tuple[int, CellReader]] = []
        self.labels: list[tuple[int, CellReader]] = []
        place = 0
        for column in schema.features:
            kind = self.numbers if isinstance(column, NumberColumn) else self.labels
            kind.append((place, CellReader(column, schema.file)))
            place += len(column.names_out)
        #: Rows that are encoded in one go.
        self.step = max(1, BLOCK_BYTES // (8 * max(1, self.width)))
        self.number_block = NumberBlock([reader for _, reader in self.numbers], self.step)
        #: Whether there are columns of 0 and 1, which are written where they are 1.
        self.needs_zeros = len(self.numbers) < self.width
        self._target = None
        if target and schema.target is not None:
            self._target = CellReader(schema.target, schema.file)

    def encode_nothing(self) -> Encoded:
        """No rows at all, with targets if there are any to ask for."""
        x = np.zeros((0, self.width))
        if self._target is None:
            return Encoded(x)
        return Encoded(x, np.zeros(0), np.zeros(0, dtype=bool))

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns whose cells it needs, features first."""
        wanted = tuple(self.schema.features)
        return wanted if self._target is None else (*wanted, self._target.column)

    @row_map
    def encode_batch(self, columns: Mapping[str, Cells], out: np.ndarray | None = None) -> Encoded:
        """Encode some rows.

        Parameters
        ----------
        columns : mapping of str to Cells
            The cells of every column of ``columns``, by name, all of the same length.
        out : array of shape (n, width), optional
            Where the encoded rows are written to, whatever it holds.
        """
        return self.prepare(columns).encode_rows(out=out)

    def prepare(self, columns: Mapping[str, Cells]) -> PreparedBatch:
        """Read what is distinct in a batch, so that any of its rows can be encoded on demand."""
        return PreparedBatch(self, columns)

    def read_targets(self, columns: Mapping[str, Cells]) -> tuple[np.ndarray, np.ndarray] | None:
        """Encoded targets of a batch and whether they are there; None if none are asked for."""
        if self._target is None:
            return None
        y = read_values(self._target, columns[self._target.column.name])
        present = ~np.isnan(y)
        return self._encode_target(np.where(present, y, 0.0), present), present

    def _encode_target(self, y: np.ndarray, present: np.ndarray) -> np.ndarray:
        column = self.schema.target
        if isinstance(column, NumberColumn):
            return np.where(present, np.clip(y, *column.range), 0.0)
        if isinstance(column, CategoryColumn):
            # Classes are sorted, the list of a schema need not be.
            order = {label: float(i) for i, label in enumerate(self.schema.classes or ())}
            places = np.array([order[label] for label in column.categories])
            return np.where(present, places[y.astype(np.int64)], 0.0)
        return y


class PreparedBatch:
    """A batch whose rows are encoded when they are asked for, some at a time.

    A table in memory need not be encoded as a whole: blocks of it are encoded where they are used,
    in the cache, each time anew.
    """

    def __init__(self, encoder: Encoder, columns: Mapping[str, Cells]) -> None:
        self._encoder = encoder
        self.n_rows = len(next(iter(columns.values())))
        self._numbers = NumberColumns(
            [_number_cells(reader, columns[reader.column.name]) for _, reader in encoder.numbers]
        )
        self._labels = [
            label
            for place, reader in encoder.labels
            for label in _labels_of(reader, columns[reader.column.name], place)
        ]
        self._targets = encoder.read_targets(columns)

    @row_map
    def encode_rows(
        self, start: int = 0, stop: int | None = None, out: np.ndarray | None = None
    ) -> Encoded:
        """Encode the rows from ``start`` to ``stop``, all of them if left out."""
        encoder = self._encoder
        stop = self.n_rows if stop is None else min(stop, self.n_rows)
        x = np.empty((stop - start, encoder.width)) if out is None else out
        buffer = None
        if encoder.needs_zeros or not x.flags.c_contiguous:
            buffer = np.empty((min(encoder.step, len(x)), len(encoder.numbers)))
        for first in range(0, len(x), encoder.step):
            rows = x[first : first + encoder.step]
            if encoder.needs_zeros:
                rows.fill(0.0)
            if encoder.numbers:
                self._write_numbers(start + first, rows, buffer)
            for label in self._labels:
                label.write(rows, start + first)
        if self._targets is None:
            return Encoded(x)
        y, present = self._targets
        return Encoded(x, y[start:stop], present[start:stop])

    def _write_numbers(self, start: int, rows: np.ndarray, buffer: np.ndarray | None) -> None:
        """Write the columns of numbers, by way of a buffer if others stand between them."""
        encoder = self._encoder
        block = rows if buffer is None else buffer[: len(rows)]
        missing = encoder.number_block.encode(self._numbers, start, block)
        if buffer is None:
            return
        for i, (place, reader) in enumerate(encoder.numbers):
            rows[:, place] = block[:, i]
            if reader.column.missing_column and missing is not None:
                rows[:, place + 1] = missing[:, i]


class NumberColumns:
    """Columns of numbers of a batch; one matrix if they stand at equal distances in memory.

    Those of a data frame made from an array do, and one copy of a block of rows is then quicker
    than one a column.
    """

    def __init__(self, cells: list[NumberCells]) -> None:
        self.cells = cells
        self.matrix = _find_matrix(cells)


def _find_matrix(cells: list[NumberCells]) -> np.ndarray | None:
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


class NumberBlock:
    """The columns of numbers of some rows, mapped in place in few passes.

    The public numbers of the columns are repeated for every row of a block, so that each pass is
    one loop over all of it.
    """

    def __init__(self, readers: list[CellReader], n_rows: int) -> None:
        self._n_rows = n_rows
        scales = [reader.scale for reader in readers]
        self._middles = self._repeat([scale.middle for scale in scales])
        self._factors = self._repeat([scale.factor for scale in scales])
        self._fills = self._repeat([reader.fill for reader in readers])
        self._whole = [i for i, reader in enumerate(readers) if _is_whole(reader.column)]
        self._logs = [(i, scale) for i, scale in enumerate(scales) if scale.log]
        self._missing_numbers = readers[0].missing_numbers if readers else ()
        self._only_scaled = not (self._whole or self._logs or self._missing_numbers)

    def _repeat(self, values: list[float]) -> np.ndarray:
        return np.tile(np.array(values, dtype=np.float64), (self._n_rows, 1))

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


def read_values(reader: CellReader, cells: Cells) -> np.ndarray:
    """The values of cells in their column's own terms, NaN for missing: one number a cell."""
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
    return np.rint(values) if _is_whole(reader.column) else values


def _number_cells(reader: CellReader, cells: Cells) -> NumberCells:
    return cells if isinstance(cells, NumberCells) else NumberCells(read_values(reader, cells))


def _is_whole(column: Column) -> bool:
    return isinstance(column, NumberColumn) and column.integer


# Columns of 0 and 1, and days: what a batch's cells look up, written block by block.


@lru_cache(maxsize=8)
def _row_starts(n: int, width: int) -> np.ndarray:
    """Where the rows of a block begin, the same for all blocks of a table but the last."""
    return np.arange(0, n * width, width)


@dataclass(frozen=True, eq=False)
class _Ones:
    """A group of columns of 0 and 1: the place of the 1, by code."""

    places: np.ndarray
    codes: np.ndarray

    def write(self, rows: np.ndarray, start: int) -> None:
        """Write the 1s of the rows from ``start`` on."""
        n, width = rows.shape
        places = np.take(self.places, self.codes[start : start + n], mode="wrap")
        if rows.flags.c_contiguous:
            places += _row_starts(n, width)
            rows.reshape(-1)[places] = 1.0
        else:
            rows[np.arange(n), places] = 1.0


@dataclass(frozen=True, eq=False)
class _Values:
    """One encoded column: its values, by code."""

    values: np.ndarray
    codes: np.ndarray
    place: int

    def write(self, rows: np.ndarray, start: int) -> None:
        """Write the values of the rows from ``start`` on."""
        codes = self.codes[start : start + len(rows)]
        rows[:, self.place] = np.take(self.values, codes, mode="wrap")


def _labels_of(reader: CellReader, cells: Cells, place: int) -> Iterator[_Ones | _Values]:
    """How the encoded columns of categories, booleans and dates are written from ``place`` on.

    Each distinct value is read once. Codes are -1 for missing cells, which ends at the last entry
    of what is looked up (``mode="wrap"`` of ``np.take``, which also is quicker than its checks).
    """
    if isinstance(cells, DateCells) and isinstance(reader.column, DateColumn):
        values, codes = _distinct_days(reader, cells)
    else:
        found = cells.distinct()
        values, codes = reader.read_all(found.values), found.codes
    missing = np.isnan(values)
    values = np.where(missing, reader.fill, values)
    column = reader.column
    if isinstance(column, CategoryColumn):
        yield _Ones(place + values.astype(np.int64), codes)
    elif isinstance(column, BooleanColumn):
        yield _Values(values, codes, place)
    elif isinstance(column, DateColumn):
        yield from _day_labels(reader, values, codes, place)
    if column.missing_column:
        yield _Values(missing.astype(np.float64), codes, place + len(column.names_out) - 1)


def _distinct_days(reader: CellReader, cells: DateCells) -> tuple[np.ndarray, np.ndarray]:
    """All days of the range and, last, a missing one; the code of each cell."""
    scale = reader.scale
    values = np.append(np.arange(scale.low, scale.high + 1), np.nan)
    days = cells.values.astype("datetime64[D]")
    codes = np.clip(days.astype(np.int64), int(scale.low), int(scale.high)) - int(scale.low)
    codes[np.isnat(days)] = -1
    return values, codes


def _day_labels(
    reader: CellReader, days: np.ndarray, codes: np.ndarray, place: int
) -> Iterator[_Ones | _Values]:
    column, scale = reader.column, reader.scale
    assert isinstance(column, DateColumn)
    days = np.clip(days, scale.low, scale.high)
    whole = days.astype(np.int64)
    for part in column.parts:
        if part == "days":
            values = np.clip((days - scale.middle) * scale.factor, -1.0, 1.0)
            yield _Values(values, codes, place)
            place += 1
        elif part == "weekday":
            yield _Ones(place + (whole + FIRST_WEEKDAY) % 7, codes)
            place += 7
        else:
            months = whole.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
            yield _Ones(place + months % 12, codes)
            place += 12


# Whole tables.


def encode_batches(schema: Schema, table: Any, *, target: bool = True) -> Iterator[Encoded]:
    """Yield the encoded rows of a table in batches, in order, with flat memory."""
    encoder = Encoder(schema, target=target)
    for batch in _open(table, schema, encoder).batches(encoder.columns):
        yield encoder.encode_batch(batch)


def encode_table(schema: Schema, table: Any, *, target: bool = True) -> Encoded:
    """All encoded rows of a table, written once to arrays of the right size."""
    encoder = Encoder(schema, target=target)
    source = _open(table, schema, encoder)
    rows = _GrowingRows(source.count_rows(), encoder)
    for batch in source.batches(encoder.columns):
        rows.add(batch)
    return rows.encoded()


def _open(table: Any, schema: Schema, encoder: Encoder) -> TableSource:
    from veilspan.tables.sources.check_names import check_names
    from veilspan.tables.sources.open_table import as_source

    source = as_source(table, schema.file)
    check_names(source, schema, needed=encoder.columns)
    return source


class _GrowingRows:
    """Encoded rows in one matrix; longer or shorter if a table changed after it was counted."""

    def __init__(self, n: int, encoder: Encoder) -> None:
        self._encoder, self._n = encoder, 0
        self._x = np.empty((n, encoder.width))
        self._targets: list[Encoded] = []

    def add(self, batch: Mapping[str, Cells]) -> None:
        n = len(next(iter(batch.values())))
        if self._n + n > len(self._x):
            more = np.empty((self._n + n, self._encoder.width))
            more[: self._n] = self._x[: self._n]
            self._x = more
        out = self._x[self._n : self._n + n]
        self._targets.append(self._encoder.encode_batch(batch, out))
        self._n += n

    def encoded(self) -> Encoded:
        x = self._x[: self._n]
        if not self._targets:  # a table without rows has targets all the same: none
            return self._encoder.encode_nothing()
        if self._targets[0].y is None:
            return Encoded(x)
        y = np.concatenate([each.y for each in self._targets if each.y is not None])
        present = [each.present for each in self._targets if each.present is not None]
        return Encoded(x, y, np.concatenate(present))


def encode_row(schema: Schema, row: Mapping[str, Any]) -> tuple[float, ...]:
    """One encoded row, cell by cell in plain Python: what the encoding is held to."""
    readers = [CellReader(column, schema.file) for column in schema.features]
    return tuple(x for r in readers for x in r.encode(r.read(row.get(r.column.name))))
