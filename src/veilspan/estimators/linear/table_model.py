"""Linear models of curves: what ``features=`` makes of a table, and what is kept of it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from veilspan._scales import check_scale
from veilspan.curator.dask.table import DaskTable
from veilspan.estimators.linear.budget_parts import prepare_rest
from veilspan.estimators.linear.feature_choice import (
    AS_ASKED,
    FeatureChoice,
    check_kind,
    choose_features,
)
from veilspan.estimators.linear.feature_scaling import checked_ranges
from veilspan.estimators.linear.feature_stage import (
    CELLS,
    WIDTH,
    FeatureStage,
    first_events,
    single_event,
)
from veilspan.estimators.schema_input import refuse_said_twice
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import Event
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.linear.learned_features import LearnedFeatures
from veilspan.queries.linear.table_layout import TableLayout, layout_of_ranges, layout_of_schema
from veilspan.solvers.linear.asked.curvature import ROOM, AskCurvature
from veilspan.solvers.linear.auto import AutoLinear
from veilspan.solvers.linear.base import LinearPrepared
from veilspan.solvers.linear.tables.column_mass import count_cells
from veilspan.solvers.linear.tables.noise_response import tells_noise

NO_COEFFICIENTS = (
    "{0} does not exist: the model learned a curve of each column, not one number. shapes_ tells "
    'what each column adds to the score; fit with features="linear" for one coefficient a column.'
)
#: Caps of the slopes of least squares on residuals, from such noise on. A cap halves the noise and
#: biases skewed residuals, which must not outlive the noise: below, a paid answer chooses it
#: (:mod:`veilspan.solvers.linear.asked.residual_cap`). Above, that costs more than it finds: R^2 of
#: adult's hours at epsilon 0.5 was .210 in place of .219.
CAPS = ((0.03, 0.2), (0.01, 0.3), (0.003, 0.4))


#: Features from which on bars of curves would take longer than they are worth.
MOST_TOLD = 1000


class OneNumberAColumn:
    """An attribute of straight fits alone: a model of curves says what to use instead.

    Fits set it on the instance, which comes before this.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self
        if "feature_map_" in vars(model):
            raise AttributeError(NO_COEFFICIENTS.format(self._name))
        raise AttributeError(f"{type(model).__name__!r} object has no attribute {self._name!r}")


class TableModel:
    """What gives a linear model its curves."""

    #: What the default is with a schema.
    _default_features: ClassVar[str] = "auto"

    features: str | None
    feature_map_: LearnedFeatures
    schema: Any
    row_norm: float | None

    coef_ = OneNumberAColumn()
    intercept_ = OneNumberAColumn()

    def _kind_of_features(self) -> str:
        if self.features is None:
            return "linear" if self.schema is None else self._default_features
        return check_kind(self.features)

    def _choose_features(
        self: Any, budget: Budget, neighbors: Neighbors, n_rows: int | None, n_features: int
    ) -> tuple[FeatureChoice, TableLayout | None]:
        """What becomes of the columns, by public facts, and where they are."""
        kind = self._kind_of_features()
        if kind == "linear":
            return FeatureChoice("linear", AS_ASKED), None
        if self.schema is not None:
            refuse_said_twice(self, "feature_range", "bounds", "center")
            layout = layout_of_schema(self.schema)
        else:
            self._check_told_ranges()
            low, high = checked_ranges(self.feature_range, n_features)
            layout = layout_of_ranges(low, high)
        problem = self._problem(budget, n_rows, layout.width)
        loss = problem.loss
        choice = choose_features(
            kind, layout, loss.n_outputs, loss.name == "squared", problem.planned_rows, budget,
            neighbors,
        )  # fmt: skip
        return choice, layout

    def _check_told_ranges(self: Any) -> None:
        """Refuse curves of plain arrays of which nobody has said the ranges."""
        kind = self._kind_of_features()
        if kind != "linear" and self.feature_range is None:
            raise ValueError(
                f'features="{kind}" of a plain array needs feature_range=(lo, hi), a public '
                "range of each column; or describe the table by a schema."
            )

    def _kept_length(self) -> float:
        """The share of the longest row that rows are shortened to, with a schema."""
        return 1.0 if self.row_norm is None else check_scale(self.row_norm, "row_norm")

    def _refuse_sparse(self, X: Any) -> None:
        """Refuse sparse tables where zeros would not stay zeros."""
        sparse = X.is_sparse if isinstance(X, DaskTable) else not isinstance(X, np.ndarray)
        if sparse and self._kind_of_features() != "linear":
            raise ValueError(
                f'features="{self.features}" would fill the zeros of a sparse table: pass a dense '
                'one, or say features="linear".'
            )

    def _forget_coefficients(self) -> None:
        """Remove coefficients of an earlier fit with other features."""
        for name in ("coef_", "intercept_"):
            self.__dict__.pop(name, None)

    def _from_scores(self, scores: np.ndarray) -> np.ndarray:
        """What a model makes of scores of its features."""
        return scores

    def _check_features(self, n_features: int, n_scores: int) -> dict[str, tuple[int, ...]]:
        """Refuse features of a file that no fit can have learned."""
        if not isinstance(self.feature_map_, LearnedFeatures):
            raise ValueError("its features are none")
        self.feature_map_.check(n_features, n_scores)
        return {}


