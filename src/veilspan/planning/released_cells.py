r"""Cells like those of a released profile: its histograms, missing shares and correlations.

Everything here is computed from released numbers (post-processing): no row is read, nothing is
spent. A row is drawn as a Gaussian copula: standard normals with a correlation matrix, each turned
into a cell by the quantile function of its column's released shares, bins being filled evenly.

*Which matrix.* A profile releases correlations r_jk of the columns' own numbers; those of the
normals behind them, rho_jk, are larger in size, most of all for yes and no. With g_j the
standardised number of column j as a function of its normal, and a_jk its coefficients by normalised
Hermite polynomials, Mehler's formula says

    r_jk = sum_{i >= 1} a_ji a_ki rho_jk^i,

which rises with rho because all g rise, and is inverted on a grid. What is not measurable is taken
for 0. Noise, gaps and rounding leave a matrix that may have negative eigenvalues: they are raised
to ``LEAST_EIGENVALUE``, and the diagonal is made 1 again.

*What a profile does not say.* Categories have no correlations and are drawn on their own, and so is
which cells are missing. A column that the profile does not have is uniform over its public range.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from veilspan.planning.made_up_cells import fill_cells
from veilspan.tables.cell_rules import EPOCH
from veilspan.tables.columns import BooleanColumn, DateColumn, NumberColumn
from veilspan.tables.profiling.column_cells import ColumnCells

#: By how many of its error bars a correlation is moved away from 0 (or to it, at most).
BARS = {"weak": -1.0, "medium": 0.0, "strong": 1.0}
#: Hermite polynomials by which correlations are translated, and quantiles that they are fitted at:
#: with them an even yes or no of normals that correlate by .6 has the exact .410 to .001.
DEGREES, PLACES = 25, 4001
#: Correlations of normals are looked for between -MOST and MOST.
MOST = 0.99
#: So small an eigenvalue changes no correlation by what could be seen, and can be inverted.
LEAST_EIGENVALUE = 1e-4


@dataclass(frozen=True, eq=False)
class Margin:
    """What is known of one column alone: from standard normals to numbers and cells.

    Attributes
    ----------
    column : Column
        Its declaration.
    cells : ColumnCells or None
        Its public cells; None where the profile does not have the column.
    shares : array
        Released shares of the cells, the last being that of the missing.
    """

    column: Any
    cells: ColumnCells | None = None
    shares: Any = None

    @property
    def missing(self) -> float:
        """Share of the cells that are missing."""
        return 0.0 if self.cells is None else float(self.shares[-1])

    @cached_property
    def _steps(self) -> np.ndarray:
        """Where the cells that are not missing end, as shares of them."""
        known = np.maximum(self.shares[:-1], 0.0)
        if known.sum() <= 0:  # nobody has a value: any will do, for all of them are missing
            known = np.ones(len(known))
        steps = np.cumsum(known) / known.sum()
        steps[-1] = 1.0
        return np.asarray(steps)

    def _codes(self, places: np.ndarray) -> np.ndarray:
        found = np.searchsorted(self._steps, places, side="right")
        return np.minimum(found, len(self._steps) - 1)

    @property
    def share_of_true(self) -> float:
        """Of a boolean column: the share of true among those who have a value."""
        return 1.0 - float(self._steps[0])

    def numbers(self, normals: np.ndarray) -> np.ndarray:
        """Numbers in the column's own terms; 0 and 1 for a boolean, codes for a category."""
        assert self.cells is not None
        places = ndtr(normals)
        codes = self._codes(places)
        if self.cells.edges is None:
            return np.asarray(codes, dtype=float)
        low, high = self.cells.range
        edges = np.log(self.cells.edges) if self.cells.is_log else self.cells.edges
        begins = np.concatenate([[low], edges[:-1], [high]])
        ends = np.concatenate([[low], edges[1:], [high]])
        if self.cells.is_log:
            begins[[0, -1]] = ends[[0, -1]] = np.log([low, high])
        before = np.concatenate([[0.0], self._steps[:-1]])
        part = (places - before[codes]) / np.maximum(self._steps - before, 1e-12)[codes]
        values = begins[codes] + np.clip(part, 0.0, 1.0) * (ends - begins)[codes]
        values = np.exp(values) if self.cells.is_log else values
        if self.cells.is_whole or isinstance(self.column, DateColumn):
            values = np.rint(values)
        return np.asarray(np.clip(values, low, high))

    def fill(self, normals: np.ndarray, rng: np.random.Generator, *, gaps: bool = True) -> Any:
        """Cells as a table has them, some of them missing."""
        if self.cells is None:
            return fill_cells(self.column, ndtr(normals))
        values = self.numbers(normals)
        gone = (rng.random(len(values)) < self.missing) & gaps
        if isinstance(self.column, NumberColumn):
            return np.where(gone, np.nan, values)
        return np.where(gone, None, np.array(self._words, dtype=object)[self._index(values)])  # type: ignore[call-overload]

    @cached_property
    def _words(self) -> list[str]:
        """What cells of dates, categories, yes and no may hold."""
        column: Any = self.column
        if isinstance(column, BooleanColumn):
            return [column.false[0], column.true[0]]
        if not isinstance(column, DateColumn):
            return list(column.categories)
        first, last = (day.toordinal() for day in column.range)
        days = (datetime.date.fromordinal(k) for k in range(first, last + 1))
        return [day.strftime(column.format) for day in days]

    def _index(self, values: np.ndarray) -> np.ndarray:
        first = 0
        if isinstance(self.column, DateColumn):
            first = self.column.range[0].toordinal() - EPOCH
        return np.asarray(values.astype(int) - first)

    @cached_property
    def hermite(self) -> np.ndarray:
        """Coefficients of the standardised number by normalised Hermite polynomials 1, 2, ..."""
        normals = ndtri((np.arange(PLACES) + 0.5) / PLACES)
        g = self.numbers(normals)
        if self.cells is not None and self.cells.is_log:
            g = np.log(g)
        g = (g - g.mean()) / max(float(g.std()), 1e-12)
        before, now = np.ones(PLACES), normals
        found = [float(np.mean(g * now))]
        for k in range(1, DEGREES):
            before, now = now, (normals * now - np.sqrt(k) * before) / np.sqrt(k + 1)
            found.append(float(np.mean(g * now)))
        return np.array(found)


