"""A stream's state in one file: arrays and a JSON header in an ``.npz``, whole or absent."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from veilspan._archives import pack_arrays, read_with_header, with_header
from veilspan._files import write_whole


class StateFileError(ValueError):
    """A file that holds no readable state: truncated, damaged or of another kind."""


def write_state(
    path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> None:
    """Write under a temporary name, sync, then rename: no reader ever sees half a file.

    Without privacy a state depends on single rows: it is its owner's alone.
    """
    packed = pack_arrays(with_header(header, arrays))
    write_whole(Path(path), lambda stream: stream.write(packed), mode=0o600)


def read_state(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays; every entry carries a checksum, so damage is noticed."""
    try:
        return read_with_header(Path(path))
    except FileNotFoundError:
        raise
    except Exception as error:  # of whatever type: a file may hold anything
        raise StateFileError(
            f"{os.fspath(path)} holds no readable state: it is truncated, damaged, too large or "
            f"another kind of file ({type(error).__name__})."
        ) from error
