r"""Values of a column at which its curve is told, and the encoded rows that ask for them.

A curve is asked for by encoded rows in which every other column is zero. Values are even on the
column's own scale (:class:`~veilspan.tables.columns.NumberColumn`) and on the cell scale of
:mod:`veilspan.queries.linear.column_scales`, which is finer around zero: all of it is public.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.queries.linear.column_scales import cell_scale_of, line_of
from veilspan.queries.linear.table_layout import TableLayout
from veilspan.tables.cell_rules import Scale
from veilspan.tables.columns import Column, DateColumn, NumberColumn

#: Values of a curve: even on the column's scale, and even on the cell scale. The latter is a
#: multiple of 16, so that borders of bins are among them.
EVEN, CELLS = 65, 129
#: Places of the range by which the cell scale is inverted: evenly, and closer and closer to zero.
FINE, NEAR, NEAREST = 2001, 400, 1e-6
DAY = "datetime64[D]"


@dataclass(frozen=True, eq=False)
class NumberGrid:
    """A number of the encoded rows, and how the user's values become it.

    Attributes
    ----------
    layout : TableLayout
        Where all columns are.
    number : int
        Which of the layout's numbers.
    column : Column or None
        What the schema says of it; None for plain arrays.
    """

    layout: TableLayout
    number: int
    column: Column | None

    @property
    def is_date(self) -> bool:
        """Whether the values of the column are days."""
        return isinstance(self.column, DateColumn)

    @property
    def is_log(self) -> bool:
        """Whether the column is on a log scale."""
        return isinstance(self.column, NumberColumn) and self.column.scale == "log"

    @property
    def unit(self) -> str:
        """What values are measured in; empty if nobody said."""
        return self.column.unit if isinstance(self.column, NumberColumn) else ""

    def values(self) -> np.ndarray:
        """Values in the user's units, increasing: floats, or days."""
        parts = np.concatenate(
            [np.linspace(0.0, 1.0, EVEN), self.parts_of_cells(np.linspace(0.0, 1.0, CELLS))]
        )
        return np.unique(self.user_values(np.unique(parts)))

    def middles(self, cells: int) -> np.ndarray:
        """Values in the middles of equal cells of the cell scale, in the user's units."""
        return self.user_values(self.parts_of_cells((np.arange(cells) + 0.5) / cells))

    def parts_of_cells(self, u: np.ndarray) -> np.ndarray:
        """Where numbers of the cell scale lie in the range, from 0 to 1."""
        zero = float(self.layout.zero[self.number])
        fine = np.linspace(0.0, 1.0, FINE)
        if np.isfinite(zero):
            near = np.geomspace(NEAREST, 1.0, NEAR)
            fine = np.unique(np.clip(np.concatenate([fine, zero - near, zero + near]), 0.0, 1.0))
        return np.interp(u, self._cells_of_parts(fine), fine)

    def cells_of(self, values: np.ndarray) -> np.ndarray:
        """Places of values on the cell scale, from 0 to 1."""
        return self._cells_of_parts(line_of(self.layout, self.encode(values))[:, self.number])

    def _cells_of_parts(self, parts: np.ndarray) -> np.ndarray:
        lines = np.zeros((len(parts), self.layout.n_numbers))
        lines[:, self.number] = parts
        return cell_scale_of(self.layout, lines)[:, self.number]

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Values in the user's units as encoded rows whose other entries are zero."""
        rows = np.zeros((len(values), self.layout.width))
        place = int(self.layout.numbers[self.number])
        if self.column is None:
            rows[:, place] = values
            return rows
        scale = self._scale()
        numbers = values.astype(np.int64).astype(np.float64) if self.is_date else values
        terms = scale.terms(np.asarray(numbers, dtype=np.float64))
        rows[:, place] = np.clip((terms - scale.middle) * scale.factor, -1.0, 1.0)
        return rows

    def user_values(self, parts: np.ndarray) -> np.ndarray:
        """Parts of the range, from 0 to 1, as values in the user's units."""
        if self.column is None:
            low, high = self.layout.low[self.number], self.layout.high[self.number]
            return np.asarray(np.clip(low + parts * (high - low), low, high))
        scale = self._scale()
        terms = scale.middle + (2.0 * parts - 1.0) / scale.factor
        found = np.clip(np.exp(terms) if scale.log else terms, scale.low, scale.high)
        if self.is_date:
            return np.rint(found).astype(np.int64).astype(DAY)
        whole = isinstance(self.column, NumberColumn) and self.column.integer
        return np.asarray(np.rint(found) if whole else found)

    def _scale(self) -> Scale:
        column = self.column
        if isinstance(column, DateColumn):
            low, high = (float(np.datetime64(day).astype(np.int64)) for day in column.range)
            return Scale(low, high)
        assert isinstance(column, NumberColumn)
        return Scale(*column.range, log=column.scale == "log")


def say_value(value: Any) -> str:
    """A value of a grid as a person writes it."""
    if isinstance(value, (np.datetime64, datetime.date, str)):
        return str(value)
    return f"{float(value):.6g}"
