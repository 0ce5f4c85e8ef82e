"""How far noise may have moved what was released: the estimator's own summary, as a table."""

from __future__ import annotations

import math

from veilspan.reports.html import Html, table, tag
from veilspan.reports.numbers import number
from veilspan.reports.subject import Subject

#: Lines of a long table that are shown: the first, as the estimator orders them.
MOST_LINES = 16


def error_bars(subject: Subject) -> Html | None:
    """The table, or why there is none; nothing for a release that says nothing of noise."""
    from veilspan.estimators.noise.summary import NO_BARS, Summarised

    source = subject.source
    if not isinstance(source, Summarised) or not math.isfinite(subject.statement.epsilon):
        return None
    if type(source).summary is not Summarised.summary:
        return None  # a profile has a page of its own, every number with its bar
    parts = source._summary_parts()
    if NO_BARS in parts.notes or not (parts.lines or parts.notes):
        return None
    notes = [tag("p", note, class_="muted") for note in parts.notes]
    known = [(line.name, line.value, line.bar) for line in parts.lines if line.bar is not None]
    if not known:
        return tag("div", tag("h3", "How sure"), *notes)
    rows = [(name, number(value), number(bar)) for name, value, bar in known[:MOST_LINES]]
    more = len(known) - len(rows)
    if more > 0:
        notes.append(tag("p", f"And {more:,} more.", class_="muted"))
    head = (parts.heading, *parts.columns)
    shown = table(head, rows, caption="How sure", numeric=(1, 2))
    return tag("div", tag("h3", "How sure"), shown, *notes)
