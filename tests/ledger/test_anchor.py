"""The last head seen: on the disk, never switched off in silence, and never misread."""

import errno
import os
import shutil
import sqlite3
import time
import warnings
from contextlib import closing

import pytest

from ledger.requests import request
from veilspan.ledger import Head, LedgerWarning, TamperError
from veilspan.ledger.seal import anchor


@pytest.fixture
def data(file_ledger):
    return file_ledger.dataset("d", 3, 1e-6)


@pytest.fixture
def head_file(data, tmp_path):
    data.charge(request(0.5))
    (path,) = tmp_path.glob("*.head")
    return path


DAMAGES = {
    "empty": lambda text: b"",
    "zeroed": lambda text: bytes(len(text)),
    "cut": lambda text: text[:40],
    "garbage": lambda text: b"\xa5" * len(text),
    "no number": lambda text: b"x" + text[1:],
    "a number beyond any ledger": lambda text: b"9" * 24 + text[1:],
    "a later head": lambda text: b"9" + text[1:],
}


@pytest.mark.parametrize("damage", [*DAMAGES, "a folder"])
def test_a_damaged_anchor_is_tampering_for_whoever_asks(file_ledger, data, head_file, damage):
    """Each of these used to count as 'never seen', which let an old copy through."""
    if damage == "a folder":
        head_file.unlink()
        head_file.mkdir()
    else:
        head_file.write_bytes(DAMAGES[damage](head_file.read_bytes()))
    for ask in (lambda: data.charge(request(0.5)), data.spent, data.history, data.left):
        with pytest.raises(TamperError):
            ask()
    report = file_ledger.verify()
    assert not report
    assert len(report.problems) == 1
    assert report.notes == ()
    shutil.rmtree(head_file) if head_file.is_dir() else head_file.unlink()
    assert data.spent().charges == 1


@pytest.mark.parametrize("damage", ["empty", "cut", "garbage"])
def test_a_damaged_memory_of_the_place_is_tampering(file_ledger, data, tmp_path, damage):
    (place,) = tmp_path.glob("*.place")
    place.write_bytes(DAMAGES[damage](place.read_bytes())[:10])
    for ask in (lambda: data.charge(request(0.5)), data.spent):
        with pytest.raises(TamperError, match="remove that file"):
            ask()
    assert not file_ledger.verify()


def test_a_ledger_that_is_gone_is_not_read_as_one_that_never_was(file_ledger, data):
    """Else a page would say that nobody asked anything yet, and that a budget may be opened."""
    data.charge(request(0.5))
    os.rename(file_ledger.url, f"{file_ledger.url}-elsewhere")
    for look in (file_ledger.journal.exists, file_ledger.spent, file_ledger.verify, data.history):
        with pytest.raises(TamperError, match="there was a ledger at"):
            look()


def test_a_missing_anchor_is_said_by_verify_and_by_the_next_charge(file_ledger, data, head_file):
    assert file_ledger.verify().notes == ()
    head_file.unlink()
    report = file_ledger.verify()
    assert report  # nothing is wrong that can be seen
    assert [note[:9] for note in report.notes] == ["no anchor"]
    with pytest.warns(LedgerWarning, match="there was an anchor and it is gone") as said:
        data.charge(request(0.5))
    assert len(said) == 1
    assert head_file.exists()
    assert file_ledger.verify().notes == ()


def test_a_ledger_seen_for_the_first_time_is_anchored_without_a_word(
    file_ledger, data, head_file, tmp_path
):
    """Another machine, or another user: there is nothing to miss."""
    for memory in (*tmp_path.glob("*.head"), *tmp_path.glob("*.place")):
        memory.unlink()
    data.charge(request(0.5))
    assert Head.parse(head_file.read_text()) == file_ledger.head()


def refuse_to_write(*_):
    raise OSError(errno.EROFS, "Read-only file system")


def test_an_anchor_that_cannot_be_kept_is_warned_about_once(
    file_ledger, data, head_file, monkeypatch
):
    head_file.unlink()
    monkeypatch.setattr(anchor, "write_synced", refuse_to_write)
    monkeypatch.setattr(anchor, "_WARNED", set())
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(3):
            data.charge(request(0.3))
    assert [warning.category for warning in said] == [LedgerWarning]
    assert data.spent().charges == 4
    assert [note[:9] for note in file_ledger.verify().notes] == ["no anchor"]


def test_an_anchor_that_may_only_be_read_is_warned_about_before_the_charge(
    data, head_file, monkeypatch
):
    """Here warnings are errors: then nothing was charged."""
    monkeypatch.setattr(anchor.os, "access", lambda *_: False)
    with pytest.raises(LedgerWarning, match="cannot be written any more"):
        data.charge(request(0.5))
    assert data.spent().charges == 1


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="asks Linux for names of files")
def test_the_anchor_and_its_name_are_on_the_disk_before_a_charge_returns(
    file_ledger, tmp_path, monkeypatch
):
    synced = []

    def noted(sync):
        def call(handle):
            synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{handle}")))
            sync(handle)

        return call

    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, noted(getattr(os, name)))
    data = file_ledger.dataset("d", 3, 1e-6)
    (head_file,) = tmp_path.glob("*.head")
    (place,) = tmp_path.glob("*.place")
    folder = tmp_path.name
    for made in (head_file.name, place.name):  # under another name first, then the folder
        (written,) = [i for i, name in enumerate(synced) if name.startswith(made)]
        assert synced[written + 1] == folder
    monkeypatch.setattr(anchor, "_SYNCED", {})
    monkeypatch.setattr(anchor, "_WRITTEN", set())
    told = []
    for age in (None, 0.5, 1.5, 0.5):  # the first charge, then those of a burst once a second
        if age is not None:
            anchor._SYNCED[head_file] = time.monotonic() - age
        synced.clear()
        data.charge(request(0.1))
        told.append(synced == [head_file.name])
    assert told == [True, False, True, False]
    synced.clear()
    anchor.sync_written()
    assert synced == [head_file.name]
    assert not anchor._WRITTEN


def test_an_older_head_never_replaces_a_later_one(data, head_file):
    kept = anchor.Anchor(head_file)
    later = kept.read()
    kept.keep(Head(1, "a" * 64))
    assert kept.read() == later
    kept.keep(Head(10**17, "b" * 64))
    assert kept.read() == Head(10**17, "b" * 64)
    assert len(head_file.read_bytes()) == 91


def test_an_old_copy_is_refused_to_readers_as_well(file_ledger, data, tmp_path):
    with closing(sqlite3.connect(file_ledger.url)) as connection:
        connection.execute("VACUUM INTO ?", (str(tmp_path / "copy.db"),))
    data.charge(request(0.5))
    for path in tmp_path.glob("budget.db*"):
        path.unlink()
    shutil.copy(tmp_path / "copy.db", file_ledger.url)
    for ask in (data.spent, data.left, data.history, file_ledger.spent, file_ledger.head):
        with pytest.raises(TamperError, match="an old copy"):
            ask()
    assert any("cut off" in problem for problem in file_ledger.verify().problems)
