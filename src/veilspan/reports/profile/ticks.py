"""Ticks of the axes of columns: round numbers, powers, years and months."""

from __future__ import annotations

import datetime
import math

from veilspan.reports.numbers import number
from veilspan.reports.svg import linear_axis
from veilspan.tables.cell_rules import EPOCH
from veilspan.tables.profiling.column_cells import ColumnCells

#: Labels that fit side by side below a histogram.
MOST = 6


def ticks_of(cells: ColumnCells) -> list[tuple[float, str]]:
    """Values inside a column's range that are labelled, in its own terms, with their labels."""
    low, high = cells.range
    if cells.column.type == "date":
        return _days(low, high)
    if cells.is_log:
        return _powers(low, high)
    ticks = linear_axis(low, high, "", MOST).ticks
    return [(tick, _short(tick)) for tick in ticks if low <= tick <= high]


def place_of(cells: ColumnCells, value: float) -> float:
    """Where a value stands on the column's axis, from 0 to 1."""
    low, high = cells.range
    value = min(max(value, low), high)
    if cells.is_log:
        low, high, value = math.log(low), math.log(high), math.log(value)
    return (value - low) / (high - low)


def _short(value: float) -> str:
    if 10_000 <= abs(value) < 1e15:
        for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
            if abs(value) >= size:
                return number(value / size, 3) + letter
    return number(value, 6)


def _powers(low: float, high: float) -> list[tuple[float, str]]:
    for steps in ((1, 2, 5), (1, 3), (1,)):
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        found = [s * 10.0**k for k in range(first, last + 1) for s in steps]
        found = [value for value in found if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
        if len(found) <= MOST + 1:
            break
    every = max(1, math.ceil(len(found) / (MOST + 1)))
    return [(value, _short(value)) for value in found[::every]]


def _days(low: float, high: float) -> list[tuple[float, str]]:
    first, last = (datetime.date.fromordinal(int(day) + EPOCH) for day in (low, high))
    months = (last.year - first.year) * 12 + last.month - first.month
    if months >= 24:
        every = max(1, math.ceil((last.year - first.year) / MOST))
        days = [datetime.date(year, 1, 1) for year in range(first.year, last.year + 1, every)]
        form = "%Y"
    elif months >= 3:
        every = max(1, math.ceil(months / MOST))
        numbers = range(first.year * 12 + first.month - 1, last.year * 12 + last.month, every)
        days = [datetime.date(n // 12, n % 12 + 1, 1) for n in numbers]
        form = "%b %Y" if every > 2 else "%b"
    else:
        every = max(1, math.ceil((high - low) / (MOST - 2)))
        days = [
            datetime.date.fromordinal(int(d) + EPOCH) for d in range(int(low), int(high), every)
        ]
        form = "%d %b"
    return [
        (float(day.toordinal() - EPOCH), day.strftime(form))
        for day in days
        if low <= day.toordinal() - EPOCH <= high
    ]