@dataclass(frozen=True, eq=False)
class ReleasedCells:
    """Draws cells of some columns as a profile has them.

    Attributes
    ----------
    margins : tuple of Margin
        One a column.
    correlation : array of shape (m, m)
        Of the normals behind them.
    """

    margins: tuple[Margin, ...]
    correlation: np.ndarray

    @classmethod
    def read(cls, profile: Any, columns: Any, strength: str = "medium") -> ReleasedCells:
        """Read margins and correlations of these columns from a fitted profile."""
        margins = tuple(_read_margin(profile, column) for column in columns)
        wanted = np.eye(len(margins))
        found = profile.correlations
        names = () if found is None else found.names
        for i, one in enumerate(margins):
            for k, other in enumerate(margins[:i]):
                if one.column.name in names and other.column.name in names:
                    each = found.of(one.column.name, other.column.name)
                    if each.measurable:
                        moved = _move(each.value, BARS[strength] * each.bar)
                        wanted[i, k] = wanted[k, i] = _find_normals(one, other, moved)
        return cls(margins, make_positive(wanted))

    @cached_property
    def _root(self) -> np.ndarray:
        return np.asarray(np.linalg.cholesky(self.correlation))

    def draw_normals(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Standard normals with the correlations of the columns."""
        return np.asarray(rng.standard_normal((n, len(self.margins))) @ self._root.T)

    def fill(self, normals: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
        """Cells of all columns, with gaps."""
        return {m.column.name: m.fill(normals[:, k], rng) for k, m in enumerate(self.margins)}


def is_related(profile: Any, target: str) -> bool:
    """Whether the profile has a correlation of the target that can be measured."""
    found = profile.correlations
    if found is None or target not in found.names:
        return False
    place = found.names.index(target)
    return bool(np.delete(found.measurable[place], place).any())


def make_positive(matrix: np.ndarray) -> np.ndarray:
    """A correlation matrix near a symmetric one: no eigenvalue too small, ones on the diagonal."""
    values, vectors = np.linalg.eigh(matrix)
    raised = (vectors * np.maximum(values, LEAST_EIGENVALUE)) @ vectors.T
    length = np.sqrt(np.diag(raised))
    return np.asarray(raised / np.outer(length, length))


def _read_margin(profile: Any, column: Any) -> Margin:
    if column.name not in profile.column_names:
        return Margin(column)
    found = profile[column.name]
    return Margin(column, found.cells, found.all_shares.value)


def _move(value: float, by: float) -> float:
    """A correlation moved away from 0 (towards it if ``by`` is negative), never beyond 0 or 1."""
    return float(np.sign(value) * np.clip(abs(value) + by, 0.0, 1.0))


def _find_normals(one: Margin, other: Margin, wanted: float) -> float:
    """The correlation of normals whose columns correlate as wanted."""
    grid = np.linspace(-MOST, MOST, 199)
    powers = grid[:, None] ** np.arange(1, DEGREES + 1)
    rising = np.maximum.accumulate(powers @ (one.hermite * other.hermite))
    return float(np.interp(wanted, rising, grid))
