"""Columns of a schema: what is public of each, and the columns of numbers that it becomes.

Declarations only: :mod:`veilspan.tables.cells` maps cells. A column by itself takes any values and
can say what is wrong with them (:meth:`Column.problems`); a :class:`~veilspan.tables.schema.Schema`
asks all of its columns, so that every problem is told at once.
"""

from __future__ import annotations

import datetime
import math
import numbers
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from veilspan.tables.problems import Problem, place_of, show

#: The source of imported facts, until a person says where they know them from.
UNCONFIRMED = "imported, unconfirmed"
ROLES = ("use", "id", "target", "ignore", "user", "item", "rating", "time")
#: Roles whose cells only tell rows apart or are not read: no type is needed.
UNTYPED_ROLES = ("id", "ignore", "user")
#: A row whose cell of such a role is missing contributes nothing, so nothing is ever filled in.
NEVER_FILLED = ("target", "item", "rating", "time")
OTHER, MISSING = "(other)", "(missing)"
TRUE, FALSE = ("true", "True", "TRUE", "1"), ("false", "False", "FALSE", "0")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DATE_PARTS = ("days", "weekday", "month")
#: Directives of a date's format, by what they say.
DIRECTIVES = {
    "Y": "year", "y": "year", "m": "month", "b": "month", "B": "month", "d": "day",
    "j": "day of the year", "H": "hour", "M": "minute", "S": "second",
}  # fmt: skip
#: Bounds of a range stay below this, so that twice its width is a finite float.
MOST = 1e300
#: Whole numbers up to here are exact floats.
MOST_WHOLE = 2**53
#: Wrong categories of a column that are told one by one; the rest is counted.
_MOST_TOLD = 10


def clean_text(text: Any) -> Any:
    """A text as cells are compared with it: NFC and trimmed. Anything else as it is."""
    return unicodedata.normalize("NFC", text).strip() if isinstance(text, str) else text


