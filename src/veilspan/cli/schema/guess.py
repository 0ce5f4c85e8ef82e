"""What the cells of a table look like: types, categories and ranges. None of it is public.

Used by ``veilspan schema init --guess`` only, which says so. Ranges are rounded outwards, to be
read and corrected more easily; it hides nobody.
"""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from veilspan.tables.suggestions import Line
from veilspan.tables.toml_writer import write_value

if TYPE_CHECKING:
    from veilspan.tables.file_format import FileFormat

#: Most distinct texts that are taken for categories; more are free text or ids.
_MOST_CATEGORIES = 50
#: Distinct cells that are remembered of a column, to bound memory. The rest is not looked at: with
#: so many a range is known well enough for a guess, and there are no categories.
_MOST_TEXTS = 200_000
#: A column is of a type if at least this share of its cells is; the rest are typing errors.
_ENOUGH = 0.9
#: Texts in a smaller share of cells are left out of the categories: typing errors, or one person.
_RARE = 0.01
#: Columns that are read at once, so that wide tables fit into memory.
_AT_ONCE = 200
_FORMATS = (
    "%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%Y%m%d", "%d-%m-%Y",
    "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%d.%m.%y", "%d %b %Y",
)  # fmt: skip
_YES = ("yes", "y", "true", "t", "1", "ja", "j", "oui", "si")
_NO = ("no", "n", "false", "f", "0", "nein", "non")


def guess_columns(source: Any) -> dict[str, list[Line]]:
    """Facts that the cells of each column suggest, as lines of a draft."""
    from veilspan.tables.columns import Column
    from veilspan.tables.file_format import FileFormat

    file = getattr(source, "file", None) or FileFormat()
    found: dict[str, list[Line]] = {}
    for start in range(0, len(source.names), _AT_ONCE):
        names = source.names[start : start + _AT_ONCE]
        columns = [Column(name, role="ignore") for name in names]
        seen: dict[str, dict[Any, int]] = {name: {} for name in names}
        for batch in source.batches(columns):
            for name in names:
                _count_values(seen[name], batch[name].distinct())
        found |= {name: guess_lines(seen[name], file) for name in names}
    return found


def _count_values(seen: dict[Any, int], cells: Any) -> None:
    import numpy as np

    codes = cells.codes[cells.codes >= 0]
    counts = np.bincount(codes, minlength=len(cells.values)).tolist()
    for value, count in zip(cells.values, counts):
        if count and (len(seen) < _MOST_TEXTS or value in seen):
            seen[value] = seen.get(value, 0) + count


def guess_lines(seen: Mapping[Any, int], file: FileFormat) -> list[Line]:
    """Facts of one column, from its distinct values and how often each occurs."""
    known = {value: count for value, count in seen.items() if not _is_missing(value, file)}
    if not known:
        return [_fact("role", '"ignore"', "no cell holds anything")]
    for guess in (
        _guess_boolean, _guess_numbers, _guess_dates, _guess_other_mark, _guess_categories,
    ):  # fmt: skip
        lines = guess(known, file)
        if lines is not None:
            return lines
    unique = len(known) > _ENOUGH * sum(known.values())
    role = "id" if unique else "ignore"
    return [_fact("role", f'"{role}"', "nearly every cell differs" if unique else "many texts")]


def _guess_boolean(seen: Mapping[Any, int], file: FileFormat) -> list[Line] | None:
    if all(type(value) is bool for value in seen):
        return [_fact("type", '"boolean"')]
    words = {_as_text(value): count for value, count in seen.items()}
    yes = tuple(sorted(word for word in words if word.lower() in _YES))
    no = tuple(sorted(word for word in words if word.lower() in _NO))
    if not yes or not no or not _are_enough((words[word] for word in (*yes, *no)), seen):
        return None
    return [
        _fact("type", '"boolean"'),
        _fact("true", write_value(yes), "FROM THE ROWS"),
        _fact("false", write_value(no), "FROM THE ROWS"),
    ]


def _guess_numbers(seen: Mapping[Any, int], file: FileFormat) -> list[Line] | None:
    numbers = _read_all(seen, "number", file)
    if not _are_enough(numbers.values(), seen):
        return None
    whole = all(number.is_integer() for number in numbers)
    low, high = round_outwards(min(numbers), max(numbers))
    return [
        _fact("type", '"integer"' if whole else '"number"'),
        _fact("range", write_value((low, high)), "FROM THE ROWS, rounded outwards"),
    ]


