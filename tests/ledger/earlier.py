"""Ledgers as they were before units were recorded: format 1, made where a test wants one."""

import sqlite3
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from ledger.workers import request
from veilspan.ledger import Ledger
from veilspan.ledger.filters import rules_for, rules_to_list
from veilspan.ledger.records import DATASET
from veilspan.ledger.stores import postgres, sqlite
from veilspan.ledger.stores.base import REQUEST_INDICES, WITHDRAWAL_INDICES, list_kinds

KINDS = "'ledger', 'dataset', 'charge', 'release'"
NAME, EPSILON, DELTA = "trial", 60.0, 1e-6


@contextmanager
def as_format_1():
    """Let both stores make, read and write the tables of format 1, and refuse later ones."""
    tables = {
        sqlite: sqlite.TABLES.replace(list_kinds(), KINDS),
        postgres: tuple(
            each.replace(list_kinds(), KINDS)
            for each in postgres.TABLES
            if each not in REQUEST_INDICES + WITHDRAWAL_INDICES
        ),
    }
    for index in REQUEST_INDICES + WITHDRAWAL_INDICES:
        tables[sqlite] = tables[sqlite].replace(f"{index};\n", "")
    with ExitStack() as stack:
        for store, statements in tables.items():
            assert statements != store.TABLES
            stack.enter_context(patch.object(store, "SCHEMA", 1))
            stack.enter_context(patch.object(store, "TABLES", statements))
        yield


def make_earlier_ledger(url, key_file):
    """A ledger of format 1 with an account without a unit, a stored release and a broken-off fit.

    Returns the ledger. The stored release is ``{"answer_": 42}``, under the key ``figure-1``.
    """
    ledger = Ledger(url, key_file)
    rules = rules_for(EPSILON, DELTA, "gdp")
    allowed = [rule.allowance(EPSILON) for rule in rules]
    terms = {
        "name": NAME,
        "epsilon": EPSILON,
        "delta": DELTA,
        "neighbors": "replace-one",
        "accounting": "gdp",
        "test": False,
    }
    with as_format_1():
        with ledger.journal.writing() as page:
            content = {"terms": terms, "rules": rules_to_list(rules), "allowed": allowed}
            page.append(DATASET, NAME, content)
            page.book.open_account(NAME, allowed)
        handle = ledger.dataset(NAME)
        handle.with_key("figure-1").charge(request()).release({}, {"answer_": 42})
        handle.charge(request())
    return ledger


def read_format(url):
    """The format that the tables say they have."""
    if "://" in url:
        import psycopg

        with psycopg.connect(url) as connection:
            return connection.execute("SELECT version FROM veilspan_ledger.format").fetchone()[0]
    connection = sqlite3.connect(url)
    try:
        return connection.execute("PRAGMA user_version").fetchone()[0]
    finally:
        connection.close()