def is_clean_name(text: str) -> bool:
    """Whether a text can be a name: not empty, no control characters, no separators of lines."""
    kinds = {"Cc", "Cs", "Zl", "Zp"}
    return bool(text) and all(unicodedata.category(letter) not in kinds for letter in text)


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of the file; by itself one without a type, which is not encoded.

    Parameters
    ----------
    name : str
        As in the header of the file; NFC and trimmed.
    role : {"use", "id", "target", "ignore", "user", "item", "rating", "time"}
        What it is for.
    source : str
        Where its facts are known from; every column with a type needs one.
    missing_column : bool
        Whether one more column of 0 and 1 says where the cell is missing or unreadable.
    combine : str, optional
        How the targets of one person's rows become one.
    """

    name: str = field(kw_only=False)
    role: str = "use"
    source: str = ""
    missing_column: bool = False
    combine: str | None = None

    def __post_init__(self) -> None:
        self._set("name", clean_text(self.name))
        self._set("source", clean_text(self.source))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def type(self) -> str:
        """Its type as a schema writes it; empty if it has none."""
        return ""

    @property
    def names_out(self) -> tuple[str, ...]:
        """Names of the encoded columns that it becomes."""
        return ()

    @property
    def bounds_out(self) -> tuple[tuple[float, float], ...]:
        """Lowest and highest value of each encoded column."""
        return ((0.0, 1.0),) * len(self.names_out)

    @property
    def longest(self) -> float:
        """Largest squared length that the encoded cells of one row can have together."""
        return 0.0

    @property
    def _missing_name(self) -> tuple[str, ...]:
        return (f"{self.name}={MISSING}",) if self.missing_column else ()

    def problems(self) -> Iterator[Problem]:
        """Everything that is wrong with this column by itself."""
        yield from self._common_problems()
        if self.role in ROLES and self.role not in UNTYPED_ROLES:
            yield self._problem(
                "type",
                "is missing: say integer, number, category, boolean or date (or "
                'role = "ignore" for a column that is not used).',
            )

    def _problem(self, key: str, what: str) -> Problem:
        place = place_of("columns", self.name if isinstance(self.name, str) else "?")
        return Problem(f"{place}.{key}" if key else place, what)

    def _common_problems(self) -> Iterator[Problem]:
        if not isinstance(self.name, str) or not is_clean_name(self.name):
            yield self._problem("", "a column's name is a text without control characters.")
        if self.role not in ROLES:
            yield self._problem("role", f"{show(self.role)} is none of {', '.join(ROLES)}.")
        if not isinstance(self.source, str):
            yield self._problem("source", f"is a text, not {show(self.source)}.")
        elif self.type and not self.source:
            yield self._problem(
                "source", "is missing: say where its facts are known from, without looking at rows."
            )
        if not isinstance(self.missing_column, bool):
            yield self._problem("missing_column", "is true or false.")
        elif self.missing_column and self.role not in ("use", "ignore"):
            yield self._problem(
                "missing_column", f"is for columns that are used, not for the {self.role}."
            )
        yield from self._combine_problems()

    def _combine_problems(self) -> Iterator[Problem]:
        if self.combine is None:
            return
        if self.role not in ("target", "ignore"):
            yield self._problem(
                "combine", "is for the target; unit.combine says it for all other columns."
            )
        elif self.type and self.combine not in self._combinations():
            known = ", ".join(self._combinations())
            yield self._problem("combine", f"{show(self.combine)} is none of {known}.")

    def _combinations(self) -> tuple[str, ...]:
        """How the targets of one person may become one, if this is the target."""
        return ()

    def _fill_problem(self, fits: bool, wanted: str) -> Iterator[Problem]:
        """What is wrong with ``fill``, which must be ``wanted``."""
        if self.role in NEVER_FILLED:
            if getattr(self, "fill") is not None:  # noqa: B009 (a field of the subclasses)
                yield self._problem(
                    "fill",
                    f"leave it out: a row without its {self.role} contributes nothing, and nothing "
                    "is made up for it.",
                )
        elif not fits:
            yield self._problem("fill", f"is {wanted}.")


@dataclass(frozen=True, kw_only=True)
class NumberColumn(Column):
    """A column of numbers within a public range.

    Encoded in [-1, 1]: a value beyond the range moves to its border, then the range (or, on a log
    scale, the range of logarithms) is mapped to [-1, 1].

    Parameters
    ----------
    range : (float, float)
        Lowest and highest value.
    scale : {"linear", "log"}
        A log scale needs a range above zero.
    fill : float, optional
        For missing and unreadable cells; the middle of the scale if left out.
    unit : str
        What it is measured in, for people.
    integer : bool
        Whether values are rounded to whole numbers.
    """

    range: tuple[float, float] = cast(Any, ())
    scale: str = "linear"
    fill: float | None = None
    unit: str = ""
    integer: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("range", as_pair(self.range, as_float))
        self._set("fill", as_float(self.fill))
        self._set("unit", clean_text(self.unit))
        if self.fill is None and self.role == "use" and not list(self._range_problems()):
            self._set("fill", self._middle())

    @property
    def type(self) -> str:
        """``"integer"`` or ``"number"``, as a schema writes it."""
        return "integer" if self.integer else "number"

    @property
    def names_out(self) -> tuple[str, ...]:
        """Its own name, and that of the column of missing cells."""
        return (self.name, *self._missing_name)

    @property
    def bounds_out(self) -> tuple[tuple[float, float], ...]:
        """From -1 to 1, and from 0 to 1 for missing cells."""
        return ((-1.0, 1.0), *(((0.0, 1.0),) if self.missing_column else ()))

    @property
    def longest(self) -> float:
        """1 for the number and 1 for its missing column."""
        return 1.0 + self.missing_column

    def _middle(self) -> float:
        low, high = self.range
        if self.scale == "log":
            middle = math.exp((math.log(low) + math.log(high)) / 2)
        else:
            middle = low / 2 + high / 2
        return min(max(float(round(middle)) if self.integer else middle, low), high)

    def problems(self) -> Iterator[Problem]:
        """Everything that is wrong with this column by itself."""
        yield from self._common_problems()
        if self.role == "item":
            yield self._problem("type", 'an item is a category: type = "category".')
        wrong = list(self._range_problems())
        yield from wrong
        if self.scale not in ("linear", "log"):
            yield self._problem("scale", f"{show(self.scale)} is neither linear nor log.")
        elif self.scale == "log" and self.role not in ("use", "ignore"):
            yield self._problem("scale", f"is for columns that are used, not for the {self.role}.")
        if not isinstance(self.unit, str):
            yield self._problem("unit", f"is a text, not {show(self.unit)}.")
        if not wrong:
            yield from self._fill_problems()

    def _range_problems(self) -> Iterator[Problem]:
        if not is_pair(self.range, float):
            yield self._problem(
                "range", "is missing or no pair of numbers: write the public range, [low, high]."
            )
            return
        low, high = self.range
        if not all(abs(bound) <= MOST for bound in self.range):
            yield self._problem("range", f"has finite bounds of at most {MOST:g}.")
        elif not low < high:
            yield self._problem(
                "range", f"{show(low)} is not below {show(high)}: write the lower bound first."
            )
        elif self.scale == "log" and low <= 0:
            yield self._problem("range", "of a log scale begins above 0.")
        if self.integer and not all(is_whole(bound) for bound in self.range):
            yield self._problem(
                "range", 'of a column of integers has whole bounds; or say type = "number".'
            )

    def _fill_problems(self) -> Iterator[Problem]:
        low, high = self.range
        fits = self.fill is None or (isinstance(self.fill, float) and low <= self.fill <= high)
        whole = not self.integer or self.fill is None or is_whole(self.fill)
        kind = "a whole number" if self.integer else "a number"
        yield from self._fill_problem(
            fits and whole, f"{kind} within the range, from {show(low)} to {show(high)}"
        )

    def _combinations(self) -> tuple[str, ...]:
        return ("mean", "sum", "first", "last")


@dataclass(frozen=True, kw_only=True)
class CategoryColumn(Column):
    """A column of labels from a public list; one column of 0 and 1 for each.

    Labels are equal if they are the same after Unicode normalisation (NFC) and trimming; case
    counts.

    Parameters
    ----------
    categories : tuple of str
        The list, in the order of the encoded columns.
    other : bool
        Whether one more column takes everything else and missing cells.
    fill : str, optional
        The category of everything else and of missing cells; needed where there is no ``other``.
    categories_file : str, optional
        The file that the list was read from. Not part of the digest: its contents are.
    """

    categories: tuple[str, ...] = ()
    other: bool = False
    fill: str | None = None
    categories_file: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("categories", as_texts(self.categories))
        self._set("fill", clean_text(self.fill))

    @property
    def type(self) -> str:
        """``"category"``, as a schema writes it."""
        return "category"

    @property
    def names_out(self) -> tuple[str, ...]:
        """``sex=female`` and so on, ``sex=(other)`` last."""
        labels = (*self.categories, *((OTHER,) if self.other else ()))
        return (*(f"{self.name}={label}" for label in labels), *self._missing_name)

    @property
    def longest(self) -> float:
        """1, since one column of the group is 1, and 1 for the missing column."""
        return 1.0 + self.missing_column

    def problems(self) -> Iterator[Problem]:
        """Everything that is wrong with this column by itself."""
        yield from self._common_problems()
        if self.role in ("rating", "time"):
            yield self._problem("type", f'a {self.role} is a number: type = "number".')
        yield from self._label_problems()
        if not isinstance(self.other, bool):
            yield self._problem("other", "is true or false.")
        elif self.other and self.role in NEVER_FILLED:
            yield self._problem(
                "other",
                f"leave it out: a row whose {self.role} is not in the list contributes nothing.",
            )
        if self.missing_column is True and self.other is True:
            yield self._problem(
                "missing_column",
                f"leave it out: {OTHER} takes missing cells already, and they cannot be told from "
                "unknown ones.",
            )
        yield from self._fill_problems()

    def _fill_problems(self) -> Iterator[Problem]:
        if self.role == "use" and self.fill is None:
            if self.other is not True:
                yield self._problem(
                    "fill",
                    "is missing: name the category of missing and unknown cells, or say other = "
                    "true.",
                )
        elif self.other is True and self.fill is not None and self.role not in NEVER_FILLED:
            yield self._problem("fill", f"leave it out: {OTHER} takes missing and unknown cells.")
        else:
            fits = self.fill is None or self.fill in self.categories
            yield from self._fill_problem(fits, "one of the categories")

    def _label_problems(self) -> Iterator[Problem]:
        if not isinstance(self.categories, tuple) or not self.categories:
            yield self._problem(
                "categories",
                'is missing or no list: write ["first", "second"], or {file = "codes.txt"} with '
                "one category a line.",
            )
            return
        # Lines of a file are named by their place: it may be the table itself by mistake.
        hidden = self.categories_file is not None
        yield from self._limit(find_label_problems(self.categories, hidden), "categories")
        if self.role == "target" and len(self.categories) < 2:
            yield self._problem("categories", "a target has two categories or more.")

    def _limit(self, told: Iterable[str], key: str) -> Iterator[Problem]:
        told = list(told)
        for what in told[:_MOST_TOLD]:
            yield self._problem(key, what)
        if len(told) > _MOST_TOLD:
            yield self._problem(key, f"and {len(told) - _MOST_TOLD:,} more of this kind.")

    def _combinations(self) -> tuple[str, ...]:
        two = ("any",) if len(self.categories) == 2 else ()
        return (*two, "majority", "first", "last")


@dataclass(frozen=True, kw_only=True)
class BooleanColumn(Column):
    """A column of yes and no; one column of 0 and 1.

    Parameters
    ----------
    true, false : tuple of str
        How the file writes them.
    fill : bool, optional
        For missing and unreadable cells; false if left out.
    """

    true: tuple[str, ...] = TRUE
    false: tuple[str, ...] = FALSE
    fill: bool | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("true", as_texts(self.true))
        self._set("false", as_texts(self.false))
        if self.fill is None and self.role == "use":
            self._set("fill", False)

    @property
    def type(self) -> str:
        """``"boolean"``, as a schema writes it."""
        return "boolean"

    @property
    def names_out(self) -> tuple[str, ...]:
        """Its own name, and that of the column of missing cells."""
        return (self.name, *self._missing_name)

    @property
    def longest(self) -> float:
        """1 for the value and 1 for its missing column."""
        return 1.0 + self.missing_column

    def problems(self) -> Iterator[Problem]:
        """Everything that is wrong with this column by itself."""
        yield from self._common_problems()
        if self.role in ("item", "rating", "time"):
            kind = "category" if self.role == "item" else "number"
            yield self._problem("type", f'a {self.role} is a {kind}: type = "{kind}".')
        for key, words in (("true", self.true), ("false", self.false)):
            if not isinstance(words, tuple) or not words:
                yield self._problem(key, 'is a list of texts, such as ["yes", "1"].')
                continue
            for what in find_label_problems(words, hidden=False):
                yield self._problem(key, what)
        if isinstance(self.true, tuple) and isinstance(self.false, tuple):
            for word in self.true:
                if isinstance(word, str) and word in self.false:
                    yield self._problem("true", f"{show(word)} is in false as well.")
        fits = self.fill is None or isinstance(self.fill, bool)
        yield from self._fill_problem(fits, "true or false")

    def _combinations(self) -> tuple[str, ...]:
        return ("any", "majority", "first", "last")


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


def as_float(value: Any) -> Any:
    """A number as a float, -0.0 as 0.0; anything else, truth values too, as it is."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return value
    try:
        return float(value) + 0.0
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def as_pair(value: Any, read: Any) -> Any:
    """Two values as a tuple, each read by a function; anything else as it is."""
    if isinstance(value, (list, tuple)):
        return tuple(read(bound) for bound in value)
    return value


