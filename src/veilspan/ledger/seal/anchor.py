"""The anchor: the last head of a ledger that was seen from here, in a file beside the key.

A ledger that was put back from an old copy is sound in itself; only who remembers a later head can
tell. The file holds one line, ``count:digest``. It appears whole (written under another name,
synced, renamed, the folder synced) and is then overwritten in place, by one write of its first 91
bytes, which a disk does as a whole: it is less than a sector. So no crash leaves anything but a
head in it, and a file that holds anything else was damaged by somebody: ``TamperError``.

A charge is on the disk before it returns; its head is synced with it unless that was done less than
:data:`SYNC_EVERY` ago. Only a power cut in the middle of a burst of charges can therefore leave an
anchor that is older than the ledger, by less than that time: a sound one, which a copy from that
very moment would pass. (A second wait for the disk in every charge would halve their rate.)
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import secrets
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veilspan._files import sync_folder
from veilspan.ledger.errors import LedgerWarning, TamperError
from veilspan.ledger.seal.chain import Head

_locks: Any
try:
    import fcntl as _locks
except ImportError:  # Windows: there reads and small writes of one file exclude each other
    _locks = None

# Count, colon, digest and spaces, whatever the count: all heads are overwritten in one length.
_LENGTH = 90

#: Seconds for which heads of a burst of charges may be in the memory of the system only. Twice as
#: long leaves twice the time in which an old copy could pass after a power cut; see the top.
SYNC_EVERY = 1.0

# When this process synced an anchor last, and those that were written since.
_SYNCED: dict[Path, float] = {}
_WRITTEN: set[Path] = set()
# Anchors about which this process has warned.
_WARNED: set[Path] = set()


@dataclass(frozen=True)
class Anchor:
    """The file that keeps the last head; reading and writing it never leave half of a line."""

    path: Path

    def read(self) -> Head | None:
        """The head; None if there is no file, or it is not ours to read."""
        try:
            handle = os.open(self.path, os.O_RDONLY)
        except OSError:
            return None
        try:
            _lock(handle, "LOCK_SH")
            text = os.read(handle, 2 * _LENGTH)
        except OSError:  # a folder of that name, a bad disk
            text = b""
        finally:
            os.close(handle)
        return self._parse(text)

    def _parse(self, text: bytes) -> Head:
        try:
            return Head.parse(text.decode("ascii"))
        except ValueError:
            raise TamperError(
                f"{self.path}, which holds the last head that was seen from here, was emptied, cut "
                "or overwritten: nobody can tell whether the ledger is an old copy. Run verify "
                "with a head from a release; if it finds nothing, remove that file."
            ) from None

    def prepare(self, seen: Head | None, last: Head, expected: bool) -> None:
        """Before a write: see that a head can be kept, and warn if there was or will be none."""
        if seen is None and expected:
            self._warn("there was an anchor and it is gone")
        if seen is None and not self._make(last):
            self._warn("none can be written")
        elif seen is not None and not os.access(self.path, os.W_OK):
            self._warn("it cannot be written any more")

    def keep(self, head: Head) -> None:
        """Keep a head, on the disk, if it is later than the one kept."""
        try:
            handle = os.open(self.path, os.O_RDWR)
        except FileNotFoundError:
            if not self._make(head):
                self._warn("none can be written")
            return
        except OSError:
            self._warn("it cannot be written any more")
            return
        try:
            _lock(handle, "LOCK_EX")
            if self._parse(os.read(handle, 2 * _LENGTH)).count >= head.count:
                return  # another process was quicker, and has synced it or is about to
            os.lseek(handle, 0, os.SEEK_SET)
            os.write(handle, _line(head))
            self._sync_if_due(handle)
        except OSError:
            self._warn("it cannot be written any more")
        finally:
            os.close(handle)

    def _sync_if_due(self, handle: int) -> None:
        now = time.monotonic()
        if now - _SYNCED.get(self.path, -math.inf) < SYNC_EVERY:
            _WRITTEN.add(self.path)
            return
        _SYNCED[self.path] = now
        _WRITTEN.discard(self.path)
        _lock(handle, "LOCK_UN")  # nobody need wait for the disk with us
        # The length never changes, so that the data is all there is to write.
        getattr(os, "fdatasync", os.fsync)(handle)

    def _make(self, head: Head) -> bool:
        try:
            write_synced(self.path, _line(head))
        except OSError:
            return False
        return True

    def _warn(self, why: str) -> None:
        if self.path in _WARNED:
            return
        _WARNED.add(self.path)
        warnings.warn(
            f"the ledger has no anchor in {self.path.parent} ({why}): an old copy of it that is "
            "put back would not be noticed here. Let this user write to that folder, and compare "
            "heads by verify.",
            LedgerWarning,
            stacklevel=2,
        )


def write_synced(path: Path, content: bytes) -> None:
    """Write a small file for its owner alone: whole, and on the disk, its name as well."""
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        try:
            os.write(handle, content)
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(path.parent)


def _line(head: Head) -> bytes:
    return f"{head!s:<{_LENGTH}}\n".encode()  # always 91 bytes, so that overwriting leaves no tail


@atexit.register
def sync_written() -> None:
    """At the end of the process, sync the anchors that were written since their last sync."""
    while _WRITTEN:
        with contextlib.suppress(OSError):
            handle = os.open(_WRITTEN.pop(), os.O_RDWR)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def _lock(handle: int, how: str) -> None:
    """Lock a file, so that nobody reads half of a line. Closing it ends the lock."""
    if _locks is not None:
        with contextlib.suppress(OSError):  # some network folders have no locks
            _locks.flock(handle, getattr(_locks, how))
