"""A file for rows that do not fit into memory, of which nothing stays behind.

The file has no name: the operating system frees it as soon as the process is gone, whatever ended
it (an error, ``kill -9``, a lack of memory), and nobody else can open it meanwhile but who may read
the memory of this process anyway. It is made with mode 0600. Two processes never share one.

*Where files keep a name.* Some places keep a name for every open file (Windows, network drives).
There the bytes are encrypted with a key that is in memory alone, so that a file that stays behind
says nothing. *Why that is sound.* Each megabyte has a key of its own, derived one-way (BLAKE2b)
from 32 bytes of the operating system and the megabyte's number, and is added to the stream of that
key: the cipher in counter mode that all noise is drawn from (``privacy.noise``). A file is only
ever made longer, so no byte of a stream is used twice, and a forked child, which has the same key,
cannot append. That hides what a file holds from whoever finds it; it does not stop somebody who may
write to it meanwhile from spoiling a fit.

*What is not covered.* Freed blocks of a disk are not wiped: who takes the disk out may find them,
as he finds those of the table itself. Encrypt the disk, or name a folder on one that is
(``VEILSPAN_TEMP``). What waits in memory may be swapped out, here as anywhere.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np

from veilspan.privacy.errors import TemporaryFolderError
from veilspan.privacy.noise import SamplingKey, cipher_name

T = TypeVar("T")

#: Names the folder of temporary files.
VARIABLE = "VEILSPAN_TEMP"
#: Where large temporary files belong by custom; ``/tmp`` is often a part of the memory.
_LARGE_FILES = Path("/var/tmp")
#: Bytes that share a key; deriving one takes as long as encrypting a twentieth of them.
_STRIPE = 1024 * 1024
#: Bytes that one call of the operating system may move; some refuse more than 2 GB.
_MOST_AT_ONCE = 1024 * 1024 * 1024


def temporary_folder() -> Path:
    """Where temporary files go: the folder of ``VEILSPAN_TEMP`` or ``TMPDIR``, else a usual one."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    if not os.environ.get("TMPDIR") and os.access(_LARGE_FILES, os.W_OK | os.X_OK):
        return _LARGE_FILES
    return Path(tempfile.gettempdir())


class SecretFile:
    """Bytes on a disk that only this process can read; they are gone when it is.

    Parameters
    ----------
    folder : path, optional
        Where it is made; :func:`temporary_folder` if left out.
    encrypt : bool, optional
        Whether to encrypt; only where the file keeps a name, if left out.

    Raises
    ------
    TemporaryFolderError
        If the folder cannot be written to, or is full.
    """

    def __init__(self, folder: Path | None = None, *, encrypt: bool | None = None) -> None:
        self._folder = temporary_folder() if folder is None else folder
        self._file: Any = use_folder(
            self._folder,
            lambda: tempfile.TemporaryFile(  # noqa: SIM115 (it lives as long as this)
                prefix="veilspan-", dir=self._folder, buffering=0
            ),
        )
        self._number = self._file.fileno()
        self._key = secrets.token_bytes(32)
        self._encrypts = keeps_its_name(self._number) if encrypt is None else encrypt
        self._owner = os.getpid()
        self._moving = threading.Lock()
        #: Bytes written so far.
        self.size = 0

    def append(self, array: np.ndarray) -> None:
        """Write the bytes of an array at the end."""
        if os.getpid() != self._owner:
            raise RuntimeError("a forked process cannot append to the temporary file of another.")
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        if self._encrypts:
            data = self._with_stream(data.copy(), self.size)
        use_folder(self._folder, lambda: self._write(data.data))
        self.size += len(data)

    def read_into(self, out: np.ndarray, start: int) -> np.ndarray:
        """Fill a contiguous array with the bytes from ``start`` on, and return it."""
        data = out.reshape(-1).view(np.uint8)
        use_folder(self._folder, lambda: self._read(data.data, start))
        if self._encrypts:
            self._with_stream(data, start)
        return out

    def close(self) -> None:
        """Give the room back now; otherwise it is when nobody holds the file any more."""
        self._file.close()

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()

    def _write(self, data: memoryview) -> None:
        with self._moving:
            os.lseek(self._number, self.size, os.SEEK_SET)
            while data:
                data = data[os.write(self._number, data[:_MOST_AT_ONCE]) :]

    def _read(self, data: memoryview, start: int) -> None:
        while data:
            n = self._read_some(data[:_MOST_AT_ONCE], start)
            if n == 0:
                raise OSError("the temporary file ends too early")
            data, start = data[n:], start + n

    def _read_some(self, data: memoryview, start: int) -> int:
        if hasattr(os, "preadv"):  # needs no place in the file: forks and threads read side by side
            return os.preadv(self._number, [data], start)
        with self._moving:
            os.lseek(self._number, start, os.SEEK_SET)
            return int(self._file.readinto(data))

    def _with_stream(self, data: np.ndarray, start: int) -> np.ndarray:
        """Add the cipher's stream from ``start`` on to some bytes, in place: en- and decryption."""
        place = 0
        while place < len(data):
            number, skip = divmod(start + place, _STRIPE)
            part = data[place : place + _STRIPE - skip]
            last = skip + len(part)
            stream = self._stream(number, -(-last // 8))[skip:last]
            np.bitwise_xor(part, stream, out=part)
            place += len(part)
        return data

    def _stream(self, number: int, words: int) -> np.ndarray:
        key = hashlib.blake2b(number.to_bytes(8, "big"), key=self._key, digest_size=32).digest()
        coins = SamplingKey(key, aes=cipher_name() == "AES-128").coins()
        return np.asarray(coins.bit_generator.random_raw(words), dtype="<u8").view(np.uint8)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a secret file is never pickled: a copy would leave the curator.")


def use_folder(folder: Path, work: Callable[[], T]) -> T:
    """Do something with a temporary file; what goes wrong becomes a sentence on what to do."""
    try:
        return work()
    except OSError as error:
        reason = error.strerror or "it cannot be used"
    raise folder_error(folder, reason)  # here, so that no other error hangs on it


def folder_error(folder: Path, reason: str) -> TemporaryFolderError:
    """Say what is wrong with the temporary folder, and what to do."""
    return TemporaryFolderError(
        f"rows that do not fit into memory wait in {folder} while a fit runs, and that failed: "
        f"{reason}. Make room, or name another folder in the variable {VARIABLE}."
    )


def keeps_its_name(number: int) -> bool:
    """Whether an open file can still be found by a name, so that it may outlive its process."""
    return os.name != "posix" or os.fstat(number).st_nlink > 0


def check_room(needed: int = 0) -> None:
    """Refuse a temporary folder that is not there, closed to us, or has less room than needed.

    Parameters
    ----------
    needed : int
        Bytes, a public number: it is said whether there is room for them.
    """
    import shutil

    file = SecretFile()
    free = shutil.disk_usage(file._folder).free
    file.close()
    if free < needed:
        raise folder_error(file._folder, f"{_size(needed)} are needed and {_size(free)} are free")


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