def as_texts(value: Any) -> Any:
    """A list of texts as a tuple, each cleaned; anything else as it is."""
    return tuple(map(clean_text, value)) if isinstance(value, (list, tuple)) else value


def is_pair(value: Any, kind: type) -> bool:
    """Whether a value is a tuple of two of exactly that class (a date with time is none)."""
    return isinstance(value, tuple) and len(value) == 2 and all(type(v) is kind for v in value)


def is_whole(value: Any) -> bool:
    """Whether a float is a whole number that floats count exactly."""
    return isinstance(value, float) and value.is_integer() and abs(value) <= MOST_WHOLE


def is_day(value: Any) -> bool:
    """Whether a value is a date without time (a date with time is a date for Python)."""
    return type(value) is datetime.date


def find_label_problems(labels: tuple[Any, ...], hidden: bool) -> Iterator[str]:
    """What is wrong with a list of labels; by their place in the list only if ``hidden``."""
    seen: dict[str, int] = {}
    for place, label in enumerate(labels, start=1):
        name = f"entry {place:,}" if hidden else show(label)
        if not isinstance(label, str):
            yield f'{name} is no text: put it in quotes, as in ["1", "2"].'
        elif not is_clean_name(label):
            yield f"entry {place:,} is empty or holds control characters."
        elif label in (OTHER, MISSING):
            yield f"{label} is veilspan's own name; other = true makes such a column."
        elif label in seen:
            yield f"{name} is there twice (entries {seen[label]:,} and {place:,}, trimmed, NFC)."
        else:
            seen[label] = place


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
