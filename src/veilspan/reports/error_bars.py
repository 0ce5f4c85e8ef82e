"""How far noise may have moved what was released: the estimator's own summary, as a table."""

from __future__ import annotations

import math
from typing import Any

from veilspan.estimators.noise.summary import NO_BARS, WITH_SAMPLING, Parts, Summarised
from veilspan.reports.html import Html, table, tag
from veilspan.reports.numbers import number
from veilspan.reports.subject import Subject

#: Lines of a long table that are shown: the first, as the estimator orders them.
MOST_LINES = 16


def error_bars(subject: Subject) -> Html | None:
    """The table, or why there is none; nothing for a release that says nothing of noise."""
    source = subject.source
    if not isinstance(source, Summarised) or not math.isfinite(subject.statement.epsilon):
        return None
    if type(source).summary is not Summarised.summary:
        return None  # a profile has a page of its own, every number with its bar
    parts = source._summary_parts()
    if NO_BARS in parts.notes or not (parts.lines or parts.notes):
        return None
    shown = [found for part in parts.every if (found := _table(part)) is not None]
    known = _said_above(source)
    notes = [
        tag("p", f"{note[0].upper()}{note[1:]}", class_="muted")
        for note in _once(parts)
        if note.rstrip(".") not in known
    ]
    return tag("div", tag("h3", "How sure"), *shown, *notes) if shown or notes else None


def _said_above(source: Any) -> set[str]:
    """What the section on curves and lines of columns has said already."""
    curves = getattr(source, "shapes_", None)
    return set() if curves is None else {note.rstrip(".") for note in curves.notes}


def _once(parts: Parts) -> list[str]:
    """What the bars of all tables mean, each sentence once."""
    return list(dict.fromkeys(note for part in parts.every for note in part.notes))


def _table(part: Parts) -> Html | None:
    """The numbers of which bars are known; with sampling too, where that is known."""
    known = [line for line in part.lines if line.bar is not None]
    if not known:
        return None
    head: tuple[str, ...] = (part.heading, *part.columns)
    head = (*head, WITH_SAMPLING) if part.samples else head
    rows = []
    for line in known[:MOST_LINES]:
        numbers = (line.value, line.bar, line.sampled) if part.samples else (line.value, line.bar)
        rows.append((line.name, *("not known" if x is None else number(x) for x in numbers)))
    more = len(known) - len(rows)
    shown = table(head, rows, caption="How sure", numeric=tuple(range(1, len(head))))
    return (
        shown if more <= 0 else tag("div", shown, tag("p", f"And {more:,} more.", class_="muted"))
    )
