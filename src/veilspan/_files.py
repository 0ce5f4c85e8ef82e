"""Files that are whole or absent, and files of others that are read with care.

Written: under a temporary name, synced, then renamed, with the permissions that the user's umask
leaves. Read: regular files of a bounded size only, so that no pipe, device or endless file can keep
a reader waiting or fill its memory.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

#: Letters of a name that are repeated in its temporary name; file systems take 255 bytes.
_MOST_LETTERS = 50


class IrregularFileError(ValueError):
    """A file that is not read: no regular file, or larger than anything of its kind."""


def write_whole(path: Path, write: Callable[[BinaryIO], object], mode: int = 0o666) -> None:
    """Write a file through ``write(stream)`` so that no reader ever sees half of it.

    Who may read it is decided by ``mode`` and the user's umask, as for every other file. Returns
    once the file and its name are on the disk.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = write_aside(path, write, mode)
    try:
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_aside(path: Path, write: Callable[[BinaryIO], object], mode: int = 0o666) -> Path:
    """Write what will be ``path`` under a temporary name beside it, synced; return that name."""
    temporary = path.with_name(f".{path.name[:_MOST_LETTERS]}.{secrets.token_hex(4)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    # The system takes the umask off: to ask for it one would have to set it, for all threads.
    handle = os.open(temporary, flags, mode)
    try:
        with os.fdopen(handle, "wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def sync_folder(folder: Path) -> None:
    """Make renames inside a folder survive a power cut, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def only_writer(folder: Path) -> Iterator[bool]:
    """Wait until no other process writes to a folder; yields whether the system can tell.

    The lock is the system's own (``flock`` on the folder), so a process that dies leaves none.
    Windows and some network folders have no such lock.
    """
    try:
        import fcntl
    except ImportError:
        yield False
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError:
            held = False
        else:
            held = True
        yield held
    finally:
        os.close(handle)


def read_regular(path: Path, most: int) -> bytes:
    """The bytes of a regular file of at most ``most`` bytes.

    A link is followed. What it leads to is looked at before it is opened (opening a device may do
    something) and again afterwards (it may have been exchanged), without waiting for a writer.
    """
    _check_regular(os.stat(path), path, most)
    flags = os.O_RDONLY
    for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    with os.fdopen(os.open(path, flags), "rb") as stream:
        status = os.fstat(stream.fileno())
        _check_regular(status, path, most)
        data = stream.read(status.st_size + 1)
    if len(data) != status.st_size:
        raise IrregularFileError(f"{path} changed while it was read.")
    return data


def _say_size(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB" if size >= 2**20 else f"{size / 2**10:,.0f} KiB"


def _check_regular(status: os.stat_result, path: Path, most: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IrregularFileError(f"{path} is a folder, not a file.")
    if not stat.S_ISREG(status.st_mode):
        raise IrregularFileError(f"{path} is not a regular file (a pipe, a socket or a device).")
    if status.st_size > most:
        raise IrregularFileError(f"{path} is larger than any file of its kind ({_say_size(most)}).")
