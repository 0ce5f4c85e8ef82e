"""Figures of the README and the guides, read from the records: ``python docs/figures.py --write``.

A figure stands in a marked span, which names a record of ``docs/evidence`` and a place in its
facts:

    <!-- figure: tables scores[task=adult; epsilon=1; method=bins].mean .3f -->0.8<!-- /figure -->

In brackets are the entries of the one row that is meant; more than one row, or none, is an error.
The last word is a format of Python; of a text with a unit (``test accuracy 0.85``) the number is
taken, and ``text`` takes all of it. Without ``--write`` spans that disagree with their records are
listed, and the exit code is 1. Nothing but the standard library is needed.
"""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "docs" / "evidence"
SPAN = re.compile(r"(<!-- figure: (.+?) -->)(.*?)(<!-- /figure -->)", flags=re.S)
PLACE = re.compile(
    r"(?P<record>[\w-]+) (?P<list>\w+)\[(?P<where>[^]]*)\]\.(?P<entry>.+) (?P<form>\S+)"
)
NUMBER = re.compile(r"-?\d[\d.,]*(?:e[-+]?\d+)?")


def pages() -> list[Path]:
    """The README and every page that is written by hand."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def fill(text: str) -> str:
    """Return a page with every span filled from its record."""
    return SPAN.sub(lambda span: span[1] + find_figure(span[2]) + span[4], text)


def find_figure(place: str) -> str:
    """Return the figure at a place, as it is written on a page."""
    parts = PLACE.fullmatch(place)
    if parts is None:
        raise ValueError(f"not a place of a figure: {place}")
    wanted = dict(pair.split("=", 1) for pair in parts["where"].split("; "))
    rows = load(parts["record"])[parts["list"]]
    found = [row for row in rows if all(same(row[key], wanted[key]) for key in wanted)]
    if len(found) != 1:
        raise ValueError(f"{len(found)} rows in place of one: {place}")
    return write(found[0][parts["entry"]], parts["form"])


@cache
def load(record: str) -> Any:
    """Return the facts of a record."""
    return json.loads((RECORDS / f"{record}.json").read_text(encoding="utf-8"))["facts"]


def same(value: object, wanted: str) -> bool:
    """Tell whether an entry is what a place says, a number by its value."""
    if isinstance(value, (int, float)):
        return float(wanted) == value
    return str(value) == wanted


def write(value: object, form: str) -> str:
    """Write a value in a format; of a text its last number."""
    if form == "text":
        return str(value)
    if isinstance(value, str):
        numbers = NUMBER.findall(value)
        if not numbers:
            raise ValueError(f"no number in {value!r}")
        value = float(numbers[-1].replace(",", ""))
    return format(value, form)


def main(arguments: list[str]) -> int:
    """List the spans that disagree, or fill them."""
    stale = [page for page in pages() if fill(text := page.read_text("utf-8")) != text]
    for page in stale:
        print(page.relative_to(ROOT), file=sys.stderr)
        if "--write" in arguments:
            page.write_text(fill(page.read_text("utf-8")), encoding="utf-8")
    return int(bool(stale) and "--write" not in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
