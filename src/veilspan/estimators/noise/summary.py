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
NOISE = (
    "By noise alone, from released numbers, is the first bar; what bounding rows does is in none."
)
#: What sampling takes for granted: of rows, and of the targets of a regression.
SAMPLED_ROWS = (
    "With sampling: had other people come. Rows are taken to be independent and, for components, "
    "to be spread as normal ones; heavier tails move them by more."
)
BEST_OF_SEVERAL = (
    "no error bars: the best of several trials was kept, and those of one fit would be too short."
)
WITH_SAMPLING = "with sampling"
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
    sampled : float or None
        The same of noise and sampling together: how far it lies from what all people would give
        that the rows were drawn from.
    """

    name: str
    value: float
    bar: float | None
    sampled: float | None = None

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
    more: tuple[Any, ...] = ()

    @property
    def every(self) -> tuple[Any, ...]:
        """The table itself, and those that follow it."""
        return (self._replace(more=()), *self.more)

    @property
    def samples(self) -> bool:
        """Whether some number has a bar with sampling."""
        return any(line.sampled is not None for line in self.lines)


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
        """The numbers with their bars, of all tables."""
        return tuple(line for part in self.parts.every for line in part.lines)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the bars mean, or why there are none."""
        return tuple(dict.fromkeys(note for part in self.parts.every for note in part.notes))

    def to_dict(self) -> dict[str, Any]:
        """The table as plain values, ready for JSON."""
        lines = [
            {"name": x.name, "value": x.value, "bar": x.bar, "sampled": x.sampled}
            for x in self.lines
        ]
        return {
            "title": self.title,
            "heading": self.parts.heading,
            "lines": lines,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        tables = [_print(part) for part in self.parts.every if part.lines]
        text = "\n\n".join(["\n".join(table) for table in tables])
        return "\n".join([self.title, "", *((text, "") if text else ()), *self.notes]).rstrip("\n")

    def _repr_html_(self) -> str:
        tables = "".join(_draw(part) for part in self.parts.every if part.lines)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<p><b>{escape(self.title)}</b></p>{tables}{notes}"


def _print(part: Parts) -> list[str]:
    """A table as lines of text."""
    shown = part.lines[:MOST_LINES]
    width = max(len(part.heading), *(len(x.name) for x in shown))
    value, *bars = _columns(part)
    sizes = [max(11, len(name)) for name in bars]
    wide = "".join(f"  {name:>{size}}" for name, size in zip(bars, sizes, strict=True))
    text = [f"  {part.heading:<{width}}  {value:>11}{wide}"]
    for x in shown:
        cells = zip(_bars(part, x), sizes, strict=True)
        wide = "".join(f"  {bar:>{size}}" for bar, size in cells)
        text.append(f"  {x.name:<{width}}  {x.value:>11.4g}{wide}{_mark(part, x)}")
    if len(part.lines) > len(shown):
        text.append(f"  and {len(part.lines) - len(shown):,} more")
    return text


def _draw(part: Parts) -> str:
    """A table as HTML."""
    rows = ""
    for x in part.lines[:MOST_LINES]:
        cells = (x.name, f"{x.value:.4g}", *_bars(part, x), _mark(part, x).strip())
        rows += "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
    names = (part.heading, *_columns(part), "")
    head = "<tr>" + "".join(f"<th>{escape(name)}</th>" for name in names) + "</tr>"
    return f"<table>{head}{rows}</table>"


def _columns(part: Parts) -> tuple[str, ...]:
    return (*part.columns, WITH_SAMPLING) if part.samples else part.columns


def _bars(part: Parts, line: Line) -> tuple[str, ...]:
    bars = (line.bar, line.sampled) if part.samples else (line.bar,)
    return tuple("not known" if bar is None else f"{bar:.3g}" for bar in bars)


def _mark(part: Parts, line: Line) -> str:
    return "  noise may be all of it" if part.marks and line.hidden else ""


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
            note = ("Without noise there is nothing to add.",)
            parts = parts._replace(lines=bare, notes=note, more=())
        return Summary(title, parts)

    def _forget_bars(self) -> None:
        """Leave out all error bars: those of one fit are too short for the best of several."""

    def _summary_parts(self) -> Parts:
        """What this kind has to say."""
        return Parts("", (), (NO_BARS,))


def name_columns(estimator: Any, count: int) -> list[str]:
    """Names of columns, as the table had them; numbers where it had none."""
    names = map(str, vars(estimator).get("feature_names_in_", range(count)))
    return [name if not name.isdigit() else f"column {name}" for name in names]


def summarize_components(
    ratios: np.ndarray, angles: np.ndarray | None, sampled: np.ndarray | None
) -> Parts:
    """Shares of variance, and by how much noise may have turned each component."""
    lines = tuple(
        Line(f"component {k + 1}", float(share), told, wide)
        for k, (share, told, wide) in enumerate(
            zip(ratios, _told(angles, len(ratios)), _told(sampled, len(ratios)), strict=True)
        )
    )
    columns = ("share", "turned by (degrees, 95 %)")
    notes = (NOISE_ONLY,) if sampled is None else (NOISE, SAMPLED_ROWS)
    return Parts("of the variance", lines, notes, columns)


def summarize_place(
    names: list[str], mean: np.ndarray, bars: np.ndarray, sampled: np.ndarray | None
) -> Parts:
    """A released mean, one line a column."""
    wide = _told(sampled, len(mean))
    lines = tuple(map(Line, names, mean.tolist(), bars.tolist(), wide))
    notes = (NOISE_ONLY,) if sampled is None else (NOISE, SAMPLED_ROWS)
    return Parts("mean of", lines, notes, marks=True)


def summarize_factors(angle: float | None, estimator: Any) -> Parts:
    """By how much noise may have turned the span of item factors, where that is known."""
    if angle is None:
        return Parts("", (), (NO_BARS,))
    line = Line("span of the item factors", float(estimator.n_components_), float(angle))
    columns = ("factors", "turned by (degrees, 95 %)")
    return Parts("", (line,), (NOISE_ONLY,), columns)


def _told(values: np.ndarray | None, size: int) -> list[float | None]:
    return [None] * size if values is None else [float(value) for value in values]


def summarize_subspace(spectrum: np.ndarray | None, angle: float | None) -> Parts:
    """By how much noise may have turned a subspace, beside the leading share."""
    if angle is None or spectrum is None:
        return Parts("", (), (NO_BARS,))
    line = Line("subspace", float(np.max(spectrum)), angle)
    columns = ("largest share", "turned by (degrees, 95 %)")
    return Parts("of unit rows", (line,), (NOISE_ONLY,), columns)
