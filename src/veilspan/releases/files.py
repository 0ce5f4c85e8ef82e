"""The two files of a release: written whole or not at all, read only if nobody changed them.

``arrays.npz`` holds the arrays, ``release.json`` everything else and the digests of both. The JSON
comes last, so a folder without it is no release. While an old release is replaced, there is at any
moment the old one, none, or the new one.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

ARRAYS, DOCUMENT = "arrays.npz", "release.json"
#: A picture of the release for readers: beside it, never part of what is loaded.
REPORT = "report.html"
FORMAT, SCHEMA = "veilspan release", 1
#: What the key seals, so that no seal of another kind can stand in for one of these.
_PURPOSE = b"veilspan release\0"


def write_release(
    folder: Path, content: dict[str, Any], arrays: Mapping[str, np.ndarray], key: bytes | None
) -> None:
    """Write both files under temporary names, sync them, then give them their names."""
    packed = pack_arrays(arrays)
    document = {
        "format": FORMAT,
        "schema": SCHEMA,
        **content,
        "files": {ARRAYS: hashlib.sha256(packed).hexdigest()},
    }
    document["digest"] = digest_of(document)
    if key is not None:
        document["seal"] = seal_of(document["digest"], key)
    text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    waiting: list[tuple[str, str]] = []
    try:
        for name, data in ((ARRAYS, packed), (DOCUMENT, text.encode("utf-8", "surrogatepass"))):
            waiting.append((_write_aside(folder, name, data), name))
        if (folder / DOCUMENT).exists():  # never old words beside new arrays
            (folder / REPORT).unlink(missing_ok=True)
            (folder / DOCUMENT).unlink(missing_ok=True)
        sync_folder(folder)
        for temporary, name in waiting:
            os.replace(temporary, folder / name)
        sync_folder(folder)
    finally:
        for temporary, _ in waiting:
            Path(temporary).unlink(missing_ok=True)


def pack_arrays(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Arrays as the bytes of an ``.npz`` file."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]
    return stream.getvalue()


def _write_aside(folder: Path, name: str, data: bytes) -> str:
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            write_synced(stream, lambda s: s.write(data))
        os.chmod(temporary, 0o644)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return temporary


def write_synced(stream: BinaryIO, write: Callable[[BinaryIO], object]) -> None:
    """Write, and return once it is on the disk."""
    write(stream)
    stream.flush()
    os.fsync(stream.fileno())


def sync_folder(folder: Path) -> None:
    """Make renames inside a folder survive a power cut, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_release(path: Path, key: bytes | None) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The document and the arrays, after every check."""
    folder = path.parent if path.name == DOCUMENT else path
    document = read_document(folder, key)
    try:
        packed = (folder / ARRAYS).read_bytes()
    except FileNotFoundError:
        raise ValueError(f"the release {folder} is not whole: it has no {ARRAYS}.") from None
    if not _equal(document["files"].get(ARRAYS), hashlib.sha256(packed).hexdigest()):
        raise ValueError(f"{ARRAYS} of the release {folder} was changed after it was written.")
    try:
        return document, unpack_arrays(packed)
    except Exception:  # whatever NumPy, zipfile and the memory say of a foreign archive
        pass  # the digest fits, so it was written like this, by another program
    raise ValueError(f"{ARRAYS} of the release {folder} holds something else than plain arrays.")


def unpack_arrays(packed: bytes) -> dict[str, np.ndarray]:
    """The arrays that :func:`pack_arrays` packed; any error if it was another program.

    Members are stored as they are, so what is read is never larger than what was given: a small
    file that unpacks to any size is refused before it is unpacked.
    """
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        members = archive.infolist()
    encrypted = 0x1  # bit of the flags, APPNOTE.TXT 4.4.4
    plain = all(m.compress_type == zipfile.ZIP_STORED for m in members)
    if not plain or any(m.flag_bits & encrypted for m in members):
        raise ValueError("compressed or encrypted")
    if sum(m.file_size for m in members) > len(packed):
        raise ValueError("larger than the file that holds it")
    with np.load(io.BytesIO(packed), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    if not all(isinstance(array, np.ndarray) for array in arrays.values()):
        raise ValueError("a member that is no array")  # NumPy hands out its bytes
    return arrays


def read_document(folder: Path, key: bytes | None) -> dict[str, Any]:
    """``release.json`` after its checks: the format, the version, the digest, the seal."""
    if not folder.exists():
        raise FileNotFoundError(f"there is no release at {folder}.")
    if not (folder / DOCUMENT).is_file():
        raise ValueError(f"{folder} holds no release: it has no {DOCUMENT}.")
    document = _parsed(folder / DOCUMENT)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"{folder / DOCUMENT} is JSON, but not a veilspan release.")
    schema = document.get("schema")
    if type(schema) is int and schema > SCHEMA:  # True is an int as well, and equal to 1
        raise ValueError(
            f"the release {folder} was written by a newer veilspan (schema {schema}); upgrade "
            "veilspan."
        )
    digest = document.get("digest")
    whole = type(schema) is int and schema == SCHEMA and isinstance(document.get("files"), dict)
    if not whole or not _equal(digest, digest_of(document)):
        raise ValueError(f"{DOCUMENT} of the release {folder} was changed after it was written.")
    if key is not None:
        _check_seal(document, folder, key)
    return document


def _parsed(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        pass
    raise ValueError(f"{path} is cut off or damaged: it is not JSON.")


def _check_seal(document: dict[str, Any], folder: Path, key: bytes) -> None:
    if "seal" not in document:
        raise ValueError(
            f"the release {folder} carries no seal, so a key says nothing about it: save it with "
            "key=..., or load it without."
        )
    if not _equal(document["seal"], seal_of(document["digest"], key)):
        raise ValueError(
            f"the seal of the release {folder} does not fit this key: it was changed, or sealed "
            "by another key."
        )


def digest_of(document: Mapping[str, Any]) -> str:
    """SHA-256 of a document in canonical form, without its digest and seal."""
    content = {name: value for name, value in document.items() if name not in ("digest", "seal")}
    try:
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (ValueError, RecursionError):
        return ""  # NaN, Infinity, too deep: never written, and `_equal` lets nothing fit
    return hashlib.sha256(text.encode()).hexdigest()


def seal_of(digest: str, key: bytes) -> str:
    """HMAC-SHA-256 of the digest: who has no key cannot make it fit a changed release."""
    return hmac.new(key, _PURPOSE + digest.encode(), hashlib.sha256).hexdigest()


def _equal(given: Any, wanted: str) -> bool:
    """Whether a digest is the one wanted; an empty one is none, so nothing equals it."""
    if not wanted or not isinstance(given, str) or not given.isascii():
        return False
    return hmac.compare_digest(given, wanted)
