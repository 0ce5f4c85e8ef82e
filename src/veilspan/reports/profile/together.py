"""What columns do together: correlations, cross-tables, and means by group."""

from __future__ import annotations

from typing import Any

from veilspan.reports.html import Html, details, table, tag
from veilspan.reports.learned import LEVELS
from veilspan.reports.numbers import MINUS, count
from veilspan.reports.profile.charts import range_dot
from veilspan.reports.profile.words import NOT_MEASURABLE, say_number, say_share, say_value
from veilspan.solvers.profile.correlations import Correlations
from veilspan.solvers.profile.estimates import LIMITS, Estimate
from veilspan.solvers.profile.read_answers import Crosstab
from veilspan.solvers.profile.shares import typical_bar

#: A matrix of more columns than this is listed by its strongest pairs instead of drawn.
MOST_DRAWN = 14
MOST_PAIRS = 12


def correlations_section(found: Correlations | None, left_out: tuple[str, ...]) -> Html | None:
    """Correlations of all numbers; None if there are none."""
    if found is None:
        return None
    pairs = [
        (f"{one} and {other}", found.of(one, other))
        for i, one in enumerate(found.names)
        for other in found.names[i + 1 :]
    ]
    hidden = sum(not each.measurable for _, each in pairs)
    words = (
        "Of numbers, dates and booleans, each as the schema scales it, over people who have both."
    )
    if hidden:
        words += (
            f" {count(hidden, 'pair is', 'pairs are')} not measurable (·): the bar would be above "
            f"{LIMITS.correlation:g}."
        )
    if left_out:
        words += f" Left out, for want of room: {', '.join(left_out)}."
    seen = sorted((p for p in pairs if p[1].measurable), key=lambda p: -abs(p[1].value))
    rows = [(name, say_number(each)) for name, each in seen]
    drawn = _matrix(found) if len(found.names) <= MOST_DRAWN else None
    listed = table(("pair", "correlation"), rows[:MOST_PAIRS], caption="Strongest", numeric=(1,))
    return tag(
        "section",
        tag("h2", "Correlations"),
        tag("p", words, class_="muted"),
        tag(
            "div",
            drawn,
            tag("div", tag("h3", "Strongest"), listed) if rows else None,
            class_="pair",
        ),
        details("All pairs", table(("pair", "correlation"), rows, caption="All", numeric=(1,)))
        if len(rows) > MOST_PAIRS
        else None,
        id="correlations",
        class_="card",
    )


def _matrix(found: Correlations) -> Html:
    rows = []
    for i, one in enumerate(found.names[1:], start=1):
        cells: list[Any] = [_shade(found.of(one, other), one, other) for other in found.names[:i]]
        rows.append((one, *cells, *("" for _ in found.names[i:-1])))
    head = ("", *found.names[:-1])
    return table(head, rows, caption="Correlations", numeric=range(1, len(head)), class_="heat")


def _shade(each: Estimate, one: str, other: str) -> Html:
    title = f"{one} and {other}: {say_number(each)}"
    if not each.measurable:
        return tag("span", "·", class_="unseen", title=title)
    level = round(min(abs(each.value), 1.0) * LEVELS)
    shade = f"{'p' if each.value >= 0 else 'n'}{level}" if level else None
    words = f"{each.value:z.2f}".replace("-", MINUS)
    return tag("span", words, class_=shade, title=title)


def crosstab_section(name: str, found: Crosstab) -> Html:
    """A cross-table as shares of all people, coloured by size."""
    largest = float(found.value.max()) or 1.0
    rows = []
    for i, label in enumerate(found.rows.labels):
        cells = []
        for j, other in enumerate(found.columns.labels):
            share = found.shares[i * found.columns.size + j]
            title = f"{label}, {other}: {say_share(share)}"
            if not share.measurable:
                cells.append(tag("span", "·", class_="unseen", title=title))
                continue
            level = round(share.value / largest * LEVELS)
            words = say_share(share, bar=False)
            cells.append(tag("span", words, class_=f"n{level}" if level else None, title=title))
        rows.append((label, *cells))
    bar = typical_bar(found.shares)
    head = (f"{found.rows.name} \\ {found.columns.name}", *found.columns.labels)
    words = (
        f"Shares of all people, each known to ± {100 * bar:.1f} points; · is not measurable. The "
        "table has noise of its own, so its sums differ a little from the columns' shares."
    )
    return tag(
        "section",
        tag("h2", name),
        table(head, rows, caption=name, numeric=range(1, len(head)), class_="heat"),
        tag("p", words, class_="muted small"),
        class_="card",
    )


def means_section(profile: Any, number: str, group: str) -> Html:
    """Means of a number in the groups of a column, on a common scale."""
    cells = profile[number].cells
    found = profile.means_within(number, group)
    seen = [each for each in found.values() if each.measurable]
    low = min((each.low for each in seen), default=cells.range[0])
    high = max((each.high for each in seen), default=cells.range[1])
    rows = [
        (
            label,
            range_dot(cells, each, low, high),
            say_value(cells, each) if each.measurable else NOT_MEASURABLE,
        )
        for label, each in found.items()
    ]
    what = profile[number].mean_kind
    return tag(
        "section",
        tag("h2", f"{number} by {group}"),
        table((group, "", what), rows, caption=f"{number} by {group}", numeric=(2,),
              class_="share-rows wide"),
        class_="card",
    )  # fmt: skip
