"""A folder of results that appears whole: made beside its place, synced, then renamed."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Files of a release: only a folder that holds nothing else may be replaced.
RELEASE_FILES = {"release.json", "arrays.npz", "report.html"}


def place_of(out: Path) -> Path:
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
    if not out.is_dir():
        raise FileExistsError(f"{out} is a file; --out names a folder.")
    held = {path.name for path in out.iterdir()}
    if not held:
        return
    if not held <= RELEASE_FILES:
        raise FileExistsError(
            f"{out} holds files that are no release; choose another folder for --out."
        )
    if not force:
        raise FileExistsError(
            f"{out} holds a release already; choose another folder, or --force to replace it."
        )


@contextmanager
def new_folder(out: Path, *, force: bool) -> Iterator[Path]:
    """Hand out a folder to fill; it becomes ``out`` at the end, or vanishes with an error."""
    check_free(out, force=force)
    above = [folder for folder in out.absolute().parents if not folder.exists()]
    out.parent.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}."))
    try:
        yield staged
        _sync(staged)
        staged.chmod(0o755)
        check_free(out, force=force)
        _put(staged, out)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
        for folder in above if not out.exists() else ():
            with contextlib.suppress(OSError):  # somebody else uses it meanwhile
                folder.rmdir()


def _put(staged: Path, out: Path) -> None:
    old = None
    if out.exists() and any(out.iterdir()):
        old = staged.with_name(f"{staged.name}.old")
        os.rename(out, old)
    elif out.exists():
        out.rmdir()
    try:
        os.rename(staged, out)
    except BaseException:
        if old is not None:
            os.rename(old, out)
        raise
    _sync(out.parent, files=False)
    if old is not None:
        shutil.rmtree(old)


def _sync(folder: Path, *, files: bool = True) -> None:
    paths = [*folder.iterdir()] if files else []
    for path in [*paths, folder]:
        if path.is_dir() and os.name != "posix":
            continue
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
