"""Estimates as people read them: as many digits as noise leaves, and words where it leaves none."""

from __future__ import annotations

import math

from veilspan.solvers.profile.estimates import Estimate
from veilspan.tables.profiling.column_cells import ColumnCells, show_day

NOT_MEASURABLE = "not measurable"


def say_share(share: Estimate, *, bar: bool = True) -> str:
    """A share in percent; what is not measurable is said to be under its upper end.

    Examples
    --------
    >>> say_share(Estimate(0.50374, 0.49924, 0.50824))
    '50.4 % ± 0.5'
    >>> say_share(Estimate(0.002, 0.0, 0.0051, measurable=False))
    'under 0.6 %'
    """
    if not share.measurable:
        return f"under {_up(100 * share.high, 1)} %"
    places = _decimals(100 * share.bar)
    said = f"{100 * share.value:.{places}f} %"
    return f"{said} ± {_up(100 * share.bar, places)}" if bar and share.bar > 0 else said


def say_value(cells: ColumnCells, estimate: Estimate, *, bar: bool = True) -> str:
    """A mean or quantile in the column's own terms; of a date the day, and its bar in days.

    Examples
    --------
    >>> from veilspan.tables.columns import NumberColumn
    >>> from veilspan.tables.profiling.column_cells import cells_of
    >>> age = cells_of(NumberColumn("age", range=(0, 110), integer=True, source="made up"), 10)
    >>> say_value(age, Estimate(58.1303, 57.76, 58.5))
    '58.1 ± 0.4'
    """
    if cells.column.type == "boolean":
        return say_share(estimate, bar=bar)
    if not estimate.measurable:
        return NOT_MEASURABLE
    if cells.column.type == "date":
        day = show_day(estimate.value)
        return f"{day} ± {math.ceil(estimate.bar)} days" if bar and estimate.bar > 0 else day
    return _say(estimate, bar)


def say_number(estimate: Estimate, *, bar: bool = True) -> str:
    """A plain number, such as a correlation or a number of people."""
    if not estimate.measurable:
        return NOT_MEASURABLE
    return _say(estimate, bar)


def _say(estimate: Estimate, bar: bool) -> str:
    if not estimate.bar > 0:  # all its digits are known: a border of a range, a whole number
        return f"{estimate.value:z,.12g}"
    places = _decimals(estimate.bar)
    said = f"{estimate.value:z,.{places}f}"
    return f"{said} ± {_up(estimate.bar, places)}" if bar else said


def _decimals(bar: float) -> int:
    """Decimals that a bar leaves worth reading: to its first digit, after a 1 to its second."""
    if not bar > 0:
        return 0
    power = math.floor(math.log10(bar))
    return min(max(0, -power + (bar < 2 * 10.0**power)), 8)


def _up(value: float, places: int) -> str:
    """A number rounded up: an error bar is never printed smaller than it is."""
    scale = 10.0**places
    return f"{math.ceil(value * scale * (1 - 1e-9)) / scale:,.{places}f}"
