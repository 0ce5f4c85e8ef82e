"""Draw the page of a release again and compare every byte."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from veilspan._files import IrregularFileError, read_regular
from veilspan._version import __version__
from veilspan.reports.draw import digest_body, draw_body, draw_page
from veilspan.reports.recheck.checks import FITS, UNCHECKED, WRONG, Check
from veilspan.reports.record import PageRecord
from veilspan.reports.subject import subject_of

#: Largest page that is read; real ones take up to a million bytes.
MOST_BYTES = 2**26
_ANCHOR = re.compile(r'<(?:section|footer|header|nav|div)\b[^>]*\bid="([\w-]+)"')


def check_page(model: Any, path: Path, *, must: bool) -> Check:
    """Whether a page is, byte for byte, what the release and its own record give."""
    if not must and path.is_symlink() and not path.exists():
        return Check("report", WRONG, f"{path.name} is a link that leads nowhere.")
    if not must and not path.exists():
        return Check("report", UNCHECKED, f"There is no {path.name} beside the release.")
    try:
        text = read_regular(path, MOST_BYTES).decode()
        record = PageRecord.from_page(text)
    except (UnicodeDecodeError, IrregularFileError, ValueError, TypeError, RecursionError):
        return Check(
            "report",
            WRONG,
            f"{path.name} does not say what it was made with: it was changed, or written by an "
            "earlier version. Write it again by veilspan report.",
        )
    subject = subject_of(model)
    if record.own_rows:
        return Check(
            "report",
            WRONG,
            f"{path.name} shows rows that its author drew and that no release holds, so it cannot "
            "be compared. Write it again without them.",
        )
    again = draw_page(subject, record)
    if again == text:
        return Check("report", FITS, _say_same(path, record, digest_body(draw_body(subject))))
    writer = record.written_by.get("veilspan", "")
    told = (
        f"{path.name} differs from what the release gives, first in the part "
        f"“{_find_part(text, again)}”."
    )
    if writer != __version__:
        told += (
            f" It says that veilspan {writer} wrote it and this is {__version__}, whose pages may "
            "differ: check it by that version, or write it again."
        )
    return Check("report", WRONG, told)


def _say_same(path: Path, record: PageRecord, code: str) -> str:
    told = f"{path.name} is, byte for byte, what the release gives (check code {code})."
    if record.meta is not None:
        told += (
            f" Its cover is in the words of its author, {record.meta.prepared_by}, of "
            f"{record.meta.date.isoformat()}: compare them with the paper that was signed."
        )
    return told


def _find_part(text: str, again: str) -> str:
    """Name of the section in which two pages first differ."""
    same = next((i for i, (a, b) in enumerate(zip(text, again)) if a != b), len(again))
    names = [found for found in _ANCHOR.finditer(again) if found.start() <= same]
    return names[-1][1] if names else "head of the page"
