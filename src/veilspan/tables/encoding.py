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

#: Bytes of numbers that are mapped in one go: all passes over them stay in the cache of a core.
BLOCK_BYTES = 256 * 1024


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
        self._numbers: list[tuple[int, CellReader]] = []
        self._others: list[tuple[int, CellReader]] = []
        place = 0
        for column in schema.features:
            kind = self._numbers if isinstance(column, NumberColumn) else self._others
            kind.append((place, CellReader(column, schema.file)))
            place += len(column.names_out)
        self._block = NumberBlock([reader for _, reader in self._numbers])
        self._target = None
        if target and schema.target is not None:
            self._target = CellReader(schema.target, schema.file)

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
            Zeros that the encoded rows are written to.
        """
        n = len(next(iter(columns.values())))
        x = np.zeros((n, self.width)) if out is None else out
        self._encode_numbers(columns, x)
        for place, reader in self._others:
            _encode_labels(reader, columns[reader.column.name], x, place)
        if self._target is None:
            return Encoded(x)
        y = read_values(self._target, columns[self._target.column.name])
        present = ~np.isnan(y)
        return Encoded(x, self._encode_target(np.where(present, y, 0.0), present), present)

    def encode_nothing(self) -> Encoded:
        """No rows at all."""
        x = np.zeros((0, self.width))
        if self._target is None:
            return Encoded(x)
        return Encoded(x, np.zeros(0), np.zeros(0, dtype=bool))

    def _encode_numbers(self, columns: Mapping[str, Cells], x: np.ndarray) -> None:
        if not self._numbers:
            return
        found = [_number_cells(reader, columns[reader.column.name]) for _, reader in self._numbers]
        alone = len(self._numbers) == self.width  # then their rows are those of x
        step = self._block.n_rows
        for start in range(0, len(x), step):
            rows = x[start : start + step]
            block = rows if alone and rows.flags.c_contiguous else self._block.buffer[: len(rows)]
            missing = self._block.encode(found, start, block)
            if block is rows:
                continue
            for i, (place, reader) in enumerate(self._numbers):
                rows[:, place] = block[:, i]
                if reader.column.missing_column and missing is not None:
                    rows[:, place + 1] = missing[:, i]

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


class NumberBlock:
    """The columns of numbers of some rows, mapped in place in few passes.

    The public numbers of the columns are repeated for every row of a block, so that each pass is
    one loop over all of it.
    """

    def __init__(self, readers: list[CellReader]) -> None:
        d = max(1, len(readers))
        self.n_rows = max(1, BLOCK_BYTES // (8 * d))
        self.buffer = np.empty((self.n_rows, len(readers)))
        scales = [reader.scale for reader in readers]
        self._middles = self._repeat([scale.middle for scale in scales])
        self._factors = self._repeat([scale.factor for scale in scales])
        self._fills = self._repeat([reader.fill for reader in readers])
        self._whole = [i for i, reader in enumerate(readers) if _is_whole(reader.column)]
        self._logs = [(i, scale) for i, scale in enumerate(scales) if scale.log]
        self._missing_numbers = readers[0].missing_numbers if readers else ()

    def _repeat(self, values: list[float]) -> np.ndarray:
        return np.tile(np.array(values, dtype=np.float64), (self.n_rows, 1))

    def encode(
        self, columns: list[NumberCells], start: int, block: np.ndarray
    ) -> np.ndarray | None:
        """Write the encoded rows from ``start`` on to ``block``; return what is missing, if any."""
        n = len(block)
        for i, cells in enumerate(columns):
            block[:, i] = cells.values[start : start + n]
            if cells.missing is not None:
                block[cells.missing[start : start + n], i] = np.nan
        for number in self._missing_numbers:
            block[block == number] = np.nan
        known = np.isfinite(block)
        missing = None if known.all() else ~known
        if missing is not None:
            np.copyto(block, self._fills[:n], where=missing)
        for i in self._whole:
            np.rint(block[:, i], out=block[:, i])
        for i, scale in self._logs:
            # A copy: NumPy's logarithm of entries side by side is the one of the definition.
            block[:, i] = scale.terms(block[:, i].copy())
        block -= self._middles[:n]
        block *= self._factors[:n]
        np.clip(block, -1.0, 1.0, out=block)
        return missing


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


# Columns of 0 and 1, and days.


def _encode_labels(reader: CellReader, cells: Cells, x: np.ndarray, place: int) -> None:
    """Write the encoded columns of categories, booleans and dates from ``place`` on."""
    column = reader.column
    if not isinstance(cells, DateCells if isinstance(column, DateColumn) else BooleanCells):
        _encode_distinct(reader, cells, x, place)
        return
    values = read_values(reader, cells)
    missing = np.isnan(values)
    values[missing] = reader.fill
    if isinstance(column, BooleanColumn):
        x[:, place] = values
    elif isinstance(column, DateColumn):
        _encode_days(reader, values, x, place)
    else:
        x[np.arange(len(x)), place + values.astype(np.int64)] = 1.0
    if column.missing_column:
        x[:, place + len(column.names_out) - 1] = missing


def _encode_distinct(reader: CellReader, cells: Cells, x: np.ndarray, place: int) -> None:
    """Encode each distinct value once; cells look theirs up."""
    found = cells.distinct()
    values = reader.read_all(found.values)
    column = reader.column
    width = len(column.names_out)
    if isinstance(column, CategoryColumn) and not column.missing_column:
        ones = np.where(np.isnan(values), reader.fill, values).astype(np.int64) + place
        x[np.arange(len(x)), ones[found.codes]] = 1.0
    else:
        table = np.array([reader.encode(value) for value in values])
        for i in range(width):
            x[:, place + i] = table[:, i][found.codes]


def _encode_days(reader: CellReader, days: np.ndarray, x: np.ndarray, place: int) -> None:
    column, scale = reader.column, reader.scale
    assert isinstance(column, DateColumn)
    days = np.clip(days, scale.low, scale.high)
    rows = np.arange(len(x))
    for part in column.parts:
        if part == "days":
            x[:, place] = np.clip((days - scale.middle) * scale.factor, -1.0, 1.0)
            place += 1
        elif part == "weekday":
            x[rows, place + (days.astype(np.int64) + FIRST_WEEKDAY) % 7] = 1.0
            place += 7
        else:
            months = days.astype(np.int64).astype("datetime64[D]").astype("datetime64[M]")
            x[rows, place + months.astype(np.int64) % 12] = 1.0
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
        self._x = np.zeros((n, encoder.width))
        self._targets: list[Encoded] = []

    def add(self, batch: Mapping[str, Cells]) -> None:
        n = len(next(iter(batch.values())))
        if self._n + n > len(self._x):
            more = np.zeros((self._n + n, self._encoder.width))
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
