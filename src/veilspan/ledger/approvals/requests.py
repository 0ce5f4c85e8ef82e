"""A request as the record tells it: who asked what, who decided, and what became of it.

    open --approve--> approved --charge--> charged --release--> released
    open, approved --refuse--> refused;  open, approved, refused --edit--> open, the next version

The entries are the truth and this module reads it: :func:`follow` takes them in their order and
says what does not follow from those before. An entry that does not follow changes nothing.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from veilspan.ledger.approvals.binding import bind, digest_plan
from veilspan.ledger.approvals.drafts import RequestDraft
from veilspan.ledger.errors import TamperError
from veilspan.ledger.names import fold_name
from veilspan.ledger.records import APPROVAL, CHARGE, REFUSAL, RELEASE, REQUEST, WITHDRAWAL, Entry

#: What can be said of a request.
OPEN, APPROVED, REFUSED, CHARGED, RELEASED = "open", "approved", "refused", "charged", "released"
#: Who may approve where nobody approves their own requests.
APPROVING_ROLES = ("officer",)

# Letters of an id, in the order of their values: none that is easily taken for another (Crockford).
_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
# Bits of an id: milliseconds first, so that ids sort by time, then chance, so that none is guessed.
_TIME_BITS, _CHANCE_BITS, _ID_LENGTH = 48, 80, 26


@dataclass(frozen=True, kw_only=True)
class FitRequest:
    """One version of a request, and what became of it.

    Attributes
    ----------
    id, dataset, version : str, str, int
        Which request, of which account; the version counts its edits from 1.
    asked_by, asked_at : str
        Who, and when this version was asked.
    estimator, params, epsilon, delta, neighbors, plan_digest, schema_digest, source, note, question
        As in :class:`~veilspan.ledger.approvals.drafts.RequestDraft`.
    key : str
        Idempotency key of the charge, the same for all versions: at most one of them is charged.
    state : {"open", "approved", "refused", "charged", "released"}
        How far it has come.
    approved_by, approved_at, approval_note : str or None
        Who approved it, when, with which words. Kept after the charge; None where refused since.
    solo : bool
        Whether it was approved by whoever asked, which the release says.
    refused_by, refused_at, reason : str or None
        Who refused it, when and why.
    binding : str
        What an approval binds (:mod:`veilspan.ledger.approvals.binding`).
    entry, approval, charge : int or None
        Numbers of the entries that say so.
    withdrawn_by, withdrawn_at, withdrawn_why : str or None
        Who withdrew its release, when and why; its state stays "released", and its charge spent.
    """

    id: str
    dataset: str
    version: int
    asked_by: str
    asked_at: str
    estimator: str
    params: Mapping[str, Any] = field(hash=False)
    epsilon: float
    delta: float
    neighbors: str
    plan_digest: str
    schema_digest: str | None
    source: str
    key: str
    note: str
    question: str
    binding: str
    entry: int
    state: str = OPEN
    approved_by: str | None = None
    approved_at: str | None = None
    approval_note: str | None = None
    solo: bool = False
    refused_by: str | None = None
    refused_at: str | None = None
    reason: str | None = None
    approval: int | None = None
    charge: int | None = None
    withdrawn_by: str | None = None
    withdrawn_at: str | None = None
    withdrawn_why: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: every field by its name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def new_request_id() -> str:
    """An id that sorts by time and cannot be guessed: 26 letters and digits."""
    number = (time.time_ns() // 10**6 % 2**_TIME_BITS) << _CHANCE_BITS
    number |= secrets.randbits(_CHANCE_BITS)
    return "".join(_LETTERS[number >> 5 * place & 31] for place in reversed(range(_ID_LENGTH)))


def same_person(one: str, other: str) -> bool:
    """Whether two names are one to a hurried reader: case, width and spaces do not count."""
    return fold_name(one) == fold_name(other)


def read_version(entry: Entry) -> FitRequest:
    """The version of a request that an entry holds, open as it was asked."""
    content = entry.content
    try:
        names = {each.name for each in fields(RequestDraft)} - {"key"}
        draft = RequestDraft(**{name: content[name] for name in names}, key=entry.key)
        request_id, version, told = content["id"], content["version"], content["binding"]
        if entry.key is None or (type(request_id), type(version)) != (str, int):
            raise ValueError("another form")
        if bind(draft, entry.dataset, entry.key, version) != told:
            raise ValueError("another binding")
    except (KeyError, TypeError, ValueError, RuntimeError):
        raise TamperError(
            f"entry {entry.seq} of the ledger is no request that can be read."
        ) from None
    return FitRequest(
        **{name: getattr(draft, name) for name in names},
        id=request_id,
        version=version,
        dataset=entry.dataset,
        asked_at=entry.time,
        key=entry.key,
        binding=told,
        entry=entry.seq,
    )


class Register:
    """Requests of all datasets, followed entry by entry.

    Attributes
    ----------
    found : dict
        The latest version of each request, by its id.
    problems : list of str
        What does not follow, one sentence an entry.
    """

    def __init__(self) -> None:
        self.found: dict[str, FitRequest] = {}
        self.problems: list[str] = []
        self._by_key: dict[tuple[str, str], str] = {}
        self._by_entry: dict[int, str] = {}

    def follow(self, entries: Iterable[Entry]) -> Register:
        """Take entries in their order; kinds that say nothing about requests are passed over."""
        takers = {
            REQUEST: self._ask,
            APPROVAL: self._approve,
            REFUSAL: self._refuse,
            CHARGE: self._charge,
            RELEASE: self._release,
            WITHDRAWAL: self._withdraw,
        }
        for entry in entries:
            take = takers.get(entry.kind)
            if take is None:
                continue
            try:
                wrong = take(entry)
            except (TamperError, KeyError, TypeError, ValueError):
                wrong = "cannot be read"
            if wrong:
                self.problems.append(f"entry {entry.seq} {wrong}.")
        return self

    def _ask(self, entry: Entry) -> str | None:
        asked = read_version(entry)
        place = asked.dataset, asked.key
        past = self.found.get(asked.id)
        if past is None:
            if asked.version != 1 or entry.about is not None:
                return "edits a request that nobody asked"
            if place in self._by_key:
                return "asks under the key of another request"
        else:
            if (asked.version, entry.about) != (past.version + 1, past.entry):
                return "does not edit the latest version of its request"
            if (asked.dataset, asked.key) != (past.dataset, past.key):
                return "edits a request of another dataset or key"
            if not same_person(asked.asked_by, past.asked_by):
                return "edits the request of another person"
            if past.state in (CHARGED, RELEASED):
                return "edits a request that was charged"
        self._put(asked)
        self._by_key[place] = asked.id
        return None

    def _decided(self, entry: Entry) -> FitRequest | None:
        """The request that a decision is about, if that is its latest version."""
        request = self.found.get(self._by_entry.get(entry.about or 0, ""))
        if request is None or (request.entry, request.dataset) != (entry.about, entry.dataset):
            return None
        return request

    def _approve(self, entry: Entry) -> str | None:
        content, request = entry.content, self._decided(entry)
        if request is None or content["binding"] != request.binding:
            return "approves something else than the latest version of a request"
        if request.state != OPEN:
            return f"approves a request that was {request.state}"
        if not content["solo"]:
            if same_person(content["by"], request.asked_by):
                return "is an approval by the person who asked"
            if content["role"] not in APPROVING_ROLES:
                return "is an approval by somebody who may not approve"
        self._put(
            replace(
                request,
                state=APPROVED,
                approved_by=content["by"],
                approved_at=entry.time,
                approval_note=content["note"],
                solo=same_person(content["by"], request.asked_by),
                approval=entry.seq,
            )
        )
        return None

    def _refuse(self, entry: Entry) -> str | None:
        content, request = entry.content, self._decided(entry)
        if request is None:
            return "refuses something else than the latest version of a request"
        if request.state not in (OPEN, APPROVED):
            return f"refuses a request that was {request.state}"
        self._put(
            replace(
                request,
                state=REFUSED,
                refused_by=content["by"],
                refused_at=entry.time,
                reason=content["reason"],
                # Without the approval that it may have had.
                approved_by=None,
                approved_at=None,
                approval_note=None,
                approval=None,
                solo=False,
            )
        )
        return None

    def _charge(self, entry: Entry) -> str | None:
        request = self.found.get(self._by_key.get((entry.dataset, entry.key or ""), ""))
        if request is None and '"request":' not in entry.body:
            return None  # most charges of a long record: their bodies need not be read
        content = entry.content
        if request is None:
            return "names a request that nobody asked" if "request" in content else None
        if request.state != APPROVED:
            return f"charges a request that is {request.state}, not approved"
        if differs := _other_fit(content, request):
            return f"charges another {differs} than was approved"
        if content["request"] != described_request(request):
            return "names another request than its key"
        self._put(replace(request, state=CHARGED, charge=entry.seq))
        return None

    def _release(self, entry: Entry) -> str | None:
        request = self.found.get(self._by_entry.get(entry.about or 0, ""))
        if request is not None and request.charge == entry.about:
            self._put(replace(request, state=RELEASED))
            self._by_entry[entry.seq] = request.id
        return None

    def _withdraw(self, entry: Entry) -> str | None:
        """What is wrong with a withdrawal is seen where all releases are, asked for or not."""
        request = self.found.get(self._by_entry.get(entry.about or 0, ""))
        if request is not None and request.state == RELEASED:
            said = {"withdrawn_by": entry.content["by"], "withdrawn_why": entry.content["reason"]}
            self._put(replace(request, withdrawn_at=entry.time, **said))
        return None

    def _put(self, request: FitRequest) -> None:
        self.found[request.id] = request
        for number in (request.entry, request.charge):
            if number is not None:
                self._by_entry[number] = request.id


def described_request(request: FitRequest) -> dict[str, Any]:
    """What a charge records of its request."""
    return {
        "id": request.id,
        "version": request.version,
        "asked_by": request.asked_by,
        "approved_by": request.approved_by,
        "solo": request.solo,
        "approval": request.approval,
        "binding": request.binding,
    }


def _other_fit(content: Mapping[str, Any], request: FitRequest) -> str:
    """In what a recorded charge differs from its request; empty if in nothing."""
    return name_difference(
        request, digest_plan(content["plan"]), content.get("schema"), content["question"]
    )


def name_difference(
    request: FitRequest, plan_digest: str, schema: Mapping[str, Any] | None, question: str
) -> str:
    """The first thing in which a fit differs from what was asked; empty if in nothing."""
    if plan_digest != request.plan_digest:
        return "plan"
    if (None if schema is None else schema["digest"]) != request.schema_digest:
        return "schema"
    if request.question and question != request.question:
        return "question"
    return ""
