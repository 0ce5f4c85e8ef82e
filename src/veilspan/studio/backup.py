"""One file that holds a studio: its folder and its ledger, and how to put both back.

The folder is copied before the ledger: a charge that is made meanwhile is in the copy of the
ledger, never a release without its charge. The key is left out unless asked for, since whoever has
both can write what they like. A copy is put back into a new place only, and is checked before it is
used: every file by its digest, the ledger by its seals. A ledger that has moved on since the copy
was made is not forgotten: the head beside the key says so, and the old copy is refused, since it
would hand out budget twice.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from veilspan._files import IrregularFileError, read_regular, sync_folder, write_whole
from veilspan._version import __version__
from veilspan.studio import job_files

_MANIFEST, _LEDGER, _KEY, _FOLDER = "manifest.json", "ledger.db", "ledger.key", "studio"
_FORMAT = 1
#: Files of a job that mean something to its process alone.
_PASSING = {job_files.ALIVE, job_files.TURN, "reserve", "process.json"}
_PASSING_FOLDERS = {job_files.TEMPORARY, ".release"}
#: Largest file that is taken or put back: a ledger with stored releases may have a gigabyte.
_MOST_BYTES = 2**33


class BackupError(ValueError):
    """A copy cannot be made or put back like this; the words say what to do."""


@dataclass(frozen=True)
class Restored:
    """What was put back.

    Attributes
    ----------
    folder : Path
        The studio's folder.
    ledger : Path or None
        The ledger; None if it is on a server, which has copies of its own.
    key : Path
        The key by which it was checked.
    entries : int
        How many entries the ledger has.
    """

    folder: Path
    ledger: Path | None
    key: Path
    entries: int


def back_up(folder: Path, ledger: Any, out: Path, *, with_key: bool = False) -> Path:
    """Write a studio's folder and its ledger to one file, readable by its owner only.

    Parameters
    ----------
    folder : Path
        The studio's.
    ledger : Ledger
        Of its budgets; one on a server is not copied (use ``pg_dump``), its head is noted.
    out : Path
        A new ``.zip`` file.
    with_key : bool
        Whether the ledger's key goes with it. By default it does not: keep a copy of it elsewhere.
    """
    folder, out = Path(folder), Path(out)
    if out.suffix != ".zip":
        raise BackupError(f"a backup is a .zip file; got {out.name!r}.")
    if os.path.lexists(out):
        raise BackupError(f"{out} exists: choose another name, so that no copy is lost.")
    if folder.resolve() in out.resolve().parents:
        raise BackupError("the backup would be part of the studio's own folder: put it elsewhere.")
    digests: dict[str, str] = {}

    def write(stream: Any) -> None:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in _files_of(folder):
                name = f"{_FOLDER}/{path.relative_to(folder).as_posix()}"
                _add(archive, name, _read(path), digests)
            if "://" not in ledger.url:
                _add(archive, _LEDGER, _copy_ledger(ledger.url, out.parent), digests)
            if with_key:
                _add(archive, _KEY, _read(Path(ledger.key_file)), digests)
            manifest = {
                "format": _FORMAT,
                "version": __version__,
                "head": str(ledger.head()),
                "files": digests,
            }
            archive.writestr(_MANIFEST, json.dumps(manifest, indent=1))

    write_whole(out, write, 0o600)
    return out


def restore(archive: Path, into: Path, key: Path | None = None) -> Restored:
    """Put a backup into a new folder: ``studio`` and ``budget.db`` in it, whole or not at all.

    Parameters
    ----------
    archive : Path
        What :func:`back_up` wrote.
    into : Path
        A folder that is not there yet; nothing is ever overwritten.
    key : Path, optional
        The ledger's key; needed unless the backup holds it.
    """
    from veilspan.ledger import Ledger

    into = Path(into)
    if os.path.lexists(into):
        raise BackupError(f"{into} exists: a backup is put into a new place, and replaces nothing.")
    into.parent.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(dir=into.parent, prefix=f".{into.name[:50]}."))
    try:
        manifest = _unpack(Path(archive), staged)
        held = staged / _KEY
        has_ledger = (staged / _LEDGER).exists()
        if has_ledger and key is None and not held.exists():
            raise BackupError(
                "the backup does not hold the ledger's key: say where it is, by --key FILE."
            )
        entries = 0
        if has_ledger:
            os.replace(staged / _LEDGER, staged / "budget.db")
            # Checked before anything is in its place, by the key and the head that is known there.
            report = Ledger(staged / "budget.db", key or held).verify(manifest["head"])
            if not report:
                raise BackupError(
                    f"the ledger of the backup is not put back: {report.problems[0]} If charges "
                    "were made after the backup, it would hand out their budget again."
                )
            entries = report.entries
            for ending in ("-wal", "-shm", "-keys"):
                (staged / f"budget.db{ending}").unlink(missing_ok=True)
        (staged / _FOLDER).mkdir(exist_ok=True, mode=0o700)
        (staged / _MANIFEST).unlink()
        sync_folder(staged)
        os.rename(staged, into)
        sync_folder(into.parent)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    key_file = Path(key) if key is not None else into / _KEY
    place = into / "budget.db" if has_ledger else None
    if place is not None:
        _move_anchor(Ledger(place, key_file))
    return Restored(into / _FOLDER, place, key_file, entries)


def _move_anchor(ledger: Any) -> None:
    """Remember the ledger at its new place, and its head if none is known beside this key."""
    from veilspan.ledger.seal import keys

    with ledger.journal.reading() as page:
        first = page.book.entry(1)
        head = page.head
    ledger_id, key_file = str(first.content["id"]), ledger.journal.key_file
    keys.remember_ledger(key_file, ledger.url, ledger_id)
    anchor = keys.anchor_of(key_file, ledger_id)
    if anchor.read() is None:
        anchor.keep(head)


def _files_of(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _PASSING_FOLDERS)
        for name in sorted(names):
            path = Path(place) / name
            if name not in _PASSING and path.is_file() and not path.is_symlink():
                yield path


def _read(path: Path) -> bytes:
    try:
        return read_regular(path, _MOST_BYTES)
    except (OSError, IrregularFileError) as error:
        raise BackupError(f"no backup was made: {error}") from None


def _add(archive: zipfile.ZipFile, name: str, data: bytes, digests: dict[str, str]) -> None:
    digests[name] = hashlib.sha256(data).hexdigest()
    archive.writestr(name, data)


def _copy_ledger(url: str, beside: Path) -> bytes:
    """The database as it is at one moment, by SQLite's own means, whoever writes meanwhile."""
    handle, name = tempfile.mkstemp(dir=beside, prefix=".backup-")
    os.close(handle)
    try:
        place = f"{Path(url).absolute().as_uri()}?mode=ro"
        source, copy = sqlite3.connect(place, uri=True), sqlite3.connect(name)
        try:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
        finally:
            source.close()
            copy.close()
        return read_regular(Path(name), _MOST_BYTES)
    except sqlite3.Error as error:
        raise BackupError(f"no backup was made: the ledger cannot be copied ({error}).") from None
    finally:
        Path(name).unlink(missing_ok=True)