def as_dense(table: Any) -> np.ndarray:
    """Own rows as a dense array of floats."""
    return np.asarray(table.toarray() if hasattr(table, "toarray") else table, dtype=np.float64)


def prepare_features(
    model: Any,
    choice: FeatureChoice,
    layout: TableLayout,
    budget: Budget,
    neighbors: Neighbors,
    n_rows: int | None,
) -> LinearPrepared:
    """A solver for features of a table, and the stage that finds them; one plan for all.

    Parameters
    ----------
    model : linear estimator
        Whose loss, penalty and solver are used.
    choice, layout : FeatureChoice, TableLayout
        What becomes of the columns, and where they are.
    budget, neighbors, n_rows
        As in every plan.
    """
    mu = budget.mu if budget.is_private else math.inf
    constant = model._constant()
    n_scores = model._loss().n_outputs
    columns = choice.width(layout, n_scores) + (constant > 0)
    events: tuple[Event, ...] = ()
    cells, first = 0, None
    solver = model._around(model._solver())
    if choice.mass:
        rows = model._problem(budget, n_rows, columns).planned_rows
        cells = count_cells(rows, layout.n_numbers, mu * math.sqrt(choice.cells_share), neighbors)
        events += (single_event(CELLS, choice.cells_share, mu),)
    if choice.first_share:
        part = budget.part(choice.first_share)
        width = layout.n_numbers + layout.n_flags + (constant > 0)
        straight = AutoLinear(rare=getattr(solver, "expects_rare", False))
        first = straight.prepare(model._problem(part, n_rows, width), part, neighbors)
        events += first_events(first)
    if choice.width_share:
        events += (single_event(WIDTH, choice.width_share, mu),)
    if choice.descent_clip and isinstance(solver, AutoLinear):
        solver = replace(solver, descent_clip=choice.descent_clip)
    if choice.width_share and isinstance(solver, AutoLinear) and solver.clip is None:
        part = budget.part(choice.rest_share)
        nu = model._problem(part, n_rows, columns).noise_of_a_gradient(part, neighbors)
        cap = _cap(nu) if budget.is_private else None
        solver = solver if cap is None else solver.with_clip(cap)

    def prepare(part: Budget) -> LinearPrepared:
        return solver.prepare(model._problem(part, n_rows, columns), part, neighbors)

    afters = model._afters(budget)
    if (
        budget.is_private
        and columns <= MOST_TOLD
        and tells_noise(model._problem(budget, n_rows, 1))
    ):
        afters = (*afters, AskCurvature(min(1.0, ROOM / math.sqrt(layout.groups))))
    prepared = prepare_rest(events, choice.rest_share, budget, neighbors, prepare, afters)
    if prepared is None:
        raise ValueError(
            f"epsilon = {budget.epsilon:g} is too small at delta = {budget.delta:g} for curves and "
            'a solver together: say features="linear", or a larger epsilon.'
        )
    stage = FeatureStage(
        layout, choice, columns, constant, model._kept_length(), cells, events, first
    )
    return replace(prepared, stages=(stage,))


def _cap(nu: float | None) -> float | None:
    """The cap of so much noise; None where an answer is to choose it."""
    if nu is None:
        return CAPS[0][1]
    return next((cap for least, cap in CAPS if nu >= least), None)
