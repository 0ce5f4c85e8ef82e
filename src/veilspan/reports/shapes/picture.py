"""Curves of columns outside of a report: an SVG file, a notebook's output cell."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veilspan._files import write_whole
from veilspan.reports.html import Html, tag
from veilspan.reports.shapes.charts import (
    HEIGHT,
    MOST_SCORES,
    WIDTH,
    describe,
    drawn_scores,
    score_axis,
    shape_chart,
)
from veilspan.reports.shapes.labels import shorten
from veilspan.reports.svg import text

#: A picture has no style sheet of ours; colours as in the report, for light and dark.
_STYLE = """
.veilspan-shapes {
  --card: #ffffff; --ink: #1d242c; --soft: #5b6672; --grid: #e6eaee; --rest: #c3cbd3;
  --c0: #c2410c; --c1: #0072b2; --c2: #009e73; --c3: #cc79a7; --c4: #e69f00; --c5: #5b6672;
  font: 12px system-ui, sans-serif;
}
@media (prefers-color-scheme: dark) { .veilspan-shapes {
  --card: #191d23; --ink: #e9ecef; --soft: #a9b3bf; --grid: #272e37; --rest: #4d5762;
  --c0: #f0802b; --c1: #56b4e9; --c2: #21b58b; --c3: #dd9bc0; --c4: #e6b04d; --c5: #a9b3bf;
} }
.veilspan-shapes .paper { fill: var(--card); }
.veilspan-shapes text { fill: var(--ink); font-size: 12px; }
.veilspan-shapes .head { font-weight: 650; font-size: 13px; }
.veilspan-shapes .tick, .veilspan-shapes .label { fill: var(--soft); font-size: 11px; }
.veilspan-shapes .grid { stroke: var(--grid); } .veilspan-shapes .axis { stroke: var(--soft); }
.veilspan-shapes .guide { stroke: var(--soft); stroke-dasharray: 2 3; }
.veilspan-shapes .rows { fill: var(--rest); fill-opacity: 0.6; }
.veilspan-shapes .area { fill: var(--c0); fill-opacity: 0.16; }
.veilspan-shapes .line { fill: none; stroke-width: 2.2; stroke-linejoin: round; }
.veilspan-shapes .whisker { stroke: var(--ink); stroke-width: 1.3; }
""" + "".join(
    f".veilspan-shapes .line.c{k} {{ stroke: var(--c{k}); }} "
    f".veilspan-shapes .bar.c{k} {{ fill: var(--c{k}); }} "
    f".veilspan-shapes .gap.c{k} {{ fill: var(--card); stroke: var(--c{k}); stroke-width: 1.8; }}\n"
    for k in range(MOST_SCORES)
)
_HEAD, _GAP, _KEYS = 26.0, 14.0, 24.0
#: Size of the letters of a chart's head.
_HEAD_LETTERS = 13.0


@dataclass(frozen=True, eq=False, repr=False)
class ShapesPicture:
    """A picture that a notebook shows and ``save`` writes.

    Attributes
    ----------
    svg : str
        The whole picture; it holds its own style and loads nothing.
    """

    svg: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it to an .svg file, whole or not at all."""
        place = Path(path)
        if place.suffix.lower() != ".svg":
            raise ValueError(
                f"the picture is SVG: give a name that ends in .svg, not {place.name}. A browser "
                "prints it to PDF; Inkscape or rsvg-convert make a PNG of it."
            )
        write_whole(place, lambda stream: stream.write(self.svg.encode()))
        return place

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"ShapesPicture({len(self.svg):,} bytes of SVG; save('shapes.svg') writes it)"


def draw_shapes(
    shapes: Sequence[Any], scores: Sequence[str], across: int, label: str
) -> ShapesPicture:
    """Small charts of curves, so many in a line, with one axis of scores for all."""
    if not shapes or across < 1:
        raise ValueError("a picture needs a column at least, and at least one chart in a line.")
    drawn = drawn_scores(shapes)
    y = score_axis(shapes, drawn, label)
    across, down = min(across, len(shapes)), 0.0
    keys = _keys(scores, drawn)
    down += _KEYS if keys else 0.0
    parts: list[Html] = []
    for start in range(0, len(shapes), across):
        tallest = HEIGHT
        for place, shape in enumerate(shapes[start : start + across]):
            marks, height = shape_chart(shape, drawn, y)
            left, tallest = place * (WIDTH + _GAP), max(tallest, height)
            head = text(12.0, 16.0, shorten(shape.column, WIDTH - 24, _HEAD_LETTERS), "head")
            moved = tag("g", *marks, transform=f"translate(0 {_HEAD:g})")
            words = tag("title", f"{shape.column}: {describe(shape, scores, drawn, y)}")
            parts.append(tag("g", words, head, moved, transform=f"translate({left:g} {down:g})"))
        down += tallest + _HEAD + _GAP
    width = across * (WIDTH + _GAP)
    paper = tag("rect", width=width, height=down, class_="paper")
    title = tag("title", f"{', '.join(scores)}: {label} by each column")
    svg = tag(
        "svg", title, tag("style", Html(_STYLE)), paper, *keys, *parts,
        xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {width:g} {down:g}", width=f"{width:g}",
        height=f"{down:g}", role="img", class_="veilspan-shapes",
    )  # fmt: skip
    return ShapesPicture(str(svg))


def shapes_fragment(shapes: Any) -> Html:
    """Markup for a notebook's output cell: the picture and what must be known beside it."""
    notes = tag("p", ". ".join(note.capitalize() for note in shapes.notes) + ".")
    return tag("div", Html(shapes.plot().svg), notes, class_="veilspan-shapes")


def _keys(scores: Sequence[str], drawn: Sequence[int]) -> list[Html]:
    """Which colour is which class, where there are several, and how many are not drawn."""
    if len(scores) < 2:
        return []
    parts, left = [], 12.0
    for k, place in enumerate(drawn):
        parts.append(tag("rect", x=left, y=8.0, width=12.0, height=8.0, class_=f"bar c{k}"))
        parts.append(text(left + 17, 16.0, scores[place], "tick"))
        left += 32.0 + 7.0 * len(scores[place])
    if len(drawn) < len(scores):
        words = f"{len(drawn)} of {len(scores)} classes, the farthest; to_dict() has all"
        parts.append(text(left, 16.0, words, "tick"))
    return parts
