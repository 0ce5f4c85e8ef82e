"""From format 1 to today's: by the first write, whole or not at all, and nothing else changes."""

import contextlib
import os
import shutil
import sqlite3
import tempfile

import pytest

from ledger.earlier import DELTA, EPSILON, NAME, as_format_1, make_earlier_ledger, read_format
from ledger.test_crashes import tell
from ledger.test_races import N_PROCESSES, race
from ledger.test_storage import let_go, run_script
from ledger.workers import request
from veilspan.ledger import Ledger
from veilspan.ledger.errors import LedgerError
from veilspan.ledger.stores import sqlite
from veilspan.ledger.stores.base import KINDS, SCHEMA, open_store


@pytest.fixture
def earlier(store_url, tmp_path):
    return make_earlier_ledger(store_url, tmp_path / "ledger.key")


def test_reading_leaves_an_earlier_ledger_as_it_is(earlier, store_url):
    handle = earlier.dataset(NAME)
    assert earlier.datasets() == [NAME]
    assert [handle.spent().charges, handle.spent().released] == [2, 1]
    assert handle.left() > 0
    assert len(earlier.history()) == 5
    assert earlier.verify()
    assert earlier.dataset(NAME, EPSILON, DELTA, accounting="gdp") == handle  # as it was opened
    assert read_format(store_url) == 1
    with as_format_1():  # whoever has the earlier version goes on with it
        assert handle.charge(request()).entry == 6


def test_the_first_charge_migrates_and_changes_no_entry(earlier, store_url):
    before = earlier.history()
    handle = earlier.dataset(NAME)
    head = earlier.head()
    assert handle.charge(request()).entry == 6
    assert read_format(store_url) == SCHEMA
    assert earlier.history()[:5] == before
    assert earlier.verify(head)
    assert handle.with_key("figure-1").charge(request()).stored == {"answer_": 42}
    assert handle.spent().charges == 3


def test_an_earlier_version_refuses_what_was_migrated(earlier):
    handle = earlier.dataset(NAME)
    earlier.upgrade()
    with as_format_1():
        for ask in (earlier.datasets, lambda: handle.charge(request()), earlier.verify):
            with pytest.raises(LedgerError, match=r"later version \(format 4; this one reads 1\)"):
                ask()
    assert handle.spent().charges == 2


def test_an_upgrade_is_done_once_and_writes_no_entry(earlier, store_url, tmp_path):
    head = earlier.head()
    for _ in range(2):
        earlier.upgrade()
        assert read_format(store_url) == SCHEMA
        assert earlier.head() == head
    with pytest.raises(LedgerError, match="there is no ledger"):
        Ledger(tmp_path / "none.db", tmp_path / "ledger.key").upgrade()
    assert not (tmp_path / "none.db").exists()


def append(store_url, **fields):
    """Add an entry by SQL alone, in a transaction that is undone."""
    values = {"seq": 99, "dataset": "d", "kind": "charge", "time": "", "body": "{}", "mac": ""}
    values |= fields
    columns, holes = ", ".join(values), ", ".join("?" * len(values))

    with contextlib.suppress(KeyboardInterrupt), open_store(store_url).writing() as book:
        book.execute(f"INSERT INTO entries ({columns}) VALUES ({holes})", tuple(values.values()))
        raise KeyboardInterrupt


@pytest.mark.parametrize("made", ["anew", "by migration"])
def test_the_tables_hold_what_they_should(store_url, tmp_path, made):
    if made == "anew":
        Ledger(store_url, tmp_path / "ledger.key").dataset(NAME, EPSILON, DELTA)
    else:
        make_earlier_ledger(store_url, tmp_path / "ledger.key").upgrade()
    for kind in KINDS:
        append(store_url, kind=kind)
    refused = [
        {"kind": "gift"},
        {"seq": 1},
        {"about": 77},
        {"kind": "dataset", "dataset": NAME},
    ]
    for fields in refused:
        with pytest.raises(LedgerError, match="failed"):
            append(store_url, **fields)
    for statement in ("UPDATE entries SET body = '{}'", "DELETE FROM entries"):
        with (
            pytest.raises(LedgerError, match="only ever added"),
            open_store(store_url).writing() as book,
        ):
            book.execute(statement)


