"""What one cell means, by the declaration of its column and by nothing else: the definition.

Every cell has a value. A text is normalised (NFC) and trimmed. It is missing if it is empty, if it
is one of the words of ``[file] missing``, if it is the number of such a word (``-99.0`` where -99
is missing), or if the column cannot read it; NaN and infinities are missing too. A missing cell
takes the column's ``fill``, a category without one is ``(other)``. Nothing here raises, warns or
logs by what a cell holds: a message would be an unpaid answer about a row.

A number of a text is ASCII digits with the declared decimal mark, a sign and an exponent if need
be; no thousands marks, no underscores. Stored numbers (Parquet, data frames) obey the same rules.
As labels, whole numbers read ``7``, others as Python writes them, booleans ``true`` and ``false``,
dates ``2020-12-31``; moments count by their date, in UTC if they have a time zone.

:mod:`veilspan.tables.encoding` does the same to whole columns and is held to this, bit by bit.
"""

from __future__ import annotations

import datetime
import math
import numbers
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from veilspan.tables.columns import (
    MONTHS,
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    NumberColumn,
    clean_text,
)

if TYPE_CHECKING:
    from veilspan.tables.schema import FileFormat

MISSING = math.nan
#: Day 0 of ``datetime64[D]`` as Python counts days.
EPOCH = datetime.date(1970, 1, 1).toordinal()
#: Days that Python has; those beyond go to the border of any range all the same.
_PYTHON_DAYS = np.datetime64(datetime.date.min), np.datetime64(datetime.date.max)
#: 1970-01-01 was a Thursday.
FIRST_WEEKDAY = 3
#: Distinct texts whose values a reader remembers; a column of free text must not fill the memory.
_MOST_REMEMBERED = 100_000
#: Texts longer than this are read anew each time, for the same reason.
_LONGEST_REMEMBERED = 100
_LONG_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
#: Two digits of a year up to 68 are 20xx, as POSIX has it.
_LAST_OF_2000 = 68


def number_pattern(decimal: str) -> str:
    """The numbers of a text, as a regular expression of Python and of RE2 alike."""
    mark = re.escape(decimal)
    return rf"[+-]?(?:[0-9]+(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][+-]?[0-9]+)?"


