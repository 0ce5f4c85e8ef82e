"""The record of a ledger as a file that people and other programs can read."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from veilspan._files import write_whole
from veilspan._printable import printable
from veilspan.ledger.errors import TamperError
from veilspan.ledger.ledger import Ledger
from veilspan.ledger.records import Entry
from veilspan.ledger.spending import Spending
from veilspan.ledger.terms import dataset_entries, spending_on

# How formulas start, in spreadsheets of some languages by wide letters as well.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_CSV_FIELDS = (
    "entry",
    "time",
    "dataset",
    "kind",
    "method",
    "epsilon",
    "delta",
    "test",
    "key",
    "about",
    "mac",
    "unit",
    "schema",
)


def entry_to_dict(entry: Entry) -> dict[str, Any]:
    """An entry, JSON-ready; a body that cannot be read stays text."""
    try:
        content: Any = entry.content
    except TamperError:
        content = entry.body
    return {
        "entry": entry.seq,
        "time": entry.time,
        "dataset": entry.dataset,
        "kind": entry.kind,
        "key": entry.key,
        "about": entry.about,
        "content": content,
        "mac": entry.mac,
    }


def export_ledger(ledger: Ledger, out: Path) -> int:
    """Write all entries as they stand at one moment; return how many."""
    if out.suffix not in (".csv", ".json"):
        raise ValueError(f"an export ends in .csv or .json; got {out.name!r}.")
    if out.exists() and Path(ledger.url).exists() and out.samefile(ledger.url):
        raise ValueError("the export would replace the ledger itself.")
    with ledger.journal.reading() as page:
        entries = page.entries(None, (None,))
        states = [spending_on(page, opened) for opened in dataset_entries(page)]
        head = str(page.head)
    text = _format_csv(entries) if out.suffix == ".csv" else _format_json(entries, states, head)
    write_whole(out, lambda stream: stream.write(text.encode()))
    return len(entries)


def _format_json(entries: Sequence[Entry], states: Sequence[Spending], head: str) -> str:
    content = {
        "head": head,
        "datasets": [state.to_dict() for state in states],
        "entries": [entry_to_dict(entry) for entry in entries],
    }
    return json.dumps(content, indent=2) + "\n"


def _format_csv(entries: Sequence[Entry]) -> str:
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, _CSV_FIELDS, extrasaction="ignore")
    writer.writeheader()
    for entry in entries:
        record = entry_to_dict(entry)
        content = record["content"] if isinstance(record["content"], dict) else {}
        terms = content.get("terms") or content.get("statement") or content
        row = {**terms, **record, "schema": _schema_digest(terms)}
        writer.writerow({name: _escape_cell(row.get(name)) for name in _CSV_FIELDS})
    return stream.getvalue()


def _schema_digest(said: Any) -> Any:
    """The digest of the schema that a charge or a statement names; None if it names none."""
    schema = said.get("schema") if isinstance(said, dict) else None
    return schema.get("digest") if isinstance(schema, dict) else None


def _escape_cell(value: Any) -> Any:
    """A value that a spreadsheet shows as it is: no formula, no control character.

    A text that starts like a formula gets an apostrophe in front, which spreadsheets take for "this
    is text". Numbers are numbers, whatever their sign.
    """
    if not isinstance(value, str):
        return value
    text = f"'{value}" if value.startswith(_FORMULA) else value
    return printable(text)
