"""The charts of a report. Each is a function from numbers to markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from veilspan.reports.html import Html, tag
from veilspan.reports.numbers import equals, number, percent, percent_up, power
from veilspan.reports.promise import Promise
from veilspan.reports.svg import (
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Frame,
    line,
    linear_axis,
    log_axis,
    path,
    picture,
    text,
)

#: Marks of groups in a scatter plot, told apart by form as well as by colour.
MARKS = ("circle", "square", "triangle", "diamond", "cross", "ring")
_CORNERS: dict[str, list[tuple[float, float]]] = {
    "square": [(-1, -1), (1, -1), (1, 1), (-1, 1)],
    "triangle": [(0, -1.3), (1.2, 1), (-1.2, 1)],
    "diamond": [(0, -1.4), (1.2, 0), (0, 1.4), (-1.2, 0)],
    "cross": [(-1, -1), (1, 1), (0, 0), (1, -1), (-1, 1), (0, 0)],
}
#: At most so many bars of a spectrum are drawn.
MOST_BARS = 40
#: Opacity of the largest entry of a matrix; more would hide the number on it.
DARKEST = 0.55
#: From this many rows or columns on, a matrix is not drawn in full.
MOST_CELLS = 40


def privacy_curve_chart(promise: Promise, epsilon: float, delta: float) -> Html:
    """Delta for every epsilon, with the promised point."""
    low = min(float(promise.deltas[-1]), delta / 10)
    y = log_axis(max(low, 1e-300), max(1.0, float(promise.deltas[0])), "delta", power)
    frame = Frame(linear_axis(0.0, float(promise.epsilons[-1]), "epsilon"), y)
    shown = [(e, d) for e, d in zip(promise.epsilons, promise.deltas) if d >= y.low]
    curve = [frame.at(e, d) for e, d in shown]
    x0, y0 = frame.at(epsilon, delta)
    pair = f"{equals('ε', epsilon, 6)}, {equals('δ', delta)}"
    # The curve falls, so there is room above and to the right of a point.
    place, side = (WIDTH - RIGHT, "end") if x0 > 0.72 * WIDTH else (x0 + 10, "start")
    return picture(
        "curve",
        "Delta at every epsilon",
        f"A falling curve on a logarithmic scale through epsilon {epsilon:.4g}, delta {delta:g}.",
        frame.axes(),
        path(curve, "line ours"),
        line(x0, y0, x0, frame.floor, "guide"),
        line(LEFT, y0, x0, y0, "guide"),
        tag("circle", tag("title", pair), cx=x0, cy=y0, r=5.0, class_="dot ours"),
        text(place, y0 - 25, "promised", "note ours-text", side),
        text(place, y0 - 10, pair, "note", side),
    )


def tradeoff_chart(promise: Promise, marked: float) -> Html:
    """What any test can detect at most for each share of false alarms, in log-log scale."""
    shares = np.logspace(-5, 0, 121)
    caught = [promise.detection_rate(float(a)) for a in shares]
    frame = Frame(
        log_axis(1e-5, 1.0, "false alarms", percent), log_axis(1e-5, 1.0, "detected", percent)
    )
    bound = [frame.at(a, c) for a, c in zip(shares, caught)]
    blind = [frame.at(a, a) for a in shares]
    here = promise.detection_rate(marked)
    x0, y0 = frame.at(marked, here)
    label = f"{percent(marked)} false alarms: at most {percent_up(here)} detected"
    return picture(
        "tradeoff",
        "What an attacker gains",
        f"At {marked:g} false alarms at most {here:.3g} of the cases are detected; blind guessing "
        f"detects {marked:g}.",
        frame.axes(),
        path([*bound, *reversed(blind)], "area", closed=True),
        path(blind, "line blind"),
        path(bound, "line ours"),
        tag("circle", tag("title", label), cx=x0, cy=y0, r=5.0, class_="dot ours"),
        # At point 70 of 121, a little right of the middle, the two curves are well apart.
        text(*_beside(bound[70], -10, -8), "any attacker, at most", "note ours-text", "end"),
        text(*_beside(blind[70], 10, 16), "blind guessing", "note"),
    )


def _beside(point: tuple[float, float], right: float, down: float) -> tuple[float, float]:
    return point[0] + right, point[1] + down


def spectrum_chart(
    values: np.ndarray, kept: int, edge: float | None, label: str, key: str = "spectrum"
) -> Html:
    """Bars of released variances, those of the components filled, and the level of pure noise."""
    shown = np.asarray(values, dtype=float)[:MOST_BARS]
    top = max(float(shown.max(initial=0.0)), edge or 0.0) or 1.0
    low = min(0.0, float(shown.min(initial=0.0)))
    slots = len(shown)
    x = linear_axis(0.0, float(slots), "")
    frame = Frame(x, linear_axis(low, top * 1.04, label, 5))
    wide = (WIDTH - LEFT - RIGHT) / max(slots, 1)
    bars, every = [], max(1, -(-slots // 12))
    base = frame.at(0, 0.0)[1]
    for i, value in enumerate(shown):
        _, y = frame.at(0, float(value))
        left = LEFT + i * wide
        below = edge is not None and value < edge
        class_ = "bar " + ("rest" if i >= kept else "weak" if below else "ours")
        words = f"component {i + 1}: {number(value)}"
        share = min(0.72 * wide, 46.0)
        bars.append(
            tag(
                "rect",
                tag("title", words),
                x=left + (wide - share) / 2,
                y=min(y, base),
                width=share,
                height=max(abs(base - y), 0.75),
                class_=class_,
            )
        )
        if i % every == 0:
            bars.append(text(left + wide / 2, frame.floor + 17, str(i + 1), "tick", "middle"))
    bare = Frame(type(x)(0.0, float(slots), (), "component"), frame.y)
    marks = []
    if edge is not None:
        y = frame.at(0, edge)[1]
        marks = [
            line(LEFT, y, WIDTH - RIGHT, y, "edge"),
            # Spectra fall, so the upper right corner is free.
            line(WIDTH - RIGHT - 156, TOP + 11, WIDTH - RIGHT - 128, TOP + 11, "edge"),
            text(WIDTH - RIGHT - 122, TOP + 15, f"noise alone: {number(edge, 3)}", "note"),
        ]
    weak = 0 if edge is None else int(np.sum(shown[:kept] < edge))
    return picture(
        key,
        "Released spectrum",
        f"{slots} bars, the first {kept} are components; {weak} of these are below the noise edge.",
        bare.axes(upright=False),
        *bars,
        *marks,
    )


def matrix_chart(matrix: np.ndarray, key: str, title: str) -> Html:
    """Squares coloured by sign and size; hover tells the number."""
    rows, columns = min(matrix.shape[0], MOST_CELLS), min(matrix.shape[1], MOST_CELLS)
    side = min((WIDTH - 40) / columns, 300.0 / rows, 48.0)
    largest = float(np.abs(matrix).max(initial=0.0)) or 1.0
    left, cells = (WIDTH - side * columns) / 2, []
    numbers = side >= 34
    for i in range(rows):
        for j in range(columns):
            value = float(matrix[i, j])
            x, y = left + j * side, TOP + i * side
            cells.append(
                tag(
                    "rect",
                    tag("title", f"[{i}, {j}] = {number(value)}"),
                    x=x,
                    y=y,
                    width=side - 1,
                    height=side - 1,
                    class_="cell positive" if value >= 0 else "cell negative",
                    fill_opacity=abs(value) / largest * DARKEST,
                )
            )
            if numbers:
                cells.append(
                    text(x + side / 2, y + side / 2 + 4, number(value, 2), "inside", "middle")
                )
    height = TOP * 2 + side * rows
    words = f"A matrix of {matrix.shape[0]} x {matrix.shape[1]} numbers, the largest {largest:.4g}."
    return picture(key, title, words, *cells, height=round(height, 1))


def scatter_chart(groups: Mapping[str, np.ndarray], labels: tuple[str, str]) -> Html:
    """Points of groups, each with a mark and a colour of its own."""
    stacked = np.concatenate(list(groups.values()))
    height = HEIGHT + 50
    frame = Frame(
        linear_axis(float(stacked[:, 0].min()), float(stacked[:, 0].max()), labels[0]),
        linear_axis(float(stacked[:, 1].min()), float(stacked[:, 1].max()), labels[1]),
        height,
    )
    marks = [
        _mark(*frame.at(float(a), float(b)), number)
        for number, points in enumerate(groups.values())
        for a, b in points
    ]
    return picture(
        "scatter",
        "Rows given by the author of this report",
        f"{len(stacked)} points in {len(groups)} group(s), in the released coordinates.",
        frame.axes(),
        *marks,
        height=height,
    )


def legend(names: Sequence[str]) -> Html:
    """A list of the groups' names, each with its mark."""
    entries = (
        tag(
            "li",
            tag("svg", _mark(7.0, 7.0, i), viewBox="0 0 14 14", class_="key", aria_hidden="true"),
            name,
        )
        for i, name in enumerate(names)
    )
    return tag("ul", *entries, class_="legend")


