"""Write and read the two files of a release such that readers see an old one or a new one, whole.

``arrays-<digest>.npz`` holds the arrays under a name that no other arrays have, ``release.json``
everything else and that name. So new arrays never touch the old ones, and the one rename of
``release.json`` takes a reader from the old release to the new: whoever is killed before it leaves
the old, whoever is killed after it leaves the new. What is left over is removed afterwards, while
no other process writes to the folder; where the system cannot tell, it stays.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from veilspan._archives import MOST_BYTES, pack_arrays, unpack_arrays
from veilspan._files import only_writer, read_regular, sync_folder, write_aside, write_whole
from veilspan.privacy.statement import PrivacyStatement
from veilspan.privacy.strength import NONE, WEAK
from veilspan.releases.documents import (
    DOCUMENT,
    OLD_ARRAYS,
    arrays_name,
    arrays_of,
    document_text,
    equal,
    read_document,
)

#: A picture of the release for readers: beside it, never part of what is loaded.
REPORT = "report.html"
#: What a release says beside itself if it protects little or nobody (:func:`mark_of`).
WEAK_MARK, NOT_PRIVATE_MARK = "WEAK.txt", "NOT_PRIVATE.txt"
MARKS = (WEAK_MARK, NOT_PRIVATE_MARK)
_ARRAYS = re.compile(r"arrays-[0-9a-f]{32}\.npz")
#: Of this version and of those before, which drew the last letters otherwise.
_TEMPORARY = re.compile(
    r"\.(arrays-[0-9a-f]{32}\.npz|arrays\.npz|release\.json|report\.html|WEAK\.txt|"
    r"NOT_PRIVATE\.txt)\.[a-z0-9_]{8}"
)
#: How often a reader begins anew because the release was replaced while it read; each time takes
#: another save between its two reads.
_ATTEMPTS = 20


def belongs_to_release(name: str) -> bool:
    """Whether a file of that name in a folder of a release is part of it, or left of one."""
    return name in (DOCUMENT, OLD_ARRAYS, REPORT, *MARKS) or is_left_over(name)


def is_left_over(name: str) -> bool:
    """Whether a file of that name is nothing where there is no ``release.json``."""
    return bool(_ARRAYS.fullmatch(name) or _TEMPORARY.fullmatch(name)) or name in MARKS


def mark_of(statement: PrivacyStatement) -> tuple[str, str] | None:
    """Name and text of the file that says what a release does not promise; None if all is well."""
    strength = statement.strength
    if strength.grade not in (WEAK, NONE):
        return None
    named = f"{statement.method}, release {statement.release_id}"
    reasons = "\n".join(f"- {reason}" for reason in strength.reasons)
    if strength.grade == NONE:
        advice = "Treat what is in this folder like the rows themselves."
        return NOT_PRIVATE_MARK, f"NOT PRIVATE: {named}\n{reasons}\n{advice}\n"
    promise = f"epsilon = {statement.epsilon_as_asked} at delta = {statement.delta:g}"
    return WEAK_MARK, f"A WEAK promise: {named}\n{promise}\n{reasons}\n"


def write_release(
    folder: Path,
    content: dict[str, Any],
    arrays: Mapping[str, np.ndarray],
    key: bytes | None,
    *,
    overwrite: bool = False,
    mark: tuple[str, str] | None = None,
) -> None:
    """Put the arrays into the folder, then switch to them; returns once that is on the disk.

    ``mark`` is the name and the text of a file that warns of the release (:func:`mark_of`): it is
    there before the release is, and an old one is removed after the switch.
    """
    packed = pack_arrays(arrays)
    digest = hashlib.sha256(packed).hexdigest()
    text = document_text(content, digest, key)
    with only_writer(folder) as alone:
        replaced = os.path.lexists(folder / DOCUMENT)
        if not overwrite:
            refuse_taken(folder)
        done = False
        try:
            with _marked(folder, mark, replaced=replaced):
                _switch(folder, packed, arrays_name(digest), text, replaced=replaced)
            done = True
        finally:
            # If it broke off, the document that is there now says which arrays are in use.
            kept = arrays_name(digest) if done else _arrays_in_use(folder)
            if alone and kept is not None:
                _tidy(folder, kept, replaced=replaced)


def refuse_taken(folder: Path) -> None:
    """Refuse a folder that holds a release."""
    if os.path.lexists(folder / DOCUMENT):
        raise FileExistsError(
            f"{folder} already holds a release; choose another folder, or say overwrite=True."
        )


@contextlib.contextmanager
def _marked(folder: Path, mark: tuple[str, str] | None, *, replaced: bool) -> Iterator[None]:
    """Put the mark of a release there before it comes, and take the old one's away after that.

    Whoever is killed between them leaves a mark too many, which does no harm. Without a release
    that was replaced, files of these names are somebody else's.
    """
    new = mark is not None and not os.path.lexists(folder / mark[0])
    if mark is not None:
        text = mark[1].encode()
        write_whole(folder / mark[0], lambda stream: stream.write(text))
    try:
        yield
    except BaseException:
        if mark is not None and new:
            (folder / mark[0]).unlink(missing_ok=True)
        raise
    for name in MARKS:
        if replaced and (mark is None or name != mark[0]):
            (folder / name).unlink(missing_ok=True)


def _switch(folder: Path, packed: bytes, name: str, text: bytes, *, replaced: bool) -> None:
    waiting: list[Path] = []
    try:
        waiting.append(write_aside(folder / name, lambda stream: stream.write(packed)))
        waiting.append(write_aside(folder / DOCUMENT, lambda stream: stream.write(text)))
        os.replace(waiting[0], folder / name)
        sync_folder(folder)  # the arrays have their name before anything names them
        if replaced:  # before the switch: a report of the old release must not lie beside the new
            (folder / REPORT).unlink(missing_ok=True)
        os.replace(waiting[1], folder / DOCUMENT)
        sync_folder(folder)
    finally:
        for temporary in waiting:
            temporary.unlink(missing_ok=True)


def _arrays_in_use(folder: Path) -> str | None:
    """The arrays of the release that is there, empty if there is none, None if it is unreadable."""
    if not os.path.lexists(folder / DOCUMENT):
        return ""
    try:
        return arrays_of(read_document(folder, None))[0]
    except (ValueError, OSError):
        return None


def _tidy(folder: Path, kept: str, *, replaced: bool) -> None:
    """Remove arrays that no document names, and what killed processes left."""
    for path in folder.iterdir():
        # Without a release that was replaced, a file of the old name is somebody else's.
        left = is_left_over(path.name) or (replaced and path.name == OLD_ARRAYS)
        left = left and path.name not in MARKS  # a mark too many warns, and does no harm
        if left and path.name != kept:
            with contextlib.suppress(OSError):  # the release is whole, whatever lies beside it
                path.unlink()


def read_release(path: Path, key: bytes | None) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read the document and the arrays, and return them once every check has passed."""
    folder = path.parent if path.name == DOCUMENT else path
    document, packed, name = _read_both(folder, key)
    if not equal(arrays_of(document)[1], hashlib.sha256(packed).hexdigest()):
        raise ValueError(f"{name} of the release {folder} was changed after it was written.")
    try:
        return document, unpack_arrays(packed)
    except Exception:  # whatever NumPy, zipfile and the memory say of a foreign archive
        pass  # the digest fits, so it was written like this, by another program
    raise ValueError(f"{name} of the release {folder} holds something else than plain arrays.")


def _read_both(folder: Path, key: bytes | None) -> tuple[dict[str, Any], bytes, str]:
    """Read a document and the arrays that it names, again if they were replaced meanwhile."""
    seen = None
    for _ in range(_ATTEMPTS):
        document = read_document(folder, key)
        name = arrays_of(document)[0]
        try:
            return document, read_regular(folder / name, MOST_BYTES), name
        except FileNotFoundError:
            pass
        if document == seen:
            break
        seen = document
    raise ValueError(f"the release {folder} is not whole: it has no {name}.")