class CellReader:
    """Reads the cells of one column.

    ``read`` gives a cell's value in the column's own terms, NaN if it is missing: a number, before
    it is rounded to a whole one; the place of a category in its list; 1 or 0; the day, counted from
    1970-01-01. ``encode`` gives the encoded columns of such a value. (Rounding comes last, so that
    it does not matter whether a value was compared with the numbers for missing cells once or
    twice: a fraction near such a number is none.)
    """

    def __init__(self, column: Column, file: FileFormat) -> None:
        self.column, self.file = column, file
        self.missing_words = frozenset(map(clean_text, file.missing)) | {""}
        self._is_number = re.compile(number_pattern(file.decimal), re.ASCII).fullmatch
        found = (self._read_number(word) for word in self.missing_words)
        #: Numbers that stand for missing cells.
        self.missing_numbers = tuple(sorted({value for value in found if math.isfinite(value)}))
        self._values: dict[str, float] = {}
        self._value_of = self._rule()

    # One cell.

    def read(self, cell: Any) -> float:
        """The value of a cell as it is stored: a text, or anything else that a table may hold."""
        if type(cell) is not str:
            return self._read_stored(cell)
        value = self._values.get(cell)
        if value is None:
            value = self._read_text(cell)
            if len(self._values) < _MOST_REMEMBERED and len(cell) <= _LONGEST_REMEMBERED:
                self._values[cell] = value
        return value

    def read_all(self, cells: Sequence[Any]) -> np.ndarray:
        """The values of many cells, and NaN at the end, where the code -1 of missing cells ends."""
        found = np.empty(len(cells) + 1)
        found[:-1] = [self.read(cell) for cell in cells]
        found[-1] = MISSING
        return found

    def _read_text(self, text: str) -> float:
        # ASCII is in NFC already, and asking first is quicker than normalising.
        text = text.strip() if text.isascii() else clean_text(text)
        if text in self.missing_words:
            return MISSING
        if self.missing_numbers and self._read_number(text) in self.missing_numbers:
            return MISSING
        return self._value_of(text)

    def _read_stored(self, cell: Any) -> float:
        try:
            return self._value_of_stored(as_plain(cell))
        except Exception:  # a value of somebody's own class: whatever it does, nothing is told
            return MISSING

    def _value_of_stored(self, cell: Any) -> float:
        if isinstance(cell, str):
            return self._read_text(cell)
        if cell is None:
            return MISSING
        column = self.column
        if isinstance(cell, datetime.date):
            if isinstance(column, DateColumn):
                return float(cell.toordinal() - EPOCH)
            return MISSING if isinstance(column, NumberColumn) else self._value_of(str(cell))
        if isinstance(cell, bool) and not isinstance(column, NumberColumn):
            if isinstance(column, BooleanColumn):
                return float(cell)
            return self._value_of("true" if cell else "false")
        number = as_float(cell)
        if not math.isfinite(number) or number in self.missing_numbers:
            return MISSING
        if isinstance(column, NumberColumn):
            return number
        return self._value_of(label_of(cell))

    # What a text that is not missing means, by type.

    def _rule(self) -> Callable[[str], float]:
        column = self.column
        if isinstance(column, NumberColumn):
            return self._read_number
        if isinstance(column, CategoryColumn):
            places = {label: float(place) for place, label in enumerate(column.categories)}
            return lambda text: places.get(text, MISSING)
        if isinstance(column, BooleanColumn):
            words = dict.fromkeys(column.false, 0.0) | dict.fromkeys(column.true, 1.0)
            return lambda text: words.get(text, MISSING)
        if isinstance(column, DateColumn):
            return DateReader(column.format)
        return lambda text: MISSING

    def _read_number(self, text: str) -> float:
        if not self._is_number(text):
            return MISSING
        value = float(text if self.file.decimal == "." else text.replace(self.file.decimal, "."))
        return value if math.isfinite(value) else MISSING

    # From a value to encoded columns.

    def round(self, values: Any) -> Any:
        """Values, one or an array, as whole numbers where the column holds integers."""
        whole = isinstance(self.column, NumberColumn) and self.column.integer
        return np.rint(values) if whole else values  # -0.4 is -0.0

    def encode(self, value: float) -> tuple[float, ...]:
        """The encoded columns of a value, NaN for missing, in the order of ``names_out``."""
        missing = math.isnan(value)
        shown = self.fill if missing else value
        flag = (float(missing),) if self.column.missing_column else ()
        return (*self._encode_known(shown), *flag)

    @cached_property
    def fill(self) -> float:
        """The value of missing cells, in the column's own terms."""
        column = self.column
        if isinstance(column, CategoryColumn):
            if column.fill is None:
                return float(len(column.categories))  # (other) comes after the list
            return float(column.categories.index(column.fill))
        if isinstance(column, DateColumn) and column.fill is not None:
            return float(column.fill.toordinal() - EPOCH)
        fill = getattr(column, "fill", None)
        return 0.0 if fill is None else float(fill)

    @cached_property
    def scale(self) -> Scale:
        """How numbers, or days, become numbers in [-1, 1]."""
        column = self.column
        if isinstance(column, DateColumn):
            first, last = column.range
            return Scale(first.toordinal() - EPOCH, last.toordinal() - EPOCH)
        assert isinstance(column, NumberColumn)
        return Scale(*column.range, log=column.scale == "log")

    def _encode_known(self, value: float) -> tuple[float, ...]:
        column = self.column
        if isinstance(column, NumberColumn):
            return (self.scale.apply(float(self.round(value))),)
        if isinstance(column, CategoryColumn):
            return one_hot(int(value), len(column.categories) + column.other)
        if isinstance(column, BooleanColumn):
            return (value,)
        if isinstance(column, DateColumn):
            day = min(max(value, self.scale.low), self.scale.high)
            return tuple(x for part in column.parts for x in self._encode_day(part, int(day)))
        return ()

    def _encode_day(self, part: str, day: int) -> tuple[float, ...]:
        if part == "days":
            return (self.scale.apply(float(day)),)
        if part == "weekday":
            return one_hot((day + FIRST_WEEKDAY) % 7, 7)
        return one_hot(datetime.date.fromordinal(day + EPOCH).month - 1, 12)


def read_cell(column: Column, cell: Any, file: FileFormat) -> tuple[float, ...]:
    """The encoded columns of one cell: the definition of the encoding."""
    reader = CellReader(column, file)
    return reader.encode(reader.read(cell))


def one_hot(place: int, length: int) -> tuple[float, ...]:
    """A row of zeros with a 1 at a place."""
    return tuple(float(i == place) for i in range(length))


