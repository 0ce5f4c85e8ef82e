"""The four steps of every private fit: plan, charge, run, record."""

from __future__ import annotations

import secrets
import warnings
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from veilspan._threads import threads_for
from veilspan._version import __version__
from veilspan._words import plural
from veilspan.curator.curator import Curator
from veilspan.curator.dask.table import DaskTable
from veilspan.curator.rows import plain_rows, rows_of
from veilspan.curator.silence import Discretion, Silence
from veilspan.estimators.cautions import Caution, known_people, weigh_promise
from veilspan.estimators.charging import LedgerParameter, give_again, open_charge, record
from veilspan.estimators.clone_family import count_fit
from veilspan.estimators.noise.loud_noise import as_cautions
from veilspan.estimators.noise.summary import Summarised
from veilspan.estimators.people_plan import (
    has_people,
    open_people,
    prepare_people,
    rows_per_unit,
    with_people,
)
from veilspan.estimators.publishing import Kept
from veilspan.estimators.schema_input import (
    SCHEMA_FACTS,
    SchemaTable,
    open_schema_table,
    people_facts,
    schema_of,
)
from veilspan.estimators.validation import validate_table
from veilspan.ledger.claims import ending_claims
from veilspan.ledger.session import dataset_of
from veilspan.privacy.budget import Budget
from veilspan.privacy.errors import RepeatedFitsWarning
from veilspan.privacy.neighbors import RELATIONS, Neighbors, check_neighbors
from veilspan.privacy.noise import NoiseSource, noise_source
from veilspan.privacy.noise_buffers import NoiseBuffers
from veilspan.privacy.plan import Plan
from veilspan.privacy.schema_record import SchemaRecord, names_rows, unit_of
from veilspan.privacy.statement import PrivacyStatement
from veilspan.solvers.base import Outcome, Prepared

PUBLIC_FORM = (
    "parameters (bounds, centre, number of components, budget) were chosen without the rows; the "
    "table's columns, dtype and that it holds finite numbers below 1e140, in two rows or more "
    "(under add-remove at most 2^24), are public"
)
GRID_NOISE = "64-bit normals are taken as exactly Gaussian before both sides are rounded to a grid"
EXACT_NOISE = (
    "noise is the exact discrete Gaussian, drawn 2^90 steps to a standard deviation and rounded to "
    "a grid: within 1e-48 (in epsilon, an answer) of the rounded Gaussian that it is accounted as"
)
ON_A_CLUSTER = (
    "the table lay in parts on a Dask cluster that is trusted with it; which part a row lies in "
    "does not depend on what it says, and the number of parts is public"
)
PEOPLE_ON_A_CLUSTER = (
    "the table lay in parts on a Dask cluster that is trusted with it; people were gathered by id "
    "before anything else, into parts that a secret key chooses, so that it does not matter in "
    "which part a row lay; the number of parts is public"
)
TIMING = "running time, memory and crashes are not protected"


