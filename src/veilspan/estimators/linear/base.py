r"""What all private linear models share: bounds, plan, solver, coefficients in the user's units.

Minimised is the mean loss of the scaled rows (:mod:`veilspan.estimators.linear.feature_scaling`)
plus a penalty, by a solver that sees noisy answers only (:mod:`veilspan.solvers.linear.base`).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from veilspan._scales import check_scale
from veilspan.curator.dask.table import DaskTable, is_lazy
from veilspan.estimators.base import PrivateEstimator
from veilspan.estimators.by_person import gather_own
from veilspan.estimators.linear.budget_parts import After, without_noise
from veilspan.estimators.linear.feature_choice import AS_ASKED
from veilspan.estimators.linear.feature_scaling import FeatureBounds, plan_scaling
from veilspan.estimators.linear.parameters import LinearParameters
from veilspan.estimators.linear.portable import PortableModel
from veilspan.estimators.linear.released_ranges import ReleasedRanges
from veilspan.estimators.linear.shapes.learned_noise import learn_features
from veilspan.estimators.linear.table_model import (
    NO_COEFFICIENTS,
    TableModel,
    as_dense,
    prepare_features,
)
from veilspan.estimators.linear.unread_cells import ReadCells, knows_rows
from veilspan.estimators.noise.coefficient_bars import CoefficientBars
from veilspan.estimators.people_plan import expected_rows
from veilspan.estimators.schema_input import (
    SchemaTable,
    encode_own,
    reads_by_schema,
    refuse_said_twice,
    schema_of,
)
from veilspan.estimators.validation import check_count, own_numbers, validate_table
from veilspan.losses.linear import LinearLoss
from veilspan.losses.penalties import NoPenalty, Penalty
from veilspan.privacy.budget import Budget
from veilspan.privacy.calibration import calibrate_beside
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.plan import Plan
from veilspan.queries.linear.row_scaling import RowScaling
from veilspan.solvers.base import Outcome
from veilspan.solvers.linear.asked.readable_targets import AskReadable
from veilspan.solvers.linear.base import (
    LinearPrepared,
    LinearProblem,
    LinearResult,
    LinearSolver,
)
from veilspan.solvers.linear.by_name import linear_solver
from veilspan.solvers.linear.loud_noise import with_warning
from veilspan.solvers.linear.selection import Candidate, PrivateSelection

PUBLIC_BOUNDS = "feature bounds were set without the rows; rows outside are clipped to them"
PRIVATE_BOUNDS = "feature ranges were estimated from the rows by charged, noisy histograms"


class LinearEstimator(
    CoefficientBars,
    ReadCells,
    PortableModel,
    ReleasedRanges,
    TableModel,
    LinearParameters,
    PrivateEstimator,
):
    """Base of the private linear models: a subclass has a loss, a penalty and targets.

    Concrete models are keyword-only dataclasses of their parameters, so that each parameter is
    written once; scikit-learn reads the signature that this makes.
    """

    _solver_label: ClassVar[str] = " ({0.asked})"
    _needs_targets: ClassVar[bool] = True
    #: What ``validate_data`` is asked to accept as targets.
    _y_options: ClassVar[dict[str, Any]] = {}

    @abstractmethod
    def _loss(self) -> LinearLoss:
        """Loss of a scaled row."""

    @abstractmethod
    def _penalty(self, budget: Budget, rows: int | None, n_columns: int) -> Penalty:
        """Penalty per row, from public facts; ``rows`` is None where no number may be used."""

    @abstractmethod
    def _encode(self, y: Any) -> Any:
        """Targets as the loss takes them, by a public map of each."""

    @abstractmethod
    def _decode(self, coefficients: np.ndarray, constant: np.ndarray) -> None:
        """Set ``coef_`` and ``intercept_`` from those of the encoded targets."""

    def fit(self, X: Any, y: Any = None, **refused: Any) -> Self:
        """Learn from the rows of ``X`` and their targets within the budget.

        Parameters
        ----------
        X : array-like, CSR matrix, Dask array or data frame of shape (n_samples, n_features)
            One row per person. A sparse table is never made dense as a whole.
        y : array-like of shape (n_samples,)
            Targets.
        **refused
            ``sample_weight`` is not offered (a ``TypeError`` says why).
        """
        _refuse(refused, type(self).__name__)
        schema = None if self.schema is None else schema_of(self)
        targets = None
        if schema is None:
            options = {**self._input_options, **self._y_options}
            if self.neighbors == "add-remove" and not (is_lazy(X) or isinstance(X, DaskTable)):
                options["ensure_min_samples"] = 0  # how many rows there are is private
            X, targets = validate_table(self, X, lazy=True, y=y, **options)
            if self.features is not None:  # plain arrays are taken as they are, unless asked
                self._refuse_sparse(X)
                self._check_told_ranges()
        before = vars(self).get("classes_")
        try:
            if schema is not None:
                self._learn(self._open_labelled(schema, X, y))
            else:
                encoded = self._encode(targets)
                if isinstance(X, DaskTable):
                    X.check(encoded)
                self._learn(X, encoded)
        except BaseException:
            # Labels that no statement speaks of are not kept, nor new ones beside an old fit.
            self.__dict__.pop("classes_", None)
            if before is not None:
                self.classes_ = before
            raise
        self._warn_of_columns()
        self._warn_of_cautions()
        return self

    def _open_labelled(self, schema: Any, X: Any, y: Any) -> SchemaTable:
        """A table with its target column."""
        if y is not None:
            raise ValueError(
                "y comes from the schema's target column: pass the table alone, fit(table)."
            )
        if schema.target is None:
            raise ValueError(
                f"{type(self).__name__} needs a target: give one column of the schema "
                f'{schema.name!r} the role "target".'
            )
        return self._open(schema, X, self._schema_targets(schema))

    @abstractmethod
    def _schema_targets(self, schema: Any) -> Callable[[np.ndarray], np.ndarray]:
        """A public map of the schema's targets to those of the loss; refuse the wrong kind."""

    # Planning: public facts only.

    def _prepare(
        self, budget: Budget, neighbors: Neighbors, n_rows: int | None, n_features: int
    ) -> LinearPrepared:
        choice = layout = None
        if self.features is not None or self.schema is not None:  # else columns as they are
            choice, layout = self._choose_features(budget, neighbors, n_rows, n_features)
        if choice is not None and layout is not None and choice.kind != "linear":
            prepared = prepare_features(self, choice, layout, budget, neighbors, n_rows)
        else:
            prepared = self._prepare_straight(budget, neighbors, n_rows, n_features)
        problem = prepared.problem
        shown = {"loss": problem.loss.name, "penalty": problem.penalty.name}
        if choice is not None and (choice.kind != "linear" or choice.reason != AS_ASKED):
            shown["features"] = f"{choice.kind}: {choice.reason}"
        asked = prepared.asked or prepared.solver.name
        return replace(prepared, decisions={**shown, **prepared.decisions}, asked=asked)

    def _prepare_straight(
        self, budget: Budget, neighbors: Neighbors, n_rows: int | None, n_features: int
    ) -> LinearPrepared:
        """A solver for one coefficient a column."""
        rows, guess = self._counts(n_rows)
        solver = self._solver()
        constant = self.intercept_scaling if self.fit_intercept else None
        bounds = FeatureBounds(
            self.feature_range, self.row_norm, self.center, constant, self.bounds
        )
        if self.schema is not None:
            # Encoded rows lie around zero and the schema knows the longest of them.
            refuse_said_twice(self, "feature_range", "bounds", "center")
            bounds = FeatureBounds(None, self._kept_length() * self.schema.row_norm, None, constant)
        stage = plan_scaling(bounds, n_features, budget, self._asks_targets)
        solver, afters = self._around(solver), self._afters(budget)
        # A penalty may be chosen by the budget, of which the solver gets a part.
        part = budget.part(stage.left) if stage.events else budget
        loss, penalty = self._loss(), self._penalty(part, rows, stage.n_columns)
        intercept = bool(self.fit_intercept)
        problem = LinearProblem(loss, penalty, stage.n_columns, n_rows, guess, intercept)
        ready = solver.prepare(problem, part, neighbors)
        if ready.warning is None and ready.asked != "auto":  # whose rule has looked
            ready = with_warning(ready, neighbors)
        if not budget.is_private:
            return replace(ready, stages=(stage,), afters=without_noise(afters))
        found = calibrate_beside(
            budget, stage.events, ready.events, neighbors=neighbors, share=stage.left, later=afters
        )
        if found is None:
            raise ValueError(
                f"epsilon = {budget.epsilon:g} is too small at delta = {budget.delta:g} for "
                "private bounds and a solver together: give public bounds, or a larger epsilon."
            )
        events, told = found
        asked: tuple[After, ...] = ()
        for after, event in zip(afters, told):
            asked = (*asked, replace(after, events=(event,)))
        return replace(ready, stages=(stage,), events=events, afters=asked)

    def _solver(self) -> LinearSolver:
        """The solver that was asked for, with the user's clip."""
        if self.selection is not None:
            return _selection(self.selection, self.clip)
        solver = linear_solver(self.solver)
        if self.clip is not None:
            solver = solver.with_clip(check_scale(self.clip, "clip"))
        return solver

    def _afters(self, budget: Budget) -> tuple[After, ...]:
        """What is asked once the solver is done: by default, how many targets could be read.

        Arrays have no cells that cannot be read; without a public number of rows there is nothing
        that a count could be compared with.
        """
        told = self.schema is not None and knows_rows(self.schema)
        return (AskReadable(),) if told and budget.is_private else ()

    def _constant(self) -> float:
        """The constant column over the length of a row; 0 without an intercept."""
        if not self.fit_intercept:
            return 0.0
        return check_scale(self.intercept_scaling, "intercept_scaling")

    def _around(self, solver: LinearSolver) -> LinearSolver:
        """The solver with what else a model asks before and after it; by default nothing."""
        return solver

    def _problem(self, budget: Budget, n_rows: int | None, columns: int) -> LinearProblem:
        """What is minimised, from public facts."""
        rows, guess = self._counts(n_rows)
        loss, penalty = self._loss(), self._penalty(budget, rows, columns)
        return LinearProblem(loss, penalty, columns, n_rows, guess, bool(self.fit_intercept))

    def _counts(self, n_rows: int | None) -> tuple[int | None, int | None]:
        """The number of rows that defaults may be chosen by, and the public guess of it."""
        expected = self.expected_rows
        if expected is None and self.schema is not None:
            expected = expected_rows(self.schema)
        if expected is not None:
            expected = check_count(expected, "expected_rows", 2**53)
        return (expected, expected) if n_rows is None else (n_rows, None)

    # Keeping what was learned.

    def _keep(self, outcome: Outcome, plan: Plan) -> None:
        result: LinearResult = outcome.result
        (row_map,) = outcome.maps
        theta = result.confidence * result.theta
        if isinstance(row_map, RowScaling):
            self.__dict__.pop("feature_map_", None)
            self._keep_ranges(row_map, plan)
            self._decode(*row_map.user_coefficients(theta))
            self._keep_noise(row_map, result, plan.budget.is_private)
        else:
            self._forget_coefficients()
            self._forget_noise()
            self._forget_ranges()
            self.feature_map_ = learn_features(row_map, result, self._loss())
        self._keep_unread(row_map, result, plan)
        self.n_iter_ = max(1, len(result.trace))
        self.trace_ = list(result.trace)
        self.stopped_ = result.stopped

    # Using the model: rows are the caller's own, nothing is spent.

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        if reads_by_schema(self):
            return self._scores_of_encoded(encode_own(self, X).x)
        table = validate_table(self, X, reset=False, accept_sparse="csr", dtype="numeric")
        return self._scores_of_encoded(table)

    def _scores_of_encoded(self, table: Any) -> np.ndarray:
        if "feature_map_" in vars(self):
            return self._from_scores(self.feature_map_.scores(as_dense(table)))
        return self._linear_scores(table)

    @property
    def coefficients_(self) -> Any:
        """``coef_`` by name, in the columns and units of the table; a schema is needed.

        A :class:`~veilspan.tables.named_table.NamedTable`: what a step of each column (its unit, a
        doubling on a log scale, a year of dates, belonging to a category) adds to the score.
        """
        check_is_fitted(self)
        if "feature_map_" in vars(self):
            raise AttributeError(NO_COEFFICIENTS.format("coefficients_"))
        if self.schema is None:
            raise AttributeError(
                "coefficients_ are in the units of a schema, and there is none: use coef_."
            )
        from veilspan.tables.user_units import make_coefficients

        return make_coefficients(self.schema, self.coef_, self._names_of_scores())

    def _names_of_scores(self) -> tuple[str, ...]:
        """What each row of ``coef_`` predicts."""
        return (str(self.schema.target.name),)

    def _own_scores_and_targets(
        self, X: Any, y: Any, sample_weight: Any, by_person: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Scores of own rows, their encoded targets and weights; rows without a target left out."""
        if y is not None:
            raise ValueError(
                "y comes from the schema's target column: pass the table alone, score(table)."
            )
        check_is_fitted(self)
        if by_person:
            X = gather_own(self, X, target=True)
        encoded = encode_own(self, X, target=True)
        known = encoded.present
        if not known.any():
            raise ValueError("no row of the table has a target: there is nothing to compare with.")
        weights = None
        if sample_weight is not None:
            weights = own_numbers(sample_weight, "sample_weight")[known]
        return self._scores_of_encoded(encoded.x[known]), encoded.y[known], weights

    def _rests_on(self) -> tuple[str, ...]:
        if self.schema is not None:
            return self._assumptions
        return (*self._assumptions, PRIVATE_BOUNDS if self._asks_ranges else PUBLIC_BOUNDS)


def strength_per_row(value: float, rows: int | None, name: str) -> float:
    """A penalty on the sum of losses as one on their mean, ``value / rows``."""
    if rows is None:
        raise ValueError(
            f"{name} weighs the penalty against a sum over all rows, whose number is private under "
            f"add-remove: say expected_rows=... (a guess that is public), or leave {name}=None."
        )
    return value / rows


def noise_threshold(budget: Budget, rows: int | None, n_columns: int, neighbors: str) -> float:
    r"""Largest entry that noise gives a released mean gradient: a sqrt(2 log 2p) / (n mu).

    a is 1 under add-remove and 2 under replace-one; the expected maximum of p normals is below it.
    An l1 penalty of this strength keeps coefficients at zero that only noise would move.
    """
    if not budget.is_private:
        return 0.0
    if rows is None:
        raise ValueError(
            "alpha=None is chosen by the number of rows, which is private under add-remove: say "
            "alpha, or expected_rows=... (a guess that is public)."
        )
    moved = 2.0 if neighbors == "replace-one" else 1.0
    return moved * math.sqrt(2 * math.log(2 * n_columns)) / (rows * budget.mu)


def own_penalty(penalty: Any) -> Penalty:
    """A penalty given as a value of :mod:`veilspan.losses.penalties`, or a sentence."""
    if penalty is None:
        return NoPenalty()
    missing = [name for name in ("name", "prox", "value") if not hasattr(penalty, name)]
    if missing:
        raise ValueError(
            'penalty must be "l2", "l1", "elasticnet", None, or a penalty or constraint of '
            f"veilspan.losses.penalties; {type(penalty).__name__} has no {', '.join(missing)}."
        )
    return penalty


def _selection(candidates: Any, clip: float | None) -> LinearSolver:
    if clip is not None:
        raise ValueError("with a selection, give each candidate its own clip.")
    if isinstance(candidates, str) or not isinstance(candidates, Sequence):
        raise ValueError('selection must be a list of solvers, ["gd", "objective"] say.')
    made = (c if isinstance(c, Candidate) else Candidate(linear_solver(c)) for c in candidates)
    return PrivateSelection(tuple(made))


def _refuse(extra: dict[str, Any], owner: str) -> None:
    # Not a named parameter of fit: scikit-learn takes any such name as a promise to support it.
    if extra.pop("sample_weight", None) is not None:
        raise TypeError(
            f"{owner} takes no sample_weight: a weight that comes with the data scales how much "
            "one row moves the model, and the guarantee would need a public bound on it. Use "
            "class_weight, with public numbers, if one class is to count for more."
        )
    if extra:
        raise TypeError(f"{owner}.fit got unexpected arguments: {', '.join(sorted(extra))}.")
