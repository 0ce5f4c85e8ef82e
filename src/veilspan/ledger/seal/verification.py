"""Check a whole ledger: seals, order, sums, and its end against heads seen before."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from veilspan.ledger.approvals.requests import Register
from veilspan.ledger.approvals.withdrawals import check_withdrawals
from veilspan.ledger.errors import TamperError
from veilspan.ledger.filters import CAP, MOST_RULES, rules_from_list
from veilspan.ledger.records import CHARGE, DATASET, RELEASE, Entry
from veilspan.ledger.releases import digest_of
from veilspan.ledger.seal import keys
from veilspan.ledger.seal.chain import FIRST, Head, is_sealed
from veilspan.ledger.seal.journal import Journal
from veilspan.ledger.stores.base import Book

# Running counts that entries carry, unless they are older than these.
_COUNTED = {CHARGE: ("charges", "tests"), RELEASE: ("released",)}
_NO_ANCHOR = (
    "no anchor: {} remembers no earlier head of this ledger, so that only a head noted elsewhere "
    "tells whether entries were cut off at its end."
)


@dataclass(frozen=True)
class LedgerReport:
    """Outcome of a check; true if nothing was found.

    Attributes
    ----------
    entries : int
        How many entries there are.
    problems : tuple of str
        What is wrong, one sentence each.
    head : Head or None
        Of the chain as it stands.
    notes : tuple of str
        What could not be checked: "no anchor" if no earlier head is remembered here, so that
        entries cut off at the end would go unseen unless a head was given.
    """

    entries: int
    problems: tuple[str, ...]
    head: Head | None
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return not self.problems


def verify_ledger(journal: Journal, head: Head | None = None) -> LedgerReport:
    """Read the whole ledger, check everything that can be checked, and list what is wrong."""
    key = keys.read_key(journal.key_file)
    # Read before the entries: a charge that comes in between makes the ledger longer than the head.
    seen, damaged = _seen(journal)
    with journal.looking() as book:
        entries = list(book.entries())
        problems = [*_chain(entries, key), *_sums(book, entries), *_payloads(book, entries)]
        problems += [*Register().follow(entries).problems, *_approvals(entries)]
        problems += check_withdrawals(entries)
    last = Head(entries[-1].seq, entries[-1].mac) if entries else None
    problems += [*damaged, *_anchors(entries, head, seen)]
    notes = () if seen is not None or damaged else (_NO_ANCHOR.format(journal.key_file.parent),)
    return LedgerReport(len(entries), tuple(problems), last, notes)


def _seen(journal: Journal) -> tuple[Head | None, list[str]]:
    """The last head seen from here, or what is wrong with the file that should hold it."""
    try:
        return journal.seen(), []
    except TamperError as damaged:
        return None, [str(damaged)]


def _chain(entries: list[Entry], key: bytes) -> list[str]:
    problems: list[str] = []
    previous = FIRST
    for place, entry in enumerate(entries, start=1):
        if entry.seq != place:
            # No later seal can be checked without this one, so one sentence is enough.
            return [*problems, f"entry {place} is missing."]
        if not is_sealed(entry, previous, key):
            problems.append(f"entry {entry.seq} is not what was written, or the key is another.")
        previous = entry.mac
    return problems


def _sums(book: Book, entries: list[Entry]) -> list[str]:
    """Accounts against the entries: allowances from the terms, spending from the charges."""
    problems = []
    allowed: dict[str, tuple[int, ...]] = {}
    spent: dict[str, list[int]] = {}
    units: dict[str, str | None] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for entry in entries:
        try:
            content = _content(entry)
            if content is None:
                problems.append(f"entry {entry.seq} cannot be read.")
            elif entry.kind == DATASET:
                rules = rules_from_list(content["rules"])
                epsilon = content["terms"]["epsilon"]
                allowed[entry.dataset] = tuple(content["allowed"])
                spent[entry.dataset] = [0] * MOST_RULES
                units[entry.dataset] = content["terms"].get("unit")
                # Another machine's floats may differ in the last units, never by a millionth.
                again = [rule.allowance(epsilon) for rule in rules]
                if any(
                    a > b + max(2, abs(b) // 10**6) for a, b in zip(allowed[entry.dataset], again)
                ):
                    problems.append(f"entry {entry.seq} allows more than its terms.")
            elif entry.kind == CHARGE and entry.dataset in spent:
                sums = [min(CAP, a + b) for a, b in zip(spent[entry.dataset], content["costs"])]
                spent[entry.dataset] = sums
                counts[entry.dataset, "charges"] += 1
                counts[entry.dataset, "tests"] += bool(content["test"])
                if sums != content["spent"]:
                    problems.append(f"entry {entry.seq} does not add up.")
                unit = units[entry.dataset]  # None: opened before units were recorded
                if unit is not None and content.get("unit", unit) != unit:
                    problems.append(f"entry {entry.seq} protects another unit than its account.")
            elif entry.kind == RELEASE:
                counts[entry.dataset, "released"] += 1
            counted = {name: (content or {}).get(name) for name in _COUNTED.get(entry.kind, ())}
            if any(n not in (None, counts[entry.dataset, name]) for name, n in counted.items()):
                problems.append(f"entry {entry.seq} does not count right.")
        except (KeyError, TypeError, ValueError):
            problems.append(f"entry {entry.seq} cannot be read.")
    accounts = {account.dataset: account for account in book.accounts()}
    for name in sorted(set(accounts) | set(allowed)):
        account = accounts.get(name)
        if account is None:
            problems.append(f"the account of {name!r} is gone.")
        elif name not in allowed:
            problems.append(f"the account of {name!r} has no entry.")
        elif account.allowed != allowed[name]:
            problems.append(f"the allowance of {name!r} is not what its entry says.")
        elif list(account.spent) != spent[name]:
            problems.append(f"the account of {name!r} is not the sum of its charges.")
    return problems


def _approvals(entries: list[Entry]) -> list[str]:
    """Charges without a request, to accounts that take approved fits alone."""
    by_approval: dict[str, bool] = {}
    for entry in entries:
        if entry.kind == DATASET:
            terms = (_content(entry) or {}).get("terms")
            by_approval[entry.dataset] = isinstance(terms, dict) and bool(terms.get("approval"))
    charges = [e for e in entries if e.kind == CHARGE and by_approval.get(e.dataset)]
    return [
        f"entry {entry.seq} was charged without an approved request."
        for entry in charges
        if "request" not in (_content(entry) or {})
    ]


def _content(entry: Entry) -> dict[str, Any] | None:
    try:
        return entry.content
    except TamperError:
        return None


def _payloads(book: Book, entries: list[Entry]) -> list[str]:
    problems = []
    for entry in entries:
        told = (_content(entry) or {}).get("payload") if entry.kind == RELEASE else None
        if told is None:
            continue
        payload = book.payload(entry.seq)
        if payload is None or digest_of(payload) != told:
            problems.append(f"the stored release of entry {entry.seq} was changed or lost.")
    return problems


def _anchors(entries: list[Entry], given: Head | None, seen: Head | None) -> list[str]:
    """Heads seen earlier must lie on the chain."""
    problems = []
    by_number = {entry.seq: entry for entry in entries}
    for head, where in ((given, "given"), (seen, "last seen here")):
        if head is None:
            continue
        then = by_number.get(head.count)
        if then is None:
            problems.append(
                f"the ledger was cut off: it has {len(entries)} entries, the head {where} "
                f"says {head.count}."
            )
        elif then.mac != head.mac:
            problems.append(f"entry {head.count} is not that of the head {where}.")
    return problems
