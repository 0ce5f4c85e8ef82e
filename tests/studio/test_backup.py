"""A studio in one file: copied while it is used, checked, and put back without overwriting."""

import json
import os
import shutil
import zipfile

import pytest

from ledger.asked import draft, fit_of
from veilspan.ledger import Ledger, TamperError
from veilspan.studio import backup
from veilspan.studio.backup import BackupError, back_up, restore


@pytest.fixture
def studio(tmp_path):
    """A folder, a ledger with a request and a charge, and its key in a folder of its own."""
    home = tmp_path / "home"
    home.mkdir()
    ledger = Ledger(home / "bud get?.db", tmp_path / "keys" / "ledger.key")
    account = ledger.dataset("ward", 3, 1e-6)
    asked = account.ask(draft())
    account.approve(asked.id, by="Otto", role="officer")
    account.with_key(asked.key).charge(fit_of()).release({}, {"answer_": 42})
    job = home / "studio" / "jobs" / ("0" * 26)
    (job / "release").mkdir(parents=True)
    (job / "temporary").mkdir()
    (job / "temporary" / "rows").write_text("rows")
    for name in ("task.json", "alive", "reserve", "release/release.json"):
        (job / name).write_text("{}")
    (home / "studio" / "accounts.json").write_text("{}")
    os.symlink("/etc/passwd", home / "studio" / "link")
    return home / "studio", ledger


def test_there_and_back(studio, tmp_path):
    folder, ledger = studio
    out = back_up(folder, ledger, tmp_path / "copy.zip")
    assert out.stat().st_mode & 0o777 == 0o600
    with zipfile.ZipFile(out) as packed:
        names = set(packed.namelist())
    job = f"studio/jobs/{'0' * 26}"
    assert names == {
        "manifest.json",
        "ledger.db",
        "studio/accounts.json",
        f"{job}/task.json",
        f"{job}/release/release.json",
    }
    found = restore(out, tmp_path / "new" / "place", ledger.key_file)
    assert (found.folder, found.entries) == (tmp_path / "new" / "place" / "studio", 6)
    assert (found.folder / "accounts.json").stat().st_mode & 0o777 == 0o600
    again = Ledger(found.ledger, found.key)
    report = again.verify()
    assert report
    assert report.notes == ()  # there is an anchor
    account = again.dataset("ward")
    asked = account.requests()[0]
    assert account.with_key(asked.key).charge(fit_of()).stored == {"answer_": 42}
    assert account.charge(fit_of(0.1)).entry == 7
    assert again.verify()


def test_with_its_key_on_another_machine(studio, tmp_path):
    folder, ledger = studio
    out = back_up(folder, ledger, tmp_path / "copy.zip", with_key=True)
    shutil.rmtree(tmp_path / "home")
    shutil.rmtree(tmp_path / "keys")
    found = restore(out, tmp_path / "new")
    assert found.key == tmp_path / "new" / "ledger.key"
    again = Ledger(found.ledger, found.key)
    report = again.verify()
    assert report
    assert report.notes == ()
    again.dataset("ward").charge(fit_of(0.1))
    shutil.copy(found.ledger, tmp_path / "old.db")


def test_an_old_copy_does_not_hand_out_budget_again(studio, tmp_path):
    folder, ledger = studio
    out = back_up(folder, ledger, tmp_path / "copy.zip")
    ledger.dataset("ward").charge(fit_of(0.1))
    with pytest.raises((BackupError, TamperError), match=r"cut off|were seen before"):
        restore(out, tmp_path / "new", ledger.key_file)
    assert not (tmp_path / "new").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_nothing_is_overwritten(studio, tmp_path):
    folder, ledger = studio
    out = back_up(folder, ledger, tmp_path / "copy.zip")
    before = out.read_bytes()
    with pytest.raises(BackupError, match="exists"):
        back_up(folder, ledger, out)
    assert out.read_bytes() == before
    (tmp_path / "new").mkdir()
    with pytest.raises(BackupError, match="exists"):
        restore(out, tmp_path / "new", ledger.key_file)
    for bad, words in ((tmp_path / "copy.tar", r"\.zip"), (folder / "copy.zip", "own folder")):
        with pytest.raises(BackupError, match=words):
            back_up(folder, ledger, bad)
    with pytest.raises(BackupError, match="does not hold the ledger's key"):
        restore(out, tmp_path / "newer")
    assert not (tmp_path / "newer").exists()


