"""Columns of 0 and 1, and days: what a batch's cells look up, written block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from veilspan.tables.cell_rules import FIRST_WEEKDAY, CellReader
from veilspan.tables.cells import Cells, DateCells
from veilspan.tables.columns import BooleanColumn, CategoryColumn, DateColumn


@lru_cache(maxsize=8)
def _row_starts(n: int, width: int) -> np.ndarray:
    """Where the rows of a block begin, the same for all blocks of a table but the last."""
    return np.arange(0, n * width, width)


@dataclass(frozen=True, eq=False)
class Ones:
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

    def write_columns(self, columns: np.ndarray, start: int) -> None:
        """Write the 1s of the rows from ``start`` on to a contiguous array stored by columns."""
        n = columns.shape[1]
        places = np.take(self.places * n, self.codes[start : start + n], mode="wrap")
        places += _row_starts(n, 1)
        columns.reshape(-1)[places] = 1.0


@dataclass(frozen=True, eq=False)
class Values:
    """One encoded column: its values, by code."""

    values: np.ndarray
    codes: np.ndarray
    place: int

    def write(self, rows: np.ndarray, start: int) -> None:
        """Write the values of the rows from ``start`` on."""
        codes = self.codes[start : start + len(rows)]
        rows[:, self.place] = np.take(self.values, codes, mode="wrap")

    def write_columns(self, columns: np.ndarray, start: int) -> None:
        """Write the values of the rows from ``start`` on to an array stored by columns."""
        codes = self.codes[start : start + columns.shape[1]]
        np.take(self.values, codes, mode="wrap", out=columns[self.place])


def find_labels(reader: CellReader, cells: Cells, place: int) -> Iterator[Ones | Values]:
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
        yield Ones(place + values.astype(np.int64), codes)
    elif isinstance(column, BooleanColumn):
        yield Values(values, codes, place)
    elif isinstance(column, DateColumn):
        yield from _day_labels(reader, values, codes, place)
    if column.missing_column:
        yield Values(missing.astype(np.float64), codes, place + len(column.names_out) - 1)


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
) -> Iterator[Ones | Values]:
    column, scale = reader.column, reader.scale
    assert isinstance(column, DateColumn)
    days = np.clip(days, scale.low, scale.high)
    whole = days.astype(np.int64)
    for part in column.parts:
        if part == "days":
            values = np.clip((days - scale.middle) * scale.factor, -1.0, 1.0)
            yield Values(values, codes, place)
            place += 1
        elif part == "weekday":
            yield Ones(place + (whole + FIRST_WEEKDAY) % 7, codes)
            place += 7
        else:
            months = whole.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
            yield Ones(place + months % 12, codes)
            place += 12
