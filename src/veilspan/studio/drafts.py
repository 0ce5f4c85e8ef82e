"""Drafts on the disk: every version that was saved, so that nothing typed is lost.

A draft is a JSON document under a name; saving it makes the next version. Whoever saves says which
version they began from.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from veilspan._files import read_regular, write_whole
from veilspan.studio.errors import Refusal
from veilspan.studio.state import DRAFTS, Studio

#: Largest draft that is read; forms are limited to less.
MOST_BYTES = 4 * 2**20
#: Versions of a draft that are kept.
MOST_VERSIONS = 200
_NAME = re.compile(r"[A-Za-z0-9-]{1,80}")
_NUMBER = re.compile(r"[0-9]{1,9}")


def save_draft(studio: Studio, name: str, content: dict[str, Any]) -> int:
    """Write the next version of a draft; return its number."""
    with studio.lock_draft(name):
        version = latest_version(studio, name) + 1
        text = json.dumps(content, ensure_ascii=True).encode()
        write_whole(_path(studio, name, version), lambda stream: stream.write(text), 0o600)
        old = _path(studio, name, version - MOST_VERSIONS)
        old.unlink(missing_ok=True)
        return version


def load_draft(studio: Studio, name: str, version: int | None = None) -> dict[str, Any] | None:
    """A version of a draft, by default the latest; None if it is not there."""
    number = latest_version(studio, name) if version is None else version
    path = _path(studio, name, number)
    if number < 1 or not path.exists():
        return None
    found: dict[str, Any] = json.loads(read_regular(path, MOST_BYTES))
    return found


def latest_version(studio: Studio, name: str) -> int:
    """Number of the latest version of a draft, 0 if there is none."""
    folder = studio.folder / DRAFTS / _checked(name)
    if not folder.is_dir():
        return 0
    numbers = [int(path.stem) for path in folder.glob("*.json") if _NUMBER.fullmatch(path.stem)]
    return max(numbers, default=0)


def list_drafts(studio: Studio) -> list[str]:
    """Names of all drafts, newest first."""
    folders = [path for path in (studio.folder / DRAFTS).iterdir() if path.is_dir()]
    folders.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    return [path.name for path in folders]


def _path(studio: Studio, name: str, version: int) -> Path:
    return studio.folder / DRAFTS / _checked(name) / f"{max(version, 0)}.json"


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise Refusal(404, "There is no such draft.")
    return name
