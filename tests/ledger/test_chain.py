"""Tampering is found: edits, deletions, insertions, truncation, exchanged files and keys."""

import json
import os
import shutil
import sqlite3
import stat
from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.requests import request
from veilspan.ledger import Head, Ledger, LedgerError, TamperError
from veilspan.ledger.records import Entry
from veilspan.ledger.seal.chain import FIRST, digest, is_sealed, seal
from veilspan.ledger.seal.keys import VARIABLE, key_path, read_or_make_key

KEY = bytes(range(32))
texts = st.text(max_size=20)
entries = st.builds(
    Entry,
    seq=st.integers(1, 10**9),
    dataset=texts,
    kind=texts,
    time=texts,
    key=st.none() | texts,
    about=st.none() | st.integers(1, 10**9),
    body=texts,
)


@given(entries, entries, st.binary(min_size=32, max_size=32))
def test_every_field_is_under_the_seal(entry, other, key):
    written = seal(entry, FIRST, key)
    assert is_sealed(written, FIRST, key)
    for name in ("seq", "dataset", "kind", "time", "key", "about", "body"):
        changed = replace(written, **{name: getattr(other, name)})
        same = getattr(other, name) == getattr(entry, name)
        assert is_sealed(changed, FIRST, key) == same
    assert not is_sealed(written, "1" * 64, key)
    assert not is_sealed(written, FIRST, bytes(31) + b"\x01") or key == bytes(31) + b"\x01"


def test_fields_cannot_be_shifted_into_each_other():
    one = Entry(1, "ab", "c", "", None, None, "")
    two = Entry(1, "a", "bc", "", None, None, "")
    assert digest(one, FIRST, KEY) != digest(two, FIRST, KEY)


def test_heads_are_read_as_written():
    head = Head(12, "ab" * 32)
    assert Head.parse(f" {head}\n") == head
    for wrong in ("", "12", "x:" + "a" * 64, "12:" + "A" * 64, "-1:" + "a" * 64, "1:" + "a" * 63):
        with pytest.raises(ValueError, match="count:digest"):
            Head.parse(wrong)


@pytest.fixture
def spent_ledger(file_ledger):
    """Three charges, two of them released."""
    data = file_ledger.dataset("d", 3, 1e-6)
    for epsilon in (0.5, 0.7):
        data.charge(request(epsilon)).release({"method": "Test"})
    data.charge(request(0.9))
    return file_ledger


def tamper(ledger, *statements):
    """Write to the file as somebody who knows SQL and has no key."""
    connection = sqlite3.connect(ledger.url, isolation_level=None)
    triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
    for (name,) in triggers.fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_entries_cannot_be_changed_by_accident(spent_ledger):
    connection = sqlite3.connect(spent_ledger.url)
    for statement in (
        "UPDATE entries SET body = '{}' WHERE seq = 3",
        "DELETE FROM entries WHERE seq = 3",
        "DELETE FROM accounts",
        "UPDATE accounts SET spent0 = -1",
    ):
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(statement)
    connection.close()
    assert spent_ledger.verify()


