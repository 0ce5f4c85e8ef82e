"""The folder that ``veilspan fit --out`` names: free before the fit, whole after it.

A new folder is filled beside its place, synced, then renamed. A release that is replaced stays in
its folder until the new one takes its place there by one rename (:mod:`veilspan.releases.files`).
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from veilspan._files import sync_folder, write_aside

#: Written beside its place and removed again, to find out before the fit whether that works.
_TRIAL = "release.json"


def resolve_place(out: Path) -> Path:
    """Where ``out`` leads, or an error if a folder cannot be put there by renaming one."""
    if out.is_symlink() and not out.exists():
        raise FileExistsError(f"{out} is a link that leads nowhere; choose another --out.")
    place = out.resolve()
    here = Path.cwd().resolve()
    if place == here or place in here.parents or os.path.ismount(place):
        raise FileExistsError(
            f"{out} is a folder that is in use and cannot be replaced; --out names a new one."
        )
    return place


def check_free(out: Path, *, force: bool) -> None:
    """Refuse a place that is taken, before any work is done."""
    if not out.exists():
        return
    from veilspan.releases.files import belongs_to_release, is_left_over

    if not out.is_dir():
        raise FileExistsError(f"{out} is a file; --out names a folder.")
    held = {path.name for path in out.iterdir()}
    if not all(map(belongs_to_release, held)):
        raise FileExistsError(
            f"{out} holds files that are not a release; choose another folder for --out."
        )
    if not force and not all(map(is_left_over, held)):
        raise FileExistsError(
            f"{out} holds a release already; choose another folder, or --force to replace it."
        )


def read_replaced_id(out: Path) -> str:
    """Name of the release that is in a folder; empty if there is none that can be read."""
    from veilspan.releases.documents import DOCUMENT, read_document

    if not os.path.lexists(out / DOCUMENT):
        return ""
    try:
        return str(read_document(out, None)["statement"]["release_id"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


@contextmanager
def open_folder(out: Path, *, force: bool) -> Iterator[Path]:
    """Hand out a folder to save a release in: ``out``, or one that becomes ``out`` at the end."""
    check_free(out, force=force)
    if out.exists():
        write_aside(out / _TRIAL, lambda stream: stream.write(b"")).unlink()
        yield out
        return
    above = [folder for folder in out.absolute().parents if not folder.exists()]
    out.parent.mkdir(parents=True, exist_ok=True)
    staged = out.with_name(f".{out.name[:50]}.{secrets.token_hex(4)}")
    staged.mkdir()
    try:
        yield staged
        sync_folder(staged)
        _move_into_place(staged, out)
        sync_folder(out.parent)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
        for folder in above if not out.exists() else ():
            with contextlib.suppress(OSError):  # somebody else uses it meanwhile
                folder.rmdir()


def _move_into_place(staged: Path, out: Path) -> None:
    try:
        os.rename(staged, out)  # also onto an empty folder that came meanwhile
    except OSError:
        if not out.exists():
            raise
        raise FileExistsError(f"{out} was taken by somebody else meanwhile.") from None
