"""How long the features of a row are, and where its numbers lie, by the released mass.

Post-processing of :class:`~veilspan.solvers.linear.column_mass.ColumnMass`: no row, no charge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veilspan.queries.linear.column_scales import cell_scale_of, places_of
from veilspan.queries.linear.table_features import TableFeatures
from veilspan.queries.linear.table_layout import TableLayout
from veilspan.solvers.linear.column_mass import ColumnMass

#: Places of a number's range at which its features are looked at.
GRID = 1025
#: A line reaches so many standard deviations from its mean, and a least part of the range.
REACH, LEAST_SPREAD = 3.0, 0.01


@dataclass(frozen=True)
class SeenNumbers:
    """Numbers of all columns on a grid of their ranges, with the shares of rows that lie there.

    Attributes
    ----------
    line, place, weights : array of shape (GRID, m)
        t, F, and the share of the column's rows between a place and the one before.
    shown : bool array of shape (m,)
        Columns whose mass was seen.
    """

    line: np.ndarray
    place: np.ndarray
    weights: np.ndarray
    shown: np.ndarray


def see_numbers(layout: TableLayout, mass: ColumnMass) -> SeenNumbers:
    """The numbers as the released mass has them."""
    line = np.tile(np.linspace(0.0, 1.0, GRID)[:, None], (1, layout.n_numbers))
    place = places_of(line, cell_scale_of(layout, line), mass.below, mass.shown)
    below = np.where(mass.shown, 2.0 * place - line, line)
    weights = np.maximum(np.diff(below, axis=0, prepend=0.0), 0.0)
    return SeenNumbers(line, place, weights / weights.sum(axis=0), mass.shown)


def mean_squares(features: TableFeatures, seen: SeenNumbers, room: float) -> float:
    """Squared length of the columns' own features, with some room; at most their largest.

    Numbers whose mass was seen count with the mean over it times ``room``, and at most 1, all
    other groups with 1.
    """
    squares = features.squares_of(seen.line, seen.place)
    return _with_room(features.layout, seen, squares, room)


def line_scales(
    layout: TableLayout, seen: SeenNumbers, room: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Centre and spread of each number's line, and the squared length of such rows with room."""
    mean = np.sum(seen.weights * seen.line, axis=0)
    spread = REACH * np.sqrt(np.sum(seen.weights * (seen.line - mean) ** 2, axis=0))
    spread = np.clip(spread, LEAST_SPREAD, np.maximum(mean, 1.0 - mean))
    center = np.where(seen.shown, mean, 0.5)
    spread = np.where(seen.shown, spread, 0.5)
    squares = np.clip((seen.line - center) / spread, -1.0, 1.0) ** 2
    return center, spread, _with_room(layout, seen, squares, room)


def _with_room(layout: TableLayout, seen: SeenNumbers, squares: np.ndarray, room: float) -> float:
    mean = np.sum(seen.weights * squares, axis=0)
    told = np.where(seen.shown, np.minimum(room * mean, 1.0), 1.0)
    return float(layout.groups - layout.n_numbers + told.sum())
