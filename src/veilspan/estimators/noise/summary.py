"""A printable table of what was released, each number with how far noise may have moved it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from veilspan._html import escape

#: Half the width of an interval that holds a normal error with 95 %, in standard deviations.
Z95 = 1.959963984540054
NO_BARS = "There are no error bars for this kind of release."
NOISE_ONLY = (
    "By noise alone, from released numbers: whether other people would have given other numbers is "
    "not in it, nor what bounding rows does."
)
#: Lines of a long table that are shown; ``rows`` has all.
MOST_LINES = 40


@dataclass(frozen=True)
class Line:
    """One released number.

    Attributes
    ----------
    name : str
        What it is.
    value : float
        As released.
    bar : float or None
        Noise has moved it by no more than this, with 95 %; ``None`` if that is not known.
    """

    name: str
    value: float
    bar: float | None

    @property
    def hidden(self) -> bool:
        """Whether noise alone could have given a number of this size."""
        return self.bar is not None and abs(self.value) <= self.bar


class Parts(NamedTuple):
    """What a family of estimators has to say in a summary: see :class:`Summary`."""

    heading: str
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()
    columns: tuple[str, str] = ("value", "± (95 %)")
    marks: bool = False


@dataclass(frozen=True)
class Summary:
    """What was released, with error bars by noise alone: post-processing, which costs nothing.

    Attributes
    ----------
    title : str
        Whose release it is, and its budget.
    parts : Parts
        What the numbers are, the numbers, and what the bars mean or why there are none.
    """

    title: str
    parts: Parts = field(default_factory=lambda: Parts("", (), (NO_BARS,)))

    @property
    def lines(self) -> tuple[Line, ...]:
        """The numbers with their bars."""
        return self.parts.lines

    @property
    def notes(self) -> tuple[str, ...]:
        """What the bars mean, or why there are none."""
        return self.parts.notes

    def to_dict(self) -> dict[str, Any]:
        """The table as plain values, ready for JSON."""
        lines = [{"name": x.name, "value": x.value, "bar": x.bar} for x in self.lines]
        return {
            "title": self.title,
            "heading": self.parts.heading,
            "lines": lines,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        shown = self.lines[:MOST_LINES]
        heading, (value, bar) = self.parts.heading, self.parts.columns
        width = max([len(heading), *(len(x.name) for x in shown)], default=0)
        text = [self.title, ""]
        if shown:
            text.append(f"  {heading:<{width}}  {value:>11}  {bar:>11}")
        for x in shown:
            text.append(f"  {x.name:<{width}}  {x.value:>11.4g}  {_bar(x):>11}{self._mark(x)}")
        if len(self.lines) > len(shown):
            text.append(f"  and {len(self.lines) - len(shown):,} more")
        return "\n".join([*text, *(("",) if shown and self.notes else ()), *self.notes])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(x.name)}</td><td>{x.value:.4g}</td><td>{escape(_bar(x))}</td>"
            f"<td>{escape(self._mark(x).strip())}</td></tr>"
            for x in self.lines[:MOST_LINES]
        )
        names = (self.parts.heading, *self.parts.columns, "")
        head = "<tr>" + "".join(f"<th>{escape(name)}</th>" for name in names) + "</tr>"
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        table = f"<table>{head}{rows}</table>" if self.lines else ""
        return f"<p><b>{escape(self.title)}</b></p>{table}{notes}"

    def _mark(self, line: Line) -> str:
        return "  noise may be all of it" if self.parts.marks and line.hidden else ""


def _bar(line: Line) -> str:
    return "not known" if line.bar is None else f"{line.bar:.3g}"


class Summarised:
    """What gives an estimator its method ``summary``."""

    def summary(self) -> Any:
        """A table of what was released and how far noise may have moved it.

        Prints as text and shows as a table in notebooks. All of it is post-processing of released
        values: nothing is spent.
        """
        check_is_fitted(self)
        told: Any = self
        statement = told.privacy_
        title = f"{type(self).__name__}: epsilon = {told.epsilon:g}, delta = {told.delta:g}"
        if not statement.private:
            title += " (not private)"
        parts = self._summary_parts()
        if math.isinf(told.epsilon):
            bare = tuple(Line(x.name, x.value, 0.0) for x in parts.lines)
            parts = parts._replace(lines=bare, notes=("Without noise there is nothing to add.",))
        return Summary(title, parts)

    def _summary_parts(self) -> Parts:
        """What this kind has to say."""
        return Parts("", (), (NO_BARS,))


def summarize_components(ratios: np.ndarray, angles: np.ndarray) -> Parts:
    """Shares of variance, and by how much noise may have turned each component."""
    lines = tuple(
        Line(f"component {k + 1}", float(share), None if np.isnan(angle) else float(angle))
        for k, (share, angle) in enumerate(zip(ratios, angles, strict=True))
    )
    columns = ("share", "turned by (degrees, 95 %)")
    return Parts("of the variance", lines, (NOISE_ONLY,), columns)


def summarize_subspace(spectrum: np.ndarray | None, angle: float | None) -> Parts:
    """By how much noise may have turned a subspace, beside the leading share."""
    if angle is None or spectrum is None:
        return Parts("", (), (NO_BARS,))
    line = Line("subspace", float(np.max(spectrum)), angle)
    columns = ("largest share", "turned by (degrees, 95 %)")
    return Parts("of unit rows", (line,), (NOISE_ONLY,), columns)
