"""Read a dataset from the journal: its terms, its rules, and what was spent on it."""

from __future__ import annotations

from veilspan.ledger.errors import LedgerError, TamperError
from veilspan.ledger.filters import Rule, rules_from_list
from veilspan.ledger.names import to_nfc
from veilspan.ledger.records import DATASET, Entry, Terms
from veilspan.ledger.seal.journal import Page
from veilspan.ledger.spending import Spending
from veilspan.ledger.stores.base import Book
from veilspan.ledger.totals import charges_so_far, read_account, releases_so_far


def find_dataset(book: Book, name: str) -> Entry | None:
    """The entry of a dataset, however its name is spelled in Unicode.

    Names are kept in the normal form NFC. Once they were kept as they were typed: an account
    under another spelling is found by every spelling, so that it stays the one account of
    its name. If there are several, the one in NFC is meant, else the oldest; the others stay in
    the record, and are not charged any more.
    """
    plain = to_nfc(name)
    exact = book.dataset_entry(plain)
    if exact is not None:
        return exact
    return next((e for e in book.dataset_entries() if to_nfc(e.dataset) == plain), None)


def read_dataset(page: Page, name: str) -> Entry:
    """Return the entry with a dataset's terms, its seal checked; ``LedgerError`` if none."""
    entry = find_dataset(page.book, name)
    if entry is None:
        raise LedgerError(
            f"the ledger has no dataset {name!r}: make it by giving its epsilon and delta."
        )
    return page.genuine(entry)


def terms_and_rules(opened: Entry) -> tuple[Terms, tuple[Rule, ...]]:
    """Read the terms and the rules from the entry of a dataset."""
    content = opened.content
    return Terms(**content["terms"]), rules_from_list(content["rules"])


def dataset_entries(page: Page) -> list[Entry]:
    """The sealed entries of all datasets by name; each must have its account."""
    entries = page.entries(None, (DATASET,))
    names = sorted(entry.dataset for entry in entries)
    if names != sorted(account.dataset for account in page.book.accounts()):
        raise TamperError("the accounts of the ledger are not those of its entries.")
    return sorted(entries, key=lambda entry: entry.dataset)


def spending_on(page: Page, opened: Entry) -> Spending:
    """What was spent on a dataset, in constant time: sealed totals that the account agrees with."""
    terms, rules = terms_and_rules(opened)
    so_far = charges_so_far(page, opened.dataset)
    return Spending(
        terms,
        rules,
        read_account(page, opened, so_far),
        so_far.charges,
        so_far.tests,
        releases_so_far(page, opened.dataset),
    )
