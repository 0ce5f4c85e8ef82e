r"""What ``max_rows`` does, from public numbers alone: rows that are not used, noise that is added.

Let a person have r rows, k = ``max_rows``, and m = min(r, k) of them be used. *Bias*: the share m/r
of her rows is used; with ``keep = "random"`` their mean is off hers by
sqrt((r - m) / ((r - 1) m)) standard deviations of her rows (drawn without replacement), with
``first`` and ``last`` by however much her early rows are unlike her late ones. *Noise*, beside what
her rows say, as a multiple of what it is where each person has one row:

* ``mean``, ``first``, ``last``: 1. She is one row of full length, whatever k is.
* ``sum``: k/m. Her m rows are divided by k.
* ``none``: k/m. Noise covers k rows, and m of them say something.

Nobody's number of rows is looked at: r runs over round numbers, and k over half, all and twice what
the schema says, so that one sees what the next choices would do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from veilspan._words import plural

if TYPE_CHECKING:
    from veilspan.tables.unit import Unit

#: Rows of a person that a plan shows.
SHOWN_ROWS = (1, 2, 4, 8, 16, 32, 64)


def share_used(rows: int, max_rows: int | None) -> float:
    """Share of a person's rows that is used."""
    return 1.0 if max_rows is None else min(1.0, max_rows / rows)


def spread_of_mean(rows: int, max_rows: int | None) -> float:
    """How far the mean of randomly kept rows is off, in standard deviations of her rows."""
    used = rows if max_rows is None else min(rows, max_rows)
    return 0.0 if used >= rows else math.sqrt((rows - used) / ((rows - 1) * used))


def noise_factor(rows: int, max_rows: int | None, combine: str) -> float:
    """Noise beside what a person's rows say, as a multiple of that of one row a person."""
    if combine not in ("sum", "none") or max_rows is None:
        return 1.0
    return max_rows / min(rows, max_rows)


def describe_trade_off(unit: Unit) -> dict[str, Any]:
    """Lines of a plan: how a person becomes a unit, and what other ``max_rows`` would do."""
    most, who, combine = unit.max_rows, unit.protects, unit.combine or "mean"
    how = f"{combine} of " if combine != "none" else ""
    used = "all rows" if most is None else f"at most {most:,} rows ({unit.keep})"
    people = "" if unit.count is None else f"{unit.count:,} {plural(who)}; "
    lines = {"unit": f"{people}one {who} is {how}{used} of one {unit.id}, none without it"}
    if most is None:
        return lines
    table = {f"if a {who} has": _row((f"{rows:,}" for rows in SHOWN_ROWS), "rows")}
    for choice in sorted({max(1, most // 2), most, 2 * most}):
        name = f"max_rows = {choice:,}" + (" (chosen)" if choice == most else "")
        table[f"{name} uses"] = _row(
            (f"{100 * share_used(rows, choice):.0f}%" for rows in SHOWN_ROWS), "of the rows"
        )
        if combine == "mean" and unit.keep == "random":
            off = (f"{spread_of_mean(rows, choice):.2f}" for rows in SHOWN_ROWS)
            table[f"{name} is off by"] = _row(off, f"standard deviations of the {who}'s rows")
        if combine in ("sum", "none"):
            noise = (f"{noise_factor(rows, choice, combine):.2g}x" for rows in SHOWN_ROWS)
            table[f"{name} has noise"] = _row(noise, f"that of one row a {who}")
    if combine not in ("sum", "none"):
        table["noise"] = f"that of one row a {who}, whatever max_rows is"
    width = max(map(len, table))
    return lines | {name: " " * (width - len(name)) + row for name, row in table.items()}


def _row(cells: Iterable[str], last: str) -> str:
    return " ".join(f"{cell:>5}" for cell in cells) + f"  {last}"
