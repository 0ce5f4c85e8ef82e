"""A schema's rules for cells as plain values, for readers that know nothing of veilspan.

The definition is :mod:`veilspan.tables.cell_rules`; what is written here are its numbers, words and
regular expressions. Cells are texts, as in a CSV file.
"""

from __future__ import annotations

from typing import Any

from veilspan.tables.cell_rules import EPOCH, CellReader, DateReader, Scale, number_pattern
from veilspan.tables.columns import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    NumberColumn,
)
from veilspan.tables.schema import Schema


def file_rules(schema: Schema) -> dict[str, Any]:
    """How a text file writes missing cells and numbers."""
    file = schema.file
    reader = CellReader(Column("any"), file)
    return {
        "missing": sorted(reader.missing_words),
        "missing_numbers": list(reader.missing_numbers),
        "decimal": file.decimal,
        "number": number_pattern(file.decimal),
    }


def column_rules(schema: Schema) -> list[dict[str, Any]]:
    """What becomes of each column that is learned from, in the order of encoded entries."""
    return [_rules(CellReader(column, schema.file)) for column in schema.features]


def _rules(reader: CellReader) -> dict[str, Any]:
    column = reader.column
    said: dict[str, Any] = {"name": column.name, "fill": float(reader.fill)}
    gap = [_one("missing", True)] if column.missing_column else []
    if isinstance(column, NumberColumn):
        entries = [_scaled(reader.scale, column.integer)]
        return {**said, "read": "number", "entries": entries + gap}
    if isinstance(column, DateColumn):
        low, high = (day.toordinal() for day in column.range)
        said |= {
            "read": "date", "pattern": DateReader(column.format).pattern, "range": [low, high],
            "fill": reader.fill + EPOCH,
        }  # fmt: skip
        of_part = {
            "days": [_scaled(Scale(low, high), False)],
            "weekday": [_one("weekday", day) for day in range(7)],
            "month": [_one("month", month) for month in range(1, 13)],
        }
        return {**said, "entries": [e for part in column.parts for e in of_part[part]] + gap}
    if isinstance(column, BooleanColumn):
        words = dict.fromkeys(column.false, 0.0) | dict.fromkeys(column.true, 1.0)
        return {**said, "read": "label", "labels": words, "entries": [_one("value", 1.0), *gap]}
    assert isinstance(column, CategoryColumn)
    labels = {label: float(place) for place, label in enumerate(column.categories)}
    entries = [_one("value", float(i)) for i in range(len(labels) + column.other)]
    return {**said, "read": "label", "labels": labels, "entries": entries + gap}


def _one(of: str, value: Any) -> dict[str, Any]:
    """An entry that is 1 where the cell's value, weekday, month or absence is this, else 0."""
    return {"of": of, "is": value}


def _scaled(scale: Scale, whole: bool) -> dict[str, Any]:
    return {
        "whole": whole, "log": scale.log, "low": scale.low, "high": scale.high,
        "middle": scale.middle, "factor": scale.factor,
    }  # fmt: skip
