"""Read plans and statements from a file, and check their form before anybody believes them.

Whether the recorded events cost no more than is claimed is the question of
:meth:`veilspan.privacy.statement.PrivacyStatement.verify`; here it is whether the record could be
one at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from veilspan.privacy.neighbors import check_neighbors
from veilspan.privacy.plan import Plan
from veilspan.privacy.statement import ROUNDING, PrivacyStatement


def plan_from(record: Any) -> Plan:
    """A plan from :meth:`Plan.to_dict`, or a ValueError that says what is wrong with it."""
    plan = Plan.from_dict(_mapping(record, "the plan"))  # checks the budget and every event
    check_neighbors(plan.neighbors)
    _check(isinstance(plan.method, str) and isinstance(plan.adaptive, bool), "the plan")
    _check(_is_count(plan.n_features, 1), "the plan's number of columns")
    private = plan.neighbors == "add-remove"
    _check(plan.n_rows is None if private else _is_count(plan.n_rows, 1), "the plan's rows")
    _check(isinstance(plan.decisions, Mapping), "the plan's decisions")
    return plan


def statement_from(record: Any, plan: Plan | None = None) -> PrivacyStatement:
    """A statement from :meth:`PrivacyStatement.to_dict`, or a ValueError.

    Parameters
    ----------
    record : mapping
        From a file.
    plan : Plan, optional
        Of the same release: what may be promised is no less than what may be spent.
    """
    said = PrivacyStatement.from_dict(dict(_mapping(record, "the statement")))
    _check(said.epsilon > 0, "epsilon")  # and not NaN
    _check(_is_number(said.delta) and 0 < said.delta < 1, "delta")
    texts = (said.method, said.why_not_private, said.unit, said.release_id, said.version)
    _check(all(isinstance(text, str) for text in (*texts, *said.assumptions)), "its texts")
    _check(isinstance(said.private, bool), "whether it is private")
    _check(math.isfinite(said.epsilon) or not said.private, "a private release without an epsilon")
    _check(said.asked is None or said.asked > 0, "the epsilon that was asked for")
    _check(said.population is None or _is_count(said.population, 1), "the number of people")
    _check_charge(said.ledger)
    if plan is not None:
        same = (said.delta, said.neighbors) == (plan.budget.delta, plan.neighbors)
        _check(same and said.method == plan.method, "a statement on another plan")
        _check(said.epsilon <= plan.budget.epsilon * (1 + ROUNDING), "more than its plan allows")
    return said


def _check_charge(ledger: Any) -> None:
    if ledger is None:
        return
    known = {"dataset": str, "entry": int, "head": str, "test": bool, "request": dict}
    _check(isinstance(ledger, dict) and {"dataset", "entry", "head"} <= set(ledger), "the charge")
    for name, value in ledger.items():
        _check(name in known and type(value) is known[name], "the charge")
    asked = {"id": str, "version": int, "asked_by": str, "approved_by": str, "solo": bool}
    if "request" in ledger:
        found = {name: type(value) for name, value in ledger["request"].items()}
        _check(found == asked, "the request")


def _mapping(record: Any, what: str) -> Mapping[str, Any]:
    _check(isinstance(record, Mapping), what)
    return record  # type: ignore[no-any-return]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_count(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _check(good: bool, what: str) -> None:
    if not good:
        raise ValueError(f"its record is not one that veilspan writes ({what}).")
