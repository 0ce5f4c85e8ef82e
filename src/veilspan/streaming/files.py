"""A stream's state in one file: arrays and a JSON header in an ``.npz``, whole or absent."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from veilspan._files import write_whole

_HEADER = "header"


class StateFileError(ValueError):
    """A file that holds no readable state: truncated, damaged or of another kind."""


def write_state(
    path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> None:
    """Write under a temporary name, sync, then rename: no reader ever sees half a file."""
    target = Path(path)
    text = np.frombuffer(json.dumps(header, allow_nan=False).encode(), dtype=np.uint8)
    entries = {_HEADER: text, **arrays}
    write_whole(target, lambda stream: np.savez(stream, allow_pickle=False, **entries), mode=0o600)


def read_state(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays; every entry carries a checksum, so damage is noticed."""
    try:
        # Opened here, because NumPy leaves the file of a broken archive open.
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        header = json.loads(arrays.pop(_HEADER).tobytes())
    except FileNotFoundError:
        raise
    except (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise StateFileError(
            f"{os.fspath(path)} holds no readable state: it is truncated, damaged or another kind "
            f"of file ({type(error).__name__})."
        ) from error
    return header, arrays
