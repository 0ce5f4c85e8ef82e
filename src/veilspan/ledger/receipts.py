"""What a fit asks of its dataset, and the receipt that it gets for its charge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from veilspan.ledger.claims import Claim
from veilspan.ledger.names import check_unit
from veilspan.ledger.records import RELEASE, ROW
from veilspan.ledger.releases import digest_of, pack
from veilspan.ledger.seal.chain import Head
from veilspan.ledger.totals import releases_so_far
from veilspan.privacy.plan import Plan
from veilspan.privacy.schema_record import SchemaRecord

if TYPE_CHECKING:
    from veilspan.ledger.dataset import Dataset


@dataclass(frozen=True)
class Request:
    """What a fit asks of its dataset, before any row is read.

    Attributes
    ----------
    plan : Plan
        What it will ask and spend.
    question : str
        Digest of class, parameters and plan (:func:`veilspan.ledger.releases.question_of`).
    test : str
        Why the release will not be private (a seed, no noise, a tape); empty if it will be.
    unit : str
        Whom it protects, in one word: ``"row"``, ``"user"``, ``"patient"``.
    schema : SchemaRecord or None
        By which the table is read, if by one.
    binding : str
        Of the version of a request that it is for (``FitRequest.binding``), if that is known:
        refused if the request was edited since. Without it the plan, the schema and the question
        are compared with what was approved.
    """

    plan: Plan
    question: str = ""
    test: str = ""
    unit: str = ROW
    schema: SchemaRecord | None = None
    binding: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", check_unit(self.unit))


@dataclass(frozen=True)
class Receipt:
    """A charge that is on the disk.

    Attributes
    ----------
    dataset : Dataset
        Whose account.
    entry : int
        Number of the charge.
    head : Head
        Of the chain, with the charge as its last entry.
    test : bool
        Whether it was recorded as a test, at no cost.
    stored : mapping or None
        The release to give out again, if this was asked before under its key.
    claim : Claim or None
        Under a key: others who ask the same wait until it ends.
    request : mapping or None
        Which request it was made for, who asked and who approved.
    """

    dataset: Dataset
    entry: int
    head: Head
    test: bool = False
    stored: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    claim: Claim | None = field(default=None, repr=False, compare=False)
    request: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)

    def describe(self) -> dict[str, Any]:
        """JSON-ready: for the statement of the release."""
        described: dict[str, Any] = {"dataset": self.dataset.name, "entry": self.entry}
        described["head"] = str(self.head)
        if self.request is not None:
            told = ("id", "version", "asked_by", "approved_by", "solo")
            described["request"] = {name: self.request[name] for name in told}
        return {**described, "test": True} if self.test else described

    def release(
        self, statement: Mapping[str, Any], attributes: Mapping[str, Any] | None = None
    ) -> Head:
        """Record the release; its attributes are stored if the charge has a key."""
        keyed = self.dataset.idempotency_key is not None and attributes is not None
        payload = pack(attributes) if keyed and attributes is not None else None
        content: dict[str, Any] = {
            "statement": dict(statement),
            "payload": None if payload is None else digest_of(payload),
        }
        # Before the ledger is locked: it may have to be read for that.
        name = self.dataset.stored_name
        with self.dataset.journal.writing() as page:
            content["released"] = releases_so_far(page, name) + 1
            entry = page.append(RELEASE, name, content, about=self.entry)
            if payload is not None:
                page.book.keep(entry.seq, payload)
        if self.claim is not None:
            self.claim.end()
        return page.head
