"""Files that are whole or absent: written under a temporary name, synced, then renamed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO


def write_whole(path: Path, write: Callable[[BinaryIO], object], mode: int = 0o666) -> None:
    """Write a file through ``write(stream)`` so that no reader ever sees half of it.

    Who may read it is decided by ``mode`` and the user's umask, as for every other file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, mode & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    """The permissions that the user takes away; there is no way to ask but to set it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
