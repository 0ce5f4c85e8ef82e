"""A profile as text: a few lines a column, for a terminal."""

from __future__ import annotations

import textwrap
from typing import Any

from veilspan._printable import printable
from veilspan.solvers.profile.column_profile import ColumnProfile
from veilspan.solvers.profile.wording import NOT_MEASURABLE, say_number, say_share, say_value

WIDTH = 96
#: At most so many categories are listed, the largest first; the page has all of them.
MOST_SHOWN = 12


def summarize(profile: Any) -> str:
    """All columns, one after the other, then correlations."""
    promise = profile.privacy_
    people = f"{say_number(profile.people)} people"
    if not profile.people.measurable:
        people = f"number of people {NOT_MEASURABLE}"
    head = f"Profile of {profile.schema.name or 'a table'}: {people}, "
    head += f"epsilon {promise.epsilon:g} at delta {promise.delta:g}"
    lines = [head, "Bars hold with 95 %, by noise alone.", ""]
    if not promise.private:
        lines.insert(1, f"NOT PRIVATE: {promise.why_not_private}")
    for name in profile.column_names:
        lines += _column(profile[name])
    lines += _correlations(profile)
    for number, group in profile.means_by:
        cells = profile[number].cells
        means = profile.means_within(number, group).items()
        said = ", ".join(f"{label} {say_value(cells, mean)}" for label, mean in means)
        lines += _wrap(f"{number} by {group}", said)
    if profile.left_out:
        lines += _wrap("no means", f"of {', '.join(profile.left_out)}: most_numbers has no room")
    return printable("\n".join(lines).rstrip(), lines=True)


def _column(column: ColumnProfile) -> list[str]:
    cells = column.cells
    unit = f" {cells.unit}" if cells.unit else ""
    lines = [f"{column.name} ({column.type})"]
    if column.mean is not None and cells.column.type != "boolean":
        lines += _wrap(column.mean_kind, say_value(cells, column.mean) + unit)
    if column.quantiles:
        each = (f"{100 * q:g} %: {say_value(cells, e)}" for q, e in column.quantiles.items())
        lines += _wrap("quantiles", "; ".join(each))
        low, high = column.at_low, column.at_high
        assert low is not None
        assert high is not None
        ends = f"{cells.labels[0]}: {say_share(low)}; {cells.labels[-2]}: {say_share(high)}"
        lines += _wrap("at the borders", ends)
        lines += _wrap("missing", say_share(column.missing))
    else:
        listed = sorted(column.shares.items(), key=lambda pair: -pair[1].value)
        said = ", ".join(f"{label} {say_share(share)}" for label, share in listed[:MOST_SHOWN])
        if len(listed) > MOST_SHOWN:
            said += f", and {len(listed) - MOST_SHOWN:,} more"
        lines += _wrap("shares", said)
    return lines


def _correlations(profile: Any) -> list[str]:
    found = profile.correlations
    if found is None:
        return []
    pairs = [
        (one, other, found.of(one, other))
        for i, one in enumerate(found.names)
        for other in found.names[i + 1 :]
    ]
    seen = [(a, b, e) for a, b, e in pairs if e.measurable and abs(e.value) > e.bar]
    seen.sort(key=lambda each: -abs(each[2].value))
    said = "; ".join(f"{a} and {b}: {say_number(e)}" for a, b, e in seen[:MOST_SHOWN])
    rest = sum(not e.measurable for _, _, e in pairs)
    said = said or "none that noise lets see"
    if rest:
        said += f" ({rest} {NOT_MEASURABLE})"
    return _wrap("correlations", said)


def _wrap(head: str, text: str) -> list[str]:
    first = f"  {head}: "
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent="    ")
