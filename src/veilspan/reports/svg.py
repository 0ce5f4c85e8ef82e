"""Frames, axes and marks of charts, as SVG that is written here and needs no script.

Why no chart library: a report is a record. As SVG it is a tenth of the size, prints as it looks, is
read by screen readers (title, description, and a table beside it), and lets the page forbid all
scripts but one of a few lines. Colours are classes of the style sheet, so that light, dark and
print are one file; what a mark says in numbers is its ``<title>``, shown as a tooltip.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from veilspan.reports.html import Html, join, tag
from veilspan.reports.numbers import number

WIDTH, HEIGHT = 460.0, 290.0
LEFT, RIGHT, TOP, BOTTOM = 58.0, 22.0, 12.0, 46.0


@dataclass(frozen=True)
class Axis:
    """One axis: where values go, and where ticks are.

    Attributes
    ----------
    low, high : float
        Range of the values.
    ticks : sequence of float
        Values that are labelled.
    label : str
        What is measured.
    log : bool
        Whether positions follow logarithms.
    form : callable
        How a tick is written.
    """

    low: float
    high: float
    ticks: Sequence[float]
    label: str
    log: bool = False
    form: Callable[[float], str] = number

    def place(self, value: float) -> float:
        """Position from 0 to 1; values outside stay at the border."""
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(at)
        return (at - low) / (high - low)


def linear_axis(low: float, high: float, label: str, wanted: int = 6) -> Axis:
    """An axis with round ticks that covers the range."""
    size = max(abs(low), abs(high))
    if not high - low > 1e-9 * max(size, 1e-200):  # one value, and the room around it
        low, high = low - (size or 1.0) / 2, high + (size or 1.0) / 2
    step = 10.0 ** math.floor(math.log10((high - low) / wanted))
    step = next(step * k for k in (1, 2, 5, 10) if (high - low) / (step * k) <= wanted)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    digits = 2 - math.floor(math.log10(step))  # 3 * 0.1 is to be 0.3
    ticks = [round(k * step, digits) for k in range(first, last + 1)]
    return Axis(ticks[0], ticks[-1], ticks, label)


def log_axis(low: float, high: float, label: str, form: Callable[[float], str] = number) -> Axis:
    """An axis of powers of ten that covers the range, with at most seven labelled."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    every = max(1, math.ceil((last - first) / 6))
    ticks = [10.0**k for k in range(last, first - 1, -every)]
    return Axis(10.0**first, 10.0**last, ticks, label, log=True, form=form)


@dataclass(frozen=True)
class Frame:
    """The rectangle between two axes, which turns values into places of the picture."""

    x: Axis
    y: Axis
    height: float = HEIGHT
    width: float = WIDTH

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return where a point is drawn, in units of the picture, rounded to a hundredth."""
        across = LEFT + self.x.place(x) * (self.width - LEFT - RIGHT)
        down = TOP + (1 - self.y.place(y)) * (self.height - TOP - BOTTOM)
        return round(across, 2), round(down, 2)

    @property
    def floor(self) -> float:
        """How far down the picture the x axis runs."""
        return self.height - BOTTOM

    def axes(self, *, upright: bool = True) -> Html:
        """Grid, ticks and labels; without ``upright`` no vertical lines."""
        parts = []
        for value in self.y.ticks:
            _, y = self.at(self.x.low, value)
            parts.append(line(LEFT, y, self.width - RIGHT, y, "grid"))
            parts.append(text(LEFT - 7, y + 4, self.y.form(value), "tick", "end"))
        for value in self.x.ticks:
            x, _ = self.at(value, self.y.low)
            if upright:
                parts.append(line(x, TOP, x, self.floor, "grid"))
            parts.append(text(x, self.floor + 17, self.x.form(value), "tick", "middle"))
        middle = TOP + (self.floor - TOP) / 2
        parts.append(line(LEFT, self.floor, self.width - RIGHT, self.floor, "axis"))
        parts.append(
            text((LEFT + self.width - RIGHT) / 2, self.height - 8, self.x.label, "label", "middle")
        )
        turned = f"rotate(-90 13 {middle:.1f})"
        parts.append(text(13.0, middle, self.y.label, "label", "middle", transform=turned))
        return join(parts)


def picture(
    key: str,
    title: str,
    description: str,
    *parts: Any,
    height: float = HEIGHT,
    width: float = WIDTH,
) -> Html:
    """A whole chart; ``key`` is unique on its page, the words are for screen readers."""
    return tag(
        "svg",
        tag("title", title, id=f"{key}-title"),
        tag("desc", description, id=f"{key}-desc"),
        *parts,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_labelledby=f"{key}-title {key}-desc",
        class_="chart",
    )


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Html:
    """A straight line between two places of the picture, in its own units."""
    return tag("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=class_)


def text(x: float, y: float, words: str, class_: str, anchor: str = "start", **more: Any) -> Html:
    """Words at a place of the picture; ``anchor`` says which end of them stands there."""
    return tag("text", words, x=float(x), y=float(y), class_=class_, text_anchor=anchor, **more)


def path(points: Sequence[tuple[float, float]], class_: str, *, closed: bool = False) -> Html:
    """A line through points, or the area inside."""
    steps = " ".join(f"{'L' if i else 'M'}{x:g} {y:g}" for i, (x, y) in enumerate(points))
    return tag("path", d=steps + (" Z" if closed else ""), class_=class_)


def figure(chart: Html, caption: Any, *more: Any, before: Html | None = None) -> Html:
    """A chart with what it says in words, and what belongs to it."""
    return tag("figure", before, chart, tag("figcaption", caption), *more)
