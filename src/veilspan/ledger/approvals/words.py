"""A request in words, for whoever has to decide about it and for the history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from veilspan.ledger.approvals.requests import (
    APPROVED,
    CHARGED,
    OPEN,
    REFUSED,
    RELEASED,
    FitRequest,
)
from veilspan.ledger.errors import TamperError
from veilspan.ledger.records import (
    APPROVAL,
    REFUSAL,
    REQUEST,
    SCHEMA_NOTED,
    WITHDRAWAL,
    Entry,
    as_json,
)

#: What can become of a request, in words.
STATES = {
    OPEN: "waits for an approval",
    APPROVED: "approved, not charged yet",
    REFUSED: "refused",
    CHARGED: "charged, not recorded as released",
    RELEASED: "released",
}
# Hexadecimal digits of a digest that are enough to compare by eye.
_SHORT = 12


def name_state(request: FitRequest) -> str:
    """What became of a request, in a few words."""
    if request.withdrawn_by is not None:
        return "released, and withdrawn since"
    return STATES[request.state]


def describe_request(request: FitRequest, left: float | None = None) -> list[str]:
    """A request in lines: what is asked, by what it is bound, and who decided.

    Parameters
    ----------
    request : FitRequest
        Which.
    left : float, optional
        Largest epsilon of a Gaussian fit at its delta that the account still takes.
    """
    lines = [
        f"Request {request.id}, version {request.version}: {name_state(request)}",
        f"  asked      by {request.asked_by} on {_day(request.asked_at)}",
        f"  what       {request.estimator} {as_json(request.params)} on {request.dataset}",
        f"  promise    epsilon = {request.epsilon:g}, delta = {request.delta:g}, "
        f"{request.neighbors}",
        f"  data       {request.source}",
        f"  plan       {request.plan_digest[:_SHORT]}",
        f"  schema     {(request.schema_digest or 'none')[:_SHORT]}",
        f"  key        {request.key}",
    ]
    lines += [f"  why        {line}" for line in request.note.splitlines()]
    if left is not None and request.state in (OPEN, APPROVED):
        lines.append(f"  account    takes up to epsilon = {left:.4g} in one Gaussian fit")
    if request.approved_by is not None:
        same = ", the person who asked" if request.solo else ""
        day = _day(request.approved_at)
        lines.append(f"  approved   by {request.approved_by}{same} on {day}")
        lines += [f"             {line}" for line in (request.approval_note or "").splitlines()]
    if request.refused_by is not None:
        lines.append(f"  refused    by {request.refused_by} on {_day(request.refused_at)}")
        lines += [f"             {line}" for line in (request.reason or "").splitlines()]
    if request.charge is not None:
        lines.append(f"  charged    as entry {request.charge}")
    if request.withdrawn_by is not None:
        lines.append(f"  withdrawn  by {request.withdrawn_by} on {_day(request.withdrawn_at)}")
        lines += [f"             {line}" for line in (request.withdrawn_why or "").splitlines()]
    return lines


def say_who(request: Mapping[str, Any]) -> str:
    """Who asked and who approved, as the statement of a release tells it, in one sentence."""
    told = f"Request {request['id']}, version {request['version']}"
    if request["solo"]:
        return f"{told}: asked and approved by the same person, {request['asked_by']}."
    return f"{told}: asked by {request['asked_by']}, approved by {request['approved_by']}."


def describe_entry(entry: Entry) -> str:
    """What an entry about requests says, in a few words; empty of other kinds."""
    content = entry.content
    try:
        return _describe(entry, content)
    except (KeyError, TypeError, ValueError):
        raise TamperError(f"entry {entry.seq} of the ledger cannot be read.") from None


def _describe(entry: Entry, content: dict[str, Any]) -> str:
    if entry.kind == SCHEMA_NOTED:
        return f"schema {content['schema'][:_SHORT]}, by {content['by']}"
    if entry.kind == REQUEST:
        cost = f"epsilon = {content['epsilon']:g}, delta = {content['delta']:g}"
        edited = f", version {content['version']}" if content["version"] > 1 else ""
        return f"{content['id']}{edited}: {content['estimator']}, {cost}, by {content['asked_by']}"
    if entry.kind == APPROVAL:
        alone = " (the only person)" if content["solo"] else ""
        return f"of {content['id']} (entry {entry.about}), by {content['by']}{alone}"
    if entry.kind == REFUSAL:
        return f"of {content['id']} (entry {entry.about}), by {content['by']}"
    if entry.kind == WITHDRAWAL:
        return f"of the release in entry {entry.about}, by {content['by']}: {content['reason']}"
    return ""


def _day(time: str | None) -> str:
    return (time or "")[:16].replace("T", " ")
