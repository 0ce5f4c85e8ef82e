r"""Learned directions and coefficients in the columns and units of the table that people have.

An encoded column e is a public function of the user's value v (:mod:`veilspan.tables.columns`), so
what was learned about e can be said about v. On a linear scale e = (v - middle) / half; on a log
scale e = (log v - middle) / half, half being that of the range of logarithms.

* A *loading* a says how far e moves with a component. The value moves by a half, in its unit; on a
  log scale it is multiplied by exp(a half). A category's loading is a change of its share.
* A *coefficient* b says how much the score grows with e. It grows by b / half for each unit of the
  value; on a log scale by b log(2) / half for each doubling; for dates by b 365 / half for each
  year of 365 days. Of a group of categories every row has exactly one, so that a constant may be
  moved between all of them and the intercept: what is told is what belonging to a category adds
  beside the mean of those that its group names.

All of it is post-processing of a release and of the public schema.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from veilspan.tables.columns import MISSING, OTHER, Column, DateColumn, NumberColumn
from veilspan.tables.named_table import NamedTable

if TYPE_CHECKING:
    from veilspan.tables.schema import Schema

#: Days of the year by which coefficients of dates are told.
YEAR = 365.0


class _Scale(NamedTuple):
    """How an encoded column is read: half of its range, whether of logarithms, and its words."""

    half: float
    is_log: bool
    moves_in: str
    grows_by: str
    step: float = 1.0


def make_loadings(schema: Schema, components: np.ndarray) -> NamedTable:
    """Each component in the user's units: a row an encoded column, a column a component."""
    scales = _scales_of(schema)
    moved = np.array([
        np.exp(entry * scale.half) if scale.is_log else entry * scale.half
        for entry, scale in zip(components.T, scales)
    ])  # fmt: skip
    names = tuple(f"component {k + 1}" for k in range(len(components)))
    units = tuple(scale.moves_in for scale in scales)
    return NamedTable("loadings", schema.columns_out, names, moved, units)


def make_coefficients(
    schema: Schema, coefficients: np.ndarray, names: tuple[str, ...]
) -> NamedTable:
    """What each encoded column adds to the score, for a step of the user's value."""
    scales = _scales_of(schema)
    by_column = np.atleast_2d(coefficients).T.copy()
    for group in _groups_of(schema):
        named = [i for i in group if not schema.columns_out[i].endswith(f"={OTHER}")]
        by_column[group] -= by_column[named].mean(axis=0)
    steps = [scale.step / scale.half for scale in scales]
    grown = by_column * np.array(steps)[:, None]
    units = tuple(scale.grows_by for scale in scales)
    return NamedTable("coefficients", schema.columns_out, names, grown, units)


def _scales_of(schema: Schema) -> list[_Scale]:
    return [_scale_of(column, name) for column in schema.features for name in column.names_out]


def _groups_of(schema: Schema) -> list[list[int]]:
    """Places of encoded columns of which every row has exactly one 1."""
    groups, place = [], 0
    for column in schema.features:
        names = column.names_out
        for mark in ("=", ":weekday=", ":month="):
            starts, gap = column.name + mark, f"{column.name}={MISSING}"
            members = [
                place + i for i, name in enumerate(names) if name.startswith(starts) and name != gap
            ]
            if members:
                groups.append(members)
        place += len(names)
    return groups


def _scale_of(column: Column, name: str) -> _Scale:
    if name == f"{column.name}={MISSING}" or column.type == "boolean":
        return _Scale(1.0, False, "share", "if so")
    if name != column.name or column.type == "category":
        return _Scale(1.0, False, "share", "beside its group")
    if isinstance(column, NumberColumn):
        low, high = column.range
        unit = column.unit or "1"
        if column.scale == "log":
            half = (math.log(high) - math.log(low)) / 2
            return _Scale(half, True, "factor", "per doubling", math.log(2))
        return _Scale(high / 2 - low / 2, False, column.unit, f"per {unit}")
    if isinstance(column, DateColumn):
        first, last = column.range
        return _Scale((last - first).days / 2, False, "days", "per year", YEAR)
    raise TypeError(f"{type(column).__name__} has no scale.")