def rewrite(source, out, change):
    """A copy of a backup whose files were changed by somebody."""
    with zipfile.ZipFile(source) as packed:
        files = {name: packed.read(name) for name in packed.namelist()}
    change(files)
    with zipfile.ZipFile(out, "w") as packed:
        for name, data in files.items():
            packed.writestr(name, data)


def change_file(files):
    files["studio/accounts.json"] = b'{"people": "mine"}'


def add_outside(files):
    import hashlib

    manifest = json.loads(files["manifest.json"])
    manifest["files"]["studio/../../evil"] = hashlib.sha256(b"x").hexdigest()
    files |= {"studio/../../evil": b"x", "manifest.json": json.dumps(manifest).encode()}


def add_unnamed(files):
    files["studio/more"] = b"x"


def cut_ledger(files):
    import hashlib

    manifest = json.loads(files["manifest.json"])
    files["ledger.db"] = files["ledger.db"].replace(b'"epsilon":0.5', b'"epsilon":0.1')
    manifest["files"]["ledger.db"] = hashlib.sha256(files["ledger.db"]).hexdigest()
    files["manifest.json"] = json.dumps(manifest).encode()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (change_file, "changed or damaged"),
        (add_outside, "outside of its folder"),
        (add_unnamed, "no backup that this version can read"),
        (cut_ledger, "is not put back"),
        (lambda files: files.pop("manifest.json"), "no backup, or was damaged"),
        (lambda files: files.update({"manifest.json": b"[]"}), "no backup, or was damaged"),
    ],
)
def test_changed_backups_are_refused(studio, tmp_path, change, words):
    folder, ledger = studio
    out = back_up(folder, ledger, tmp_path / "copy.zip")
    rewrite(out, tmp_path / "bad.zip", change)
    with pytest.raises(BackupError, match=words):
        restore(tmp_path / "bad.zip", tmp_path / "new", ledger.key_file)
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "evil").exists()


def test_a_ledger_on_a_server_is_left_to_it(studio, tmp_path):
    class OnServer:
        url, key_file = "postgresql://me:secret@host/db", studio[1].key_file
        head = staticmethod(studio[1].head)

    out = back_up(studio[0], OnServer(), tmp_path / "copy.zip")
    with zipfile.ZipFile(out) as packed:
        assert "ledger.db" not in packed.namelist()
        assert not any(b"secret" in packed.read(name) for name in packed.namelist())
    found = restore(out, tmp_path / "new")
    assert (found.ledger, found.entries) == (None, 0)
    assert (found.folder / "accounts.json").exists()


def test_no_backup_at_all(studio, tmp_path):
    (tmp_path / "bad.zip").write_text("nothing")
    with pytest.raises(BackupError, match="no backup, or was damaged"):
        restore(tmp_path / "bad.zip", tmp_path / "new", studio[1].key_file)
    with pytest.raises(FileNotFoundError):
        restore(tmp_path / "none.zip", tmp_path / "new", studio[1].key_file)


def test_a_full_disk_leaves_no_half(studio, tmp_path, monkeypatch):
    folder, ledger = studio

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(backup, "_copy_ledger", full)
        with pytest.raises(OSError, match="No space"):
            back_up(folder, ledger, tmp_path / "copy.zip")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "keys"]
    out = back_up(folder, ledger, tmp_path / "copy.zip")
    with monkeypatch.context() as patch:
        patch.setattr(backup, "_put", full)
        with pytest.raises(OSError, match="No space"):
            restore(out, tmp_path / "new", ledger.key_file)
    assert not (tmp_path / "new").exists()
