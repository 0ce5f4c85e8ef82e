r"""Rows of a table as bounded features of each column: waves, bins, random waves, a first score.

A table has g numbers and sets of categories (:class:`TableLayout`). Each becomes a group of
features of length at most 1:

* a number becomes K waves sqrt(1 - b - l) w_k cos(pi k F), w_k proportional to 1/k and of length 1
  over k = 1..K; where l > 0 its own line, sqrt(l) times a number in [-1, 1]; and, where b > 0,
  sqrt(b) in one of B equal bins of its cell scale u (F and u are those of
  :mod:`veilspan.queries.linear.column_scales`): |cos| <= 1, so (1 - b - l) + l + b = 1 is the most;
* a set of categories stays as it is, one 1 among zeros;
* a missing number or category becomes zeros and the 1 that says so.

Then come, if wanted, the score s of an earlier fit as sqrt(a g / k) clip(s_c / r, -1, 1) for its k
scores, of length^2 at most a g; J random waves sqrt(f g / J) cos(<w_j, z> + b_j) of all numbers and
categories z together (Rahimi & Recht 2007), with public w_j and b_j, of length^2 at most f g; and
the constant c of the intercept. The row is divided by max(R, its length), so that it lies in the
unit ball whatever R is. What solvers learn from is then rounded to a grid, so that it can be kept
(:mod:`veilspan.curator.grid_rows`); scores of new rows need no such thing.

The map looks at one row; its numbers are public or were released before. So whoever changes (adds,
removes) one row before it changes (adds, removes) one row after it, and it costs no privacy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veilspan.curator.grid_rows import onto_grid
from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block, row_dots
from veilspan.queries.linear.column_scales import (
    cell_scale_of,
    flags_of,
    line_of,
    places_of,
    present_of,
)
from veilspan.queries.linear.table_layout import TableLayout

#: A mapped table of at most so many bytes is kept as it is; a larger one on the grid, in a quarter
#: of the room, which takes a little longer in each walk.
KEPT_BYTES = 100_000_000
#: The same for all workers of a cluster together, which keep rows as they are.
KEPT_ON_WORKERS = 512_000_000
#: Numbers that are made in one go: what a core's own cache holds.
PIECE_NUMBERS = 100_000


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

    kept_bytes, kept_on_workers, on_grid = KEPT_BYTES, KEPT_ON_WORKERS, True

    @property
    def width(self) -> int:
        """How many columns there are after the map."""
        return self.layout.n_numbers + self.layout.n_flags + (self.intercept > 0)

    @row_map
    def __call__(self, block: Block) -> Block:
        """Straight rows in the unit ball; targets stay."""
        return Block(self.grid_of(block.dense()), block.y)

    def grid_of(self, x: np.ndarray) -> np.ndarray:
        """The same for encoded rows without targets."""
        return _in_pieces(self, x, rounded=True)

    def rows_of(self, x: np.ndarray) -> np.ndarray:
        """The same as they were before they were rounded to the grid."""
        return _in_pieces(self, x, rounded=False)

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
    line_weight, line_center, line_spread
        Length^2 of the numbers' own lines beside the other features (0 leaves them out), and what
        becomes of a line, as in :class:`TableLine`.
    mass, shown : array or None
        Released shares of rows (:func:`~veilspan.queries.linear.column_scales.places_of`); without
        them a number's place is its line.
    mass_noise : array of shape (m,) or None
        Std of the noise in the share of one cell, for error bars; the map does not use it.
    alike : bool array of shape (m,) or None
        Columns in which the released counts hold nearly all rows for alike, to tell people of them;
        the map does not use it.
    score_line, score_theta, score_weight, score_reach
        An earlier fit of straight rows, a and r; ``None`` without one.
    score_noise : float
        Std of the noise in an entry of ``score_theta`` that no row pulls back, by the public noise
        of the steps; for error bars alone.
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
    line_center: np.ndarray | float = 0.5
    line_spread: np.ndarray | float = 0.5
    mass: np.ndarray | None = None
    shown: np.ndarray | None = None
    mass_noise: np.ndarray | None = None
    alike: np.ndarray | None = None
    score_line: TableLine | None = None
    score_theta: np.ndarray | None = None
    score_weight: float = 0.0
    score_reach: float = 1.0
    score_noise: float = 0.0
    frequencies: np.ndarray | None = None
    phases: np.ndarray | None = None
    fourier_weight: float = 0.0

    kept_bytes, kept_on_workers, on_grid = KEPT_BYTES, KEPT_ON_WORKERS, True

    @property
    def n_scores(self) -> int:
        """How many scores the earlier fit has."""
        return 0 if self.score_theta is None else len(np.atleast_2d(self.score_theta.T))

    @property
    def width(self) -> int:
        """How many columns there are after the map."""
        layout, random = self.layout, 0 if self.phases is None else len(self.phases)
        each = self.waves + self.bins + (self.line_weight > 0)
        own = layout.n_numbers * each + layout.n_flags
        return own + self.n_scores + random + (self.intercept > 0)

    @row_map
    def __call__(self, block: Block) -> Block:
        """Features of rows; targets stay."""
        return Block(self.grid_of(block.dense()), block.y)

    def grid_of(self, x: np.ndarray) -> np.ndarray:
        """The same for encoded rows without targets."""
        return _in_pieces(self, x, rounded=True)

    def rows_of(self, x: np.ndarray) -> np.ndarray:
        """The same as they were before they were rounded to the grid."""
        return _in_pieces(self, x, rounded=False)

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
            parts.append(np.sqrt(self.line_weight) * self._own_line(line) * there)
        parts += self._waves_of(place, there)
        if self.bins:
            rows, numbers = line.shape
            bins = np.zeros((rows, numbers * self.bins))
            chosen = np.minimum((u * self.bins).astype(np.int64), self.bins - 1)
            chosen += self.bins * np.arange(numbers)
            np.put_along_axis(bins, chosen, np.sqrt(self.bins_weight) * there, axis=1)
            parts.append(bins)
        return parts

    def _own_line(self, line: np.ndarray) -> np.ndarray:
        return np.clip((line - self.line_center) / self.line_spread, -1.0, 1.0)

    def squares_of(self, line: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Squared length of the features of each number that is not missing."""
        there = np.ones_like(line)
        squares = self.line_weight * self._own_line(line) ** 2 + self.bins_weight
        for wave in self._waves_of(place, there):
            squares = squares + wave**2
        return np.asarray(squares)

    def _waves_of(self, place: np.ndarray, there: np.ndarray) -> list[np.ndarray]:
        """Waves cos(k a) of a = pi F by cos(k a) = 2 cos(a) cos((k - 1) a) - cos((k - 2) a)."""
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
        """Waves of all columns together.

        The entries of a row that are not 0, a third of them or less, are added one after the other:
        a BLAS product would mix rows' bits.
        """
        assert self.frequencies is not None
        assert self.phases is not None
        from scipy import sparse

        angle = sparse.csr_array(np.hstack([numbers, flags])) @ self.frequencies
        angle += self.phases
        np.cos(angle, out=angle)
        angle *= np.sqrt(self.fourier_weight * self.layout.groups / len(self.phases))
        return np.asarray(angle)