class PrivateEstimator(Summarised, Kept, LedgerParameter, BaseEstimator):
    """Base of all private estimators.

    A subclass keeps ``epsilon``, ``delta``, ``neighbors``, ``noise``, ``random_state`` and
    ``ledger`` among its parameters. :meth:`_prepare` chooses the solver and its events from public
    facts; plan, charge and run follow from it, and :meth:`_keep` takes what was learned. A subclass
    never sees rows, nor a curator.

    From the charge on a fit says nothing of rows: what fails while they are read is one
    :class:`~veilspan.WithheldError`, the same whatever happened (see ``curator.silence``).
    """

    #: What ``validate_data`` of scikit-learn is asked to accept.
    _input_options: ClassVar[dict[str, Any]] = {
        "accept_sparse": "csr",
        "dtype": "numeric",
        "ensure_min_samples": 2,
    }

    #: What the promise rests on beyond what all estimators assume.
    _assumptions: ClassVar[tuple[str, ...]] = ()
    #: Whether a fit is charged by itself; a block of a stream is paid for with the stream.
    _charges: ClassVar[bool] = True
    #: What the noise of earlier blocks has left; of a stream alone.
    _buffers: NoiseBuffers | None = None
    #: What a search puts in the place of ``_prepare`` and of ``_learn`` while it tries settings.
    _scored: Any = None
    _searched: Any = None
    #: How a plan's method names the solver, behind the estimator's name.
    _solver_label: ClassVar[str] = ""
    #: Whether a fit needs targets beside the rows.
    _needs_targets: ClassVar[bool] = False
    #: Who is protected, as a statement says it, and in one word, as accounts compare it.
    _unit: ClassVar[str] = "one row of the table"
    _protects: ClassVar[str] = "row"

    epsilon: float
    delta: float
    neighbors: str
    noise: str
    schema: Any = None
    random_state: int | None
    plan_: Plan
    privacy_: PrivacyStatement

    @abstractmethod
    def _prepare(
        self, budget: Budget, neighbors: Neighbors, n_rows: int | None, n_features: int
    ) -> Prepared[Any, Any]:
        """Check the subclass's own parameters, and decide from public facts who runs on what."""

    @abstractmethod
    def _keep(self, outcome: Outcome, plan: Plan) -> None:
        """Set the fitted attributes from what was learned."""

    def _find_loud_noise(self, outcome: Outcome, plan: Plan) -> tuple[str, ...]:
        """What released and public numbers say of noise that drowns: it is warned of."""
        return ()

    def _learned_shapes(self, n_features: int) -> dict[str, tuple[int, ...]]:
        """Shapes of what a fit to so many columns learns; () is a number.

        A saved release is held to them. A ``ValueError`` says what else of it does not fit.
        """
        return {}

    def plan(self, n_samples: int | None = None, n_features: int | None = None) -> Plan:
        """What a fit to a table of this shape would ask and spend: a dry run without data.

        Parameters
        ----------
        n_samples : int or None
            Number of rows; with a schema by default its ``count``. Under add-remove it is private
            and plays no part.
        n_features : int
            Number of columns; a schema says it.
        """
        schema = schema_of(self)
        if schema is not None:
            if n_features is not None:
                raise ValueError("n_features is what the schema's columns come to: leave it out.")
            n_features = self._width_of(schema)
            if schema.count is not None and n_samples not in (None, schema.count):
                raise ValueError(
                    f"the schema says that there are {schema.count:,} {plural(schema.protects)}."
                )
            n_samples = n_samples if schema.count is None else schema.count
            if n_samples is None and schema.neighbors == "replace-one":
                raise ValueError(
                    "a plan under replace-one needs the number of rows: say count = ... in the "
                    "schema's [unit] if it is public, or plan(n_samples=...)."
                )
        if n_features is None:
            raise ValueError("a plan needs the number of columns: say n_features=...")
        return self._draft(n_samples, n_features)[0]

    def _width_of(self, schema: Any) -> int:
        """How many columns a table of a schema has for this estimator."""
        return len(schema.columns_out)

    def _draft(self, n_samples: int | None, n_features: int) -> tuple[Plan, Prepared[Any, Any]]:
        """Prepare, once, and make the plan of it: the fit runs what is prepared here."""
        neighbors = check_privacy_parameters(self)
        if neighbors == "replace-one" and (n_samples is None or n_samples < 2):
            raise ValueError("a plan under replace-one needs the number of rows, at least 2.")
        declared = self._schema_of_units()
        people = declared is not None and has_people(declared)
        group = rows_per_unit(declared) if people else 1
        budget, known = Budget(self.epsilon, self.delta), n_samples
        prepare = self._scored or self._prepare
        if neighbors != "replace-one":
            known = None
        with np.errstate(all="ignore"):  # tails of losses underflow, whatever np.seterr says
            if people:
                told = known if group == 1 else None  # how many slots are filled is private
                prepared, events = prepare_people(
                    lambda part: prepare(part, neighbors, told, n_features),
                    declared,
                    budget,
                    neighbors,
                )
            else:
                prepared = prepare(budget, neighbors, known, n_features)
                events = prepared.all_events
            rows = prepared.problem.n_rows
            plan = Plan(
                method=type(self).__name__ + self._solver_label.format(prepared),
                budget=prepared.stated or budget,
                neighbors=neighbors,
                n_rows=rows if group == 1 or known is None else known * group,
                n_features=n_features,
                events=events,
                adaptive=prepared.adaptive,
                decisions=prepared.decisions,
                schema=None if self.schema is None else SchemaRecord.of(self.schema),
            )
        return with_people(plan, declared) if people else plan, prepared

    def _schema_of_units(self) -> Any:
        """The schema as it is to be read for units: what becomes of a person's rows."""
        return self.schema

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from the rows of ``X`` within the budget.

        Parameters
        ----------
        X : array-like, CSR matrix, Dask array or data frame of shape (n_samples, n_features)
            One row per person. Not copied, not kept. With a ``schema`` a table of any kind: a
            pandas, polars, Arrow or Dask frame, or what :func:`veilspan.open_table` opens.
        y : None
            Ignored.
        """
        if self.schema is not None:
            return self._learn(self._open(schema_of(self), X))
        return self._learn(validate_table(self, X, lazy=True, **self._input_options))

    def _open(self, schema: Any, X: Any, targets: Any = None) -> SchemaTable:
        """A table of any kind, its form checked against the schema."""
        table: SchemaTable = open_schema_table(schema, X, targets=targets)
        self.n_features_in_ = table.shape[1]
        self.feature_names_in_ = np.array(schema.columns_out, dtype=object)
        return table

    def _learn(self, table: Any, targets: Any = None) -> Self:
        """Plan, charge, run, record: the one way from a checked table to fitted attributes."""
        if self._searched is not None:
            self._searched(table, targets)
            return self
        plan, prepared = self._draft(table.shape[0], table.shape[1])
        if prepared.paired and has_people(self.schema) and getattr(table, "on_cluster", False):
            raise ValueError(
                'center="pairs" needs people in places of their own, which those on a cluster have '
                "not: use another center, or a table in memory."
            )
        source = noise_source(self.random_state)
        dataset = dataset_of(self.ledger) if self._charges else None
        cautions = weigh_promise(self, plan, source, prepared.warning)
        cautions += getattr(table, "cautions", ())  # of its form
        if dataset is None:
            repeated = count_fit(self, plan, source)
            self._say(cautions)
            self._run(table, targets, plan, prepared, source)
            self.privacy_ = repeated.note_on(self.privacy_)
            if repeated.is_told:
                self._say(((RepeatedFitsWarning, repeated.text),))
        else:
            with ending_claims():
                charge = open_charge(dataset, self, plan, source)
                self._say(cautions)
                # No row goes to a curator before the charge is on the disk; its form was checked.
                receipt = charge.commit()
                if not give_again(self, receipt):
                    self._run(table, targets, plan, prepared, source)
                    record(self, receipt)
        # What released numbers ask to be said; the release is kept by now.
        self._say(self.__dict__.pop("_unsaid", ()))
        return self

    def _say(self, cautions: tuple[Caution, ...]) -> None:
        """Give warnings that point at the line which called ``fit``."""
        for kind, text in cautions:
            warnings.warn(text, kind, stacklevel=4)

    def _run(
        self,
        table: Any,
        targets: Any,
        plan: Plan,
        prepared: Prepared[Any, Any],
        source: NoiseSource,
    ) -> None:
        """Open the door, run what was prepared, and state what was spent."""
        with Discretion(not source.secure):
            if isinstance(table, SchemaTable):
                with Silence(not source.secure):  # a source may fail by what a row holds
                    rows = table.encode(source.coins("places"))
            elif self._scales_by_ranges and not isinstance(table, DaskTable):
                rows = plain_rows(
                    table,
                    targets,
                    of_any_number=self.neighbors == "add-remove",
                    cut=getattr(self, "feature_range", None) is not None,
                )
            else:
                rows = self._rows_for_curator(table, targets)
            if prepared.paired:
                rows = rows.paired(source.coins("pairs"))
            if isinstance(table, SchemaTable) and has_people(self.schema):
                found = table.found  # type: ignore[attr-defined]  # exact, and secret
                declared = self._schema_of_units()
                curator, door = open_people(
                    rows, plan, prepared, source, self.noise, declared, found
                )
            else:
                kind: Any = self.noise
                curator = door = Curator(rows, plan, source, noise=kind, buffers=self._buffers)
            width = prepared.stages[-1].n_columns if prepared.stages else plan.n_features
            with threads_for(width):  # once, not for each of many questions
                outcome = prepared.run(door)
            self._keep(outcome, plan)
        self.plan_ = plan
        far = isinstance(table, DaskTable) or getattr(table, "on_cluster", False)
        on_cluster = (ON_A_CLUSTER,) if far else ()
        if far and has_people(self.schema):
            on_cluster = (PEOPLE_ON_A_CLUSTER,)
        schema = self.schema
        form = PUBLIC_FORM if schema is None else SCHEMA_FACTS
        if has_people(schema):
            form = people_facts(schema)
        rests_on = (form, *self._rests_on(), *on_cluster)
        unit = self._unit if schema is None or names_rows(schema) else unit_of(schema)
        people = known_people(self, plan)
        self.privacy_ = _statement(plan, curator, source, rests_on, unit, people)
        if plan.budget.is_private:
            loud = as_cautions(self._find_loud_noise(outcome, plan))
            self._unsaid = (*self.__dict__.get("_unsaid", ()), *loud)

    def _rests_on(self) -> tuple[str, ...]:
        """What the promise rests on beyond what all estimators assume."""
        return self._assumptions

    #: What goes to the curator: the table's rows and their targets. Whoever maps them in a method
    #: of this name does so inside ``quiet``: the form of the table was checked, the rest is the
    #: rows' alone.
    _rows_for_curator: ClassVar[Any] = staticmethod(rows_of)
    #: Whether rows of arrays are scaled by ranges: none and one are rows as well then, where their
    #: number is private, and entries beyond what a curator takes are cut where a public range is.
    _scales_by_ranges: ClassVar[bool] = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = self._needs_targets
        return tags


def check_privacy_parameters(estimator: Any) -> Neighbors:
    """Check the parameters that all private estimators share, apart from the budget.

    Returns the neighbour relation, known to be one.
    """
    if estimator.neighbors not in RELATIONS:
        check_neighbors(estimator.neighbors)
    if estimator.noise not in ("grid", "exact"):
        raise ValueError(f'noise must be "grid" or "exact"; got {estimator.noise!r}.')
    relation: Neighbors = estimator.neighbors
    return relation


def _statement(
    plan: Plan,
    curator: Curator,
    source: NoiseSource,
    rests_on: tuple[str, ...],
    unit: str,
    people: int | None,
) -> PrivacyStatement:
    reasons = [
        text
        for holds, text in (
            (not plan.budget.is_private, "epsilon is infinite, no noise was added"),
            (not source.secure, "the noise came from a seed: a simulation"),
            (curator.recorded, "the exact answers were recorded on a tape for an audit"),
        )
        if holds
    ]
    noise = EXACT_NOISE if curator.noise == "exact" else GRID_NOISE
    randomness = f"randomness: {source.description}"
    return PrivacyStatement(
        method=plan.method,
        epsilon=plan.epsilon,
        delta=plan.budget.delta,
        neighbors=plan.neighbors,
        events=curator.spent,
        assumptions=(*rests_on, randomness, noise, TIMING),
        private=not reasons,
        why_not_private="; ".join(reasons),
        unit=unit,
        schema=None if plan.schema is None else plan.schema.to_dict(),
        release_id=secrets.token_hex(8),
        version=__version__,
        asked=plan.budget.epsilon,
        population=people,
    )
