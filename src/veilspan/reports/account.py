"""What a dataset's account says about a release: spent, this release, the others by name, left.

It is read once and kept as plain texts and shares, so that a page can be drawn again from its own
record when the account has long moved on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, fields, replace
from typing import Any

from veilspan.ledger.approvals.withdrawals import find_withdrawal
from veilspan.ledger.dataset import Dataset
from veilspan.ledger.errors import LedgerError
from veilspan.ledger.records import CHARGE, RELEASE, Entry
from veilspan.ledger.spending import Spending
from veilspan.ledger.terms import read_dataset, spending_on
from veilspan.ledger.words import sentences
from veilspan.ledger.words.shares import write_shares, write_used
from veilspan.privacy.plan import Plan
from veilspan.privacy.statement import PrivacyStatement
from veilspan.reports.numbers import count, equals

#: Charges that a page lists, the last ones; those before are one line.
MOST_LISTED = 5
#: Keys that ``veilspan fit`` and the studio make by themselves: they tell a reader nothing.
_MADE_KEY = re.compile(r"fit-[0-9a-f]{32}|[0-9A-HJKMNP-TV-Z]{26}")


@dataclass(frozen=True)
class ListedRelease:
    """One charge of the account, or several earlier ones together.

    Attributes
    ----------
    entry : str
        Its number in the ledger.
    day : str
        When it was charged, by the clock of that machine.
    name : str
        Its key, where somebody chose one, and what was fitted.
    cost : str
        Epsilon and delta as asked, or empty.
    share : str
        Its part of the budget, in percent.
    this : bool
        Whether it is the release that the page is about.
    """

    entry: str
    day: str
    name: str
    cost: str
    share: str
    this: bool


@dataclass(frozen=True)
class AccountRecord:
    """The account as it stood when the page was written. The three shares sum to 1.

    Attributes
    ----------
    name, budget : str
        Of the dataset, and its terms in words.
    others, this, left : float
        Spent by other releases, by this one, and left.
    told : tuple of str
        The same three in percent, rounded such that they add up.
    used_and_left, charges, fits, counted : str
        The words of the ledger.
    charged_here : bool
        Whether the account holds the charge of this release.
    head : str
        Number and digest of the ledger's last entry.
    releases : tuple of ListedRelease
        The last charges in order.
    withdrawn : str
        Who withdrew this release, when and why, in a sentence; empty if nobody did.
    """

    name: str
    budget: str
    others: float
    this: float
    left: float
    told: tuple[str, str, str]
    used_and_left: str
    charges: str
    fits: str
    counted: str
    charged_here: bool
    head: str
    releases: tuple[ListedRelease, ...]
    withdrawn: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, JSON-ready; :func:`account_from` reads them.

        Of a release that nobody withdrew nothing is said, as before there were withdrawals.
        """
        found = {**asdict(self), "told": list(self.told), "releases": _as_rows(self.releases)}
        return found if self.withdrawn else {k: v for k, v in found.items() if k != "withdrawn"}


def account_from(record: Any) -> AccountRecord:
    """Rebuild what :meth:`AccountRecord.to_dict` wrote; a ValueError for any other form."""
    try:
        told = tuple(str(text) for text in record["told"])
        lines = tuple(ListedRelease(**row) for row in record["releases"])
        shares = {name: float(record[name]) for name in ("others", "this", "left")}
        kept = {"withdrawn": "", **record}
        kept = {name: kept[name] for name in (f.name for f in fields(AccountRecord))}
        found = AccountRecord(**{**kept, **shares, "told": told, "releases": lines})
        texts = (found.name, found.budget, found.used_and_left, found.charges, found.fits)
        texts += (
            found.counted,
            found.head,
            found.withdrawn,
            *(t for line in lines for t in astuple(line)[:-1]),
        )
        flags = (found.charged_here, *(line.this for line in lines))
        if not all(isinstance(text, str) for text in texts):
            raise TypeError
        if not all(isinstance(flag, bool) for flag in flags):
            raise TypeError
    except (KeyError, TypeError, ValueError, AttributeError):
        found = None
    if found is None or len(found.told) != 3 or found.to_dict() != record:
        raise ValueError("the record of the account is not one that a report holds.")
    return found


