"""From a request to the estimator that answers it, and back: the same call gives the same plan.

The studio, its jobs, the command line and Python build the same estimator from the same words, so
that a plan that was approved in one of them is charged by any.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from veilspan._passwords import without_password
from veilspan.studio.settings import Table

if TYPE_CHECKING:
    from veilspan.ledger import Dataset, FitRequest, RequestDraft
    from veilspan.tables.schema import Schema

#: Parameters that a request says elsewhere.
_APART = ("epsilon", "delta", "neighbors", "schema", "ledger")


def name_source(table: Table) -> str:
    """Where a table is declared to lie, as requests name it: without a password."""
    data = without_password(table.data) if "://" in table.data else table.data
    return data if table.table is None else f"{data} table {table.table}"


def build_estimator(
    estimator: str,
    params: Mapping[str, Any],
    epsilon: float,
    delta: float,
    schema: Schema,
    ledger: Dataset | None = None,
) -> Any:
    """The estimator, unfitted, as ``veilspan fit`` makes it of the same words.

    Parameters
    ----------
    estimator : str
        As the command line calls it.
    params : mapping
        Its parameters beside budget and schema.
    epsilon, delta : float
        What it may spend; the schema says under which relation.
    schema : Schema
        By which the table is read.
    ledger : Dataset, optional
        Whom it charges.
    """
    from veilspan.catalogue import COMMANDS

    kind = COMMANDS.get(estimator)
    if kind is None or not kind.has_releases:
        raise ValueError(f"there is no estimator {estimator!r} to fit by a schema.")
    found: Any = kind.load_class()
    taken = [name for name in found._get_param_names() if name not in _APART]
    for name in params:
        if name not in taken:
            raise ValueError(f"{estimator} has no parameter {name!r} to set here.")
    if "schema" not in found._get_param_names():
        raise ValueError(f"{estimator} reads points, not the columns of a schema.")
    budget = {"epsilon": epsilon, "delta": delta, "neighbors": schema.neighbors}
    return found(**params, schema=schema, ledger=ledger, **budget)


def draft_fit(
    table: Table,
    schema: Schema,
    estimator: str,
    params: Mapping[str, Any],
    epsilon: float,
    delta: float,
    *,
    asked_by: str,
    note: str = "",
) -> RequestDraft:
    """A request for a fit, bound to its plan; nothing is read but public facts."""
    from veilspan.estimators.charging import asked_parameters
    from veilspan.ledger import RequestDraft, digest_plan
    from veilspan.ledger.releases import question_of

    plain: dict[str, Any] = json.loads(json.dumps(dict(params), allow_nan=False))
    schema.check_confirmed()
    schema.check_people()
    model = build_estimator(estimator, plain, epsilon, delta, schema)
    plan = model.plan()
    return RequestDraft(
        asked_by=asked_by,
        estimator=estimator,
        params=plain,
        epsilon=epsilon,
        delta=delta,
        neighbors=plan.neighbors,
        plan_digest=digest_plan(plan),
        schema_digest=schema.digest,
        source=name_source(table),
        note=note,
        question=question_of(type(model), asked_parameters(model), plan.to_dict()),
    )


def rebuild_estimator(request: FitRequest, schema: Schema, ledger: Dataset | None = None) -> Any:
    """The estimator of a request, by the schema that was approved and no other."""
    if schema.digest != request.schema_digest:
        raise ValueError(
            "the schema is not the one that was approved: edit the request, and let it be "
            "approved again. Nothing was charged."
        )
    asked = (request.estimator, request.params, request.epsilon, request.delta)
    return build_estimator(*asked, schema, ledger)
