"""Curves of columns as values: by name, as a data frame, as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from veilspan.estimators.linear.shapes.column_grids import say_value

NO_ERRORS = (
    "no error bars: they need the curvature of the loss at what was learned, which this fit did "
    "not release"
)
NOISE_ERRORS = (
    "errors are standard deviations of the noise of privacy, by released answers and as if columns "
    "were independent of each other; that other people might have been in the table comes on top"
)
CUT = (
    "the score of the first straight fit is cut where it is far from 0: curves count it with the "
    "slope that is left on average, so for rows of far scores they do not add up to the score"
)
JOINT = "random waves of all columns together belong to no single column and have no curve"
#: Columns of a printed table: the curve's lowest and highest point.
_HEAD = ("column", "lowest", "at", "highest", "at")
#: Standard deviations of the noise that bands and whiskers show to each side.
BAND = 2.0


@dataclass(frozen=True, eq=False, repr=False)
class Shape:
    """What one column adds to the score.

    Attributes
    ----------
    column : str
        Its name; weekdays and months of a date come as ``admitted:weekday``.
    kind : {"number", "date", "categories"}
        What its values are.
    values : array of shape (n,)
        In the user's units: increasing numbers, days, or names of categories.
    scores : array of shape (n, k)
        What each value adds to each score.
    errors : array of shape (n, 1) or None
        Standard deviation of the noise in it; None where it is not known.
    missing : array of shape (k,) or None
        What a missing cell adds, where the schema has a column for them.
    share_below : array of shape (n,) or None
        Released share of rows below each value, with noise.
    centred : str
        What was subtracted.
    unit, is_log
        As the schema says.
    """

    column: str
    kind: str
    values: np.ndarray
    scores: np.ndarray
    errors: np.ndarray | None
    centred: str
    missing: np.ndarray | None = None
    share_below: np.ndarray | None = None
    unit: str = ""
    is_log: bool = False

    @property
    def span(self) -> float:
        """How far the curve's lowest and highest point are apart; of classes the farthest."""
        return float(np.ptp(self.scores, axis=0).max())

    @property
    def reach(self) -> float:
        """How far apart two points surely are: by the ends of their bands that are nearest.

        0 where noise may be all of the curve; the span where errors are not known.
        """
        if self.errors is None:
            return self.span
        band = BAND * self.errors
        apart = (self.scores - band).max(axis=0) - (self.scores + band).min(axis=0)
        return max(float(apart.max()), 0.0)

    @property
    def band(self) -> np.ndarray:
        """Half the width of the band around each point, of shape (n, 1); 0 without errors."""
        return np.zeros((len(self.values), 1)) if self.errors is None else BAND * self.errors

    def at(self, value: Any) -> np.ndarray:
        """What one value adds: between two of ``values`` on a straight line.

        Parameters
        ----------
        value : float, date or str
            In the user's units; a number beyond the range is taken to its border.
        """
        if self.kind == "categories":
            found = np.flatnonzero(self.values == value)
            if not len(found):
                known = ", ".join(map(str, self.values))
                raise ValueError(f"{self.column} has no category of that name: it has {known}.")
            return self.scores[found[0]].copy()
        where, place = self.values.astype(np.float64), self._place_of(value)
        return np.array([np.interp(place, where, column) for column in self.scores.T])

    def _place_of(self, value: Any) -> float:
        """A number or a day as a number; refuse what is neither."""
        place, is_date = np.nan, self.kind == "date"
        try:
            if is_date:
                day = np.datetime64(value, "D")
                place = np.nan if np.isnat(day) else float(day.astype(np.int64))
            else:
                place = float(value)
        except (TypeError, ValueError):
            pass
        if np.isnan(place):
            wanted = "dates, as 2024-03-01" if is_date else "numbers"
            unit = f" (in {self.unit})" if self.unit else ""
            raise ValueError(f"{self.column} has {wanted}{unit}: at takes one of its values.")
        return place

    def __repr__(self) -> str:
        first, last = say_value(self.values[0]), say_value(self.values[-1])
        where = f"{len(self.values)} values from {first} to {last}"
        if self.kind == "categories":
            where = f"{len(self.values)} categories"
        ends = f"{self.scores.min():.4g} to {self.scores.max():.4g}"
        bars = "with errors" if self.errors is not None else "no errors"
        return f"Shape({self.column!r}: {where}, scores {ends}, {bars})"


