"""What an approval is bound to: one digest of everything that was asked.

    SHA-256 of the canonical JSON of plan, schema, source, key, version, estimator, params, budget

Whoever edits a request makes another version of it, which has another digest, so that no approval
reaches further than what was approved.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from veilspan.ledger.approvals.drafts import RequestDraft
from veilspan.ledger.records import as_json
from veilspan.privacy.plan import Plan

#: Fields of a draft that an approval binds; who asks and why are not among them.
BOUND = (
    "plan_digest",
    "schema_digest",
    "source",
    "estimator",
    "params",
    "epsilon",
    "delta",
    "neighbors",
    "question",
)


def digest_plan(plan: Plan | Mapping[str, Any]) -> str:
    """SHA-256 of a plan as a charge records it, in hexadecimal."""
    return _digest(recorded_plan(plan))


def recorded_plan(plan: Plan | Mapping[str, Any]) -> dict[str, Any]:
    """The plan as a ledger keeps it; decisions that JSON cannot hold are left out."""
    record = plan.to_dict() if isinstance(plan, Plan) else dict(plan)
    try:
        as_json(record)
    except (TypeError, ValueError):
        return {**record, "decisions": {}}
    return record


def bind(draft: RequestDraft, dataset: str, key: str, version: int) -> str:
    """Digest of all that an approval of this version of a request stands for."""
    asked = {name: getattr(draft, name) for name in BOUND}
    return _digest({**asked, "dataset": dataset, "key": key, "version": version})


def _digest(content: Any) -> str:
    return hashlib.sha256(as_json(content).encode()).hexdigest()