def _guess_other_mark(seen: Mapping[Any, int], file: FileFormat) -> list[Line] | None:
    """Numbers with the decimal mark that was not declared: say how to read them."""
    mark = "." if file.decimal == "," else ","
    if mark == file.separator or _guess_numbers(seen, replace(file, decimal=mark)) is None:
        return None
    return [_fact("role", '"ignore"', f"numbers like 1{mark}5? Then init with --decimal '{mark}'")]


def _guess_dates(seen: Mapping[Any, int], file: FileFormat) -> list[Line] | None:
    stored = any(not isinstance(value, (str, bool, int, float)) for value in seen)
    for text in ("",) if stored else _FORMATS:
        days = _read_all(seen, text, file)
        if _are_enough(days.values(), seen):
            low = datetime.date(_year_of(min(days)), 1, 1)
            high = datetime.date(_year_of(max(days)), 12, 31)
            written = [] if stored else [_fact("format", f'"{text}"')]
            return [
                _fact("type", '"date"'),
                *written,
                _fact("range", f"[{low}, {high}]", "FROM THE ROWS, whole years"),
                _fact("as", '["days"]', "and weekday, month"),
            ]
    return None


def _guess_categories(seen: Mapping[Any, int], file: FileFormat) -> list[Line] | None:
    words: Counter[str] = Counter()
    for value, count in seen.items():
        words[_as_text(value)] += count
    total = words.total()
    often = [word for word, count in words.most_common() if count >= max(2, _RARE * total)]
    if not 1 <= len(often) <= _MOST_CATEGORIES or not _are_enough((words[w] for w in often), seen):
        return None
    note = "FROM THE ROWS" + ("" if len(often) == len(words) else ", rare ones left out")
    return [
        _fact("type", '"category"', note),
        _fact("categories", write_value(tuple(often), len("categories = "))),
        _fact("other", "true", "everything else and gaps"),
    ]


def _are_enough(counts: Iterable[int], seen: Mapping[Any, int]) -> bool:
    """Whether cells of a type are so many that the column is of it."""
    found = sum(counts)
    return found > 0 and found >= _ENOUGH * sum(seen.values())


def _year_of(day: float) -> int:
    return datetime.date.fromordinal(datetime.date(1970, 1, 1).toordinal() + int(day)).year


def _read_all(seen: Mapping[Any, int], kind: str, file: FileFormat) -> Counter[float]:
    """Cells that can be read as numbers, or as dates of a format: each value and how often."""
    from veilspan.tables.cell_rules import CellReader
    from veilspan.tables.columns import DateColumn, NumberColumn

    column: Any = NumberColumn("x", range=(0.0, 1.0))
    if kind != "number":
        days = (datetime.date(1900, 1, 1), datetime.date(2100, 1, 1))
        column = DateColumn("x", format=kind or "%Y-%m-%d", range=days)
    reader = CellReader(column, file)
    found: Counter[float] = Counter()
    for cell, count in seen.items():
        found[reader.read(cell)] += count
    return Counter({value: count for value, count in found.items() if not math.isnan(value)})


def round_outwards(low: float, high: float) -> tuple[float, float]:
    """A range around two numbers, both to one or two digits of its width."""
    width = high - low
    size = width if width > 0 and math.isfinite(width) else max(abs(low), abs(high), 1.0)
    step = 10.0 ** math.floor(math.log10(size))
    if size < 5 * step:  # 0 to 130 rather than 0 to 200
        step /= 10
    if float(low).is_integer() and float(high).is_integer():
        step = max(step, 1.0)  # integers have whole bounds
    bounds = math.floor(low / step) * step, math.ceil(high / step) * step
    digits = max(0, -math.floor(math.log10(step)))
    first, last = (round(bound, digits) for bound in bounds)
    return (first, last) if first < last else (first - step, last + step)


def _is_missing(value: Any, file: FileFormat) -> bool:
    if value is None or value != value:
        return True
    return isinstance(value, str) and (not value.strip() or value.strip() in file.missing)


def _as_text(value: Any) -> str:
    from veilspan.tables.cell_rules import as_plain, label_of
    from veilspan.tables.columns import clean_text

    plain = as_plain(value)
    if isinstance(plain, bool):
        return "true" if plain else "false"
    if isinstance(plain, (int, float)):
        return label_of(plain)
    return str(clean_text(str(plain)))


def _fact(key: str, value: str, comment: str = "") -> Line:
    return Line(key, value, comment, suggested=False)
