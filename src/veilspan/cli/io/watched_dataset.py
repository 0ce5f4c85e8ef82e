"""The account that ``veilspan fit`` charges: the same command after a crash is not charged twice.

Every fit that charges a ledger does so under an idempotency key. The key is made of what was asked
for: the kind, its parameters, the budget, the file's name, its columns, the place of the release
and, under ``--force``, which release is replaced there. It is never made of rows, so it tells
nothing about them. For the same reason it cannot see that a file has changed: whoever is given a
stored release is told so.

Once a release has reached its place, the request is over. The same command again is refused (the
place is taken), or with ``--force`` replaces another release than before, which is a new request.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from veilspan.cli.console import note
from veilspan.ledger.dataset import Dataset, Receipt, Request
from veilspan.ledger.errors import LedgerError, TamperError
from veilspan.ledger.seal.chain import Head


def name_request(facts: Mapping[str, Any]) -> str:
    """Make a name of what was asked; equal facts have equal names."""
    text = json.dumps(facts, sort_keys=True, default=repr)
    return f"fit-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


@dataclass(frozen=True)
class KeptReceipt(Receipt):
    """A charge whose release is worth more than its copy in the ledger."""

    def release(
        self, statement: Mapping[str, Any], attributes: Mapping[str, Any] | None = None
    ) -> Head:
        """Record the release; without its attributes if the ledger cannot take them.

        SQLite holds a billion bytes in one place. A release that is larger goes to its folder all
        the same: to fail now would lose what was paid for.
        """
        try:
            return super().release(statement, attributes)
        except TamperError:
            raise
        except Exception:  # of whatever database
            with self.dataset.journal.reading() as page:
                recorded = page.book.release_of(self.entry) is not None
            if attributes is None or recorded:
                raise
        note("the ledger cannot keep a copy of this release: if it is lost, it is paid for anew.")
        return super().release(statement, None)


@dataclass(frozen=True)
class WatchedDataset(Dataset):
    """An account that remembers what it charged, for the words after the fit."""

    receipts: list[Receipt] = field(default_factory=list, repr=False, compare=False)

    def charge(self, request: Request) -> Receipt:
        """Charge, or find the stored release; remember which."""
        try:
            receipt = super().charge(request)
        except TamperError:
            raise
        except LedgerError as error:
            if self.idempotency_key is None or repr(self.idempotency_key) not in str(error):
                raise
            raise LedgerError(
                f"{error} On the command line a new key is --request NAME; it is charged anew."
            ) from None
        receipt = KeptReceipt(
            **{part.name: getattr(receipt, part.name) for part in fields(Receipt)}
        )
        self.receipts.append(receipt)
        return receipt

    def keeps_release(self) -> bool:
        """Whether the ledger holds a copy of the release by now; False if it cannot be asked."""
        try:
            with self.journal.reading() as page:
                found = [page.book.release_of(receipt.entry) for receipt in self.receipts]
                return any(entry and entry.content["payload"] for entry in found)
        except Exception:  # this is asked while something else fails, which must be what is told
            return False

    @property
    def given_again(self) -> bool:
        """Whether a stored release was given out instead of a new charge."""
        return any(receipt.stored is not None for receipt in self.receipts)


def watch_dataset(dataset: Dataset, request: str) -> WatchedDataset:
    """Return the same account, to be charged under the name of one request."""
    named = dataset.with_key(request)
    return WatchedDataset(**{part.name: getattr(named, part.name) for part in fields(Dataset)})


def explain_given_again(dataset: WatchedDataset, data: str) -> str:
    """Say what it means that a stored release was given out, and how to get a new one."""
    receipt = dataset.receipts[-1]
    return (
        f"this release was made and charged before (entry {receipt.entry} of {dataset.name}): it "
        f"was given again, nothing was charged, and the rows of {data} were not looked at. If they "
        "have changed since, it is still the release of the old ones. A new release, which is "
        "charged: --request NAME."
    )