def _mark(x: float, y: float, number: int, r: float = 3.4) -> Html:
    class_ = f"mark g{number % len(MARKS)}"
    form = MARKS[number % len(MARKS)]
    if form in ("circle", "ring"):
        return tag("circle", cx=x, cy=y, r=r, class_=class_)
    points = [(round(x + a * r, 2), round(y + b * r, 2)) for a, b in _CORNERS[form]]
    return path(points, class_, closed=True)


def budget_bar(others: float, this: float, key: str = "budget") -> Html:
    """Spent by others, by this release, and left, in one bar."""
    width = WIDTH * 2
    first, second = others * width, this * width
    return tag(
        "svg",
        tag("title", "Budget of the dataset", id=f"{key}-title"),
        tag("rect", x=0.0, y=0.0, width=width, height=26.0, class_="left"),
        tag("rect", x=0.0, y=0.0, width=first, height=26.0, class_="others"),
        tag("rect", x=first, y=0.0, width=second, height=26.0, class_="this"),
        viewBox=f"0 0 {width:g} 26",
        preserveAspectRatio="none",
        role="img",
        aria_labelledby=f"{key}-title",
        class_="budget",
    )


def small_bar(value: float, largest: float, *, signed: bool) -> Html:
    """A bar in a cell of a table; ``signed`` ones grow from the middle."""
    share = 0.0 if not largest else max(min(value / largest, 1.0), -1.0)
    start, width = (-100, 200) if signed else (0, 100)
    return tag(
        "svg",
        tag(
            "rect",
            x=min(share, 0.0) * 100,
            y=0.0,
            width=max(abs(share) * 100, 0.5),
            height=10.0,
            class_="positive" if share >= 0 else "negative",
        ),
        tag("line", x1=0.0, y1=0.0, x2=0.0, y2=10.0, class_="axis") if signed else None,
        viewBox=f"{start} 0 {width} 10",
        preserveAspectRatio="none",
        class_="small-bar",
        aria_hidden="true",
    )