def _unpack(archive: Path, into: Path) -> dict[str, Any]:
    """Write the files of a backup, each checked by its digest; return its manifest."""
    try:
        data = read_regular(archive, _MOST_BYTES)
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            manifest = json.loads(packed.read(_MANIFEST))
            files = manifest["files"]
            if manifest["format"] != _FORMAT or set(packed.namelist()) != {*files, _MANIFEST}:
                raise BackupError(f"{archive} is no backup that this version can read.")
            for name, digest in files.items():
                _check_name(name)
                content = packed.read(name)
                if hashlib.sha256(content).hexdigest() != digest:
                    raise BackupError(f"{name} in {archive} was changed or damaged.")
                _put(into / name, content)
    except BackupError:
        raise
    except (OSError, IrregularFileError):
        raise
    except Exception:  # a file may hold anything
        raise BackupError(f"{archive} is no backup, or was damaged.") from None
    _put(into / _MANIFEST, json.dumps(manifest).encode())
    found: dict[str, Any] = manifest
    return found


def _check_name(name: str) -> None:
    parts = PurePosixPath(name).parts
    inside = name in (_LEDGER, _KEY) or (len(parts) > 1 and parts[0] == _FOLDER)
    if not inside or ".." in parts or name.startswith("/") or "\\" in name or "\0" in name:
        raise BackupError(f"the backup names a file outside of its folder: {name!r}.")


def _put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_whole(path, lambda stream: stream.write(content), 0o600)
