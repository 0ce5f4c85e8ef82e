"""Read and write arrays in ``.npz`` files, for releases, trackers and local predictors alike.

A file may come from anybody. Every size is checked against what is there before memory is asked
for, and nothing but plain arrays of numbers and texts is built.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from veilspan._files import read_regular

#: Largest file of arrays that is written or read: 268 million numbers, with which any release that
#: fits a machine of today can do.
MOST_BYTES = 2**31
#: How much larger than the file its arrays may be, where compression is allowed. Random numbers
#: hardly shrink and lists of ids shrink by ten; files that shrink by more are written as they are.
MOST_EXPANSION, SMALL = 64, 2**24
#: The member of a file with a header that holds it.
HEADER = "header"
_ENCRYPTED = 0x1  # bit of the flags, APPNOTE.TXT 4.4.4
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
#: Numbers, truth values, bytes and texts: no objects, no records, no dates.
_KINDS = "biufcSU"


def pack_arrays(arrays: Mapping[str, np.ndarray], *, compressed: bool = False) -> bytes:
    """Arrays as the bytes of an ``.npz`` file that :func:`unpack_arrays` reads."""
    stream = io.BytesIO()
    if compressed:
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
        packed = stream.getvalue()
        with zipfile.ZipFile(stream) as archive:
            if sum(m.file_size for m in archive.infolist()) <= _most_unpacked(len(packed)):
                return packed
        stream = io.BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]
    packed = stream.getvalue()
    if len(packed) > MOST_BYTES:
        raise ValueError(f"the arrays take {len(packed):,} bytes; files hold {MOST_BYTES:,}.")
    return packed


def unpack_arrays(packed: bytes, *, compressed: bool = False) -> dict[str, np.ndarray]:
    """The arrays that :func:`pack_arrays` packed; any error if it was another program.

    Unless ``compressed``, members must be stored as they are, so that what is read is never larger
    than what was given.
    """
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        members = archive.infolist()
        _check_members(members, len(packed), compressed)
        return {m.filename.removesuffix(".npy"): _array(_content(archive, m)) for m in members}


def _most_unpacked(size: int) -> int:
    return min(MOST_BYTES, MOST_EXPANSION * size + SMALL)


def _check_members(members: Sequence[zipfile.ZipInfo], size: int, compressed: bool) -> None:
    names = [member.filename for member in members]
    if len(set(names)) < len(names) or not all(name.endswith(".npy") for name in names):
        raise ValueError("a name twice, or a member that is no array")
    allowed = {zipfile.ZIP_STORED, *([zipfile.ZIP_DEFLATED] if compressed else [])}
    if any(m.compress_type not in allowed or m.flag_bits & _ENCRYPTED for m in members):
        raise ValueError("compressed or encrypted")
    if sum(m.file_size for m in members) > (_most_unpacked(size) if compressed else size):
        raise ValueError("larger than the file that holds it")


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """A member, never more than it says; its checksum is compared at its end."""
    with archive.open(member) as stream:
        data = stream.read(member.file_size)  # without the size, zlib unpacks what is there
    if len(data) != member.file_size:
        raise ValueError("a member is cut off")
    return data


def _array(data: bytes) -> np.ndarray:
    stream = io.BytesIO(data)
    shape, by_columns, dtype = _HEADERS[npy.read_magic(stream)](stream)
    start = stream.tell()
    if dtype.kind not in _KINDS or dtype.itemsize == 0 or min(shape, default=0) < 0:
        raise ValueError("not a plain array")
    if math.prod(shape) * dtype.itemsize != len(data) - start:
        raise ValueError("its shape does not fit its bytes")
    order: Any = "F" if by_columns else "C"
    return np.ndarray(shape, dtype, data, start, order=order).copy(order="K")


def with_header(header: Any, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays and a header, which becomes one of them: JSON as bytes."""
    text = json.dumps(header, allow_nan=False).encode()
    return {HEADER: np.frombuffer(text, dtype=np.uint8), **arrays}


def read_with_header(
    path: Path, *, compressed: bool = False
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the other arrays of a file; any error if it is of another kind."""
    arrays = unpack_arrays(read_regular(path, MOST_BYTES), compressed=compressed)
    header = parse_json(arrays.pop(HEADER).tobytes())
    if not isinstance(header, dict):
        raise ValueError("the header is no object")
    return header, arrays


def parse_json(text: bytes) -> Any:
    """JSON that means one thing: an object that names a key twice is refused."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    except RecursionError:
        pass
    raise ValueError("it is nested too deeply")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):  # one reader takes the first, another the last
        raise DuplicateKeyError("it names a key twice")
    return found


class DuplicateKeyError(ValueError):
    """JSON that has two values under one key, so that readers could disagree about it."""
