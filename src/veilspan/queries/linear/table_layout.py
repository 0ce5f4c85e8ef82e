"""Where the columns of a table stand in its encoded rows, and what is public of their scales."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from veilspan.tables.columns import DateColumn, NumberColumn

if TYPE_CHECKING:
    from veilspan.tables.schema import Schema

#: In place of a place: a column that has no indicator of missing cells.
NONE = -1


@dataclass(frozen=True, eq=False)
class TableLayout:
    """The public form of encoded rows: which entries are numbers and which are 0 or 1.

    Attributes
    ----------
    width : int
        Entries of a row.
    columns : tuple of str
        Columns of the table that entries come from.
    numbers, number_column, number_missing : int array of shape (m,)
        Place of each number, its column, and the place of the entry that says that it is missing
        (-1 if there is none).
    low, high : array of shape (m,)
        Ranges of the numbers as they stand in the row.
    zero : array of shape (m,)
        Where the user's zero lies in the range, from 0 to 1; the nearer end if it lies outside. NaN
        where a log scale would mean nothing: dates, and numbers that are logarithms already.
    flags, flag_column, flag_missing : int array of shape (q,)
        The same for entries of 0 and 1.
    groups : int
        g: a row has at most g of its numbers and sets of categories that are not missing, each of
        length at most 1.
    """

    width: int
    columns: tuple[str, ...]
    numbers: np.ndarray
    number_column: np.ndarray
    number_missing: np.ndarray
    low: np.ndarray
    high: np.ndarray
    zero: np.ndarray
    flags: np.ndarray
    flag_column: np.ndarray
    flag_missing: np.ndarray
    groups: int

    @property
    def n_numbers(self) -> int:
        """Number of columns of numbers, days of dates included."""
        return len(self.numbers)

    @property
    def n_flags(self) -> int:
        """Number of entries of 0 and 1."""
        return len(self.flags)

    def find_column(self, name: str) -> int:
        """The number of a column, or a sentence that lists those there are."""
        if name not in self.columns:
            raise ValueError(f"no column is called {name!r}: there are {', '.join(self.columns)}.")
        return self.columns.index(name)


def layout_of_schema(schema: Schema) -> TableLayout:
    """The layout of a schema's encoded rows."""
    numbers: list[tuple[int, int, int, float]] = []
    flags: list[tuple[int, int, int]] = []
    groups, place = 0, 0
    for owner, column in enumerate(schema.features):
        names = column.names_out
        missing = place + len(names) - 1 if column.missing_column else NONE
        for own, name in enumerate(names):
            here = place + own
            if here == missing:
                flags.append((here, owner, NONE))
            elif name == column.name and isinstance(column, (NumberColumn, DateColumn)):
                numbers.append((here, owner, missing, _zero_of(column)))
            else:
                flags.append((here, owner, missing))
        groups += round(column.longest) - column.missing_column
        place += len(names)
    return _make(place, tuple(c.name for c in schema.features), numbers, flags, groups)


def layout_of_ranges(low: np.ndarray, high: np.ndarray, names: Any = None) -> TableLayout:
    """The layout of a table of numbers with public ranges."""
    width = len(low)
    zero = np.where(
        high < 0, 1.0, np.where(low > 0, 0.0, -low / np.where(high > low, high - low, 1))
    )
    columns = tuple(map(str, range(width) if names is None else names))
    numbers = [(j, j, NONE, float(zero[j])) for j in range(width)]
    return _make(width, columns, numbers, [], width, low, high)


def _make(
    width: int,
    columns: tuple[str, ...],
    numbers: list[tuple[int, int, int, float]],
    flags: list[tuple[int, int, int]],
    groups: int,
    low: np.ndarray | None = None,
    high: np.ndarray | None = None,
) -> TableLayout:
    def ints(entries: list[Any], part: int) -> np.ndarray:
        return np.array([entry[part] for entry in entries], dtype=np.int64)

    return TableLayout(
        width=width,
        columns=columns,
        numbers=ints(numbers, 0),
        number_column=ints(numbers, 1),
        number_missing=ints(numbers, 2),
        low=np.full(len(numbers), -1.0) if low is None else np.array(low, dtype=np.float64),
        high=np.full(len(numbers), 1.0) if high is None else np.array(high, dtype=np.float64),
        zero=np.array([entry[3] for entry in numbers], dtype=np.float64),
        flags=ints(flags, 0),
        flag_column=ints(flags, 1),
        flag_missing=ints(flags, 2),
        groups=max(1, groups),
    )


def _zero_of(column: NumberColumn | DateColumn) -> float:
    """Where zero lies in a column's range, from 0 to 1; NaN where it has no meaning."""
    if isinstance(column, DateColumn) or column.scale == "log":
        return math.nan
    low, high = column.range
    return min(max(-low / (high - low), 0.0), 1.0)
