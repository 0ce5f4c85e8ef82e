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
from typing import Any

from veilspan.ledger.errors import LedgerError

#: What SQLite keeps beside a database, by its name.
COMPANIONS = ("-wal", "-shm")

# Of statx(2), Linux 5.8 and later: flags, and where its fields stand.
_AT_FDCWD, _SIZE, _MOUNT_ROOT = -100, 256, 0x2000
_ATTRIBUTES, _ATTRIBUTES_MASK = 8, 56

Identity = tuple[str, int, int]


def located(path: str) -> Identity:
    """The one path of a database, with its device and number; refuses one that has another.

    Raises ``FileNotFoundError`` if there is none yet.
    """
    real = os.path.realpath(path)
    status = os.stat(real)
    _refuse_second_name(real, status)
    for ending in COMPANIONS:
        try:
            _refuse_second_name(real + ending, os.stat(real + ending))
        except FileNotFoundError:
            continue
    return real, status.st_dev, status.st_ino


def _refuse_second_name(path: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        return  # SQLite says what is wrong with it
    if status.st_nlink > 1:  # 0: removed since it was found, as logs are
        raise LedgerError(
            f"the file {path!r} has {status.st_nlink} names (hard links), and each would have its "
            "own log: a budget could be spent once under each. Remove all names but one; to reach "
            "a ledger from elsewhere, make a symbolic link."
        )
    if is_mount_point(path):
        raise LedgerError(
            f"the file {path!r} is a mount point: the log beside it stays behind, so that charges "
            "made here are not seen elsewhere. Mount the folder, never the file."
        )


def is_mount_point(path: str) -> bool:
    """Whether a file is mounted by itself. Always False where there is no way to tell."""
    if not sys.platform.startswith("linux"):
        return False
    asked = _asked_of_the_kernel(path)
    return path in mount_points() if asked is None else asked


def _asked_of_the_kernel(path: str) -> bool | None:
    """By one system call; None if the kernel or the C library is older than the question."""
    statx = _statx()
    buffer = ctypes.create_string_buffer(_SIZE)
    if statx is None or statx(_AT_FDCWD, os.fsencode(path), 0, 0, buffer) != 0:
        return None
    attributes, known = (
        struct.unpack_from("=Q", buffer, place)[0] for place in (_ATTRIBUTES, _ATTRIBUTES_MASK)
    )
    return bool(attributes & _MOUNT_ROOT) if known & _MOUNT_ROOT else None


@lru_cache(maxsize=1)
def _statx() -> Callable[..., int] | None:
    try:
        function: Any = ctypes.CDLL(None).statx
    except (OSError, AttributeError):
        return None
    function.argtypes = [
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_uint,
        ctypes.c_char_p,
    ]
    function.restype = ctypes.c_int
    asked: Callable[..., int] = function
    return asked


def mount_points(table: str = "/proc/self/mountinfo") -> frozenset[str]:
    """Where this process has something mounted, by the kernel's table (proc(5))."""
    try:
        with open(table, "rb") as lines:
            fields = [line.split(b" ")[4] for line in lines]
    except (OSError, IndexError):
        return frozenset()
    return frozenset(os.fsdecode(_unescaped(field)) for field in fields)


def _unescaped(field: bytes) -> bytes:
    """Spaces, tabs, ends of lines and backslashes are written as three octal digits."""
    for letter in b" \t\n\\":
        field = field.replace(b"\\%03o" % letter, bytes([letter]))
    return field