class Scale:
    r"""The map of a range, or of its logarithms, to [-1, 1]; what is beyond goes to the border.

    :math:`(t - m) f` with the middle m of the range and f = 1 over half its width: two operations
    and one clip. Clipping at the end is the same as clipping t first, because all three steps are
    monotone; only a logarithm must not see numbers below the range.
    """

    def __init__(self, low: float, high: float, log: bool = False) -> None:
        self.low, self.high, self.log = float(low), float(high), log
        first, last = self.terms(np.array([self.low, self.high])).tolist()
        self.middle = first / 2 + last / 2
        # A range of denormal width has an infinite 1/half, and 0 * inf is no number.
        half = last / 2 - first / 2
        self.factor = min(1 / half if half else math.inf, 1e300)

    def terms(self, values: np.ndarray) -> np.ndarray:
        """Logarithms if need be: by NumPy, whose last bit may be another than Python's."""
        if not self.log:
            return values
        return np.log(np.clip(values, self.low, self.high))

    def apply(self, value: float) -> float:
        """One finite number in [-1, 1]."""
        term = float(self.terms(np.array([value]))[0]) if self.log else value
        return min(max((term - self.middle) * self.factor, -1.0), 1.0)


#: What the directives of a date's format take.
_PATTERNS = {
    "Y": r"(?P<Y>[0-9]{4})",
    "y": r"(?P<y>[0-9]{2})",
    "m": r"(?P<m>1[0-2]|0?[1-9])",
    "d": r"(?P<d>3[01]|[12][0-9]|0?[1-9])",
    "j": r"(?P<j>36[0-6]|3[0-5][0-9]|[12][0-9]{2}|0?[1-9][0-9]|0{0,2}[1-9])",
    "H": r"(?:2[0-3]|[01]?[0-9])",
    "M": r"(?:[0-5]?[0-9])",
    "S": r"(?:[0-5]?[0-9])",
    "b": f"(?P<b>{'|'.join(MONTHS)})",
    "B": f"(?P<b>{'|'.join(_LONG_MONTHS)})",
}


class DateReader:
    """Reads the date of a text by a format; times of day are checked and dropped.

    Not ``strptime``, whose months have the names of the machine's language.
    """

    def __init__(self, text: str) -> None:
        head, *rest = text.split("%")
        pieces = [(_PATTERNS[piece[0]], piece[1:]) for piece in rest]
        #: What dates look like, as a regular expression.
        self.pattern = _literal(head) + "".join(code + _literal(after) for code, after in pieces)
        self._match = re.compile(self.pattern, re.ASCII | re.IGNORECASE).fullmatch

    def __call__(self, text: str) -> float:
        """The day, counted from 1970-01-01; NaN if there is none."""
        match = self._match(text)
        if match is None:
            return MISSING
        said = match.groupdict()
        year = int(said.get("Y") or _full_year(int(said["y"])))
        try:
            if "j" in said:
                first = datetime.date(year, 1, 1)
                day = first + datetime.timedelta(days=int(said["j"]) - 1)
                return float(day.toordinal() - EPOCH) if day.year == year else MISSING
            month = int(said.get("m") or _month(said["b"]))
            return float(datetime.date(year, month, int(said["d"])).toordinal() - EPOCH)
        except (ValueError, OverflowError):  # the 31st of February, the year 0
            return MISSING


def _literal(text: str) -> str:
    return re.sub(r"(?:\\\s)+|\s+", r"\\s+", re.escape(text))


def _full_year(two_digits: int) -> int:
    return two_digits + (2000 if two_digits <= _LAST_OF_2000 else 1900)


def _month(name: str) -> int:
    return MONTHS.index(name[:3].capitalize()) + 1


# Stored values that are no texts.


def as_plain(cell: Any) -> Any:
    """A stored value as a text, a bool, a number or a date of Python, or None."""
    try:
        if cell is None or isinstance(cell, str | bool):
            return cell
        if isinstance(cell, datetime.datetime):
            return _day_of(cell)
        if isinstance(cell, np.datetime64):
            day = np.clip(cell.astype("datetime64[D]"), *_PYTHON_DAYS)  # NaT stays, as None
            return day.astype(object)
        if isinstance(cell, np.bool_):
            return bool(cell)
        if isinstance(cell, datetime.date | numbers.Real | Decimal):
            return cell
    except Exception:  # as above
        return None
    return None


def _day_of(moment: datetime.datetime) -> datetime.date | None:
    if moment != moment:  # pandas' NaT
        return None
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC)
    return datetime.date(moment.year, moment.month, moment.day)


def as_float(cell: Any) -> float:
    """A stored number as a float, NaN if it is none."""
    try:
        return float(cell)
    except Exception:  # whole numbers beyond the floats, signalling NaNs
        return MISSING


def label_of(number: Any) -> str:
    """A stored finite number as a label."""
    if isinstance(number, numbers.Integral):
        return str(int(number))
    value = float(number)
    return str(int(value)) if value.is_integer() else repr(value)
