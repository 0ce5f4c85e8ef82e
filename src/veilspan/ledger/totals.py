"""Running totals under the seal: what was spent, without adding up the past.

Every charge carries the units spent so far under each rule, how many charges and tests there were
and which rules had most left after one, itself included; every release carries how many releases
there were, every withdrawal how many of those. The last one of each kind therefore says all, in
constant time, and says it under its seal. The account beside the entries is what the database
decides by; it must agree.

The totals are exact. Units are whole numbers (:mod:`veilspan.ledger.filters`), added without
rounding and cut at ``CAP``; since costs are not negative,

    min(CAP, min(CAP, a) + b) = min(CAP, a + b),

so that after any number of charges the total is min(CAP, c_1 + ... + c_n), whatever their order.
``verify`` adds all of them up again.

Entries from before counts or leading rules were kept lack them. A ledger that ends in such entries
is counted, each entry checked, until the next charge (release) takes the count over:
nothing is rewritten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from veilspan.ledger.errors import TamperError
from veilspan.ledger.filters import MOST_RULES
from veilspan.ledger.records import CHARGE, RELEASE, WITHDRAWAL, Account, Entry
from veilspan.ledger.seal.journal import Page
from veilspan.ledger.words.shares import add_leader


@dataclass(frozen=True)
class Charges:
    """What the charges of a dataset came to so far.

    Attributes
    ----------
    spent : tuple of int
        Units under each rule.
    charges, tests : int
        How many, and how many of them were tests.
    led : tuple of int
        Places of the rules that had most left after some of them.
    last : mapping or None
        The last one's plan, as it was recorded.
    """

    spent: tuple[int, ...] = (0,) * MOST_RULES
    charges: int = 0
    tests: int = 0
    led: tuple[int, ...] = ()
    last: Mapping[str, Any] | None = None


def charges_so_far(page: Page, dataset: str) -> Charges:
    """Read the totals from the last charge of a dataset, whose seal is checked."""
    past = page.book.last_of(CHARGE, dataset)
    if past is None:
        return Charges()
    content = page.genuine(past).content
    spent = tuple(content["spent"])
    if "led" in content:
        counts = content["charges"], content["tests"], tuple(content["led"])
        return Charges(spent, *counts, content["plan"])
    past_charges = [entry.content for entry in page.entries(dataset, (CHARGE,))]
    tests = [bool(charge["test"]) for charge in past_charges]
    led: tuple[int, ...] = ()
    account = page.book.account(dataset)
    if account is not None:
        for charge in past_charges:
            led = add_leader(led, account.allowed, charge["spent"])
    return Charges(spent, len(tests), sum(tests), led, content.get("plan"))


def releases_so_far(page: Page, dataset: str) -> int:
    """Read the number of releases from the last one of a dataset, whose seal is checked."""
    past = page.book.last_of(RELEASE, dataset)
    if past is None:
        return 0
    content = page.genuine(past).content
    if "released" in content:
        return int(content["released"])
    return len(page.entries(dataset, (RELEASE,)))


def withdrawals_so_far(page: Page, dataset: str) -> int:
    """Read the number of withdrawals from the last one of a dataset, whose seal is checked."""
    past = page.book.last_of(WITHDRAWAL, dataset)
    return 0 if past is None else int(page.genuine(past).content["withdrawn"])


def read_account(page: Page, opened: Entry, so_far: Charges) -> Account:
    """Return the account if its allowance and spending agree with the sealed entries."""
    account = page.book.account(opened.dataset)
    told = (tuple(opened.content["allowed"]), so_far.spent)
    if account is None or (account.allowed, account.spent) != told:
        raise TamperError(
            f"the account of {opened.dataset!r} is not what its entries say. Nothing was charged; "
            "run verify."
        )
    return account
