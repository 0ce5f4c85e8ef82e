"""Charts of a profile: histograms with error bars, bars of shares, means on their range."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from veilspan.reports.html import Html, tag
from veilspan.reports.profile.ticks import place_of, ticks_of
from veilspan.reports.profile.words import say_share, say_value
from veilspan.reports.svg import line, linear_axis, text
from veilspan.solvers.profile.column_profile import ColumnProfile
from veilspan.solvers.profile.estimates import Estimate
from veilspan.tables.profiling.column_cells import ColumnCells

#: From a value or a share to a place of the picture.
Place: TypeAlias = Callable[[float], float]

WIDTH, HEIGHT = 440.0, 218.0
LEFT, RIGHT, TOP, FLOOR = 38.0, 8.0, 10.0, 160.0
#: Width of the cells at the borders and of the missing one, and the gaps beside them.
NARROW, GAP = 13.0, 9.0
#: Labels so near an end of the axis would run into those of the borders.
BESIDE = 0.04
#: The strip of quantiles below the labels of the axis.
STRIP = 199.0


def histogram_chart(column: ColumnProfile, key: str) -> Html:
    """Shares of all cells of a column with a range, with error bars, and its quantiles."""
    cells, shares = column.cells, column.all_shares
    assert cells.edges is not None
    top = max(float(shares.high.max()), 1e-9) * 1.04
    ticks = [tick for tick in linear_axis(0.0, 100 * top, "", 4).ticks if tick <= 100 * top]
    left, right = LEFT + NARROW + GAP, WIDTH - RIGHT - 2 * (NARROW + GAP)

    def across(value: float) -> float:
        return left + place_of(cells, value) * (right - left)

    def down(share: float) -> float:
        return FLOOR - min(share / top, 1.0) * (FLOOR - TOP)

    parts = [_scale(ticks, down), _labels(cells, across)]
    for i in range(cells.size - 3):
        x0, x1 = across(float(cells.edges[i])), across(float(cells.edges[i + 1]))
        parts.append(_cell(cells.labels[i + 1], shares[i + 1], x0 + 0.7, x1 - 0.7, down, "bin"))
    ends = ((0, LEFT, "end"), (cells.size - 2, right + GAP, "end"))
    for place, x, kind in (*ends, (cells.size - 1, WIDTH - RIGHT - NARROW, "gone")):
        parts.append(_cell(cells.labels[place], shares[place], x, x + NARROW, down, kind))
    parts.append(line(LEFT, FLOOR, WIDTH - RIGHT, FLOOR, "axis"))
    signs = (("≤", LEFT), ("≥", right + GAP), ("∅", WIDTH - RIGHT - NARROW))
    parts += [text(x + NARROW / 2, FLOOR + 15, sign, "tick", "middle") for sign, x in signs]
    parts += _strip(column, across)
    return tag(
        "svg",
        tag("title", f"Distribution of {column.name}", id=f"{key}-title"),
        tag("desc", _description(column), id=f"{key}-desc"),
        *parts,
        viewBox=f"0 0 {WIDTH:g} {HEIGHT if column.quantiles else HEIGHT - 34:g}",
        role="img",
        aria_labelledby=f"{key}-title {key}-desc",
        class_="chart",
    )


def _scale(ticks: Sequence[float], down: Place) -> Html:
    parts = []
    for tick in ticks:
        y = down(tick / 100)
        parts.append(line(LEFT, y, WIDTH - RIGHT, y, "grid"))
        parts.append(text(LEFT - 6, y + 4, f"{tick:g} %", "tick", "end"))
    return tag("g", *parts)


def _labels(cells: ColumnCells, across: Place) -> Html:
    return tag(
        "g",
        *(
            text(across(value), FLOOR + 15, label, "tick", "middle")
            for value, label in ticks_of(cells)
            if BESIDE <= place_of(cells, value) <= 1 - BESIDE
        ),
    )


def _cell(label: str, share: Estimate, x0: float, x1: float, down: Place, kind: str) -> Html:
    """A bar with its error bar; one that is not measurable is drawn as an outline."""
    top, low, high = (down(v) for v in (share.value, share.low, share.high))
    middle, wide = (x0 + x1) / 2, max(x1 - x0, 0.8)
    seen = "" if share.measurable else " faint"
    return tag(
        "g",
        tag("title", f"{label}: {say_share(share)}"),
        tag("rect", x=x0, y=top, width=wide, height=FLOOR - top, class_=f"{kind}{seen}"),
        line(middle, low, middle, high, "whisker"),
        tag("rect", x=x0, y=TOP, width=wide, height=FLOOR - TOP, class_="touch"),
    )


def _strip(column: ColumnProfile, across: Place) -> list[Html]:
    """Quantiles as a box below the axis: the middle half, the outer ones, and their bars."""
    cells = column.cells
    found = {q: e for q, e in column.quantiles.items() if e.measurable}
    if not column.quantiles:
        return []
    at = {q: across(e.value) for q, e in found.items()}
    parts = []
    if at:
        first, last = min(at.values()), max(at.values())
        parts.append(line(first, STRIP, last, STRIP, "span"))
    if {0.25, 0.75} <= set(at):
        parts.append(
            tag(
                "rect",
                x=at[0.25],
                y=STRIP - 6,
                width=max(at[0.75] - at[0.25], 1.0),
                height=12.0,
                rx=2.5,
                class_="half",
            )
        )
    for q, e in found.items():
        low, high = across(e.low), across(e.high)
        parts.append(
            tag(
                "g",
                tag("title", f"{100 * q:g} % lie below {say_value(cells, e)}"),
                line(low, STRIP + 11, high, STRIP + 11, "doubt"),
                line(at[q], STRIP - 8, at[q], STRIP + 8, "median" if q == 0.5 else "quantile"),
            )
        )
    return parts


def _description(column: ColumnProfile) -> str:
    cells = column.cells
    shown = sum(bool(m) for m in column.all_shares.measurable)
    words = f"{cells.size} cells, {shown} of them measurable; missing {say_share(column.missing)}."
    if column.mean is not None:
        words += f" {column.mean_kind.capitalize()} {say_value(cells, column.mean)}."
    return words


def share_bar(share: Estimate, largest: float, *, gone: bool = False) -> Html:
    """A bar of a share with its error bar, for a row of a table."""
    scale = 200.0 / max(largest, 1e-9)
    kind = ("gone" if gone else "bin") + ("" if share.measurable else " faint")
    low, high = share.low * scale, min(share.high * scale, 200.0)
    return tag(
        "svg",
        tag("rect", x=0.0, y=2.0, width=max(share.value * scale, 0.6), height=12.0, class_=kind),
        line(low, 8.0, high, 8.0, "whisker"),
        viewBox="0 0 200 16",
        preserveAspectRatio="none",
        class_="share-bar",
        aria_hidden="true",
    )


def range_dot(cells: ColumnCells, mean: Estimate, low: float, high: float) -> Html:
    """A mean with its error bar on a part of the range, for a row of a table."""

    def across(value: float) -> float:
        ends = place_of(cells, low), place_of(cells, high)
        return 4 + 192 * (place_of(cells, value) - ends[0]) / max(ends[1] - ends[0], 1e-12)

    marks = []
    if mean.measurable:
        marks = [
            line(across(mean.low), 8.0, across(mean.high), 8.0, "whisker thick"),
            tag("rect", x=across(mean.value) - 1.6, y=2.0, width=3.2, height=12.0, class_="bin"),
        ]
    return tag(
        "svg",
        line(0.0, 8.0, 200.0, 8.0, "grid"),
        *marks,
        viewBox="0 0 200 16",
        preserveAspectRatio="none",
        class_="share-bar",
        aria_hidden="true",
    )


def sparkline(column: ColumnProfile) -> Html:
    """The shape of a column in a line of a table: its cells as small bars."""
    values = column.all_shares.value
    top = max(float(values.max()), 1e-9)
    wide = 100.0 / len(values)
    bars = []
    for i, value in enumerate(values):
        border = column.cells.has_range and i in (0, len(values) - 2)
        kind = "gone" if i == len(values) - 1 else "end" if border else "bin"
        tall = 22.0 * float(value) / top
        bars.append(
            tag("rect", x=i * wide + 0.08 * wide, y=24.0 - tall, width=0.84 * wide, height=tall,
                class_=kind)
        )  # fmt: skip
    return tag(
        "svg",
        *bars,
        line(0.0, 24.0, 100.0, 24.0, "axis"),
        viewBox="0 0 100 25",
        preserveAspectRatio="none",
        class_="spark",
        aria_hidden="true",
    )
