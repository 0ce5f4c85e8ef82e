"""``release.json``: how it is written, and what is checked before anything in it is believed.

It names the arrays by their digest, so that a document and arrays of two releases cannot be mixed,
and carries a digest of its own and, if there is a key, a seal.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from veilspan._archives import DuplicateKeyError, parse_json
from veilspan._files import read_regular

DOCUMENT = "release.json"
#: What the arrays were called in releases of schema 1.
OLD_ARRAYS = "arrays.npz"
FORMAT, SCHEMA = "veilspan release", 2
#: Largest document that is written or read: a million names of items take a tenth of it.
MOST_BYTES = 2**28
#: What the key seals, so that no seal of another kind can stand in for one of these.
_PURPOSE = b"veilspan release\0"
_LETTERS = 32  # of a digest in a name: 128 bits


class NewerReleaseError(ValueError):
    """A release that a newer version wrote: nothing can be said about it here."""


def arrays_name(digest: str) -> str:
    """Name of the file with the arrays of that SHA-256."""
    return f"arrays-{digest[:_LETTERS]}.npz"


def document_text(content: Mapping[str, Any], digest: str, key: bytes | None) -> bytes:
    """Return the bytes of a whole document that names arrays of that digest."""
    document = {
        "format": FORMAT,
        "schema": SCHEMA,
        **content,
        "files": {arrays_name(digest): digest},
    }
    document["digest"] = digest_of(document)
    if key is not None:
        document["seal"] = seal_of(document["digest"], key)
    text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > MOST_BYTES:
        raise ValueError(
            f"{DOCUMENT} would take {len(data):,} bytes; at most {MOST_BYTES:,} are written."
        )
    return data


def arrays_of(document: Mapping[str, Any]) -> tuple[str, str]:
    """Name and digest of the arrays. The name is never taken from the file, but made again."""
    (digest,) = document["files"].values()
    if document["schema"] == 1:
        return OLD_ARRAYS, digest
    return arrays_name(digest), digest


def read_document(folder: Path, key: bytes | None) -> dict[str, Any]:
    """Read ``release.json`` and check it: the format, the version, the digest, the seal."""
    path = folder / DOCUMENT
    document = _parse(path, _read(folder, path))
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"{path} is JSON, but not a veilspan release.")
    schema = document.get("schema")
    if type(schema) is int and schema > SCHEMA:  # True is an int as well, and equal to 1
        raise NewerReleaseError(
            f"the release {folder} was written by a newer veilspan (schema {schema}); upgrade "
            "veilspan."
        )
    whole = type(schema) is int and schema >= 1 and _names_its_arrays(document)
    if not whole or not equal(document.get("digest"), digest_of(document)):
        raise ValueError(f"{DOCUMENT} of the release {folder} was changed after it was written.")
    if key is not None:
        _check_seal(document, folder, key)
    return document


def _read(folder: Path, path: Path) -> bytes:
    try:
        return read_regular(path, MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        pass
    if not folder.exists():
        raise FileNotFoundError(f"there is no release at {folder}.")
    raise ValueError(f"{folder} holds no release: it has no {DOCUMENT}.")


def _names_its_arrays(document: Mapping[str, Any]) -> bool:
    """Whether there is one file of arrays, called as its digest says."""
    files = document.get("files")
    if not isinstance(files, dict) or len(files) != 1:
        return False
    ((name, digest),) = files.items()
    if not isinstance(digest, str) or len(digest) != 64 or set(digest) - set("0123456789abcdef"):
        return False
    return name == (OLD_ARRAYS if document["schema"] == 1 else arrays_name(digest))


def _parse(path: Path, text: bytes) -> Any:
    why = "is cut off or damaged: it is not JSON"
    try:
        return parse_json(text)
    except DuplicateKeyError:
        why = "names a key twice, which veilspan never writes"
    except ValueError:
        pass
    raise ValueError(f"{path} {why}.")


def _check_seal(document: dict[str, Any], folder: Path, key: bytes) -> None:
    if "seal" not in document:
        raise ValueError(
            f"the release {folder} carries no seal, so a key says nothing about it: save it with "
            "key=..., or load it without."
        )
    if not equal(document["seal"], seal_of(document["digest"], key)):
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
        return ""  # NaN, Infinity, too deep: never written, and `equal` lets nothing fit
    return hashlib.sha256(text.encode()).hexdigest()


def seal_of(digest: str, key: bytes) -> str:
    """HMAC-SHA-256 of the digest: who has no key cannot make it fit a changed release."""
    return hmac.new(key, _PURPOSE + digest.encode(), hashlib.sha256).hexdigest()


def equal(given: Any, wanted: str) -> bool:
    """Whether a digest is the one wanted; an empty one is none, so nothing equals it."""
    if not wanted or not isinstance(given, str) or not given.isascii():
        return False
    return hmac.compare_digest(given, wanted)
