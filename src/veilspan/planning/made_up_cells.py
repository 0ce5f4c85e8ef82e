"""Made-up cells by a schema: every column filled over its whole public range."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtr

from veilspan.tables.columns import BooleanColumn, CategoryColumn, DateColumn, NumberColumn
from veilspan.tables.schema import Schema
from veilspan.tables.unit import Unit


def narrow_schema(schema: Schema, rows: int, *, target: bool) -> Schema:
    """The schema of a made-up table: what is learned from, one row a person, so many of them."""
    kept = schema.features
    if target and schema.target is not None:
        kept = (*kept, replace(schema.target, combine=None))
    unit = Unit(neighbors=schema.neighbors)
    if schema.expected is not None:
        unit = replace(unit, expected=rows)
    return replace(schema, columns=kept, unit=unit)


def fill_columns(schema: Schema, normals: np.ndarray) -> dict[str, Any]:
    """Cells of the schema's features, each a rising function of a standard normal.

    Numbers and dates are uniform over their range (on a log scale over its logarithms), categories
    and yes and no equally frequent.

    Parameters
    ----------
    schema : Schema
        What is public of the table.
    normals : array of shape (n_rows, number of features)
        Standard normals, a column for each feature.
    """
    places = ndtr(normals)
    return {c.name: fill_cells(c, places[:, k]) for k, c in enumerate(schema.features)}


def fill_cells(column: Any, places: np.ndarray) -> Any:
    """Cells of one column from places in (0, 1) within what it may hold."""
    if isinstance(column, NumberColumn):
        low, high = column.range
        if column.scale == "log":
            return low * (high / low) ** places
        values = low + (high - low) * places
        return np.rint(values) if column.integer else values
    if isinstance(column, CategoryColumn):
        return _pick(column.categories, places)
    if isinstance(column, BooleanColumn):
        return _pick((column.false[0], column.true[0]), places)
    if isinstance(column, DateColumn):
        first, last = column.range
        days = (last - first).days + 1
        shown = [
            date.strftime(column.format)
            for date in map(
                first.__class__.fromordinal, range(first.toordinal(), first.toordinal() + days)
            )
        ]
        return _pick(shown, places)
    raise TypeError(f"a column of type {column.type!r} is not filled.")


def _pick(words: Any, places: np.ndarray) -> list[str]:
    numbers = np.minimum((places * len(words)).astype(int), len(words) - 1)
    return np.array(words, dtype=object)[numbers].tolist()
