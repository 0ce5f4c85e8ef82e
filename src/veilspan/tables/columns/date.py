"""Columns of dates within a public range: their day, weekday or month."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from veilspan.tables.columns.column import Column
from veilspan.tables.columns.texts import is_clean_name
from veilspan.tables.columns.values import as_pair, is_day, is_pair
from veilspan.tables.problems import Problem, show

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DATE_PARTS = ("days", "weekday", "month")
#: Directives of a date's format, by what they say.
DIRECTIVES = {
    "Y": "year", "y": "year", "m": "month", "b": "month", "B": "month", "d": "day",
    "j": "day of the year", "H": "hour", "M": "minute", "S": "second",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class DateColumn(Column):
    """A column of dates within a public range.

    Parameters
    ----------
    format : str
        How the file writes them, with %Y %m %d %H %M %S %y %b %B %j; months' names are English.
    range : (date, date)
        First and last day; other days move to the border.
    parts : tuple of {"days", "weekday", "month"}
        What becomes of a date (``as`` in TOML): its place in the range, in [-1, 1]; seven columns
        of 0 and 1; twelve.
    fill : date, optional
        For missing and unreadable cells; the middle of the range if left out.
    """

    format: str = "%Y-%m-%d"
    range: tuple[datetime.date, datetime.date] = cast(Any, ())
    parts: tuple[str, ...] = ("days",)
    fill: datetime.date | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("range", as_pair(self.range, lambda bound: bound))
        if isinstance(self.parts, list):
            self._set("parts", tuple(self.parts))
        if self.fill is None and self.role == "use" and not list(self._range_problems()):
            low, high = self.range
            self._set("fill", low + (high - low) // 2)

    @property
    def type(self) -> str:
        """``"date"``, as a schema writes it."""
        return "date"

    @property
    def names_out(self) -> tuple[str, ...]:
        """``admitted``, ``admitted:weekday=Mon``, ``admitted:month=Jan``, as its parts say."""
        made = {
            "days": (self.name,),
            "weekday": tuple(f"{self.name}:weekday={day}" for day in WEEKDAYS),
            "month": tuple(f"{self.name}:month={month}" for month in MONTHS),
        }
        return (*(name for part in self.parts for name in made[part]), *self._missing_name)

    @property
    def bounds_out(self) -> tuple[tuple[float, float], ...]:
        """From -1 to 1 for days, from 0 to 1 for all others."""
        return tuple((-1.0 if n == self.name else 0.0, 1.0) for n in self.names_out)

    @property
    def longest(self) -> float:
        """1 for each part, and 1 for its missing column."""
        return float(len(self.parts)) + self.missing_column

    def problems(self) -> Iterator[Problem]:
        """Everything that is wrong with this column by itself."""
        yield from self._common_problems()
        if self.role in ("target", "item", "rating"):
            yield self._problem("type", f"a date cannot be the {self.role}.")
        for what in find_format_problems(self.format):
            yield self._problem("format", what)
        known = isinstance(self.parts, tuple) and all(
            isinstance(part, str) and part in DATE_PARTS for part in self.parts
        )
        if not known or not self.parts or len(set(self.parts)) < len(self.parts):
            yield self._problem("as", f"is a list of some of {', '.join(DATE_PARTS)}, each once.")
        wrong = list(self._range_problems())
        yield from wrong
        if not wrong:
            low, high = self.range
            fits = self.fill is None or (is_day(self.fill) and low <= self.fill <= high)
            yield from self._fill_problem(
                fits, f"a date without time within the range, from {low} to {high}"
            )

    def _range_problems(self) -> Iterator[Problem]:
        if not is_pair(self.range, datetime.date):
            yield self._problem(
                "range",
                "is missing or no pair of dates without time: write the public range, such as "
                "[2020-01-01, 2025-12-31], without quotes.",
            )
        elif not self.range[0] < self.range[1]:
            yield self._problem("range", "write the earlier date first; the two differ.")


def find_format_problems(text: Any) -> Iterator[str]:
    """What is wrong with the format of a date, which must say year, month and day once."""
    if not isinstance(text, str) or not is_clean_name(text):
        yield 'is a text such as "%Y-%m-%d".'
        return
    directives = [after[:1] for after in text.split("%")[1:]]
    unknown = sorted({letter for letter in directives if letter not in DIRECTIVES})
    if unknown:
        known = " ".join(f"%{letter}" for letter in DIRECTIVES)
        yield f"{show('%' + unknown[0])} is not read; those that are: {known}."
        return
    said = sorted(DIRECTIVES[letter] for letter in directives)
    days = [part for part in said if part in ("year", "month", "day", "day of the year")]
    if days not in (["day", "month", "year"], ["day of the year", "year"]):
        yield "says year, month and day once each (or year and %j), as in %Y-%m-%d."
    elif len(set(said)) < len(said):
        yield "says the same part of a time twice."
