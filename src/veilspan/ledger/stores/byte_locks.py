"""Locks between processes that end with their process: one byte of a file for each name."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Callable
from typing import Any

_locks: Any
try:
    import fcntl as _locks
except ImportError:  # Windows: there only threads of one process wait for each other
    _locks = None

# Seconds between two looks whether another process has let go: the system offers no call that
# both waits and lets Ctrl-C through.
_LOOK = 0.05

# Open files by path. Never closed: closing one would end all locks of this process on its file.
_FILES: dict[str, int] = {}
_LOCK = threading.Lock()


def hold_byte(beside: str, what: str) -> Callable[[], None]:
    """Wait until no other process holds ``what``, then hold it until the returned call.

    The file ``...-keys`` is made beside another one, for the same users. A folder that gives no
    locks, or no file, is no error: then nobody waits.
    """
    if _locks is None:
        return _do_nothing
    # A lock may lie far beyond the end of the file, which stays empty. The place is a digest of the
    # name: two names share a byte with chance 2^-56, and would then only wait for each other.
    place = int.from_bytes(hashlib.sha256(what.encode()).digest()[:7], "big")
    try:
        handle = _open(beside)
        while not _take(handle, place):
            time.sleep(_LOOK)
    except OSError:
        return _do_nothing

    def let_go() -> None:
        with contextlib.suppress(OSError):
            _locks.lockf(handle, _locks.LOCK_UN, 1, place)

    return let_go


def _open(beside: str) -> int:
    path = f"{beside}-keys"
    with _LOCK:
        kept = _FILES.get(path)
        if kept is not None and _is_still(kept, path):
            return kept
        try:
            handle = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            # As SQLite does with its logs: who may write to the ledger may lock.
            os.fchmod(handle, os.stat(beside).st_mode & 0o666)
        _FILES[path] = handle
        return handle


def _is_still(handle: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except OSError:
        return False


def _take(handle: int, place: int) -> bool:
    try:
        _locks.lockf(handle, _locks.LOCK_EX | _locks.LOCK_NB, 1, place)
    except (BlockingIOError, PermissionError):  # as systems differ in saying that it is taken
        return False
    return True


def _do_nothing() -> None:
    """Let go of a lock that could not be had."""
