"""The key of the chain, and what is remembered beside it: files outside the database.

The key is 32 random bytes in hexadecimal, readable by its owner alone. It lives in the file that
the ledger names, else in that of ``VEILSPAN_LEDGER_KEY_FILE``, else in the user's configuration.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import tempfile
from functools import lru_cache
from pathlib import Path

from veilspan._files import sync_folder
from veilspan.ledger.errors import LedgerError, TamperError
from veilspan.ledger.seal.anchor import Anchor, write_synced

VARIABLE = "VEILSPAN_LEDGER_KEY_FILE"
#: Length of the random name of a ledger.
ID_BYTES = 8


def key_path(key: str | os.PathLike[str] | None) -> Path:
    """Return the file of the key: the one given, else by the environment, else the default."""
    chosen = key or os.environ.get(VARIABLE) or _config_folder() / "veilspan" / "ledger.key"
    return Path(chosen).expanduser().absolute()


def _config_folder() -> Path:
    base = os.environ.get("APPDATA") if os.name == "nt" else os.environ.get("XDG_CONFIG_HOME")
    return Path(base) if base else Path.home() / ".config"


def read_key(path: Path) -> bytes:
    """The key, or an error that says what is wrong with its file."""
    try:
        status = path.stat()
        # Only "others" are refused: a group may share a ledger and its key.
        if os.name == "posix" and status.st_mode & 0o007:
            raise LedgerError(f"the key file {path} is open to everybody; chmod 600 it.")
        return _read_hex(str(path), status.st_mtime_ns)
    except FileNotFoundError:
        raise LedgerError(
            f"the ledger's key file {path} does not exist. Entries can be neither written nor "
            f"checked without it: put it back, or name it by key=... or {VARIABLE}."
        ) from None
    except OSError as error:
        raise LedgerError(f"the key file {path} cannot be read: {error.strerror}.") from None


@lru_cache(maxsize=16)  # the time of the last change is part of the question
def _read_hex(path: str, changed: int) -> bytes:
    try:
        key = bytes.fromhex(Path(path).read_text(encoding="ascii").strip())
    except ValueError:
        key = b""
    if len(key) != 32:
        raise LedgerError(f"the key file {path} does not hold 64 hexadecimal digits.")
    return key


def read_or_make_key(path: Path) -> bytes:
    """Return the key. If there is none, whoever comes first makes it and the others read it."""
    if not path.exists():
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _make_key(path)
        except OSError as error:
            raise LedgerError(f"no key file can be made at {path}: {error.strerror}.") from None
    return read_key(path)


def _make_key(path: Path) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent)  # readable by its owner alone
    try:
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_hex(32) + "\n")
            file.flush()
            os.fsync(file.fileno())
        # A link fails if the name is taken, so that two processes never use two keys.
        with contextlib.suppress(FileExistsError):
            os.link(name, path)
    finally:
        os.unlink(name)
    sync_folder(path.parent)


@lru_cache(maxsize=64)
def anchor_of(key_file: Path, ledger_id: str) -> Anchor:
    """Where the last head of a ledger that was seen from here is kept."""
    return Anchor(_beside(key_file, ledger_id, "head"))


def known_ledger(key_file: Path, url: str) -> str | None:
    """Which ledger was seen at a place: one that is gone must not be made anew in silence."""
    path = place_file(key_file, url)
    try:
        handle = os.open(path, os.O_RDONLY)  # a third of the time of Path.read_bytes
    except OSError:
        return None
    try:
        text = os.read(handle, 200).decode("ascii", "replace").strip()
    finally:
        os.close(handle)
    if len(text) != 2 * ID_BYTES or not set(text) <= set("0123456789abcdef"):
        raise TamperError(
            f"{path}, which says what ledger was seen here, was emptied, cut or overwritten. Run "
            "verify with a head from a release; if it finds nothing, remove that file."
        )
    return text


def remember_ledger(key_file: Path, url: str, ledger_id: str) -> None:
    """Write down, on the disk, which ledger lives at a place.

    Where that is not possible there is no error: the anchor lies in the same folder, and warns.
    """
    with contextlib.suppress(OSError):
        write_synced(place_file(key_file, url), f"{ledger_id}\n".encode())


@lru_cache(maxsize=64)
def place_file(key_file: Path, url: str) -> Path:
    """The file that names the ledger at a place."""
    return _beside(key_file, hashlib.sha256(url.encode()).hexdigest()[:16], "place")


@lru_cache(maxsize=64)
def _beside(key_file: Path, name: str, kind: str) -> Path:
    return key_file.with_name(f"{key_file.name}.{name}.{kind}")
