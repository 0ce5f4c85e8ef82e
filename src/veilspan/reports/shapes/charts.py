"""One column's curve as a small chart: a line over numbers and dates, bars for categories.

All charts of a model share the axis of scores, so that heights compare. It is laid by the curves: a
band that is far longer than they are is cut at the border of its chart, and said to be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from veilspan.reports.html import Html, tag
from veilspan.reports.numbers import number, plain
from veilspan.reports.shapes.labels import shorten, width_of
from veilspan.reports.subject import top
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
#: Height of the rows' histogram over that of the chart.
ROWS_HEIGHT = 0.2
#: Tallest step of the rows' histogram, over the mean of all, and the width of its narrowest.
MOST_TALL, NARROWEST = 5.0, 3.0
#: Room for bands beyond the curves, at each end of the axis, over the range of all curves.
BAND_ROOM = 0.5
#: Where bars begin: room for the names of categories. Size of the letters of ticks.
_NAMES, LETTERS = 112.0, 11.5


def drawn_scores(shapes: Sequence[Any]) -> list[int]:
    """Places of the scores that are drawn: of many those whose curves reach farthest."""
    return sorted(top(sum(np.ptp(shape.scores, axis=0) for shape in shapes), MOST_SCORES))


def score_axis(shapes: Sequence[Any], drawn: Sequence[int], label: str) -> Axis:
    """The axis of scores that these curves fit on, and bands unless they are far longer."""
    ends = [(0.0, 0.0, 0.0, 0.0)]
    for shape in shapes:
        kept = _drawn_values(shape)
        scores, band = shape.scores[kept][:, drawn], shape.band[kept]
        each = (scores.min(), scores.max(), (scores - band).min(), (scores + band).max())
        ends.append(tuple(map(float, each)))  # type: ignore[arg-type]
    low, low_band = (min(end[k] for end in ends) for k in (0, 2))
    high, high_band = (max(end[k] for end in ends) for k in (1, 3))
    room = BAND_ROOM * (high - low)
    low, high = max(low_band, low - room), min(high_band, high + room)
    round_ = linear_axis(low, high, label, 5)
    room = 0.04 * (high - low) or 1.0
    low, high = low - room, high + room
    ticks = [tick for tick in round_.ticks if low <= tick <= high]
    return Axis(low, high, ticks, label, form=plain)


def shape_chart(shape: Any, drawn: Sequence[int], y: Axis) -> tuple[list[Html], float]:
    """Marks of one chart, and its height.

    Parameters
    ----------
    shape : Shape
        The curve.
    drawn : sequence of int
        Places of the scores that are drawn.
    y : Axis
        Of scores, the same for all charts.
    """
    return _bars(shape, drawn, y) if shape.kind == "categories" else _curve(shape, drawn, y)


def describe(shape: Any, scores: Sequence[str], drawn: Sequence[int], y: Axis) -> str:
    """What is drawn in words: the ends of the curve, of several scores that which bends most."""
    kept = _drawn_values(shape)
    place = drawn[int(np.argmax(np.ptp(shape.scores[kept][:, drawn], axis=0)))]
    score, values = shape.scores[kept, place], shape.values[kept]
    low, high = int(np.argmin(score)), int(np.argmax(score))
    first = "Lowest" if len(scores) == 1 else f"{scores[place]}: lowest"
    words = (
        f"{first} {plain(score[low], 3)} at {_say(shape, values[low])}, "
        f"highest {plain(score[high], 3)} at {_say(shape, values[high])}."
    )
    if len(kept) < len(shape.values):
        which = "largest" if shape.errors is None else "farthest out of their noise"
        words = f"Of {len(shape.values)} categories the {len(kept)} {which}. {words}"
    if shape.errors is not None and _is_cut(shape, kept, y):
        which = "Whiskers are" if shape.kind == "categories" else "Its band is"
        words += f" {which} cut at the border of the chart."
    if shape.missing is not None:
        whose = "" if len(scores) == 1 else f" for {scores[place]}"
        words += f" A missing cell{whose}: {plain(shape.missing[place], 3)}."
    return words


def _is_cut(shape: Any, kept: np.ndarray, y: Axis) -> bool:
    score, band = shape.scores[kept], shape.band[kept]
    return bool((score - band < y.low).any() or (score + band > y.high).any())


def _drawn_values(shape: Any) -> np.ndarray:
    """Places of the values that are drawn: of many categories those that stand out most."""
    if shape.kind != "categories" or len(shape.values) <= MOST_BARS:
        return np.arange(len(shape.values))
    size = (np.abs(shape.scores) - shape.band).max(axis=1)
    return np.sort(top(size, MOST_BARS))


def _curve(shape: Any, drawn: Sequence[int], y: Axis) -> tuple[list[Html], float]:
    places, x = _x_axis(shape)
    frame = Frame(x, y, HEIGHT, WIDTH)
    parts: list[Html] = [frame.axes(upright=False)]
    if shape.share_below is not None:
        parts.append(_rows(frame, places, shape.share_below))
    zero = frame.at(x.low, 0.0)[1]
    parts.append(line(LEFT, zero, WIDTH - RIGHT, zero, "guide"))
    if shape.errors is not None:
        upper = [frame.at(*p) for p in zip(places, (shape.scores + shape.band)[:, 0])]
        lower = [frame.at(*p) for p in zip(places, (shape.scores - shape.band)[:, 0])]
        parts.append(path([*upper, *reversed(lower)], "area", closed=True))
    for k, place in enumerate(drawn):
        points = [frame.at(*p) for p in zip(places, shape.scores[:, place])]
        parts.append(path(points, f"line shape c{k}"))
    if shape.missing is not None:
        for k, place in enumerate(drawn):
            where = frame.at(x.high, float(shape.missing[place]))
            words = f"missing cell: {plain(shape.missing[place], 3)}"
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
    kept = _apart(across)
    across, below = across[kept], below[kept]
    wide = np.diff(across)
    tall = np.maximum(np.diff(below), 0.0) / wide
    # Noise in a narrow cell, or a spike of nearly all rows, would hide all others.
    tall = np.minimum(tall, MOST_TALL * (below[-1] - below[0]) / (across[-1] - across[0]))
    most = ROWS_HEIGHT * (frame.floor - TOP) / (tall.max() or 1.0)
    points = [(across[0], frame.floor)]
    for left, right, height in zip(across, across[1:], tall):
        points += [(left, frame.floor - most * height), (right, frame.floor - most * height)]
    points.append((across[-1], frame.floor))
    return path([(round(a, 2), round(b, 2)) for a, b in points], "rows", closed=True)


def _apart(across: np.ndarray) -> list[int]:
    """Borders of steps that are wide enough to be seen; the first and the last always."""
    kept = [0]
    for i in range(1, len(across) - 1):
        if min(across[i] - across[kept[-1]], across[-1] - across[i]) >= NARROWEST:
            kept.append(i)
    return [*kept, len(across) - 1]


def _bars(shape: Any, drawn: Sequence[int], y: Axis) -> tuple[list[Html], float]:
    kept, k = _drawn_values(shape), len(drawn)
    each = 18.0 if k == 1 else 8.0 + 6.0 * k
    height = max(TOP + each * len(kept) + BOTTOM, HEIGHT)
    floor = height - BOTTOM

    def across(score: float) -> float:
        return round(_NAMES + y.place(score) * (WIDTH - RIGHT - _NAMES), 2)

    ticks = y.ticks if len(y.ticks) <= 6 else y.ticks[::2]
    parts = [line(across(t), TOP, across(t), floor, "grid") for t in ticks]
    parts += [text(across(t), floor + 17, y.form(t), "tick", "middle") for t in ticks]
    middle = (_NAMES + WIDTH - RIGHT) / 2
    parts.append(text(middle, height - 8, y.label, "label", "middle"))
    step = (floor - TOP) / len(kept)
    for row, i in enumerate(kept):
        name, at = str(shape.values[i]), TOP + (row + 0.5) * step
        short = shorten(name, _NAMES - 9, LETTERS)
        parts.append(
            text(_NAMES - 8, at + 4, short, "tick name", "end")
            if short == name
            else tag(
                "text", tag("title", name), short, x=_NAMES - 8, y=at + 4, class_="tick name",
                text_anchor="end",
            )
        )  # fmt: skip
        parts += _marks(shape, int(i), at, drawn, across)
    parts.append(line(across(0.0), TOP, across(0.0), floor, "axis"))
    return parts, height


def _marks(shape: Any, i: int, at: float, drawn: Sequence[int], across: Any) -> list[Html]:
    parts, k = [], len(drawn)
    thick = 9.0 if k == 1 else 5.0
    for c, place in enumerate(drawn):
        score = float(shape.scores[i, place])
        above = at - thick / 2 if k == 1 else at + (c - k / 2) * (thick + 1)
        ends = sorted((across(0.0), across(score)))
        words = f"{shape.values[i]}: {plain(score, 3)}"
        parts.append(
            tag(
                "rect", tag("title", words), x=ends[0], y=above, width=max(ends[1] - ends[0], 0.75),
                height=thick, class_=f"bar c{c}",
            )
        )  # fmt: skip
    if shape.errors is not None:
        reach, score = float(shape.band[i, 0]), float(shape.scores[i, 0])
        parts.append(line(across(score - reach), at, across(score + reach), at, "whisker"))
    return parts


def _x_axis(shape: Any) -> tuple[np.ndarray, Axis]:
    """Positions of the values and the axis they lie on: it ends where the range does."""
    places = shape.values.astype(np.float64)
    low, high = float(places[0]), float(places[-1])
    if shape.kind == "date":
        return places, Axis(low, high, *_year_ticks(shape.values), form=_year_of)
    if shape.is_log:
        ticks = _log_ticks(low, high)
        return places, Axis(low, high, ticks, shape.unit, log=True, form=_form_of(ticks))
    ticks = [t for t in linear_axis(low, high, "", 5).ticks if low <= t <= high]
    return places, Axis(low, high, ticks, shape.unit, form=_form_of(ticks))


def _form_of(ticks: Sequence[float]) -> Callable[[float], str]:
    """Plain numbers where they fit side by side, else powers of ten."""
    long = sum(width_of(plain(tick), LETTERS) + LETTERS for tick in ticks)
    return plain if long <= WIDTH - LEFT - RIGHT else number


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
    words = plain(value, 4) if shape.kind == "number" else str(value)
    return f"{words} {shape.unit}".rstrip() if shape.kind == "number" else words
