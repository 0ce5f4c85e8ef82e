"""A schema in the making: facts as they are imported, all of them unconfirmed."""

from __future__ import annotations

import datetime
import re
from typing import Any

from veilspan.tables.columns import (
    UNCONFIRMED,
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    NumberColumn,
)
from veilspan.tables.problems import Problem, SchemaError, place_of, show
from veilspan.tables.schema import FileFormat, Schema, Unit

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DAY = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:T.*)?")


class Draft:
    """Collects the columns of an imported schema, and why some could not be used."""

    def __init__(self) -> None:
        self.columns: list[Column] = []
        self.left_out: list[Problem] = []
        self.mark: str | None = None  # the decimal mark of the numbers so far

    def add_plain(self, name: str, role: str) -> None:
        """Add a column without a type: an id, or one that is ignored."""
        self.columns.append(Column(name, role=role))

    def add_number(
        self, name: str, low: Any, high: Any, *, integer: bool, mark: Any = ".", **more: Any
    ) -> None:
        """Add a column of numbers, or ignore it where a bound is not known.

        A schema has one decimal mark, so a column with another than those before is ignored too.
        """
        bounds = as_number(low), as_number(high)
        if None in bounds:
            self.leave_out(name, "its range is not given")
            return
        if not integer and self.mark not in (None, mark):
            self.leave_out(name, "its decimal mark is not that of the columns before it")
            return
        self.mark = self.mark if integer else mark
        self.columns.append(
            NumberColumn(name, range=bounds, integer=integer, source=UNCONFIRMED, **more)  # type: ignore[arg-type]
        )

    def add_category(self, name: str, labels: Any) -> None:
        """Add a column of labels, with ``(other)`` for all else, or ignore it without a list."""
        if not isinstance(labels, list) or not labels:
            self.leave_out(name, "its list of categories is not given")
            return
        texts = tuple(as_label(label) for label in labels)
        self.columns.append(CategoryColumn(name, categories=texts, other=True, source=UNCONFIRMED))

    def add_boolean(self, name: str, **more: Any) -> None:
        """Add a column of yes and no."""
        self.columns.append(BooleanColumn(name, source=UNCONFIRMED, **more))

    def add_date(self, name: str, first: Any, last: Any, **more: Any) -> None:
        """Add a column of dates, or ignore it where its first or last day is not known."""
        days = as_day(first), as_day(last)
        if None in days:
            self.leave_out(name, "its first and last day are not given")
            return
        self.columns.append(DateColumn(name, range=days, source=UNCONFIRMED, **more))  # type: ignore[arg-type]

    def leave_out(self, name: str, why: str) -> None:
        """Ignore a column, and say why in the notes of the schema."""
        self.add_plain(name, "ignore")
        self.left_out.append(Problem(place_of("columns", name), why))

    def build(
        self, form: str, name: Any, about: Any = "", unit: Unit | None = None, **file: Any
    ) -> Schema:
        """Make the schema, or raise :class:`SchemaError` with everything that is wrong."""
        notes = f"Imported from {form}."
        if self.left_out:
            words = "; ".join(f"{problem.place}, {problem.what}" for problem in self.left_out)
            notes += f" Ignored until their facts are declared: {words}."
        if self.columns and not any(column.role == "use" for column in self.columns):
            raise SchemaError(
                self.left_out or [Problem("columns", "none of them can be learned from.")]
            )
        return Schema(
            name=name if isinstance(name, str) else "",
            about=about if isinstance(about, str) else "",
            notes=notes,
            unit=unit or Unit(),
            file=FileFormat(decimal=self.mark or ".", **file),
            columns=tuple(self.columns),
        )


def choose(tables: dict[str, Any], wanted: str | None) -> tuple[str, Any]:
    """The table of that name, or the only one there is."""
    if wanted is None and len(tables) == 1:
        return next(iter(tables.items()))
    if wanted in tables and wanted is not None:
        return wanted, tables[wanted]
    known = ", ".join(show(name) for name in list(tables)[:20])
    what = f"say which table, of {known}." if tables else "it describes no table."
    raise SchemaError([Problem("", what)])


def need_dict(value: Any, what: str) -> dict[str, Any]:
    """A mapping as it is; anything else is refused as not ``what``."""
    if isinstance(value, dict):
        return value
    raise SchemaError([Problem("", f"{what} is not there, or not a mapping of names to values.")])


def name_of(value: Any, place: int) -> str:
    """The name of a column; one that has none is refused by its place."""
    if isinstance(value, str) and value.strip():
        return value
    raise SchemaError([Problem("", f"its column {place:,} has no name.")])


def as_number(value: Any) -> int | float | None:
    """A number, or a text that is one; ``None`` for anything else."""
    if isinstance(value, str) and len(value) < 400 and _NUMBER.fullmatch(value):
        return int(value) if re.fullmatch("[+-]?[0-9]+", value) else float(value)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def as_day(value: Any) -> datetime.date | None:
    """The day of a text such as ``2020-12-31`` or ``2020-12-31T10:00:00``, or ``None``."""
    match = _DAY.fullmatch(value) if isinstance(value, str) else None
    try:
        return datetime.date.fromisoformat(match[1]) if match else None
    except ValueError:
        return None


def as_label(value: Any) -> Any:
    """A number as the label that it is in a text file; a text as it is."""
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
