"""What a ledger holds: entries that are only ever added, and one account for each dataset."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from veilspan.ledger.errors import TamperError
from veilspan.ledger.filters import ACCOUNTING, MOST_RULES
from veilspan.ledger.names import check_name, check_unit, to_nfc
from veilspan.privacy.budget import Budget
from veilspan.privacy.neighbors import Neighbors, check_neighbors

#: Kinds of entries: the ledger's birth, a dataset's terms, a charge, and the release after it.
OPENED, DATASET, CHARGE, RELEASE = "ledger", "dataset", "charge", "release"
#: And what people say to each other about charges: by which schema, may I, yes, no.
SCHEMA_NOTED, REQUEST, APPROVAL, REFUSAL = "schema", "request", "approval", "refusal"
#: A release that is not to be used any more; what it cost stays spent.
WITHDRAWAL = "withdrawal"
#: The unit of a table without a schema: every row is another person.
ROW = "row"


@dataclass(frozen=True)
class Entry:
    """One line of the ledger. Lines are ordered by ``seq``; times are what the clock said.

    Attributes
    ----------
    seq : int
        1, 2, 3, ...
    dataset : str
        Whose account; empty for the first line.
    kind : str
        What it says: ledger, dataset, charge, release, schema, request, approval, refusal or
        withdrawal.
    time : str
        When, by the clock of the machine that wrote it.
    key : str or None
        The idempotency key of a charge, and of a request for one.
    about : int or None
        For a release, the line of its charge; for an approval or a refusal, that of the request;
        for an edited request, that of the version before; for a withdrawal, that of the release.
    body : str
        The rest, as JSON with sorted keys.
    mac : str
        Keyed digest of this line and of all before it (:mod:`veilspan.ledger.seal.chain`).
    """

    seq: int
    dataset: str
    kind: str
    time: str
    key: str | None
    about: int | None
    body: str
    mac: str = ""

    @property
    def content(self) -> dict[str, Any]:
        """The body, read; ``TamperError`` if it is not what is ever written."""
        try:
            content = json.loads(self.body)
        except (ValueError, TypeError, RecursionError):
            content = None
        if not isinstance(content, dict):
            raise TamperError(f"entry {self.seq} of the ledger cannot be read.")
        return content


@dataclass(frozen=True)
class Account:
    """Integer units allowed and spent under each rule of :mod:`veilspan.ledger.filters`."""

    dataset: str
    allowed: tuple[int, ...]
    spent: tuple[int, ...]

    def __post_init__(self) -> None:
        if not len(self.allowed) == len(self.spent) == MOST_RULES:
            raise ValueError(f"an account has {MOST_RULES} rules.")


@dataclass(frozen=True)
class Terms:
    """What may be spent on a dataset, and how it is counted; fixed when the dataset is made.

    Attributes
    ----------
    name : str
        Of the account.
    epsilon, delta : float
        What all releases together may spend.
    neighbors : {"replace-one", "add-remove"}
        The relation that every fit must promise.
    accounting : {"auto", "gdp", "rdp"}
        How fits are added up.
    test : bool
        Whether it takes fits that are not private.
    unit : str or None
        Whom every fit must protect: ``"row"``, ``"patient"``, ... None in an account that was
        opened before units were recorded.
    data : str or None
        The dataset that schemas must be of; by default the account's name. None like ``unit``.
    approval : bool
        Whether every charge needs a request that was approved.
    """

    name: str
    epsilon: float
    delta: float
    neighbors: Neighbors = "replace-one"
    accounting: str = "auto"
    test: bool = False
    unit: str | None = ROW
    data: str | None = None
    approval: bool = False

    def __post_init__(self) -> None:
        check_name(self.name, "the name of a dataset")
        if self.unit is not None:
            data = self.name if self.data is None else self.data
            object.__setattr__(self, "unit", check_unit(self.unit))
            object.__setattr__(self, "data", check_name(data, "the name of the data"))
        if not Budget(self.epsilon, self.delta).is_private:
            raise ValueError(
                "the budget of a dataset must be finite: give an epsilon that is not inf."
            )
        check_neighbors(self.neighbors)
        if self.accounting not in ACCOUNTING:
            known = ", ".join(ACCOUNTING)
            raise ValueError(f"accounting must be one of {known}; got {self.accounting!r}.")
        if not isinstance(self.test, bool):
            raise TypeError(f"test must be True or False; got {self.test!r}.")
        if not isinstance(self.approval, bool):
            raise TypeError(f"approval must be True or False; got {self.approval!r}.")

    def describe(self) -> str:
        """Say the terms in a few words, for messages and tables."""
        kind = ", for tests" if self.test else ""
        approval = ", by approval only" if self.approval else ""
        unit = "" if self.unit is None else f", unit {self.unit}"
        data = "" if self.data in (None, to_nfc(self.name)) else f" of {self.data!r}"
        return (
            f"epsilon = {self.epsilon:g}, delta = {self.delta:g}, {self.neighbors}, "
            f"accounting {self.accounting}{unit}{data}{kind}{approval}"
        )


def as_json(content: Any) -> str:
    """JSON in one spelling: sorted keys, no spaces, no NaN."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def now() -> str:
    """Return the time of this machine's clock in UTC, as ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
