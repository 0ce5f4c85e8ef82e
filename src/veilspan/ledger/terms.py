"""A dataset's terms and account, read from the journal."""

from __future__ import annotations

from veilspan.ledger.errors import LedgerError, TamperError
from veilspan.ledger.filters import Rule, rules_from_list
from veilspan.ledger.journal import Page
from veilspan.ledger.records import Terms
from veilspan.ledger.spending import Spending


def terms_and_rules(page: Page, name: str) -> tuple[Terms, tuple[Rule, ...]]:
    """Terms and rules of a dataset, from its sealed entry."""
    entry = page.book.dataset_entry(name)
    if entry is None:
        raise LedgerError(f"the ledger has no dataset {name!r}.")
    content = page.genuine(entry).content
    return Terms(**content["terms"]), rules_from_list(content["rules"])


def spending_on(page: Page, name: str) -> Spending:
    """What was spent on a dataset."""
    terms, rules = terms_and_rules(page, name)
    account = page.book.account(name)
    if account is None:
        raise TamperError(f"the account of {name!r} is gone.")
    return Spending.from_entries(terms, rules, account, page.book.entries(name))
