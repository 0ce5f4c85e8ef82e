r"""The cells of one column: every value of every row falls into exactly one.

A column of numbers or dates has a cell for values at the lower border of its range or beyond it,
bins inside the range, a cell for values at the upper border or beyond, and one for missing cells.
A category has its list and a last cell, a boolean false, true and missing. The last cell always
holds what is missing.
"""

from __future__ import annotations

import datetime
import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from veilspan.curator.row_maps import row_map
from veilspan.tables.cell_rules import EPOCH, CellReader
from veilspan.tables.columns import BooleanColumn, CategoryColumn, Column, DateColumn, NumberColumn
from veilspan.tables.profiling.edges import day_edges, log_edges, round_edges, whole_edges

MISSING, OTHER_OR_MISSING = "(missing)", "(other or missing)"


@dataclass(frozen=True, eq=False)
class ColumnCells:
    """The cells of one column, all of them public.

    Attributes
    ----------
    column : Column
        Its declaration.
    labels : tuple of str
        What each cell holds, in words; the last is what is missing.
    edges : array or None
        Of columns with a range: where bins begin and end, in the column's own terms (days are
        counted from 1970-01-01, whole numbers reach half a step to both sides).
    """

    column: Column
    labels: tuple[str, ...]
    edges: np.ndarray | None = None

    @property
    def name(self) -> str:
        """Name of the column, as in the schema."""
        return self.column.name

    @property
    def size(self) -> int:
        """Number of cells, the missing one included."""
        return len(self.labels)

    @property
    def missing(self) -> int:
        """Code of missing cells, the last."""
        return self.size - 1

    @property
    def has_range(self) -> bool:
        """Whether it is a column of numbers or dates, with borders and quantiles."""
        return self.edges is not None

    @property
    def is_number(self) -> bool:
        """Whether it has a mean: numbers, dates and booleans."""
        return self.has_range or isinstance(self.column, BooleanColumn)

    @property
    def is_log(self) -> bool:
        """Whether its scale is one of ratios, so that its mean is a geometric one."""
        return isinstance(self.column, NumberColumn) and self.column.scale == "log"

    @property
    def is_whole(self) -> bool:
        """Whether it holds whole numbers, each of which reaches half a step to both sides."""
        return isinstance(self.column, NumberColumn) and self.column.integer

    @property
    def unit(self) -> str:
        """What it is measured in, for people."""
        return self.column.unit if isinstance(self.column, NumberColumn) else ""

    @cached_property
    def range(self) -> tuple[float, float]:
        """Lowest and highest value, in the column's own terms."""
        if isinstance(self.column, DateColumn):
            first, last = self.column.range
            return float(first.toordinal() - EPOCH), float(last.toordinal() - EPOCH)
        return self.column.range if isinstance(self.column, NumberColumn) else (0.0, 1.0)

    @row_map
    def codes_of(self, values: np.ndarray) -> np.ndarray:
        """The code of each value in the column's own terms, NaN for missing: entry by entry."""
        if self.edges is None:
            codes = np.where(np.isnan(values), float(self.missing), np.rint(values))
            return np.clip(codes, 0.0, float(self.missing))
        low, high = self.range
        if self.is_whole:
            values = np.rint(values)
        codes = 1.0 + np.searchsorted(self.edges[1:-1], values, side="right")
        codes = np.where(values <= low, 0.0, np.where(values >= high, self.size - 2.0, codes))
        return np.where(np.isnan(values), float(self.missing), codes)

    @row_map
    def scaled(self, values: np.ndarray, reader: CellReader) -> np.ndarray:
        """Values in [-1, 1], ``MISSING_NUMBER`` for missing: entry by entry."""
        gone = np.isnan(values)
        if not self.has_range:
            return np.where(gone, MISSING_NUMBER, 2.0 * np.clip(values, 0.0, 1.0) - 1.0)
        scale = reader.scale
        known = reader.round(np.where(gone, scale.low, values))
        terms = scale.terms(np.ascontiguousarray(known))
        x = np.clip((terms - scale.middle) * scale.factor, -1.0, 1.0)
        return np.where(gone, MISSING_NUMBER, x)

    def from_scaled(self, x: Any) -> Any:
        """Numbers of [-1, 1] in the column's own terms: the inverse of ``scaled``."""
        low, high = self.range
        share = (np.asarray(x, dtype=np.float64) + 1) / 2
        if self.is_log:
            return np.exp(np.log(low) + share * (np.log(high) - np.log(low)))
        return low + share * (high - low)


#: What stands for a missing number among numbers of [-1, 1].
MISSING_NUMBER = 2.0


def cells_of(column: Column, bins: int) -> ColumnCells:
    """The cells of a column, with at most so many bins inside its range."""
    if isinstance(column, CategoryColumn):
        last = OTHER_OR_MISSING if column.other else MISSING
        return ColumnCells(column, (*column.categories, last))
    if isinstance(column, BooleanColumn):
        return ColumnCells(column, ("false", "true", MISSING))
    if isinstance(column, DateColumn):
        edges = day_edges(*column.range, bins)
        bounds = [(show_day(a + 0.5), show_day(b - 0.5)) for a, b in itertools.pairwise(edges)]
        first, last = (day.isoformat() for day in column.range)
        return ColumnCells(column, _labels(first, last, bounds, ("earlier", "later")), edges)
    assert isinstance(column, NumberColumn)
    low, high = column.range
    if column.integer:
        edges = whole_edges(low, high, bins)
        bounds = [(f"{a + 0.5:.0f}", f"{b - 0.5:.0f}") for a, b in itertools.pairwise(edges)]
    else:
        edges = (log_edges if column.scale == "log" else round_edges)(low, high, bins)
        bounds = [(f"{a:.6g}", f"{b:.6g}") for a, b in itertools.pairwise(edges)]
    return ColumnCells(column, _labels(f"{low:.6g}", f"{high:.6g}", bounds), edges)


def _labels(
    low: str,
    high: str,
    bounds: list[tuple[str, str]],
    words: tuple[str, str] = ("less", "more"),
) -> tuple[str, ...]:
    inner = (a if a == b else f"{a} to {b}" for a, b in bounds)
    return (f"{low} or {words[0]}", *inner, f"{high} or {words[1]}", MISSING)


def show_day(value: float) -> str:
    """A day, counted from 1970-01-01, as a date."""
    return datetime.date.fromordinal(round(value) + EPOCH).isoformat()