def read_account(
    statement: PrivacyStatement, dataset: Dataset, plan: Plan | None = None
) -> AccountRecord:
    """Read the account at one moment, and find the charge of this release in it."""
    with dataset.journal.reading() as page:
        opened = read_dataset(page, dataset.name)
        state = spending_on(page, opened)
        # Of the charges one more than is listed, and as many releases that may lie between them.
        recent = page.entries(opened.dataset, (CHARGE, RELEASE), limit=2 * MOST_LISTED + 2)
        own = _find_charge(statement, dataset, page)
        withdrawals = {
            entry.seq: find_withdrawal(page, opened.dataset, entry.seq)
            for entry in {*recent, *([] if own is None else [own])}
            if entry.kind == CHARGE
        }
        head = str(page.head)
    mine = None if own is None else withdrawals[own.seq]
    withdrawn = {number for number, found in withdrawals.items() if found is not None}
    shares = state.shares  # all by the rule with most left, so that they add up
    this = 0.0 if own is None else min(shares.of(own.content["costs"]), shares.used)
    parts = (shares.used - this, this, shares.left)
    told = (*write_used(shares, parts[:2]), write_shares([shares.used, shares.left])[1])
    return AccountRecord(
        name=state.terms.name,
        budget=state.terms.describe(),
        others=parts[0],
        this=parts[1],
        left=parts[2],
        told=(told[0], told[1], told[2]),
        used_and_left=sentences.say_used_and_left(state),
        charges=f"{count(state.charges, 'charge')} so far (of these {count(state.tests, 'test')})",
        fits=_say_what_fits(state, plan),
        counted=sentences.say_how_counted(state),
        charged_here=own is not None,
        head=head,
        releases=_list_releases(recent, state, own, withdrawn),
        withdrawn="" if mine is None else mine.describe(),
    )


def account_of(source: Any, given: Dataset | None) -> Dataset | None:
    """The dataset that was passed, else the one that the estimator charged."""
    if given is not None:
        if not isinstance(given, Dataset):
            raise TypeError(
                "ledger must be a dataset of a ledger, Ledger(...).dataset(name), or None; "
                f"got {type(given).__name__}."
            )
        return given
    own = getattr(source, "ledger", None)
    return own if isinstance(own, Dataset) else None


def read_account_if_readable(
    statement: PrivacyStatement, dataset: Dataset, plan: Plan | None, *, must: bool
) -> AccountRecord | None:
    """The account; None if the estimator's own ledger is not at hand where the report is made."""
    try:
        return read_account(statement, dataset, plan)
    except (LedgerError, OSError):
        if must:
            raise
        return None


def _say_what_fits(state: Spending, plan: Plan | None) -> str:
    if plan is not None and plan.budget.is_private:
        return sentences.say_left_for(state, plan)
    return "; ".join(sentences.list_what_fits(state)).rstrip(".")


def _find_charge(statement: PrivacyStatement, dataset: Dataset, page: Any) -> Entry | None:
    """The charge of this release; None if the account does not hold it."""
    charged = statement.ledger
    if charged is None or charged.get("dataset") != dataset.name:
        return None
    entry = page.book.entry(charged["entry"])
    if entry is None or entry.dataset != read_dataset(page, dataset.name).dataset:
        return None
    entry = page.genuine(entry)
    # The same number in another ledger has another digest.
    if entry.kind != CHARGE or f"{entry.seq}:{entry.mac}" != charged["head"]:
        return None
    return entry


def _list_releases(
    recent: list[Entry], state: Spending, own: Entry | None, withdrawn: set[int]
) -> tuple[ListedRelease, ...]:
    """The last charges, the earlier ones in a line of their own; shares add up to what is used."""
    charges = [entry for entry in recent if entry.kind == CHARGE][-MOST_LISTED:]
    if not charges:
        return ()
    if own is not None and own.seq < charges[0].seq:
        charges[0] = own
    released = {entry.about for entry in recent if entry.kind == RELEASE}
    shares = state.shares
    parts = [min(shares.of(entry.content["costs"]), 1.0) for entry in charges]
    earlier = state.charges - len(charges)
    if earlier > 0:
        parts.insert(0, max(shares.used - sum(parts), 0.0))
    told = write_used(shares, parts)
    lines = []
    if earlier > 0:
        name = f"{count(earlier, 'other release', 'other releases')}, before these"
        lines.append(ListedRelease("", "", name, "", told.pop(0), False))
    for entry, share in zip(charges, told):
        this = own is not None and entry.seq == own.seq
        line = _list_one(entry, share, this, entry.seq in released)
        if entry.seq in withdrawn:
            line = replace(line, name=f"{line.name}, withdrawn")
        lines.append(line)
    return tuple(lines)


def _list_one(entry: Entry, share: str, this: bool, released: bool) -> ListedRelease:
    content: Mapping[str, Any] = entry.content
    name = str(content["method"])
    if entry.key and not _MADE_KEY.fullmatch(entry.key):
        name = f"{entry.key}: {name}"
    if content["test"]:
        name += ", a test"
    elif not released and not this:
        name += ", charged and not recorded as released"
    cost = f"{equals('ε', float(content['epsilon']))}, {equals('δ', content['delta'])}"
    return ListedRelease(str(entry.seq), entry.time[:10], name, cost, share, this)


def _as_rows(releases: tuple[ListedRelease, ...]) -> list[dict[str, Any]]:
    return [asdict(line) for line in releases]