@dataclass(frozen=True, eq=False, repr=False)
class Shapes(Mapping[str, Shape]):
    """What each column adds to the score, by its name.

    Made of released numbers and the public schema alone: looking at it costs nothing.

    Attributes
    ----------
    shapes : tuple of Shape
        In the order of the table.
    scores : tuple of str
        What each score speaks for: the second class, each of several, or the target.
    has_joint : bool
        Whether there are also features of all columns together, which no curve shows.
    has_errors : bool
        Whether errors are known.
    adds_to : {"score", "prediction"}
        What curves add to: a score of classes, or the prediction in the units of the target.
    has_cut : bool
        Whether a first fit's score is part of the curves, which is cut where it is far from 0.
    error_note : str or None
        What is said of errors, in place of what is said of those of curves.
    line_note : str or None
        What is said of curves that are lines.

    Examples
    --------
    >>> from veilspan import LogisticRegression
    >>> from veilspan.datasets import make_ward
    >>> ward = make_ward(3000)
    >>> shapes = LogisticRegression(epsilon=1.0, schema=ward.schema).fit(ward.columns).shapes_
    >>> list(shapes)
    ['age', 'creatinine', 'sex', 'ward', 'smoker', 'admitted', 'admitted:weekday']
    >>> shapes["smoker"].values.tolist()
    ['no', 'yes']
    """

    shapes: tuple[Shape, ...]
    scores: tuple[str, ...]
    has_joint: bool
    has_errors: bool
    adds_to: str = "score"
    has_cut: bool = False
    error_note: str | None = None
    line_note: str | None = None

    def __getitem__(self, name: str) -> Shape:
        """The curve of a column; a ``KeyError`` lists the columns there are."""
        for shape in self.shapes:
            if shape.column == name:
                return shape
        raise KeyError(f"no column is called {name!r}: there are {', '.join(self)}.")

    def __iter__(self) -> Iterator[str]:
        return (shape.column for shape in self.shapes)

    def __len__(self) -> int:
        return len(self.shapes)

    def by_reach(self) -> list[Shape]:
        """Curves that reach farthest beyond their noise first; of those within it by their span."""
        return sorted(self.shapes, key=lambda shape: (-shape.reach, -shape.span))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know beside the curves."""
        errors = self.error_note or (NOISE_ERRORS if self.has_errors else NO_ERRORS)
        cut, joint = (CUT,) if self.has_cut else (), (JOINT,) if self.has_joint else ()
        lines = () if self.line_note is None else (self.line_note,)
        return (*lines, errors, *cut, *joint)

    @property
    def is_straight(self) -> bool:
        """Whether numbers are straight lines."""
        return self.line_note is not None

    def to_dict(self) -> dict[str, Any]:
        """Everything in numbers and texts, for JSON."""
        return {
            "scores": list(self.scores),
            "notes": list(self.notes),
            "columns": {shape.column: _plain(shape) for shape in self.shapes},
        }

    def to_pandas(self) -> Any:
        """One line for each value of each column; needs pandas."""
        import pandas as pd

        lines = []
        for shape in self.shapes:
            for i, value in enumerate(shape.values):
                line = {"column": shape.column, "value": value}
                line |= dict(zip(self.scores, map(float, shape.scores[i])))
                if shape.errors is not None:
                    line["error"] = float(shape.errors[i, 0])
                lines.append(line)
        return pd.DataFrame(lines)

    def plot(self, columns: str | Sequence[str] | None = None, *, across: int = 3) -> Any:
        """Curves side by side, as an SVG picture that a notebook shows; needs nothing else.

        Parameters
        ----------
        columns : str or sequence of str, optional
            Which; by default all, those first that reach farthest beyond their noise.
        across : int
            Pictures in a line.

        Returns
        -------
        ShapesPicture
            ``save(path)`` writes it to an ``.svg`` file.
        """
        names = [columns] if isinstance(columns, str) else columns
        chosen = self.by_reach() if names is None else [self[name] for name in names]
        draw = import_module("veilspan.reports.shapes.picture").draw_shapes
        return draw(chosen, self.scores, across, f"added to the {self.adds_to}")

    def __repr__(self) -> str:
        head = list(_HEAD) if len(self.scores) == 1 else [_HEAD[0], "most for", *_HEAD[1:]]
        lines = [head, *self._lines()]
        widths = [max(map(len, cells)) for cells in zip(*lines)]
        text = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        said = f"what each column adds to the {self.adds_to} of {', '.join(self.scores)}"
        return "\n".join([said, *text, *(f"({note})" for note in self.notes)])

    def _repr_html_(self) -> str:
        return str(import_module("veilspan.reports.shapes.picture").shapes_fragment(self))

    def _lines(self) -> list[list[str]]:
        lines = []
        for shape in self.by_reach():
            place = int(np.argmax(np.ptp(shape.scores, axis=0)))
            score, named = shape.scores[:, place], self.scores[place]
            ends = int(np.argmin(score)), int(np.argmax(score))
            told = [(f"{score[i]:.4g}", say_value(shape.values[i])) for i in ends]
            whose = [] if len(self.scores) == 1 else [named]
            lines.append([shape.column, *whose, *told[0], *told[1]])
        return lines


def _plain(shape: Shape) -> dict[str, Any]:
    values = [str(v) for v in shape.values] if shape.kind != "number" else shape.values.tolist()
    plain: dict[str, Any] = {
        "kind": shape.kind, "values": values, "scores": shape.scores.tolist(),
        "centred": shape.centred, "unit": shape.unit,
    }  # fmt: skip
    for name in ("errors", "missing", "share_below"):
        found = getattr(shape, name)
        plain[name] = None if found is None else found.tolist()
    return plain
