"""One column's curve as a small chart: a line over numbers and dates, bars for categories.

All charts of a model share the axis of scores, so that heights compare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from veilspan.reports.html import Html, tag
from veilspan.reports.numbers import number
from veilspan.reports.svg import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    Axis,
    Frame,
    line,
    linear_axis,
    path,
    text,
)

WIDTH, HEIGHT = 330.0, 205.0
#: Scores that are drawn at most, and categories in one chart.
MOST_SCORES, MOST_BARS = 6, 7
#: Height of the rows' histogram over that of the chart; standard deviations of a band.
ROWS_HEIGHT, BAND = 0.2, 2.0
#: Where bars begin: room for the names of categories.
_NAMES, _LETTERS = 112.0, 16


def score_axis(shapes: Sequence[Any], label: str) -> Axis:
    """The axis of scores that all of these curves fit on, their error bars included."""
    low = min(float(_low(shape).min()) for shape in shapes)
    high = max(float(_high(shape).max()) for shape in shapes)
    round_ = linear_axis(min(low, 0.0), max(high, 0.0), label, 5)
    room = 0.04 * (max(high, 0.0) - min(low, 0.0)) or 1.0
    low, high = min(low, 0.0) - room, max(high, 0.0) + room
    return Axis(low, high, [tick for tick in round_.ticks if low <= tick <= high], label)


def shape_chart(shape: Any, scores: Sequence[str], y: Axis) -> tuple[list[Html], float]:
    """Marks of one chart, and its height.

    Parameters
    ----------
    shape : Shape
        The curve.
    scores : sequence of str
        What each score speaks for.
    y : Axis
        Of scores, the same for all charts.
    """
    return _bars(shape, scores, y) if shape.kind == "categories" else _curve(shape, scores, y)


def describe(shape: Any) -> str:
    """The curve in words, for people who do not see it."""
    score = shape.scores[:, int(np.argmax(np.ptp(shape.scores, axis=0)))]
    low, high = int(np.argmin(score)), int(np.argmax(score))
    return (
        f"Lowest {number(score[low], 3)} at {_say(shape, shape.values[low])}, "
        f"highest {number(score[high], 3)} at {_say(shape, shape.values[high])}."
    )


def _curve(shape: Any, scores: Sequence[str], y: Axis) -> tuple[list[Html], float]:
    places, x = _x_axis(shape)
    frame = Frame(x, y, HEIGHT, WIDTH)
    parts: list[Html] = [frame.axes(upright=False)]
    if shape.share_below is not None:
        parts.append(_rows(frame, places, shape.share_below))
    zero = frame.at(x.low, 0.0)[1]
    parts.append(line(LEFT, zero, WIDTH - RIGHT, zero, "guide"))
    if shape.errors is not None:
        upper = [frame.at(*p) for p in zip(places, _high(shape)[:, 0])]
        lower = [frame.at(*p) for p in zip(places, _low(shape)[:, 0])]
        parts.append(path([*upper, *reversed(lower)], "area", closed=True))
    for k in range(min(shape.scores.shape[1], MOST_SCORES)):
        points = [frame.at(*p) for p in zip(places, shape.scores[:, k])]
        parts.append(path(points, f"line shape c{k}"))
    if shape.missing is not None:
        for k in range(min(shape.scores.shape[1], MOST_SCORES)):
            where = frame.at(x.high, float(shape.missing[k]))
            words = f"missing cell: {number(shape.missing[k], 3)}"
            parts.append(
                tag(
                    "circle", tag("title", words), cx=where[0] + 9, cy=where[1], r=3.5,
                    class_=f"gap c{k}",
                )
            )  # fmt: skip
    return parts, HEIGHT


def _rows(frame: Frame, places: np.ndarray, below: np.ndarray) -> Html:
    """Where the rows lie, by the released histogram: steps along the floor of the chart."""
    across = np.array([frame.at(place, frame.y.low)[0] for place in places])
    wide = np.maximum(np.diff(across), 1e-9)
    tall = np.maximum(np.diff(below), 0.0) / wide
    most = ROWS_HEIGHT * (frame.floor - TOP) / (tall.max() or 1.0)
    points = [(across[0], frame.floor)]
    for left, right, height in zip(across, across[1:], tall):
        points += [(left, frame.floor - most * height), (right, frame.floor - most * height)]
    points.append((across[-1], frame.floor))
    return path([(round(a, 2), round(b, 2)) for a, b in points], "rows", closed=True)


def _bars(shape: Any, scores: Sequence[str], y: Axis) -> tuple[list[Html], float]:
    size = np.abs(shape.scores).max(axis=1)
    kept = np.sort(np.argsort(-size, kind="stable")[:MOST_BARS])
    k = min(shape.scores.shape[1], MOST_SCORES)
    each = 18.0 if k == 1 else 8.0 + 6.0 * k
    height = max(TOP + each * len(kept) + BOTTOM, HEIGHT)
    floor = height - BOTTOM

    def across(score: float) -> float:
        return round(_NAMES + y.place(score) * (WIDTH - RIGHT - _NAMES), 2)

    ticks = y.ticks if len(y.ticks) <= 6 else y.ticks[::2]
    parts = [line(across(t), TOP, across(t), floor, "grid") for t in ticks]
    parts += [text(across(t), floor + 17, number(t), "tick", "middle") for t in ticks]
    middle = (_NAMES + WIDTH - RIGHT) / 2
    parts.append(text(middle, height - 8, y.label, "label", "middle"))
    step = (floor - TOP) / len(kept)
    for row, i in enumerate(kept):
        name, at = str(shape.values[i]), TOP + (row + 0.5) * step
        short = name if len(name) <= _LETTERS else name[: _LETTERS - 1] + "…"
        parts.append(
            text(_NAMES - 8, at + 4, short, "tick name", "end")
            if short == name
            else tag(
                "text", tag("title", name), short, x=_NAMES - 8, y=at + 4, class_="tick name",
                text_anchor="end",
            )
        )  # fmt: skip
        parts += _marks(shape, int(i), at, k, across)
    parts.append(line(across(0.0), TOP, across(0.0), floor, "axis"))
    return parts, height


def _marks(shape: Any, i: int, at: float, k: int, across: Any) -> list[Html]:
    parts = []
    thick = 9.0 if k == 1 else 5.0
    for c in range(k):
        score = float(shape.scores[i, c])
        top = at - thick / 2 if k == 1 else at + (c - k / 2) * (thick + 1)
        ends = sorted((across(0.0), across(score)))
        words = f"{shape.values[i]}: {number(score, 3)}"
        parts.append(
            tag(
                "rect", tag("title", words), x=ends[0], y=top, width=max(ends[1] - ends[0], 0.75),
                height=thick, class_=f"bar c{c}",
            )
        )  # fmt: skip
    if shape.errors is not None:
        reach = BAND * float(shape.errors[i, 0])
        score = float(shape.scores[i, 0])
        parts.append(line(across(score - reach), at, across(score + reach), at, "whisker"))
    return parts


def _x_axis(shape: Any) -> tuple[np.ndarray, Axis]:
    """Positions of the values and the axis they lie on: it ends where the range does."""
    places = shape.values.astype(np.float64)
    low, high = float(places[0]), float(places[-1])
    if shape.kind == "date":
        return places, Axis(low, high, *_year_ticks(shape.values), form=_year_of)
    if shape.is_log:
        return places, Axis(low, high, _log_ticks(low, high), shape.unit, log=True)
    ticks = [t for t in linear_axis(low, high, "", 5).ticks if low <= t <= high]
    return places, Axis(low, high, ticks, shape.unit)


def _log_ticks(low: float, high: float) -> list[float]:
    """Round values of a log scale, some five of them: by decades, or by 1, 2 and 5."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1.0, 2.0, 5.0) if last - first <= 3 else (1.0,)
    ticks = [s * 10.0**k for k in range(first, last + 1) for s in steps]
    ticks = [t for t in ticks if low <= t <= high]
    return ticks[:: max(1, math.ceil(len(ticks) / 6))]


def _year_ticks(days: np.ndarray) -> tuple[list[float], str]:
    first, last = days[0].astype("datetime64[Y]"), days[-1].astype("datetime64[Y]")
    years = np.arange(first, last + 2)
    inside = [y.astype("datetime64[D]") for y in years]
    ticks = [float(d.astype(np.int64)) for d in inside if days[0] <= d <= days[-1]]
    return ticks[:: max(1, math.ceil(len(ticks) / 6))], ""


def _year_of(day: float) -> str:
    return str(np.int64(day).astype("datetime64[D]").astype("datetime64[Y]"))


def _say(shape: Any, value: Any) -> str:
    words = number(value, 4) if shape.kind == "number" else str(value)
    return f"{words} {shape.unit}".rstrip() if shape.kind == "number" else words


def _low(shape: Any) -> np.ndarray:
    return shape.scores if shape.errors is None else shape.scores - BAND * shape.errors


def _high(shape: Any) -> np.ndarray:
    return shape.scores if shape.errors is None else shape.scores + BAND * shape.errors
