"""One file, one path: a database that can be reached by two names is refused.

SQLite finds its write-ahead log and the index of that log by the *name* of the database. A file
that is seen under two names (a hard link, or a mount of the single file into a container) has two
logs: writers at one name do not see the charges, nor the locks, of those at the other. The same
budget is then spent twice, and charges vanish when a log is left behind. A symbolic link is no
second name: it is followed to the one there is. Nor is a mount of the *folder*, which holds the
logs as well.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from veilspan.ledger.errors import LedgerError

#: What SQLite keeps beside a database, by its name.
COMPANIONS = ("-wal", "-shm")

# The call statx(2), Linux 5.8 and later, goes through ctypes because Python 3.11 does not offer it.
# Its constants, and the fields that are read from its answer: attributes, links, mode, number,
# known attributes, device.
_AT_FDCWD, _BASIC, _MOUNT_ROOT = -100, 0x7FF, 0x2000
_Buffer = ctypes.c_char * 256
_FIELDS = struct.Struct("=8xQI8xHxxQ16xQ72xII")


class Identity(NamedTuple):
    """The one path of a file, symbolic links followed, and which file that is."""

    path: str
    device: int
    number: int


class _Status(NamedTuple):
    mode: int
    links: int
    device: int
    number: int
    mounted: bool


def locate(path: str) -> Identity:
    """Return the one path of a database, and refuse one that can be reached by another.

    Raises ``FileNotFoundError`` if there is none yet.
    """
    real = os.path.realpath(path)
    status = _check(real)
    return Identity(real, status.device, status.number)


def is_unchanged(known: Identity) -> bool:
    """Tell whether a database is still the file it was; refuse one that has got another path.

    With one link there is one name in one folder, so that whatever path leads to this file leads
    to that name, and to the logs beside it.
    """
    try:
        status = _check(known.path)
    except FileNotFoundError:
        return False
    return (status.device, status.number) == known[1:]


def _check(real: str) -> _Status:
    status = _status(real)
    _refuse_second_name(real, status)
    for companion in (real + ending for ending in COMPANIONS):
        try:
            _refuse_second_name(companion, _status(companion))
        except FileNotFoundError:
            continue
    return status


def _refuse_second_name(path: str, status: _Status) -> None:
    if not stat.S_ISREG(status.mode):
        return  # SQLite says what is wrong with it
    if status.links > 1:  # 0: removed since it was found, as logs are
        raise LedgerError(
            f"the file {path!r} has {status.links} names (hard links), and each would have its "
            "own log: a budget could be spent once under each. Remove all names but one; to reach "
            "a ledger from elsewhere, make a symbolic link."
        )
    if status.mounted:
        raise LedgerError(
            f"the file {path!r} is a mount point: the log beside it stays behind, so that charges "
            "made here are not seen elsewhere. Mount the folder, never the file."
        )


def _status(path: str) -> _Status:
    """Read what the system says about a file. Only Linux can say whether it is a mount point."""
    asked = _ask_kernel(path)
    if asked is not None:
        return asked
    found = os.stat(path)
    mounted = path in mount_points()
    return _Status(found.st_mode, found.st_nlink, found.st_dev, found.st_ino, mounted)


def _ask_kernel(path: str) -> _Status | None:
    """Ask Linux for everything by one system call; None if it, or the C library, is too old."""
    statx = _statx()
    if statx is None:
        return None
    buffer = _Buffer()
    if statx(_AT_FDCWD, os.fsencode(path), 0, _BASIC, buffer) != 0:
        return None
    attributes, links, mode, number, known, major, minor = _FIELDS.unpack_from(buffer)
    if not known & _MOUNT_ROOT:
        return None
    mounted = bool(attributes & _MOUNT_ROOT)
    return _Status(mode, links, os.makedev(major, minor), number, mounted)


@lru_cache(maxsize=1)
def _statx() -> Callable[..., int] | None:
    if not sys.platform.startswith("linux"):
        return None
    try:
        function: Any = ctypes.CDLL(None).statx
    except (OSError, AttributeError):
        return None
    kinds = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_char_p)
    function.argtypes, function.restype = kinds, ctypes.c_int
    asked: Callable[..., int] = function
    return asked


def mount_points(table: str = "/proc/self/mountinfo") -> frozenset[str]:
    """Where this process has something mounted, by the kernel's table (proc(5))."""
    try:
        with open(table, "rb") as lines:
            fields = [line.split(b" ")[4] for line in lines]
    except (OSError, IndexError):
        return frozenset()
    return frozenset(os.fsdecode(_unescape(field)) for field in fields)


def _unescape(field: bytes) -> bytes:
    """Spaces, tabs, ends of lines and backslashes are written as three octal digits."""
    for letter in b" \t\n\\":
        field = field.replace(b"\\%03o" % letter, bytes([letter]))
    return field