def wave_weights(waves: int, square: float) -> np.ndarray:
    """Weights 1/k of k = 1..K whose squares add up to ``square``."""
    weights = 1.0 / np.arange(1, waves + 1)
    return np.asarray(weights * np.sqrt(square / np.sum(weights**2)))


def _in_pieces(row_map: TableLine | TableFeatures, x: np.ndarray, *, rounded: bool) -> np.ndarray:
    """Mapped rows, made a few at a time: a hundred passes over them stay in the cache."""
    rows = np.empty((len(x), row_map.width))
    step = max(1, PIECE_NUMBERS // max(1, row_map.width))
    for first in range(0, len(x), step):
        piece = rows[first : first + step]
        into_ball(row_map.parts_of(x[first : first + step]), row_map, piece)
        if rounded:
            onto_grid(piece)
    return rows


def into_ball(parts: list[np.ndarray], row_map: TableLine | TableFeatures, out: np.ndarray) -> None:
    """Columns side by side, a constant behind them, rows of at most unit length."""
    stop = 0
    for part in parts:
        start, stop = stop, stop + part.shape[1]
        out[:, start:stop] = part
    if row_map.intercept > 0:
        out[:, stop:] = row_map.intercept
    out *= (1.0 / np.maximum(np.sqrt(row_dots(out, out)), row_map.row_norm))[:, None]
