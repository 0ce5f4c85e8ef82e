"""From two noisy answers to a whole profile: every number with its error bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from veilspan.solvers.profile.column_profile import ColumnProfile
from veilspan.solvers.profile.correlations import Correlations, find_correlations
from veilspan.solvers.profile.estimates import Estimate
from veilspan.solvers.profile.means import Ratio, find_mean
from veilspan.solvers.profile.moments import Moments, split_moments
from veilspan.solvers.profile.quantiles import find_quantiles
from veilspan.solvers.profile.ratios import is_firm
from veilspan.solvers.profile.shares import (
    People,
    Shares,
    count_known,
    count_people,
    find_shares,
)
from veilspan.tables.profiling.column_cells import ColumnCells
from veilspan.tables.profiling.layout import Layout


@dataclass(frozen=True, eq=False)
class Crosstab:
    """Two columns counted together: a share of all people for every pair of cells.

    It has noise of its own, so its rows do not add up to the columns' histograms exactly.

    Attributes
    ----------
    rows, columns : ColumnCells
        The two columns.
    shares : Shares
        Of all pairs, row after row.
    """

    rows: ColumnCells
    columns: ColumnCells
    shares: Shares

    @property
    def value(self) -> np.ndarray:
        """Shares as a table, consistent: they sum to one."""
        return self.shares.value.reshape(self.rows.size, self.columns.size)

    def of(self, row: str, column: str) -> Estimate:
        """The share of one pair of cells, by their labels."""
        i, j = self.rows.labels.index(row), self.columns.labels.index(column)
        return self.shares[i * self.columns.size + j]


@dataclass(frozen=True, eq=False)
class Answers:
    """Released numbers, read by their public layout.

    Attributes
    ----------
    layout : Layout
        What was counted.
    counts, moments : array
        The noisy answers.
    count_std, moment_std : float
        Of their noise.
    n_rows : int or None
        The public number of people, if it is public.
    """

    layout: Layout
    counts: np.ndarray
    count_std: float
    moments: np.ndarray
    moment_std: float
    n_rows: int | None

    @cached_property
    def people(self) -> People:
        """How many people there are."""
        return count_people(self.layout, self.counts, self.count_std, self.n_rows)

    def shares_at(self, place: int) -> Shares:
        """Shares of a column, or of a cross-table behind all columns."""
        return find_shares(self.counts[self.layout.cells_at(place)], self.count_std, self.people)

    @cached_property
    def _moments(self) -> Moments | None:
        if not self.layout.numbers:
            return None
        return split_moments(self.layout, self.moments, self.moment_std, self.people)

    def column(self, name: str, levels: Sequence[float]) -> ColumnProfile:
        """Everything that is known about one column."""
        place = self.layout.place(name)
        cells, shares = self.layout.columns[place], self.shares_at(place)
        quantiles = {}
        if cells.has_range:
            counts = self.counts[self.layout.cells_at(place)]
            firm = is_firm(*self._known(name))
            quantiles = find_quantiles(cells, counts, self.count_std, shares, levels, firm=firm)
        return ColumnProfile(cells, shares, quantiles, self.mean(name))

    def mean(self, name: str) -> Estimate | None:
        """The mean of a column, if its moments were taken."""
        moments = self._moments
        if moments is None or name not in moments.names:
            return None
        i = moments.names.index(name)
        ratio = Ratio(float(moments.sums[i]), moments.sum_std, *self._known(name))
        return find_mean(self.layout.by_name[name], ratio)

    def _known(self, name: str) -> tuple[float, float]:
        """How many people have a value of a column, and the noise of that number."""
        counts = self.counts[self.layout.cells_at(self.layout.place(name))]
        return count_known(counts, self.count_std, self.people)

    def means_within(self, number: str, group: str) -> dict[str, Estimate]:
        """The mean of a number in every cell of a group."""
        moments = self._moments
        assert moments is not None
        i, cells = moments.names.index(number), self.layout.by_name[group]
        first = self.layout.group_at(group).start - 1 - 2 * len(moments.names)
        counts = self.counts[self.layout.cells_at(self.layout.place(group))]
        std = float(np.hypot(self.count_std, moments.product_std))
        found = {}
        for k, label in enumerate(cells.labels):
            total = float(moments.by_group[i, first + k])
            known = float(counts[k] - moments.missing_by_group[i, first + k])
            ratio = Ratio(total, moments.product_std, known, std)
            found[label] = find_mean(self.layout.by_name[number], ratio)
        return found

    def correlations(self) -> Correlations | None:
        """Correlations of all numbers, if there are two."""
        if self._moments is None or len(self.layout.numbers) < 2:
            return None
        return find_correlations(self._moments)

    def crosstab(self, number: int) -> Crosstab:
        """The cross-table of that place among all."""
        one, other = (self.layout.by_name[name] for name in self.layout.crosstabs[number])
        return Crosstab(one, other, self.shares_at(len(self.layout.columns) + number))
