"""Disks and files that are not as they should be: one sentence, nothing lost."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import pytest

from ledger.workers import request
from veilspan.ledger import Ledger
from veilspan.ledger.errors import LedgerError, TamperError
from veilspan.ledger.stores import sqlite

N_CHARGES = 12


def let_go():
    """Close the connections that wait for the next transaction: the log goes into the file."""
    for _, connection in (pair for waiting in sqlite._IDLE.values() for pair in waiting):
        connection.close()
    sqlite._IDLE.clear()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.db"


@pytest.fixture
def key_file(tmp_path):
    return tmp_path / "keys" / "ledger.key"


@pytest.fixture
def ledger(path, key_file):
    """A ledger with one dataset and some charges, all of it in its file (no log beside it)."""
    ledger = Ledger(path, key_file)
    handle = ledger.dataset("trial", 20, 1e-6)
    for number in range(N_CHARGES):
        handle.with_key(f"fit-{number}").charge(request())
    let_go()
    assert not os.path.exists(f"{path}-wal")
    return ledger


# The disk is full.


@pytest.fixture
def little_room(monkeypatch):
    """Let the file of new connections grow by at most this many pages."""
    connect = sqlite._connect
    pages = {"more": 0}

    def limited(path):
        connection = connect(path)
        now = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {now + pages['more']}")
        return connection

    monkeypatch.setattr(sqlite, "_connect", limited)
    yield pages
    let_go()


def charge_until(text, handle):
    """Charge until an error says this; how many charges went through."""
    for granted in range(100):
        try:
            handle.charge(request())
        except LedgerError as error:
            if text not in str(error):
                raise
            return granted
    raise AssertionError("no error")


def test_a_full_disk_refuses_and_loses_nothing(ledger, little_room):
    handle = ledger.dataset("trial")
    before = handle.spent()
    granted = charge_until("the disk is full", handle)
    after = handle.spent()
    assert after.charges == before.charges + granted
    assert ledger.verify()
    little_room["more"] = 100
    let_go()
    assert handle.charge(request()).entry == after.charges + 3
    assert ledger.verify()


LIMITED_FILES = """
import resource, signal, sys
from ledger.workers import request
from veilspan.ledger import Ledger

handle = Ledger(sys.argv[1], sys.argv[2]).dataset("trial")
handle.spent()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writes fail instead
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
for number in range(100):
    try:
        handle.charge(request())
    except Exception as error:
        print(number, type(error).__name__, str(error), sep="|")
        break
"""


def run_script(script, *arguments):
    result = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"},
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip().split("|")


def test_a_log_that_cannot_grow_refuses_and_loses_nothing(ledger, path, key_file):
    """Here the system itself refuses to write, in the middle of the write-ahead log."""
    pytest.importorskip("resource")
    granted, kind, text = run_script(LIMITED_FILES, path, key_file)
    assert kind == "LedgerError"
    assert text.endswith(("the disk is full.", "the disk reports an error."))
    assert ledger.dataset("trial").spent().charges == N_CHARGES + int(granted)
    assert ledger.verify()
    ledger.dataset("trial").charge(request())


# The file cannot be written or read.


READ_ONLY = """
import os, sys
from ledger.workers import request
from veilspan.ledger import Ledger

folder = sys.argv[1]
handle = Ledger(f"{folder}/budget.db", f"{folder}/ledger.key").dataset("trial", 3, 1e-6)
handle.charge(request())
handle.spent()
from veilspan.ledger.stores import sqlite
for waiting in sqlite._IDLE.values():
    for _, connection in waiting:
        connection.close()
sqlite._IDLE.clear()
os.chmod(f"{folder}/budget.db", 0o444)
if os.geteuid() == 0:  # nothing is read-only to root: go on as somebody else
    os.chmod(folder, 0o777)
    os.chown(f"{folder}/ledger.key", 65534, -1)
    os.seteuid(65534)
try:
    handle.charge(request())
