"""Withdraw a release: one sealed entry that tells everybody not to use it any more.

What a release told is told: there is no refund, and the charge stays as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from veilspan.ledger.approvals.drafts import check_words
from veilspan.ledger.errors import LedgerError, TamperError
from veilspan.ledger.names import check_name
from veilspan.ledger.records import CHARGE, RELEASE, WITHDRAWAL, Entry
from veilspan.ledger.seal.journal import Page
from veilspan.ledger.totals import withdrawals_so_far


@dataclass(frozen=True)
class Withdrawal:
    """Who withdrew a release, when and why.

    Attributes
    ----------
    entry, charge : int
        Numbers of the entry that says so, and of the charge of the release.
    by, at, reason : str
        The person, the time by the clock of that machine, and their words.
    """

    entry: int
    charge: int
    by: str
    at: str
    reason: str

    def describe(self) -> str:
        """Say it to whoever holds a copy, in one sentence."""
        return say_withdrawn(self.by, self.at, self.reason)


def say_withdrawn(by: str, at: str, reason: str) -> str:
    """By whom, when and why a release was withdrawn, for its readers."""
    why = " ".join(reason.split())
    end = "" if why.endswith((".", "!", "?")) else "."
    return (
        f"Withdrawn by {by}, {at[:10]}: {why}{end} Do not use it any more. What it cost stays "
        "spent."
    )


def find_withdrawal(page: Page, dataset: str, charge: int) -> Withdrawal | None:
    """The withdrawal of the release after a charge, its seal checked; None if nobody withdrew."""
    release = page.book.release_of(charge)
    found = None if release is None else page.book.withdrawal_of(release.seq)
    if found is None:
        return None
    content = page.genuine(found).content  # before its dataset is believed
    if found.dataset != dataset:
        return None
    try:
        said = {name: str(content[name]) for name in ("by", "reason")}
    except KeyError:
        raise TamperError(f"entry {found.seq} of the ledger cannot be read.") from None
    return Withdrawal(found.seq, charge, at=found.time, **said)


def withdraw(page: Page, dataset: str, charge: int, by: str, reason: str) -> Withdrawal:
    """Write a withdrawal; a release that was withdrawn stays so, by whoever came first."""
    content = {"by": check_name(by, "a person's name"), "reason": check_words(reason, "a reason")}
    if not content["reason"]:
        raise ValueError("a withdrawal says why: give a reason.")
    charged = page.book.entry(charge)
    if charged is None or (charged.kind, charged.dataset) != (CHARGE, dataset):
        raise LedgerError(f"entry {charge} is not a charge to {dataset!r}: see the history.")
    release = page.book.release_of(page.genuine(charged).seq)
    if release is None:
        raise LedgerError(
            f"entry {charge} was charged and never recorded as released: there is nothing to "
            "withdraw, and what was charged stays spent."
        )
    found = find_withdrawal(page, dataset, charge)
    if found is not None:
        return found
    told = {**content, "withdrawn": withdrawals_so_far(page, dataset) + 1}
    entry = page.append(WITHDRAWAL, dataset, told, about=page.genuine(release).seq)
    return Withdrawal(entry.seq, charge, at=entry.time, **content)


def check_withdrawals(entries: Iterable[Entry]) -> list[str]:
    """What is wrong with the withdrawals of a whole ledger, one sentence an entry."""
    problems: list[str] = []
    released: dict[int, str] = {}
    withdrawn: set[int] = set()
    counts: Counter[str] = Counter()
    for entry in entries:
        if entry.kind == RELEASE:
            released[entry.seq] = entry.dataset
        if entry.kind != WITHDRAWAL:
            continue
        counts[entry.dataset] += 1
        about = entry.about or 0
        try:
            content = entry.content
            told = content["withdrawn"], str(content["by"]), str(content["reason"])
        except (TamperError, KeyError):
            told = None
        if told is None:
            problems.append(f"entry {entry.seq} cannot be read.")
        elif released.get(about) != entry.dataset:
            problems.append(f"entry {entry.seq} withdraws what was not released before.")
        elif about in withdrawn:
            problems.append(f"entry {entry.seq} withdraws a release that was withdrawn.")
        elif told[0] != counts[entry.dataset]:
            problems.append(f"entry {entry.seq} does not count right.")
        withdrawn.add(about)
    return problems