def test_a_migrated_file_has_the_tables_of_a_new_one(tmp_path):
    def tables(path):
        let_go()
        with sqlite3.connect(path) as connection:
            found = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
            sound = connection.execute("PRAGMA integrity_check").fetchall()
            dangling = connection.execute("PRAGMA foreign_key_check").fetchall()
        connection.close()
        assert (sound, dangling) == ([("ok",)], [])
        return {(kind, name, (sql or "").replace('"', "")) for kind, name, sql in found}

    make_earlier_ledger(str(tmp_path / "old.db"), tmp_path / "old.key").upgrade()
    Ledger(tmp_path / "new.db", tmp_path / "new.key").dataset(NAME, EPSILON, DELTA)
    assert tables(tmp_path / "old.db") == tables(tmp_path / "new.db")


@pytest.mark.slow
def test_processes_that_migrate_at_once(earlier, store_url, tmp_path):
    entries = race("charge_trial", store_url, tmp_path / "ledger.key", [3] * N_PROCESSES)
    assert sorted(e for each in entries for e in each) == list(range(6, 6 + 3 * N_PROCESSES))
    assert read_format(store_url) == SCHEMA
    assert earlier.verify()


@pytest.mark.slow
def test_a_migration_that_is_killed_at_any_step(store_url, tmp_path):
    told = tell("migrate", store_url, tmp_path)
    formats = [each["format"] for each in told]
    assert formats == sorted(formats)  # one commit decides
    assert set(formats) == {1, SCHEMA}
    steps = [each["step"] or "" for each in told if each["format"] == 1]
    inside = ("INSERT INTO entries_of_format_2", "DROP TABLE entries", "ALTER TABLE entries")
    assert any(step.startswith(inside) for step in steps)
    assert told[-1]["step"] is None
    for each in told:
        assert each["kept"], each
        assert each["problems"] == [], each
        assert each["again"] == each["charges"] + 1, each


def test_a_disk_that_is_too_full_to_migrate(tmp_path, monkeypatch):
    url = str(tmp_path / "budget.db")
    ledger = make_earlier_ledger(url, tmp_path / "ledger.key")
    handle = ledger.dataset(NAME)
    let_go()
    connect = sqlite._connect

    def limited(path):
        connection = connect(path)
        now = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {now}")
        return connection

    with monkeypatch.context() as full:
        full.setattr(sqlite, "_connect", limited)
        with pytest.raises(LedgerError, match="the disk is full"):
            handle.charge(request())
        assert handle.spent().charges == 2
        let_go()
    assert read_format(url) == 1
    assert ledger.verify()
    assert handle.charge(request()).entry == 6
    assert ledger.verify()


READ_ONLY = """
import os, sys
from ledger.earlier import NAME, make_earlier_ledger, read_format
from ledger.test_storage import let_go
from ledger.workers import request

folder = sys.argv[1]
ledger = make_earlier_ledger(f"{folder}/budget.db", f"{folder}/ledger.key")
let_go()
os.chmod(f"{folder}/budget.db", 0o444)
if os.geteuid() == 0:  # nothing is read-only to root: go on as somebody else
    os.chmod(folder, 0o777)
    os.chown(f"{folder}/ledger.key", 65534, -1)
    os.seteuid(65534)
handle = ledger.dataset(NAME)
assert ledger.verify() and len(ledger.history()) == 5
try:
    handle.charge(request())
except Exception as error:
    said = str(error)
print(said, handle.spent().charges, read_format(f"{folder}/budget.db"), sep="|")
"""


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_read_only_file_of_format_1_is_read():
    folder = tempfile.mkdtemp()  # not pytest's, which nobody else may enter
    try:
        text, charges, version = run_script(READ_ONLY, folder)
    finally:
        shutil.rmtree(folder)
    assert text.endswith("is read-only.")
    assert (charges, version) == ("2", "1")
