r"""The curve of each column, from a fitted model: post-processing of released numbers.

The score of a row is a constant, plus what each column adds, plus what belongs to no single column
(random waves of all columns together, which have no curve). A constant may be moved between columns
at will, so each curve is centred:

* a *number* whose histogram was released and stood above the noise: its mean over that histogram is
  0, so the curve says how far a value lifts the score above that of the table's rows;
* any other number or date: its mean over the public range is 0;
* *categories*: the mean of those that the schema names is 0, as in ``coefficients_``;
* with several classes, the mean of the classes' scores is 0 as well: adding the same to all of them
  changes no probability.

Scores of classes are logarithms of odds, up to class weights and calibration; those of numbers are
in the units of the target. A straight fit has curves too: lines of numbers, on the schema's scale.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veilspan.estimators.linear.shapes.column_grids import NumberGrid
from veilspan.estimators.linear.shapes.shapes import Shape, Shapes
from veilspan.estimators.linear.shapes.straight_fit import STRAIGHT, StraightFit
from veilspan.queries.linear.learned_features import LearnedFeatures
from veilspan.tables.columns import MISSING, BooleanColumn, Column

BY_ROWS = "its mean over the released histogram of rows is 0"
BY_RANGE = "its mean over the public range is 0"
BY_NAMES = "the mean of the named categories is 0"


def make_shapes(
    learned: LearnedFeatures | StraightFit,
    columns: tuple[Column, ...] | None,
    names: tuple[str, ...] | None,
    scores: tuple[str, ...],
    unit: float | None,
    error_note: str | None = None,
) -> Shapes:
    """Make the curves of all columns.

    Parameters
    ----------
    learned : LearnedFeatures or StraightFit
        What was released.
    columns : tuple of Column or None
        Columns of the schema that are learned from; None for plain arrays.
    names : tuple of str or None
        Names of a plain array's columns, where they are known.
    scores : tuple of str
        What each score speaks for.
    unit : float or None
        What a score of 1 is in the units of the target; None for classes.
    error_note : str, optional
        What is said of errors, in place of what is said of those of curves.
    """
    maker = _Maker(learned, 1.0 if unit is None else unit)
    adds_to = "score" if unit is None else "prediction"
    shapes: list[Shape] = []
    for owner, name in enumerate(learned.columns):
        column = None if columns is None else columns[owner]
        shown = name if names is None or columns is not None else names[owner]
        shapes += maker.shapes_of(owner, name, column, shown)
    return Shapes(
        tuple(shapes), scores, learned.has_joint_features, learned.has_noise, adds_to,
        has_cut=learned.score_slope is not None, error_note=error_note,
        line_note=STRAIGHT if isinstance(learned, StraightFit) else None,
    )  # fmt: skip


class _Maker:
    """Asks the released map for each column's scores."""

    def __init__(self, learned: LearnedFeatures | StraightFit, unit: float) -> None:
        self.learned, self.layout, self.unit = learned, learned.layout, unit

    def shapes_of(self, owner: int, name: str, column: Column | None, shown: str) -> list[Shape]:
        found: list[tuple[dict[str, Any], np.ndarray, np.ndarray]] = []
        for number in np.flatnonzero(self.layout.number_column == owner):
            found.append(self._curve(int(number), name, column, shown))
        for title, labels, places in self._groups(owner, name, column):
            found.append(self._bars(name, title, labels, places))
        gap = self._missing_place(owner, column)
        total = sum(center for _, _, center in found)
        shapes = []
        for first, (said, scores, center) in enumerate(found):
            missing = None
            if gap is not None and not first:
                missing = self._scores(name, self._row_with(gap))[0] - total
            shapes.append(Shape(**said, scores=scores - center, missing=missing))
        return shapes

    def _scores(self, name: str, rows: np.ndarray) -> np.ndarray:
        found = self.unit * self.learned.contribution(name, rows)
        return found - found.mean(axis=1, keepdims=True) if found.shape[1] > 1 else found

    def _curve(
        self, number: int, name: str, column: Column | None, shown: str
    ) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
        grid = NumberGrid(self.layout, number, column)
        values = grid.values()
        told, below, centred = self.learned.describe(name), None, BY_RANGE
        middles = grid.middles(64)
        weights = np.full(len(middles), 1 / len(middles))
        if told["shown"]:
            mass = told["mass"]
            middles, weights, centred = grid.middles(len(mass) - 1), np.diff(mass), BY_ROWS
            below = np.interp(grid.cells_of(values), np.linspace(0.0, 1.0, len(mass)), mass)
        elif not grid.is_log:
            even = np.linspace(0.0, 1.0, 65)
            middles, weights = grid.user_values(even), np.full(65, 1 / 65)
        rows, centers = grid.encode(values), grid.encode(middles)
        said = {
            "column": shown, "kind": "date" if grid.is_date else "number", "values": values,
            "unit": grid.unit, "is_log": grid.is_log, "share_below": below, "centred": centred,
            "errors": self._errors(name, rows, centers, weights),
        }  # fmt: skip
        return said, self._scores(name, rows), weights @ self._scores(name, centers)

    def _bars(
        self, name: str, title: str, labels: tuple[str, ...], places: list[int | None]
    ) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
        rows = np.concatenate([self._row_with(place) for place in places])
        base = self._row_with(None)
        weights = np.array([not label.startswith("(") for label in labels], dtype=float)
        weights = (weights if weights.any() else np.ones(len(labels))) / max(weights.sum(), 1)
        scores = self._scores(name, rows) - self._scores(name, base)
        said = {
            "column": title, "kind": "categories", "values": np.array(labels, dtype=object),
            "centred": BY_NAMES, "errors": self._errors(name, rows, rows, weights),
        }  # fmt: skip
        return said, scores, weights @ scores

    def _row_with(self, place: int | None) -> np.ndarray:
        row = np.zeros((1, self.layout.width))
        if place is not None:
            row[0, place] = 1.0
        return row

    def _groups(
        self, owner: int, name: str, column: Column | None
    ) -> list[tuple[str, tuple[str, ...], list[int | None]]]:
        """Sets of categories of a column: title, labels, places of their entries."""
        if column is None:
            return []
        start = self._start(owner)
        if isinstance(column, BooleanColumn):
            return [(name, (column.false[0], column.true[0]), [None, start])]
        parts: dict[str, list[tuple[str, int | None]]] = {}
        gap = f"{name}={MISSING}" if column.missing_column else None
        for own, entry in enumerate(column.names_out):
            head, mark, label = entry[len(name) :].partition("=")
            if mark and entry != gap:
                parts.setdefault(name + head, []).append((label, start + own))
        return [
            (title, tuple(label for label, _ in found), [place for _, place in found])
            for title, found in parts.items()
        ]

    def _start(self, owner: int) -> int:
        """Where a column's entries begin in an encoded row."""
        numbers = self.layout.numbers[self.layout.number_column == owner]
        flags = self.layout.flags[self.layout.flag_column == owner]
        return int(np.concatenate([numbers, flags]).min())

    def _missing_place(self, owner: int, column: Column | None) -> int | None:
        if column is None or not column.missing_column:
            return None
        return self._start(owner) + len(column.names_out) - 1

    def _errors(
        self, name: str, rows: np.ndarray, centers: np.ndarray, weights: np.ndarray
    ) -> np.ndarray | None:
        spread = self.learned.spread(name, rows, weights @ self.learned.own_features(name, centers))
        if spread is None:
            return None
        return self.unit * np.hypot(spread, self.learned.map_spread(name, rows))
