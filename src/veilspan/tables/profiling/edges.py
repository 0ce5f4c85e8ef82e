"""Where the cells of a column begin and end: round numbers and calendar dates, from public facts.

No value of a table plays a part: edges follow from the declared range and the number of bins.
"""

from __future__ import annotations

import datetime
import math

import numpy as np

from veilspan.tables.cell_rules import EPOCH

#: Widths of bins that people read easily, times a power of ten.
ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
#: Lengths of bins of dates: some days, then some months.
DAYS, MONTHS = (1, 7), (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200)


def round_edges(low: float, high: float, bins: int) -> np.ndarray:
    """Edges of at most ``bins`` bins from low to high; inner ones are multiples of a round step."""
    if bins == 1:  # zero is a multiple of every step, and would cut a range around it
        return np.array([low, high])
    step = _round_step((high - low) / bins, ROUND)
    while True:
        first, last = math.floor(low / step) + 1, math.ceil(high / step) - 1
        if last - first + 2 <= bins:
            break
        step = _round_step(step * 1.01, ROUND)
    return _with_ends(low, high, [k * step for k in range(first, last + 1)])


def log_edges(low: float, high: float, bins: int) -> np.ndarray:
    """Edges of about equal ratios, the inner ones of two digits."""
    ratios = np.exp(np.linspace(math.log(low), math.log(high), bins + 1)[1:-1])
    return _with_ends(low, high, [float(f"{edge:.2g}") for edge in ratios])


def whole_edges(low: float, high: float, bins: int) -> np.ndarray:
    """Edges halfway between whole numbers: bins of 1, 2, 5, 10, ... of those inside the range."""
    inside = int(high - low) - 1  # the ends of the range have cells of their own
    if inside <= 0:
        return np.array([low + 0.5])  # no bin at all between two cells
    if bins == 1:
        return np.array([low + 0.5, high - 0.5])
    step = max(1, int(_round_step(inside / bins, (1.0, 2.0, 5.0, 10.0))))
    while True:
        first = (math.floor((low + 1) / step) + 1) * step
        starts = list(range(first, int(high), step))
        if len(starts) + 1 <= bins:
            break
        step = int(_round_step(step * 1.01, (1.0, 2.0, 5.0, 10.0)))
    return np.array([low + 0.5, *(start - 0.5 for start in starts), high - 0.5])


def day_edges(first: datetime.date, last: datetime.date, bins: int) -> np.ndarray:
    """Edges at midnight between days (n - 0.5 is where day n begins): days, weeks or months."""
    low, high = first.toordinal() - EPOCH, last.toordinal() - EPOCH
    for days in DAYS:
        if math.ceil((high - low - 1) / days) <= bins:
            starts = [*range(low + 1, high, days)][1:]
            return np.array([low + 0.5, *(day - 0.5 for day in starts), high - 0.5])
    for months in MONTHS:
        starts = [day for day in _month_starts(first, last, months) if low + 1 < day < high]
        if len(starts) + 1 <= bins:
            break
    return np.array([low + 0.5, *(day - 0.5 for day in starts), high - 0.5])


def _month_starts(first: datetime.date, last: datetime.date, months: int) -> list[int]:
    """First days of every so many months, counted from January of the year 0."""
    begin = (first.year * 12 + first.month - 1) // months * months
    numbers = range(begin, last.year * 12 + last.month, months)
    days = [datetime.date(n // 12, n % 12 + 1, 1) for n in numbers if n >= 12]
    return [day.toordinal() - EPOCH for day in days]


def _round_step(least: float, rounds: tuple[float, ...]) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next(r * power for r in rounds if r * power >= least * (1 - 1e-9))


def _with_ends(low: float, high: float, inner: list[float]) -> np.ndarray:
    """Increasing edges from low to high; inner ones beside an end, or twice there, are dropped."""
    gap = 1e-9 * (high - low)
    kept = [low]
    for edge in sorted({float(f"{edge:.12g}") for edge in inner}):
        if edge > kept[-1] + gap and edge < high - gap:
            kept.append(edge)
    return np.array([*kept, high])
