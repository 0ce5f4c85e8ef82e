"""A fitted table model: the released map of rows, and the coefficients of its features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veilspan.queries.linear.column_scales import cell_scale_of, line_of
from veilspan.queries.linear.residual_features import ResidualFeatures, first_predictions
from veilspan.queries.linear.table_features import TableFeatures, TableLine
from veilspan.queries.linear.table_layout import TableLayout

#: Numbers that are mapped in one go when rows are scored.
BLOCK_NUMBERS = 4_000_000
#: Shift of released shares by which the slope of a curve in them is measured.
SMALL_SHIFT = 1e-5


@dataclass(frozen=True, eq=False)
class LearnedFeatures:
    r"""What a table model has learned; all of it is public or was released and charged.

    The score of an encoded row x is <f(x), theta>, f being the features of ``row_map``; after a
    first fit p to numbers it is p(x) + w <f(x), theta>, on the scale of targets in [-1, 1].

    Parameters
    ----------
    row_map : TableFeatures or ResidualFeatures
        The map of rows, as in the fit.
    theta : array of shape (p,) or (p, k)
        Coefficients of the features.
    noise : tuple of arrays or None
        Covariance of the noise in the coefficients of each column's own features, in the order of
        the columns; None where no curvature was released that would tell it.
    score_slope : array of shape (k,) or None
        How much of a first fit's scores is left on average where they are cut at their reach, from
        0 to 1 (:mod:`veilspan.estimators.linear.shapes.score_slope`); None for all. Scores do not
        use it: it is for what single columns add.
    """

    row_map: TableFeatures | ResidualFeatures
    theta: np.ndarray
    noise: tuple[np.ndarray, ...] | None = None
    score_slope: np.ndarray | None = None

    @property
    def features(self) -> TableFeatures:
        """The features, with ``waves``, ``bins``, ``mass``, ``shown`` and ``layout``."""
        found = self.row_map
        return found.features if isinstance(found, ResidualFeatures) else found

    @property
    def layout(self) -> TableLayout:
        """Where the table's columns stand in an encoded row."""
        return self.features.layout

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of the table."""
        return self.layout.columns

    @property
    def has_joint_features(self) -> bool:
        """Whether there are features of all columns together, which belong to none of them."""
        return self.features.phases is not None

    @property
    def has_noise(self) -> bool:
        """Whether the noise in the coefficients is known."""
        return self.noise is not None

    def describe(self, column: str) -> dict[str, Any]:
        """What is public of a column's features.

        Returns
        -------
        dict
            ``kind`` ("number" or "categories"), ``waves``, ``bins``, and for a number ``shown``
            (whether its mass stood above the noise) and ``mass`` (the share of rows below each
            border of equal cells of its cell scale), or None where no mass was asked for.
        """
        features, owner = self.features, self.layout.find_column(column)
        numbers = np.flatnonzero(self.layout.number_column == owner)
        if not len(numbers):
            return {"kind": "categories", "waves": 0, "bins": 0, "shown": None, "mass": None}
        j = int(numbers[0])
        told = features.shown is not None and features.mass is not None
        return {
            "kind": "number",
            "waves": features.waves,
            "bins": features.bins,
            "shown": bool(features.shown[j]) if told and features.shown is not None else None,
            "mass": features.mass[j].copy() if told and features.mass is not None else None,
        }

    def scores(self, x: np.ndarray) -> np.ndarray:
        """Scores of encoded rows, of shape (n, k)."""
        step = max(1, BLOCK_NUMBERS // max(1, self.features.width))
        parts = [self._scores_of(x[at : at + step]) for at in range(0, len(x), step)]
        return np.concatenate(parts) if parts else np.zeros((0, self._theta.shape[1]))

    @property
    def _theta(self) -> np.ndarray:
        return self.theta.reshape(len(self.theta), -1)

    def _scores_of(self, x: np.ndarray) -> np.ndarray:
        scores = np.asarray(self.features.rows_of(x) @ self._theta)
        if isinstance(self.row_map, ResidualFeatures):
            first = first_predictions(self.row_map.line, self.row_map.theta, x)
            return first[:, None] + self.row_map.width_of_rest * scores
        return scores

    def contribution(self, column: str, x: np.ndarray) -> np.ndarray:
        """What a column adds to the scores of encoded rows, of shape (n, k).

        The sum over columns, a constant and what is of no single column is the score, but for rows
        that are longer than the map's ``row_norm``, which are shortened, and where the first fit's
        score is cut: it counts with the slope that is left of it on average.

        Parameters
        ----------
        column : str
            Its name in the schema, or its number where there are no names.
        x : array of shape (n, width)
            Encoded rows; entries of other columns play no part.
        """
        owner, features = self.layout.find_column(column), self.features
        added = _added(features, self._theta, owner, x)
        if isinstance(self.row_map, ResidualFeatures):
            first = _added(self.row_map.line, self.row_map.theta[:, None], owner, x)
            return first + self.row_map.width_of_rest * added
        if features.score_line is None or features.score_theta is None:
            return added
        k = features.n_scores
        at = int(np.flatnonzero(features.columns == -1)[0])
        size = np.sqrt(features.score_weight * self.layout.groups / k)
        first = _added(
            features.score_line, features.score_theta.reshape(-1, k), owner, x
        ) * (size / (features.score_reach * features.row_norm))  # fmt: skip
        if self.score_slope is not None:
            first = first * self.score_slope
        return added + first @ self._theta[at : at + k]

    def own_features(self, column: str, x: np.ndarray) -> np.ndarray:
        """The features of one column, of encoded rows that are not shortened."""
        return _own_features(self.features, self.layout.find_column(column), x)[0]

    def spread(self, column: str, x: np.ndarray, center: np.ndarray) -> np.ndarray | None:
        """Standard deviation, by noise alone, of a column's score beside that of a center.

        Parameters
        ----------
        column : str
            Its name.
        x : array of shape (n, width)
            Encoded rows.
        center : array
            :meth:`own_features` that are subtracted, so that what is common has no error.
        """
        if self.noise is None:
            return None
        away = self.own_features(column, x) - center
        block = self.noise[self.layout.find_column(column)]
        squares = np.einsum("ij,jk,ik->i", away, block, away)
        found = np.sqrt(np.maximum(squares, 0.0))[:, None]
        return np.asarray(self._last_unit * found)

    def map_spread(self, column: str, x: np.ndarray) -> np.ndarray | float:
        r"""Standard deviation of a column's score by the noise of the released mass.

        Noise of std s in the share of each of B cells moves the share below u by s sqrt(B u (1-u))
        (a bridge: all shares add up to 1), and the score by this times its slope in that share, the
        coefficients staying as they are.
        """
        features, owner = self.features, self.layout.find_column(column)
        if features.mass is None or features.mass_noise is None or not features.waves:
            return 0.0
        numbers = np.flatnonzero(self.layout.number_column == owner)
        if not len(numbers):
            return 0.0
        j, cells = int(numbers[0]), features.mass.shape[1] - 1
        u = cell_scale_of(self.layout, line_of(self.layout, x))[:, j]
        moved = features.mass.copy()
        moved[j] += SMALL_SHIFT
        slope = _added(replace(features, mass=moved), self._theta, owner, x)
        slope = (slope - _added(features, self._theta, owner, x)) / SMALL_SHIFT
        std = features.mass_noise[j] * np.sqrt(cells * u * (1.0 - u))
        return np.asarray(self._last_unit * np.abs(slope) * std[:, None])

    @property
    def _last_unit(self) -> float:
        """What a score of 1 of the last fit is on the scale of targets in [-1, 1]."""
        found = self.row_map
        return found.width_of_rest if isinstance(found, ResidualFeatures) else 1.0

    def check(self, width: int, n_scores: int) -> None:
        """Refuse, with a ``ValueError``, what no fit to so many columns can have learned."""
        numbers = [self._theta, *_arrays_of(self.features)]
        if isinstance(self.row_map, ResidualFeatures):
            numbers += [self.row_map.theta, np.array(self.row_map.width_of_rest)]
            if self.row_map.theta_noise is not None:
                numbers.append(self.row_map.theta_noise)
        fits = self.layout.width == width and self._theta.shape[1] == n_scores
        if not fits or len(self.theta) != self.features.width:
            raise ValueError("its features do not fit its columns")
        if self.noise is not None:
            columns = self.features.columns
            own = [int(np.sum(columns == owner)) for owner in range(len(self.columns))]
            if [np.shape(block) for block in self.noise] != [(size, size) for size in own]:
                raise ValueError("the noise of its features does not fit them")
            numbers += list(self.noise)
        if self.score_slope is not None:
            if np.shape(self.score_slope) != (self.features.n_scores,):
                raise ValueError("the slope of its first scores does not fit them")
            numbers.append(self.score_slope)
        if not all(np.isfinite(each).all() for each in numbers):
            raise ValueError("its features hold numbers that are not finite")


def _added(
    row_map: TableFeatures | TableLine, theta: np.ndarray, owner: int, x: np.ndarray
) -> np.ndarray:
    """<f, theta> over the features of one column, of rows that are not shortened."""
    features, own = _own_features(row_map, owner, x)
    return np.asarray(features @ theta[own])


def _own_features(
    row_map: TableFeatures | TableLine, owner: int, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Features of one column and their places among all."""
    rows = np.hstack(row_map.parts_of(x))
    own = np.flatnonzero(row_map.columns[: rows.shape[1]] == owner)
    return rows[:, own] / row_map.row_norm, own


def _arrays_of(features: TableFeatures) -> list[np.ndarray]:
    found = (
        features.mass,
        features.mass_noise,
        features.score_theta,
        features.frequencies,
        features.phases,
    )
    sizes = np.array([features.row_norm, features.intercept, features.score_noise])
    return [sizes, *(each for each in found if each is not None)]
