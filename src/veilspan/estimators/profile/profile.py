"""A private profile: what there is in a table, every number with its error bar, in one release."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from veilspan.estimators.base import PrivateEstimator
from veilspan.estimators.noise.loud_noise import find_loud_profile
from veilspan.estimators.parameters import TableParameters
from veilspan.estimators.profile.profile_table import ProfileTable, slots_of
from veilspan.estimators.profile.reads_answers import ReadsAnswers
from veilspan.estimators.schema_input import schema_of
from veilspan.privacy.budget import Budget
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.plan import Plan
from veilspan.solvers.base import Outcome, Prepared
from veilspan.solvers.profile.measure_cells import MeasureCells, ProfileProblem
from veilspan.tables.profiling.layout import Layout, plan_layout

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(eq=False, repr=False)
class Profile(TableParameters, ReadsAnswers, PrivateEstimator):
    """What there is in a table: a private profile of all columns of its schema.

    One plan, one charge, two joint Gaussian answers: the counts of all cells of all columns and
    cross-tables, and one matrix of moments. Everything else is read from them and costs nothing:
    how many people there are, missing shares, histograms, quantiles, category shares, means,
    correlations. Every number has an error bar, by noise alone, that holds with 95 %; where noise
    wins it is called not measurable.

    Parameters
    ----------
    columns : list of str, optional
        Those that are counted; by default all of role use and target. Fewer are more exact.
    bins : int
        Most bins inside the range of a number or date.
    quantiles : tuple of float
        Levels between 0 and 1; they cost nothing.
    crosstabs : list of pairs of str
        Columns to count together, such as ``[("sex", "ward")]``; each costs as much as a column.
    means_by : list of pairs of str
        Numbers to average within groups, such as ``[("age", "ward")]``.
    most_numbers : int
        Most columns in the matrix of moments, in the order of the schema; the others have no mean
        and no correlations, which the profile says. 0 leaves all of it out.
    schema : Schema
        What is public of the table (:class:`veilspan.Schema`).
    epsilon, delta, neighbors, noise, random_state, ledger, allow_weak
        As for all private estimators.

    Attributes
    ----------
    counts_ : array
        Noisy counts of all cells, column after column, then the cross-tables.
    count_std_ : float
        Standard deviation of their noise.
    moments_ : array
        Noisy matrix of moments.
    moment_std_ : float
        Standard deviation of the noise on its diagonal.

    Examples
    --------
    >>> from veilspan import Profile
    >>> from veilspan.datasets import make_ward
    >>> ward = make_ward(5000)
    >>> profile = Profile(epsilon=1.0, schema=ward.schema).fit(ward.columns)
    >>> profile["age"].mean.measurable
    True
    >>> sorted(profile["smoker"].shares)
    ['(missing)', 'false', 'true']
    """

    columns: Any = None
    bins: int = 20
    quantiles: Any = QUANTILES
    crosstabs: Any = ()
    means_by: Any = ()
    most_numbers: int = 20

    def fit(self, X: Any, y: Any = None) -> Self:
        """Count and measure the table ``X`` within the budget.

        Parameters
        ----------
        X : table
            A data frame, an Arrow table, a mapping of lists, or what
            :func:`veilspan.open_table` opens.
        y : None
            Ignored; the target is a column of the table.
        """
        schema, layout = self._read_parameters()
        table = ProfileTable.open(schema, X, layout)
        self.n_features_in_ = table.shape[1]
        return self._learn(table)

    def _read_parameters(self) -> tuple[Any, Layout]:
        """The schema and the layout, or one sentence on what is wrong."""
        schema = schema_of(self)
        if schema is None:
            raise ValueError(
                "a profile needs to know what is public of the table: say schema=Schema.load(...). "
                "`veilspan schema init FILE` writes a draft to fill in."
            )
        levels = np.asarray(self.quantiles, dtype=object).reshape(-1)
        if not all(isinstance(q, (int, float)) and 0 < q < 1 for q in levels):
            raise ValueError("quantiles must be numbers strictly between 0 and 1.")
        return schema, plan_layout(
            schema,
            columns=self.columns,
            bins=self.bins,
            crosstabs=self.crosstabs,
            means_by=self.means_by,
            most_numbers=self.most_numbers,
        )

    def _schema_of_units(self) -> Any:
        """The schema with one unit a person: a profile averages what her rows say, of so many."""
        schema = self.schema
        if schema is None or schema.unit.id is None:
            return schema
        unit = replace(schema.unit, combine="mean", max_rows=slots_of(schema))
        return replace(schema, unit=unit)

    def _width_of(self, schema: Any) -> int:
        return slots_of(schema) * self._read_parameters()[1].width

    def _prepare(
        self, budget: Budget, neighbors: Neighbors, n_rows: int | None, n_features: int
    ) -> Prepared[Any, Any]:
        schema, layout = self._read_parameters()
        problem = ProfileProblem(layout, n_rows, slots_of(schema))
        return MeasureCells().prepare(problem, budget, neighbors)

    def _keep(self, outcome: Outcome, plan: Plan) -> None:
        result = outcome.result
        self.counts_, self.count_std_ = result.counts, float(result.count_std)
        self.moments_, self.moment_std_ = result.moments, float(result.moment_std)

    def _find_loud_noise(self, outcome: Outcome, plan: Plan) -> tuple[str, ...]:
        hidden = [
            name
            for name in self.column_names
            if not any(share.measurable for share in self[name].shares.values())
        ]
        return find_loud_profile(tuple(hidden), len(self.column_names))

    def _learned_shapes(self, n_features: int) -> dict[str, tuple[int, ...]]:
        schema, layout = self._read_parameters()
        if slots_of(schema) * layout.width != n_features:
            raise ValueError("its columns are not those of its schema")
        return {
            "counts_": (layout.starts[-1],),
            "moments_": (layout.moments, layout.moments),
            "count_std_": (),
            "moment_std_": (),
        }
