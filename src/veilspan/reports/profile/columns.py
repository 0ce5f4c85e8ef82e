"""One card a column: its distribution, its numbers, and what its bounds did to them."""

from __future__ import annotations

from veilspan.reports.html import Html, details, table, tag
from veilspan.reports.profile.charts import histogram_chart, share_bar
from veilspan.reports.profile.words import say_share, say_value
from veilspan.solvers.profile.column_profile import ColumnProfile
from veilspan.solvers.profile.estimates import Estimate

#: At most so many categories are drawn, the largest first; the table below has all of them.
MOST_BARS = 12


def column_card(column: ColumnProfile, key: str) -> Html:
    """The card of one column."""
    unit = f" · {column.cells.unit}" if column.cells.unit else ""
    head = tag(
        "div",
        tag("h3", column.name),
        tag("span", f"{column.type}{unit}", class_="badge"),
        class_="column-head",
    )
    chart = histogram_chart(column, key) if column.cells.has_range else _bars(column)
    return tag(
        "article", head, chart, _facts(column), _borders(column), _numbers(column),
        id=key, class_="column card",
    )  # fmt: skip


def _bars(column: ColumnProfile) -> Html:
    listed = [(i, label, share) for i, (label, share) in enumerate(column.shares.items())]
    gone = column.cells.missing
    shown = sorted(listed, key=lambda each: (each[0] == gone, -each[2].value))
    if len(shown) > MOST_BARS + 1:  # the missing one stays, whatever its share
        shown = [*shown[:MOST_BARS], shown[-1]]
    largest = max(share.high for _, _, share in listed)
    rows = [
        (label, share_bar(share, largest, gone=i == gone), say_share(share))
        for i, label, share in shown
    ]
    rest = len(listed) - len(shown)
    words = f"The {MOST_BARS} largest; {rest:,} more in the numbers." if rest else None
    return tag(
        "div",
        table(("cell", "", "share"), rows, caption=column.name, numeric=(2,), class_="share-rows"),
        tag("p", words, class_="muted small") if words else None,
    )


def _facts(column: ColumnProfile) -> Html | None:
    """Mean and quantiles in words, as a short list."""
    cells = column.cells
    found: list[tuple[str, str]] = []
    if column.mean is not None and cells.has_range:
        found.append((column.mean_kind, say_value(cells, column.mean)))
    quantiles = column.quantiles
    if 0.5 in quantiles:
        found.append(("median", say_value(cells, quantiles[0.5])))
    for low, high, words in ((0.25, 0.75, "half of all"), (0.05, 0.95, "nine in ten")):
        if low in quantiles and high in quantiles:
            found.append((words, _between(column, quantiles[low], quantiles[high])))
    if cells.has_range:
        found.append(("missing", say_share(column.missing)))
    if not found:
        return None
    items = (tag("div", tag("dt", name), tag("dd", value)) for name, value in found)
    return tag("dl", *items, class_="column-facts")


def _between(column: ColumnProfile, low: Estimate, high: Estimate) -> str:
    if not (low.measurable and high.measurable):
        return "not measurable"
    ends = (say_value(column.cells, end, bar=False) for end in (low, high))
    return " to ".join(ends)


def _borders(column: ColumnProfile) -> Html | None:
    """What the bounds of the range did, in plain words."""
    low, high, labels = column.at_low, column.at_high, column.cells.labels
    if low is None or high is None:
        return None
    seen = [(s, words) for s, words in ((low, labels[0]), (high, labels[-2])) if s.measurable]
    if not seen:
        most = say_share(Estimate(0.0, 0.0, max(low.high, high.high), measurable=False))
        words = f"Bounds: {most} of the people at either border, so they moved little."
        return tag("p", words, class_="small muted")
    said = " and ".join(f"{say_share(share)} at {words}" for share, words in seen)
    return tag(
        "p",
        tag("strong", "Bounds: ", class_="warning"),
        f"{said}. What lies beyond a border was moved to it: means and spreads miss that part, and "
        "no error bar here covers it. A wider range in the schema would.",
        class_="small bounds",
    )


def _numbers(column: ColumnProfile) -> Html:
    rows = [
        (label, say_share(share), f"{_percent(share.low)} to {_percent(share.high)}")
        for label, share in column.shares.items()
    ]
    parts = [
        table(("cell", "share", "95 % by noise"), rows, caption="Shares", numeric=(1, 2))
    ]  # fmt: skip
    if column.quantiles:
        quantiles = [
            (f"{100 * q:g} %", say_value(column.cells, e)) for q, e in column.quantiles.items()
        ]
        parts.append(table(("quantile", "value"), quantiles, caption="Quantiles", numeric=(1,)))
    return details("Numbers", *parts)


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
