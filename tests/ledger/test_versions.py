"""Clocks that go backwards, and ledgers written by other versions."""

import sqlite3

import pytest

from ledger.workers import request
from veilspan.ledger import Ledger
from veilspan.ledger.errors import LedgerError
from veilspan.ledger.stores.base import SCHEMA

#: The format that a later version may write.
NEXT = SCHEMA + 1


def test_time_is_only_noted(store_url, tmp_path, monkeypatch):
    times = iter(f"20{year}-01-01T00:00:00.000+00:00" for year in range(40, 0, -1))
    monkeypatch.setattr("veilspan.ledger.seal.journal.now", lambda: next(times))
    ledger = Ledger(store_url, tmp_path / "ledger.key")
    handle = ledger.dataset("trial", 3, 1e-6)
    for _ in range(3):
        handle.charge(request()).release({})
    entries = ledger.history()
    assert [entry.seq for entry in entries] == list(range(1, 9))
    noted = [entry.time for entry in entries]
    assert noted == sorted(noted, reverse=True)
    assert ledger.verify()


def set_version(store_url, version):
    if "://" in store_url:
        import psycopg

        with psycopg.connect(store_url) as connection:
            connection.execute(f"UPDATE veilspan_ledger.format SET version = {version}".encode())
    else:
        connection = sqlite3.connect(store_url)
        connection.execute(f"PRAGMA user_version = {version}")
        connection.close()


def test_a_later_version_is_refused(store_url, tmp_path):
    ledger = Ledger(store_url, tmp_path / "ledger.key")
    handle = ledger.dataset("trial", 3, 1e-6)
    set_version(store_url, 99)
    for ask in (ledger.datasets, lambda: handle.charge(request()), ledger.verify):
        with pytest.raises(LedgerError, match=r"later version \(format 99; .*Update veilspan"):
            ask()
    set_version(store_url, SCHEMA)
    assert ledger.verify()
    assert handle.spent().charges == 0


@pytest.mark.parametrize("first", ["charge", "show"])
def test_an_older_version_is_migrated(store_url, tmp_path, monkeypatch, first):
    """A later version of the tables as it may come: one column more, which readers need."""
    ledger = Ledger(store_url, tmp_path / "ledger.key")
    handle = ledger.dataset("trial", 3, 1e-6)
    handle.charge(request())
    step = "ALTER TABLE accounts ADD COLUMN note TEXT"
    for module, statements in (("sqlite", f"{step};\n"), ("postgres", (step,))):
        monkeypatch.setattr(f"veilspan.ledger.stores.{module}.SCHEMA", NEXT)
        monkeypatch.setattr(f"veilspan.ledger.stores.{module}.READABLE", NEXT)
        monkeypatch.setattr(f"veilspan.ledger.stores.{module}.MIGRATIONS", {SCHEMA: statements})
    assert (handle.charge(request()).entry if first == "charge" else handle.spent().charges) > 0
    with ledger.journal.reading() as page:
        assert page.book.execute("SELECT note FROM accounts").fetchall() == [(None,)]
    assert ledger.verify()
    monkeypatch.undo()
    with pytest.raises(LedgerError, match=rf"later version \(format {NEXT}"):
        handle.charge(request())


def test_a_migration_that_fails_changes_nothing(store_url, tmp_path, monkeypatch):
    ledger = Ledger(store_url, tmp_path / "ledger.key")
    handle = ledger.dataset("trial", 3, 1e-6)
    steps = ("ALTER TABLE accounts ADD COLUMN note TEXT", "ALTER TABLE absent ADD COLUMN x TEXT")
    with monkeypatch.context() as later:
        for module, statements in (("sqlite", ";\n".join(steps) + ";\n"), ("postgres", steps)):
            later.setattr(f"veilspan.ledger.stores.{module}.SCHEMA", NEXT)
            later.setattr(f"veilspan.ledger.stores.{module}.MIGRATIONS", {SCHEMA: statements})
        with pytest.raises(LedgerError, match="failed"):
            handle.charge(request())
    assert handle.charge(request()).entry == 3
    assert ledger.verify()
