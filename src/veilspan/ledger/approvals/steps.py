"""Ask, edit, approve, refuse: each is one sealed entry, or a refusal that changes nothing."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from veilspan.ledger.approvals.binding import bind, digest_plan
from veilspan.ledger.approvals.drafts import RequestDraft, check_digest, check_words
from veilspan.ledger.approvals.requests import (
    APPROVED,
    APPROVING_ROLES,
    CHARGED,
    OPEN,
    REFUSED,
    RELEASED,
    FitRequest,
    Register,
    name_difference,
    new_request_id,
    same_person,
)
from veilspan.ledger.errors import RequestError, SelfApproval, TamperError
from veilspan.ledger.names import check_name
from veilspan.ledger.receipts import Request
from veilspan.ledger.records import APPROVAL, REFUSAL, REQUEST, SCHEMA_NOTED, Entry, Terms
from veilspan.ledger.seal.journal import Page


def read_requests(page: Page, dataset: str) -> dict[str, FitRequest]:
    """All requests of a dataset by id, every seal checked, with the charges under their keys."""
    said = page.entries(dataset, (REQUEST, APPROVAL, REFUSAL))
    keys = {entry.key for entry in said if entry.kind == REQUEST and entry.key is not None}
    charged = [entry for key in keys for entry in _charge_and_release(page, dataset, key)]
    return _follow(sorted([*said, *charged], key=lambda entry: entry.seq))


def read_request(page: Page, dataset: str, request_id: str) -> FitRequest:
    """One request by its id, or ``RequestError``."""
    found = read_requests(page, dataset).get(request_id)
    if found is None:
        raise RequestError(f"the dataset {dataset!r} has no request {request_id!r}: see the list.")
    return found


def find_under_key(page: Page, dataset: str, key: str) -> FitRequest | None:
    """The request under an idempotency key, as far as it came before any charge; None if none."""
    versions = page.book.requests_with_key(dataset, key)
    decisions = [each for one in versions for each in page.book.decisions_about(one.seq)]
    said = sorted([*versions, *decisions], key=lambda entry: entry.seq)
    return next(iter(_follow([page.genuine(entry) for entry in said]).values()), None)


def note_schema(page: Page, dataset: str, digest: str, by: str) -> Entry:
    """Record by which schema a dataset is read from now on; the same one again is one entry."""
    content = {"schema": check_digest(digest, "a schema"), "by": check_name(by, "a person's name")}
    past = page.book.last_of(SCHEMA_NOTED, dataset)
    if past is not None and page.genuine(past).content["schema"] == digest:
        return past
    return page.append(SCHEMA_NOTED, dataset, content)


def ask(page: Page, terms: Terms, dataset: str, draft: RequestDraft) -> FitRequest:
    """Write a request; refused if the account would never take such a fit."""
    _refuse_other_relation(terms, draft)
    request_id = new_request_id()
    key = draft.key or f"request-{request_id}"
    if page.book.charge_with_key(dataset, key) or page.book.requests_with_key(dataset, key):
        raise RequestError(f"the key {key!r} is in use: one key is one release. Take a new one.")
    return _write(page, dataset, replace(draft, key=key), request_id, 1, None)


def edit(page: Page, terms: Terms, past: FitRequest, draft: RequestDraft, by: str) -> FitRequest:
    """Write the next version of a request; what was decided about the last one is void."""
    by = check_name(by, "a person's name")
    if not (same_person(by, past.asked_by) and same_person(draft.asked_by, past.asked_by)):
        raise RequestError(
            f"the request {past.id} is {past.asked_by}'s: only who asked may edit it. Make a "
            "request of your own."
        )
    if past.state in (CHARGED, RELEASED):
        raise RequestError(
            f"the request {past.id} was charged (entry {past.charge}): it cannot be edited any "
            "more. Make a new one."
        )
    if draft.key not in (None, past.key):
        raise RequestError("the key of a request stays: one request is at most one charge.")
    _refuse_other_relation(terms, draft)
    named = replace(draft, key=past.key, asked_by=past.asked_by)
    return _write(page, past.dataset, named, past.id, past.version + 1, past.entry)


def approve(
    page: Page,
    request: FitRequest,
    *,
    by: str,
    role: str,
    note: str,
    solo: bool,
    version: int | None,
) -> None:
    """Write an approval. One that is approved stays so: two officers, or two clicks, are one."""
    by, role = check_name(by, "a person's name"), check_name(role, "a role")
    if not isinstance(solo, bool):
        raise TypeError(f"solo must be True or False; got {solo!r}.")
    note = check_words(note, "a note")
    _refuse_unseen_version(request, version)
    if not solo and same_person(by, request.asked_by):
        raise SelfApproval(
            f"{by} asked for {request.id}: nobody approves their own request. Ask another officer."
        )
    if not solo and role not in APPROVING_ROLES:
        raise RequestError(f"a request is approved by an officer; {by} is {role}.")
    if request.state == REFUSED:
        raise RequestError(
            f"the request {request.id} was refused by {request.refused_by}. Whoever asked may edit "
            "it, and ask again."
        )
    if request.state != OPEN:
        return
    content = {"id": request.id, "version": request.version, "binding": request.binding}
    said = {"by": by, "role": role, "note": note, "solo": solo}
    page.append(APPROVAL, request.dataset, {**content, **said}, about=request.entry)


def refuse(
    page: Page, request: FitRequest, *, by: str, role: str, reason: str, version: int | None
) -> None:
    """Write a refusal, of what is open or approved. Whoever asked may take it back so."""
    by, role = check_name(by, "a person's name"), check_name(role, "a role")
    reason = check_words(reason, "a reason")
    if not reason:
        raise ValueError("a refusal says why: give a reason.")
    _refuse_unseen_version(request, version)
    if role not in APPROVING_ROLES and not same_person(by, request.asked_by):
        raise RequestError(
            f"a request is refused by an officer, or taken back by whoever asked; {by} is {role}."
        )
    if request.state == REFUSED:
        return
    if request.state not in (OPEN, APPROVED):
        raise RequestError(
            f"the request {request.id} was charged (entry {request.charge}), and what is charged "
            "stays spent: it is too late to refuse."
        )
    content = {"id": request.id, "version": request.version}
    said = {"by": by, "role": role, "reason": reason}
    page.append(REFUSAL, request.dataset, {**content, **said}, about=request.entry)


def check_approved(
    page: Page, terms: Terms, dataset: str, key: str | None, asked: Request
) -> FitRequest | None:
    """The approved request that a charge is made for; None if it needs none.

    A charge under the key of a request needs its approval, and must be what was approved. Where
    the account takes approved fits alone, there is no charge without such a request.
    """
    found = None if key is None else find_under_key(page, dataset, key)
    if found is None:
        if not terms.approval:
            return None
        raise RequestError(
            f"the account {terms.name!r} takes approved fits alone: ask for this fit, let an "
            "officer approve it, and fit under the key of the request."
        )
    if found.state != APPROVED:
        told = "is not approved yet" if found.state == OPEN else f"was {found.state}"
        raise RequestError(f"the request {found.id} {told}: nothing was charged.")
    if asked.binding not in ("", found.binding):
        raise RequestError(f"the request {found.id} was edited since: nothing was charged.")
    schema = None if asked.schema is None else asked.schema.to_dict()
    differs = name_difference(found, digest_plan(asked.plan), schema, asked.question)
    if differs:
        raise RequestError(
            f"the {differs} of this fit is not what was approved in {found.id}: nothing was "
            "charged. Edit the request, and let it be approved again."
        )
    return found


def _write(
    page: Page,
    dataset: str,
    draft: RequestDraft,
    request_id: str,
    version: int,
    about: int | None,
) -> FitRequest:
    assert draft.key is not None
    content: dict[str, Any] = {
        each.name: getattr(draft, each.name) for each in fields(draft) if each.name != "key"
    }
    content |= {"id": request_id, "version": version}
    content["binding"] = bind(draft, dataset, draft.key, version)
    page.append(REQUEST, dataset, content, key=draft.key, about=about)
    return read_request(page, dataset, request_id)


def _charge_and_release(page: Page, dataset: str, key: str) -> list[Entry]:
    charge = page.book.charge_with_key(dataset, key)
    if charge is None:
        return []
    release = page.book.release_of(charge.seq)
    withdrawn = None if release is None else page.book.withdrawal_of(release.seq)
    return [page.genuine(each) for each in (charge, release, withdrawn) if each is not None]


def _follow(entries: list[Entry]) -> dict[str, FitRequest]:
    register = Register().follow(entries)
    if register.problems:  # sealed, and yet not what this library writes
        raise TamperError(
            f"the ledger's requests do not follow: {register.problems[0]} Run verify."
        )
    return register.found


def _refuse_other_relation(terms: Terms, draft: RequestDraft) -> None:
    if draft.neighbors != terms.neighbors:
        raise RequestError(
            f"the dataset {terms.name!r} is accounted under {terms.neighbors}; this request "
            f"promises {draft.neighbors}, which cannot be added to it."
        )


def _refuse_unseen_version(request: FitRequest, version: int | None) -> None:
    if version is not None and version != request.version:
        raise RequestError(
            f"the request {request.id} was edited since: this is its version {request.version}, "
            f"and you looked at {version}. Read it again."
        )
