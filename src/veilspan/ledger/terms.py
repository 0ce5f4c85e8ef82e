"""The terms of a dataset: read from the journal, with what was spent, and what they cover.

An account adds up promises of one kind: one neighbour relation, one unit. A promise to a row is
less than one to a patient who has many rows, so that an account of patients must not count it. All
schemas of one dataset, of whatever version, share its account.
"""

from __future__ import annotations

from veilspan.ledger.errors import LedgerError, TamperError
from veilspan.ledger.filters import Rule, rules_from_list
from veilspan.ledger.names import fold_name, to_nfc
from veilspan.ledger.receipts import Request
from veilspan.ledger.records import DATASET, ROW, Entry, Terms
from veilspan.ledger.seal.journal import Page
from veilspan.ledger.spending import Spending
from veilspan.ledger.stores.base import Book
from veilspan.ledger.totals import (
    charges_so_far,
    read_account,
    releases_so_far,
    withdrawals_so_far,
)
from veilspan.privacy.schema_record import SchemaRecord

# The unit of MatrixCompletion, which protects all ratings of a user.
_USER = "user"


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
    # Terms from before units were recorded say nothing about them, which is not the default.
    terms = Terms(**{"unit": None, "data": None, **content["terms"]})
    return terms, rules_from_list(content["rules"])


def refuse_uncovered(terms: Terms, request: Request) -> None:
    """Refuse what a dataset with these terms never covers, whatever is left of its budget."""
    if request.plan.neighbors != terms.neighbors:
        raise LedgerError(
            f"the dataset {terms.name!r} is accounted under {terms.neighbors}; this fit promises "
            f"{request.plan.neighbors}, which is another promise and cannot be added to it."
        )
    refuse_other_unit(terms, request.unit, with_schema=request.schema is not None)
    if request.schema is not None:
        refuse_other_data(terms, request.schema)
    if request.test and not terms.test:
        raise LedgerError(
            f"{request.test}: such a fit is not private and is refused by the dataset "
            f"{terms.name!r}. Use random_state=None and a finite epsilon, or a dataset made with "
            "test=True."
        )


def takes_unit(terms: Terms, unit: str, *, with_schema: bool) -> bool:
    """Whether fits that protect this unit are charged to the account.

    An account from before units were recorded was charged by fits without a schema: for rows, or by
    MatrixCompletion for users. It goes on taking these, and rows that are read by a schema.
    """
    if terms.unit is None:
        return unit == ROW or (unit == _USER and not with_schema)
    return unit == terms.unit


def refuse_other_unit(terms: Terms, unit: str, *, with_schema: bool) -> None:
    """Refuse a fit that protects another unit than the account does; say both, and the way out."""
    if takes_unit(terms, unit, with_schema=with_schema):
        return
    another = f"one that is opened with unit={unit!r} (veilspan ledger create: --unit)"
    if terms.unit is None:
        raise LedgerError(
            f"the account {terms.name!r} was opened before units were recorded: its unit is the "
            f"row, and this fit protects one {unit}. Charge another account, {another}; what was "
            "spent here stays spent on the same people, so give it no more than what you would "
            "still spend on them."
        )
    said = (
        f"the account {terms.name!r} protects one {terms.unit}; this fit protects one {unit}, "
        "which is another promise and cannot be added to it."
    )
    if with_schema:
        raise LedgerError(
            f'{said} If the schema means the same people, write protects = "{terms.unit}" in its '
            f"[unit]; else charge another account, {another}."
        )
    raise LedgerError(
        f"{said} Fit with a schema whose [unit] protects {terms.unit!r}, or charge another "
        f"account, {another}."
        if terms.unit != ROW
        else f"{said} Charge another account, {another}."
    )


def refuse_other_data(terms: Terms, schema: SchemaRecord) -> None:
    """Refuse a schema that describes another dataset than the account is of."""
    if terms.data is None or fold_name(schema.name) == fold_name(terms.data):
        return
    raise LedgerError(
        f"the account {terms.name!r} is that of the dataset {terms.data!r}; this schema is of "
        f"{schema.name!r}. Charge the account of {schema.name!r}; or, if both describe the same "
        f"data, give the schema the name {terms.data!r}: one dataset has one account."
    )


def refuse_second_account(page: Page, wanted: Terms) -> None:
    """Refuse a new account for data that have one already, by however similar a name."""
    ours = {fold_name(wanted.name), fold_name(wanted.data or wanted.name)}
    for entry in page.book.dataset_entries():
        terms, _ = terms_and_rules(entry)
        theirs = {fold_name(terms.name), fold_name(terms.data or terms.name)}
        if ours & theirs:
            raise LedgerError(
                f"the ledger has the account {terms.name!r} of the dataset "
                f"{terms.data or terms.name!r} already: one dataset has one account, or its people "
                "would be counted apart. Names that differ in case, width of letters or spaces "
                "are the same. Open that account, or choose another name if the people are others."
            )


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
        so_far.led,
        so_far.last,
        withdrawals_so_far(page, opened.dataset),
    )
