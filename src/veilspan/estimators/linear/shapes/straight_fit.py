"""A straight fit read as curves of its columns: a line for a number, a bar for each category."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.queries.linear.table_layout import TableLayout

STRAIGHT_ERRORS = (
    "errors are standard deviations of the noise of privacy, by released answers; that other "
    "people might have been in the table comes on top"
)
STRAIGHT = (
    "numbers are straight lines, on the scale that the schema gives them: the fit was asked for "
    "these, or noise hides what curves would add (the plan says which)"
)


@dataclass(frozen=True, eq=False)
class StraightFit:
    """Coefficients of encoded rows, asked as a :class:`LearnedFeatures` is for what columns add.

    Parameters
    ----------
    layout : TableLayout
        Where the table's columns stand in an encoded row.
    theta : array of shape (p, k)
        Coefficients of encoded rows.
    covariance : array of shape (p, p) or None
        Of the noise in those of each score, where it is known.
    """

    layout: TableLayout
    theta: np.ndarray
    covariance: np.ndarray | None

    has_joint_features = False
    score_slope = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of the table."""
        return self.layout.columns

    @property
    def has_noise(self) -> bool:
        """Whether the noise in the coefficients is known."""
        return self.covariance is not None

    def describe(self, column: str) -> dict[str, Any]:
        """No mass of any column was asked for."""
        return {"shown": None, "mass": None}

    def contribution(self, column: str, x: np.ndarray) -> np.ndarray:
        """What a column adds to the scores of encoded rows, of shape (n, k)."""
        return np.asarray(self.own_features(column, x) @ self.theta[self._places(column)])

    def own_features(self, column: str, x: np.ndarray) -> np.ndarray:
        """The entries of one column."""
        return np.asarray(x[:, self._places(column)])

    def spread(self, column: str, x: np.ndarray, center: np.ndarray) -> np.ndarray | None:
        """Standard deviation, by noise alone, of a column's score beside that of a center."""
        if self.covariance is None:
            return None
        own = self._places(column)
        away = self.own_features(column, x) - center
        squares = np.einsum("ij,jk,ik->i", away, self.covariance[np.ix_(own, own)], away)
        return np.asarray(np.sqrt(np.maximum(squares, 0.0))[:, None])

    def map_spread(self, column: str, x: np.ndarray) -> float:
        """Lines follow from no released map of rows."""
        return 0.0

    def _places(self, column: str) -> np.ndarray:
        layout, owner = self.layout, self.layout.find_column(column)
        numbers = layout.numbers[layout.number_column == owner]
        return np.sort(np.concatenate([numbers, layout.flags[layout.flag_column == owner]]))
