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
from veilspan.tables.cell_rules import CellReader
from veilspan.tables.cells import Cells
from veilspan.tables.columns import CategoryColumn, Column, NumberColumn
from veilspan.tables.label_columns import find_labels
from veilspan.tables.number_block import NumberBlock, NumberColumns, number_cells, read_values

if TYPE_CHECKING:
    from veilspan.tables.schema import Schema
    from veilspan.tables.sources.table_source import TableSource

#: Bytes of encoded rows that are made in one go: all passes over them stay in the cache of a core,
#: and there are enough rows for a pass to take longer than its call. 500,000 rows of 50 mixed
#: columns took 444 ms of CPU with blocks of 64 kB, 186 with 256 kB and 134 with 1 MB.
BLOCK_BYTES = 1024 * 1024


@dataclass(frozen=True, eq=False)
class Encoded:
    """Rows of a table as numbers, as sensitive as the table.

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
        #: Where the columns of all others stand, those side by side together.
        self.label_places: list[slice] = []
        place = 0
        for column in schema.features:
            kind = self.numbers if isinstance(column, NumberColumn) else self.labels
            kind.append((place, CellReader(column, schema.file)))
            stop = place + len(column.names_out)
            if kind is self.labels:
                first = place
                if self.label_places and self.label_places[-1].stop == place:
                    first = self.label_places.pop().start
                self.label_places.append(slice(first, stop))
            place = stop
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
        """Encode the rows of a batch, all of them.

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
            assert self._target is not None
            return np.where(present, np.clip(self._target.round(y), *column.range), 0.0)
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
            [number_cells(reader, columns[reader.column.name]) for _, reader in encoder.numbers]
        )
        self._labels = [
            label
            for place, reader in encoder.labels
            for label in find_labels(reader, columns[reader.column.name], place)
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

    @row_map
    def encode_columns(self, start: int, stop: int, out: np.ndarray) -> None:
        """Encode the rows from ``start`` to ``stop`` to a contiguous array (width, stop - start).

        The same bits as :meth:`encode_rows`, stored by columns. Targets are left to ``targets``.
        """
        encoder = self._encoder
        for part in encoder.label_places:
            out[part] = 0.0
        if encoder.numbers:
            places = [place for place, _ in encoder.numbers]
            missing = encoder.number_block.encode_columns(self._numbers, start, out, places)
            for (place, reader), gaps in zip(encoder.numbers, missing):
                if reader.column.missing_column:
                    out[place + 1] = 0.0 if gaps is None else gaps
        for label in self._labels:
            label.write_columns(out, start)

    @property
    def targets(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Encoded targets and whether they are there; None if none were asked for."""
        return self._targets

    @property
    def n_bytes(self) -> int:
        """Bytes that it takes to keep; what is stored of a cell is less than its encoding."""
        arrays: list[np.ndarray | None] = [label.codes for label in self._labels]
        arrays += [part for cells in self._numbers.cells for part in (cells.values, cells.missing)]
        arrays += self._targets or ()
        return sum(array.nbytes for array in arrays if array is not None)

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