FREE = "UPDATE accounts SET spent0 = 0, spent1 = 0, spent2 = 0, spent3 = 0"
TAMPERINGS = {
    "edited cost": ["UPDATE entries SET body = replace(body, '\"costs\":[', '\"costs\":[1')"],
    "edited time": ["UPDATE entries SET time = '1999' WHERE seq = 3"],
    "edited terms": ["UPDATE entries SET body = replace(body, '3.0', '9.0') WHERE seq = 2"],
    "edited seal": [f"UPDATE entries SET mac = '{'a' * 64}' WHERE seq = 5"],
    "edited first": ['UPDATE entries SET body = \'{"id": "x"}\' WHERE seq = 1'],
    "unreadable": ["UPDATE entries SET body = 'x' WHERE seq = 4"],
    "deleted": ["DELETE FROM entries WHERE seq = 5"],
    "deleted and renumbered": [
        "DELETE FROM entries WHERE seq IN (5, 6)",
        "UPDATE entries SET seq = 5 WHERE seq = 7",
    ],
    "inserted": [
        "INSERT INTO entries SELECT 8, dataset, kind, time, NULL, 7, body, mac FROM entries "
        "WHERE seq = 6"
    ],
    "truncated": ["DELETE FROM entries WHERE seq > 5"],
    "all deleted": ["DELETE FROM entries"],
    "account lowered": [FREE],
    "account raised": ["UPDATE accounts SET allowed0 = allowed0 * 2"],
    "account deleted": ["DELETE FROM accounts"],
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_is_found(spent_ledger, name):
    assert spent_ledger.verify()
    tamper(spent_ledger, *TAMPERINGS[name])
    report = spent_ledger.verify()
    assert not report
    assert report.problems


@pytest.mark.parametrize(
    "name", ["truncated", "all deleted", "account lowered", "account raised", "edited terms"]
)
def test_the_next_charge_finds_what_would_give_budget_back(spent_ledger, name):
    tamper(spent_ledger, *TAMPERINGS[name])
    with pytest.raises(TamperError):
        spent_ledger.dataset("d").charge(request(0.5))


def test_a_truncated_tail_with_the_right_sums_is_seen_by_a_head(spent_ledger, tmp_path):
    """The chain alone is valid; the head that was noted, or remembered, is not on it."""
    noted = spent_ledger.head()
    body = json.loads(spent_ledger.history()[4].body)
    sums = ", ".join(f"spent{j} = {units}" for j, units in enumerate(body["spent"]))
    tamper(spent_ledger, "DELETE FROM entries WHERE seq > 5", f"UPDATE accounts SET {sums}")
    assert any("cut off" in text for text in spent_ledger.verify().problems)
    for remembered in tmp_path.glob("*.head"):
        remembered.unlink()
    assert spent_ledger.verify()  # nobody here remembers
    assert not spent_ledger.verify(head=noted)
    assert not spent_ledger.verify(head=str(noted))
    assert spent_ledger.verify(head=Head(3, spent_ledger.history()[2].mac))


def copy_to(path, ledger):
    with closing(sqlite3.connect(ledger.url)) as connection:
        connection.execute("VACUUM INTO ?", (str(path),))


def test_an_old_copy_is_not_charged(spent_ledger, tmp_path):
    data = spent_ledger.dataset("d")
    copy_to(tmp_path / "copy.db", spent_ledger)
    data.charge(request(0.5))
    for path in tmp_path.glob("budget.db*"):
        path.unlink()
    shutil.copy(tmp_path / "copy.db", spent_ledger.url)
    with pytest.raises(TamperError, match="an old copy"):
        data.charge(request(0.5))
    assert not spent_ledger.verify()


def test_another_ledger_in_its_place_is_not_charged(spent_ledger, tmp_path):
    other = Ledger(tmp_path / "other.db", key=spent_ledger.key_file)
    other.dataset("d", 3, 1e-6)
    copy_to(tmp_path / "copy.db", other)
    for path in tmp_path.glob("budget.db*"):
        path.unlink()
    shutil.copy(tmp_path / "copy.db", spent_ledger.url)
    with pytest.raises(TamperError, match="exchanged for another"):
        spent_ledger.dataset("d").charge(request(0.5))


def test_the_key_is_made_once_and_kept_from_others(file_ledger, tmp_path):
    file_ledger.dataset("d", 3, 1e-6)
    assert stat.S_IMODE(os.stat(file_ledger.key_file).st_mode) == 0o600
    path = tmp_path / "deep" / "key"
    assert read_or_make_key(path) == read_or_make_key(path)
    assert len(read_or_make_key(path)) == 32
    path.chmod(0o604)
    with pytest.raises(LedgerError, match="open to everybody"):
        read_or_make_key(path)


def test_without_the_right_key_nothing_is_written_or_read(spent_ledger, tmp_path):
    with pytest.raises(LedgerError, match="does not exist"):
        Ledger(spent_ledger.url, key=tmp_path / "lost").dataset("d").charge(request())
    read_or_make_key(tmp_path / "another")
    wrong = Ledger(spent_ledger.url, key=tmp_path / "another")
    with pytest.raises(TamperError, match="is not the key of the ledger"):
        wrong.dataset("d")
    assert not wrong.verify()
    (tmp_path / "short").write_text("abc")
    (tmp_path / "short").chmod(0o600)
    with pytest.raises(LedgerError, match="64 hexadecimal digits"):
        Ledger(spent_ledger.url, key=tmp_path / "short").datasets()


def test_where_the_key_lives(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "named"))
    assert key_path(None) == tmp_path / "named"
    assert key_path(tmp_path / "given") == tmp_path / "given"
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    if os.name == "posix":
        assert key_path(None) == tmp_path / "veilspan" / "ledger.key"