except Exception as error:
    print(type(error).__name__, str(error), handle.spent().charges, sep="|")
"""


def test_a_read_only_file():
    folder = tempfile.mkdtemp()  # not pytest's, which nobody else may enter
    try:
        kind, text, charges = run_script(READ_ONLY, folder)
    finally:
        shutil.rmtree(folder)
    assert kind == "LedgerError"
    assert text.endswith("is read-only.")
    assert charges == "1"


def test_a_file_that_was_only_just_made_is_no_ledger_yet(path, key_file):
    """Somebody else is about to write the tables, or was killed before."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    assert path.stat().st_size > 0
    ledger = Ledger(path, key_file)
    ledger.dataset("trial", 3, 1e-6)
    assert ledger.datasets() == ["trial"]


def test_a_folder_that_is_not_there(tmp_path, key_file):
    with pytest.raises(LedgerError, match=r"the folder of .* does not exist"):
        Ledger(tmp_path / "no" / "budget.db", key_file).dataset("trial", 3, 1e-6)


def test_a_folder_in_place_of_the_file(tmp_path, key_file):
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger(tmp_path, key_file).dataset("trial", 3, 1e-6)


# The file is not what it was.


def test_not_a_database(path, key_file):
    path.write_text("minutes of the meeting\n" * 1000)
    with pytest.raises(LedgerError, match="is not a SQLite database"):
        Ledger(path, key_file).dataset("trial", 3, 1e-6)
    assert path.read_text() == "minutes of the meeting\n" * 1000


def test_the_database_of_something_else_is_left_alone(path, key_file):
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE patients (name TEXT)")
    other.close()
    ledger = Ledger(path, key_file)
    with pytest.raises(LedgerError, match="database of something else"):
        ledger.datasets()
    with pytest.raises(LedgerError, match="database of something else"):
        ledger.dataset("trial", 3, 1e-6)
    with sqlite3.connect(path) as other:
        tables = other.execute("SELECT name FROM sqlite_master").fetchall()
    other.close()
    assert tables == [("patients",)]


def test_every_page_in_turn_overwritten(ledger, path, key_file):
    """Damage is refused or found, and never lets more be spent than there is."""
    whole = path.read_bytes()
    size = 4096
    found = 0
    for page in range(len(whole) // size):
        damaged = whole[: page * size] + b"\xa5" * size + whole[(page + 1) * size :]
        let_go()
        path.write_bytes(damaged)
        try:
            receipt = ledger.dataset("trial").charge(request())
            report = ledger.verify()
        except LedgerError:
            found += 1
        else:
            # Not on the way of a charge; then it was counted as usual, or the check finds it.
            assert not report or receipt.entry == N_CHARGES + 3
            found += not report
        for log in path.parent.glob("budget.db-*"):
            log.unlink()
        for memory in (*key_file.parent.glob("*.head"), *key_file.parent.glob("*.place")):
            memory.unlink()  # what the damaged file went on to say
    assert found > len(whole) // size // 2  # the rest are indices that this charge does not read
    let_go()
    path.write_bytes(whole)
    assert ledger.verify()


def test_half_a_file(ledger, path):
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(LedgerError):
        ledger.dataset("trial").charge(request())
    path.write_bytes(whole)
    assert ledger.verify()


def test_a_lost_log_is_an_old_copy(path, key_file):
    """Charges that stood in the write-ahead log only: a copy of the file alone lacks them."""
    ledger = Ledger(path, key_file)
    handle = ledger.dataset("trial", 3, 1e-6)
    let_go()
    old = path.read_bytes()
    handle.charge(request())
    let_go()
    path.write_bytes(old)
    with pytest.raises(TamperError, match="an old copy"):
        handle.charge(request())
    assert not ledger.verify()


def test_an_empty_ledger_in_place_of_a_full_one(ledger, path):
    path.unlink()
    with pytest.raises(TamperError, match="its entries are gone"):
        ledger.dataset("trial", 20, 1e-6)
