"""The key of the chain and the last head seen: files outside the database.

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

from veilspan.ledger.chain import Head
from veilspan.ledger.errors import LedgerError

VARIABLE = "VEILSPAN_LEDGER_KEY_FILE"


def key_path(key: str | os.PathLike[str] | None) -> Path:
    """Where the key lives."""
    chosen = key or os.environ.get(VARIABLE) or _config_folder() / "veilspan" / "ledger.key"
    return Path(chosen).expanduser().absolute()


def _config_folder() -> Path:
    base = os.environ.get("APPDATA") if os.name == "nt" else os.environ.get("XDG_CONFIG_HOME")
    return Path(base) if base else Path.home() / ".config"


def read_key(path: Path) -> bytes:
    """The key, or an error that says what is wrong with its file."""
    try:
        status = path.stat()
        if os.name == "posix" and status.st_mode & 0o007:
            raise LedgerError(f"the key file {path} is open to everybody; chmod 600 it.")
        return _parsed(str(path), status.st_mtime_ns)
    except FileNotFoundError:
        raise LedgerError(
            f"the ledger's key file {path} does not exist. Entries can be neither written nor "
            f"checked without it: put it back, or name it by key=... or {VARIABLE}."
        ) from None
    except OSError as error:
        raise LedgerError(f"the key file {path} cannot be read: {error.strerror}.") from None


@lru_cache(maxsize=16)  # the time of the last change is part of the question
def _parsed(path: str, changed: int) -> bytes:
    try:
        key = bytes.fromhex(Path(path).read_text(encoding="ascii").strip())
    except ValueError:
        key = b""
    if len(key) != 32:
        raise LedgerError(f"the key file {path} does not hold 64 hexadecimal digits.")
    return key


def read_or_make_key(path: Path) -> bytes:
    """The key; made by whoever comes first, all others read what she wrote."""
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


def last_head(key_file: Path, ledger_id: str) -> Head | None:
    """The last head of a ledger that was seen from here."""
    try:
        return _parsed_head(_read(_beside(key_file, ledger_id, "head")))
    except OSError:
        return None


def remember_head(key_file: Path, ledger_id: str, head: Head) -> None:
    """Keep a head if it is later than the one kept. A head that cannot be kept is no error.

    Two processes may write at once and the earlier head win: an anchor a few entries older.
    """
    path = _beside(key_file, ledger_id, "head")
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            known = _parsed_head(os.read(handle, 200))
            if known is None or known.count < head.count:
                # One small write in place: a rename for every charge would halve their rate.
                os.lseek(handle, 0, os.SEEK_SET)
                os.write(handle, f"{head!s:<90}\n".encode())
        finally:
            os.close(handle)


def _parsed_head(text: bytes) -> Head | None:
    try:
        return Head.parse(text.decode("ascii"))
    except ValueError:
        return None


def known_ledger(key_file: Path, url: str) -> str | None:
    """Which ledger was seen at a place: one that is gone must not be made anew in silence."""
    try:
        return _read(place_file(key_file, url)).decode("ascii", "replace").strip() or None
    except OSError:
        return None


def remember_ledger(key_file: Path, url: str, ledger_id: str) -> None:
    """Keep which ledger lives at a place."""
    _write(place_file(key_file, url), f"{ledger_id}\n")


@lru_cache(maxsize=64)
def place_file(key_file: Path, url: str) -> Path:
    """The file that names the ledger at a place."""
    return _beside(key_file, hashlib.sha256(url.encode()).hexdigest()[:16], "place")


@lru_cache(maxsize=64)
def _beside(key_file: Path, name: str, kind: str) -> Path:
    return key_file.with_name(f"{key_file.name}.{name}.{kind}")


def _read(path: Path) -> bytes:
    handle = os.open(path, os.O_RDONLY)  # a third of the time of Path.read_bytes
    try:
        return os.read(handle, 200)
    finally:
        os.close(handle)


def _write(path: Path, text: str) -> None:
    with contextlib.suppress(OSError):
        handle, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.replace(name, path)
