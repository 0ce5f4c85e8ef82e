"""The curves in a report: a chart for each column, the largest first, and their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from veilspan.reports.html import Html, details, table, tag
from veilspan.reports.numbers import count, number, plain
from veilspan.reports.shapes.charts import (
    WIDTH,
    describe,
    drawn_scores,
    score_axis,
    shape_chart,
)
from veilspan.reports.svg import figure, picture

#: Curves that are drawn; values of each that are told in numbers.
MOST_DRAWN, MOST_TOLD = 24, 13


def shapes_part(shapes: Any) -> Html:
    """Charts of a model's curves, with what must be known beside them."""
    drawn = shapes.by_reach()[:MOST_DRAWN]
    places = drawn_scores(drawn)
    y = score_axis(drawn, places, f"added to the {shapes.adds_to}")
    charts = [_chart(shape, shapes.scores, places, y, i) for i, shape in enumerate(drawn)]
    beyond = " beyond their noise" if shapes.has_errors else ""
    words = (
        f"What each value adds to the {shapes.adds_to}, those that reach farthest{beyond} first; "
        f"one scale for all of them. {_towards(shapes)}"
    )
    if len(places) < len(shapes.scores):
        words += (
            f" Drawn are the {len(places)} of {len(shapes.scores)} classes whose curves reach "
            "farthest; Numbers has all of them."
        )
    if any(shape.share_below is not None for shape in drawn):
        words += " Grey: where rows lie, by a released histogram."
    if shapes.has_errors:
        words += " Bands and whiskers: two standard deviations of the noise to each side."
    if len(drawn) < len(shapes):
        words += f" The first {len(drawn)} of {count(len(shapes), 'column')}."
    notes = " ".join(f"{note[0].upper()}{note[1:]}." for note in shapes.notes)
    return tag(
        "div",
        tag("h3", "Lines of columns" if shapes.is_straight else "Curves of columns"),
        tag("p", words, class_="muted"),
        _keys(shapes.scores, places),
        tag("div", *charts, class_="shapes"),
        tag("p", notes, class_="muted over"),
        details("Numbers", _table(drawn, shapes.scores)),
        class_="wide",
    )


def _chart(shape: Any, scores: Any, places: Any, y: Any, place: int) -> Html:
    marks, height = shape_chart(shape, places, y)
    told = describe(shape, scores, places, y)
    key = f"shape-{place}"
    chart = picture(key, shape.column, told, *marks, height=height, width=WIDTH)
    said = f"{told} {shape.centred[0].upper()}{shape.centred[1:]}."
    return tag("div", tag("h4", shape.column), figure(chart, said))


def _towards(shapes: Any) -> str:
    if shapes.adds_to == "prediction":
        return f"In units of {shapes.scores[0]}."
    return f"Above zero speaks for {shapes.scores[0]}." if len(shapes.scores) == 1 else ""


def _keys(scores: Any, places: Any) -> Html | None:
    if len(scores) < 2:
        return None
    keys = (
        tag("li", tag("span", "", class_=f"swatch c{k}"), scores[place])
        for k, place in enumerate(places)
    )
    return tag("ul", *keys, class_="legend")


def _table(shapes: Any, scores: Any) -> Html:
    rows = []
    for shape in shapes:
        chosen = np.unique(np.linspace(0, len(shape.values) - 1, MOST_TOLD).round().astype(int))
        if shape.kind == "categories":
            chosen = np.arange(len(shape.values))
        for i in chosen:
            value = shape.values[i]
            told = plain(value) if shape.kind == "number" else str(value)
            error = "" if shape.errors is None else number(shape.errors[i, 0], 2)
            rows.append((shape.column, told, *(plain(s, 3) for s in shape.scores[i]), error))
    heads = ("column", "value", *scores, "error" if rows and rows[0][-1] else "")
    return table(heads, rows, caption="Curves", numeric=range(2, len(heads)))
