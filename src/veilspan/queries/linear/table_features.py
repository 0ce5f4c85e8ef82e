r"""Rows of a table as bounded features of each column: waves, bins, random waves, a first score.

A table has g numbers and sets of categories (:class:`TableLayout`). Each becomes a group of
features of length at most 1:

* a number becomes K waves sqrt(1 - b) w_k cos(pi k F), w_k proportional to 1/k and of length 1 over
  k = 1..K, and, where b > 0, sqrt(b) in one of B equal bins of its cell scale u (F and u are those
  of :mod:`veilspan.queries.linear.column_scales`): |cos| <= 1, so (1 - b) + b = 1 is the most;
* a set of categories stays as it is, one 1 among zeros;
* a missing number or category becomes zeros and the 1 that says so.

Then come, if wanted, the score s of an earlier fit as sqrt(a g / k) clip(s_c / r, -1, 1) for its k
scores, of length^2 at most a g; J random waves sqrt(f g / J) cos(<w_j, z> + b_j) of all numbers and
categories z together (Rahimi & Recht 2007), with public w_j and b_j, of length^2 at most f g; and
the constant c of the intercept. The row is divided by max(R, its length), so that it lies in the
unit ball whatever R is.

The map looks at one row; its numbers are public or were released before. So whoever changes (adds,
removes) one row before it changes (adds, removes) one row after it, and it costs no privacy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veilspan.curator.row_maps import row_dots, row_map
from veilspan.curator.rows import Block
from veilspan.queries.linear.column_scales import (
    cell_scale_of,
    flags_of,
    line_of,
    places_of,
    present_of,
)
from veilspan.queries.linear.table_layout import TableLayout

#: A mapped table of at most so many bytes is kept: waves take longer to make than to read.
KEPT_BYTES = 512_000_000


@dataclass(frozen=True, eq=False)
class TableLine:
    """Rows as straight lines: numbers in [-1, 1], categories, a constant; in the unit ball.

    Parameters
    ----------
    layout : TableLayout
        Where the columns are.
    row_norm : float
        R: length from which rows, constant included, are shortened.
    intercept : float
        The constant; 0 appends none.
    center, spread : float or array of shape (m,)
        What becomes of a number's place t in its range: (t - center) / spread, cut to [-1, 1]. By
        default the range becomes [-1, 1]; released masses give others.
    """

    layout: TableLayout
    row_norm: float
    intercept: float
    center: np.ndarray | float = 0.5
    spread: np.ndarray | float = 0.5

    kept_bytes = KEPT_BYTES

    @property
    def width(self) -> int:
        """Columns after the map."""
        return self.layout.n_numbers + self.layout.n_flags + (self.intercept > 0)

    @row_map
    def __call__(self, block: Block) -> Block:
        """Straight rows; targets stay."""
        return Block(self.rows_of(block.dense()), block.y)

    def rows_of(self, x: np.ndarray) -> np.ndarray:
        """The same for encoded rows without targets."""
        return into_ball(self.parts_of(x), self.row_norm, self.intercept)

    def parts_of(self, x: np.ndarray) -> list[np.ndarray]:
        """Numbers and categories, before the constant and before rows are shortened."""
        layout = self.layout
        line = np.clip((line_of(layout, x) - self.center) / self.spread, -1.0, 1.0)
        return [line * present_of(x, layout.number_missing), flags_of(layout, x)]

    @property
    def columns(self) -> np.ndarray:
        """The table's column of each feature; -1 for the constant."""
        joint = [np.full(1, -1)] if self.intercept > 0 else []
        return np.concatenate([self.layout.number_column, self.layout.flag_column, *joint])

    @row_map
    def scores(self, x: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """<row, theta> of encoded rows, one column a score, by products of single rows."""
        rows = self.rows_of(x)
        columns = [np.broadcast_to(column, rows.shape) for column in np.atleast_2d(theta.T)]
        return np.column_stack([row_dots(rows, column) for column in columns])


@dataclass(frozen=True, eq=False)
class TableFeatures:
    """Rows as features of each column, in the unit ball (formula above).

    Parameters
    ----------
    layout : TableLayout
        Where the columns are.
    row_norm, intercept : float
        R and c.
    waves : int
        K; 0 without waves.
    bins, bins_weight : int, float
        B and b; 0 without bins. Without waves b is 1.
    line_weight : float
        Length^2 of the numbers' own lines beside the other features; 0 leaves them out.
    mass, shown : array or None
        Released shares of rows (:func:`~veilspan.queries.linear.column_scales.places_of`); without
        them a number's place is its line.
    score_line, score_theta, score_weight, score_reach
        An earlier fit of straight rows, a and r; ``None`` without one.
    frequencies, phases, fourier_weight
        w, b and f of the random waves; ``None`` without them.
    """

    layout: TableLayout
    row_norm: float
    intercept: float
    waves: int = 0
    bins: int = 0
    bins_weight: float = 0.0
    line_weight: float = 0.0
    mass: np.ndarray | None = None
    shown: np.ndarray | None = None
    score_line: TableLine | None = None
    score_theta: np.ndarray | None = None
    score_weight: float = 0.0
    score_reach: float = 1.0
    frequencies: np.ndarray | None = None
    phases: np.ndarray | None = None
    fourier_weight: float = 0.0

    kept_bytes = KEPT_BYTES

    @property
    def n_scores(self) -> int:
        """Scores of the earlier fit."""
        return 0 if self.score_theta is None else len(np.atleast_2d(self.score_theta.T))

    @property
    def width(self) -> int:
        """Columns after the map."""
        layout, random = self.layout, 0 if self.phases is None else len(self.phases)
        each = self.waves + self.bins + (self.line_weight > 0)
        own = layout.n_numbers * each + layout.n_flags
        return own + self.n_scores + random + (self.intercept > 0)

    @row_map
    def __call__(self, block: Block) -> Block:
        """Features of rows; targets stay."""
        return Block(self.rows_of(block.dense()), block.y)

    def rows_of(self, x: np.ndarray) -> np.ndarray:
        """The same for encoded rows without targets."""
        return into_ball(self.parts_of(x), self.row_norm, self.intercept)

    @property
    def columns(self) -> np.ndarray:
        """The table's column of each feature; -1 for those of no single column."""
        layout, random = self.layout, 0 if self.phases is None else len(self.phases)
        lines = self.waves + (self.line_weight > 0)
        own = [np.tile(layout.number_column, lines), np.repeat(layout.number_column, self.bins)]
        joint = self.n_scores + random + (self.intercept > 0)
        return np.concatenate([*own, layout.flag_column, np.full(joint, -1)])

    def parts_of(self, x: np.ndarray) -> list[np.ndarray]:
        """All features but the constant, before rows are shortened."""
        layout = self.layout
        line = line_of(layout, x)
        u = cell_scale_of(layout, line)
        place = line
        if self.mass is not None and self.shown is not None:
            place = places_of(line, u, self.mass, self.shown)
        there, flags = present_of(x, layout.number_missing), flags_of(layout, x)
        parts = [*self._of_numbers(line, u, place, there), flags]
        if self.score_line is not None and self.score_theta is not None:
            scores = self.score_line.scores(x, self.score_theta)
            long = np.sqrt(self.score_weight * layout.groups / scores.shape[1])
            parts.append(long * np.clip(scores / self.score_reach, -1.0, 1.0))
        if self.frequencies is not None and self.phases is not None:
            parts.append(self._random_waves((2.0 * place - 1.0) * there, flags))
        return parts

    def _of_numbers(
        self, line: np.ndarray, u: np.ndarray, place: np.ndarray, there: np.ndarray
    ) -> list[np.ndarray]:
        """Lines, waves and bins of all numbers."""
        parts = []
        if self.line_weight > 0:
            parts.append(np.sqrt(self.line_weight) * (2.0 * line - 1.0) * there)
        parts += self._waves_of(place, there)
        if self.bins:
            rows, numbers = line.shape
            bins = np.zeros((rows, numbers * self.bins))
            chosen = np.minimum((u * self.bins).astype(np.int64), self.bins - 1)
            chosen += self.bins * np.arange(numbers)
            np.put_along_axis(bins, chosen, np.sqrt(self.bins_weight) * there, axis=1)
            parts.append(bins)
        return parts

    def squares_of(self, line: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Squared length of the features of each number that is not missing."""
        there = np.ones_like(line)
        squares = self.line_weight * (2.0 * line - 1.0) ** 2 + self.bins_weight
        for wave in self._waves_of(place, there):
            squares = squares + wave**2
        return np.asarray(squares)

    def _waves_of(self, place: np.ndarray, there: np.ndarray) -> list[np.ndarray]:
        """cos(k a) of a = pi F by cos(k a) = 2 cos(a) cos((k - 1) a) - cos((k - 2) a)."""
        if not self.waves:
            return []
        weights = wave_weights(self.waves, 1.0 - self.bins_weight - self.line_weight)
        first = np.cos(np.pi * place)
        before, wave, parts = np.ones_like(first), first, []
        for k in range(self.waves):
            if k:
                before, wave = wave, np.clip(2.0 * first * wave - before, -1.0, 1.0)
            parts.append(weights[k] * wave * there)
        return parts

    def _random_waves(self, numbers: np.ndarray, flags: np.ndarray) -> np.ndarray:
        """Waves of all columns together, entry by entry: a BLAS product would mix rows' bits."""
        assert self.frequencies is not None
        assert self.phases is not None
        angle = np.tile(self.phases, (len(numbers), 1))
        for column, frequency in zip(np.hstack([numbers, flags]).T, self.frequencies):
            angle += column[:, None] * frequency
        size = self.fourier_weight * self.layout.groups / len(self.phases)
        return np.asarray(np.sqrt(size) * np.cos(angle))


def wave_weights(waves: int, square: float) -> np.ndarray:
    """Weights 1/k of k = 1..K whose squares add up to ``square``."""
    weights = 1.0 / np.arange(1, waves + 1)
    return np.asarray(weights * np.sqrt(square / np.sum(weights**2)))


def into_ball(parts: list[np.ndarray], row_norm: float, intercept: float) -> np.ndarray:
    """Columns side by side, a constant behind them, rows of at most unit length."""
    if intercept > 0:
        parts = [*parts, np.full((len(parts[0]), 1), intercept)]
    rows = np.hstack(parts)
    rows *= (1.0 / np.maximum(np.sqrt(row_dots(rows, rows)), row_norm))[:, None]
    return rows


@dataclass(frozen=True, eq=False)
class ResidualFeatures:
    """Features of rows, and what an earlier fit leaves of their targets.

    A target t in [-1, 1] becomes clip((t - p) / w, -1, 1), p = clip(<line, theta>, -1, 1) being the
    earlier fit's prediction and w a released width. Both are functions of the one row.

    Parameters
    ----------
    features : TableFeatures
        What becomes of the features.
    line, theta : TableLine, array of shape (p,)
        The earlier fit.
    width_of_rest : float
        w.
    """

    features: TableFeatures
    line: TableLine
    theta: np.ndarray
    width_of_rest: float

    kept_bytes = KEPT_BYTES

    @property
    def width(self) -> int:
        """Columns after the map."""
        return self.features.width

    @row_map
    def __call__(self, block: Block) -> Block:
        """Features, and targets less what was predicted."""
        x = block.dense()
        rest = block.y - first_predictions(self.line, self.theta, x)
        return Block(self.features.rows_of(x), np.clip(rest / self.width_of_rest, -1.0, 1.0))


@dataclass(frozen=True, eq=False)
class RestColumn:
    """What an earlier fit leaves of each target, as the only column of a table."""

    line: TableLine
    theta: np.ndarray

    @row_map
    def __call__(self, block: Block) -> Block:
        """t - p of each row; p as in :class:`ResidualFeatures`."""
        rest = block.y - first_predictions(self.line, self.theta, block.dense())
        return Block(np.ascontiguousarray(rest[:, None]), block.y)


def first_predictions(line: TableLine, theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Predictions of an earlier fit to targets in [-1, 1], kept to these."""
    return np.clip(line.scores(x, theta)[:, 0], -1.0, 1.0)
