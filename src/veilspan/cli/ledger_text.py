"""How a ledger is shown to people, and how it is written to files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from veilspan._files import write_whole
from veilspan._printable import printable
from veilspan.ledger.errors import TamperError
from veilspan.ledger.ledger import Ledger
from veilspan.ledger.records import CHARGE, DATASET, RELEASE, Entry
from veilspan.ledger.spending import Spending
from veilspan.ledger.stores.base import open_store
from veilspan.ledger.terms import dataset_entries, spending_on

BAR_WIDTH = 40
# From this part of the budget on, the bar changes its colour.
_COLOURS = ((0.9, "red"), (0.6, "yellow"), (0.0, "green"))
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
)


def show_spending(states: Iterable[Spending]) -> None:
    """Print each dataset with a bar: full is spent."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    blocks = "█░" if "utf" in console.encoding.lower() else "#-"
    for state in states:
        first, *rest = (printable(line) for line in repr(state).splitlines())
        colour = next(colour for least, colour in _COLOURS if state.fraction >= least)
        console.print(Text(first, style="bold"))
        console.print(Text(f"  {bar(state.fraction, blocks)}", style=colour))
        for line in rest:
            console.print(Text(line))


def bar(fraction: float, blocks: str = "█░") -> str:
    """A bar that is full only when everything is spent, and empty only when nothing is."""
    filled = max(min(int(fraction * BAR_WIDTH), BAR_WIDTH), int(fraction > 0))
    return blocks[0] * filled + blocks[1] * (BAR_WIDTH - filled)


def show_entries(entries: Sequence[Entry]) -> None:
    """Print one line for each entry."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    table.add_column("entry", justify="right")
    for title in ("time (UTC)", "dataset", "kind", "what"):
        table.add_column(title, overflow="fold")
    released = {entry.about for entry in entries if entry.kind == RELEASE}
    for entry in entries:
        time = entry.time[:19].replace("T", " ")
        cells = time, entry.dataset, entry.kind, describe(entry, entry.seq in released)
        table.add_row(str(entry.seq), *(Text(printable(str(cell))) for cell in cells))
    Console(highlight=False).print(table)


def entries_as_they_stand(
    ledger: Ledger, dataset: str | None, last: int | None, before: int | None
) -> list[Entry]:
    """Entries without any check, for whoever looks for what was done to them."""
    with open_store(ledger.url).reading() as book:
        entries = list(book.entries())
    chosen = [
        entry
        for entry in entries
        if dataset in (None, entry.dataset) and (before is None or entry.seq < before)
    ]
    return chosen if last is None else chosen[-last:]


def describe(entry: Entry, released: bool) -> str:
    """What an entry says, in a few words."""
    try:
        content = entry.content
        if entry.kind == DATASET:
            terms = content["terms"]
            return f"budget epsilon = {terms['epsilon']:g}, delta = {terms['delta']:g}"
        if entry.kind == RELEASE:
            return f"of entry {entry.about}"
        if entry.kind == CHARGE:
            return _describe_charge(entry, content, released)
    except (TamperError, ValueError, KeyError, TypeError):
        return "cannot be read: run verify"
    return f"opened by veilspan {content.get('version', '')}"


def _describe_charge(entry: Entry, content: dict[str, Any], released: bool) -> str:
    cost = f"epsilon = {float(content['epsilon']):g}, delta = {content['delta']:g}"
    key = f", key {entry.key}" if entry.key else ""
    test = f"; TEST ({content['test']})" if content["test"] else ""
    state = "" if released else "; not recorded as released"
    return f"{content['method']}, {cost}{key}{test}{state}"


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
    text = _as_csv(entries) if out.suffix == ".csv" else _as_json(entries, states, head)
    write_whole(out, lambda stream: stream.write(text.encode()))
    return len(entries)


def _as_json(entries: Sequence[Entry], states: Sequence[Spending], head: str) -> str:
    content = {
        "head": head,
        "datasets": [state.to_dict() for state in states],
        "entries": [entry_to_dict(entry) for entry in entries],
    }
    return json.dumps(content, indent=2) + "\n"


def _as_csv(entries: Sequence[Entry]) -> str:
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, _CSV_FIELDS, extrasaction="ignore")
    writer.writeheader()
    for entry in entries:
        record = entry_to_dict(entry)
        content = record["content"] if isinstance(record["content"], dict) else {}
        terms = content.get("terms") or content.get("statement") or content
        row = {**terms, **record}
        writer.writerow({name: as_cell(row.get(name)) for name in _CSV_FIELDS})
    return stream.getvalue()


def as_cell(value: Any) -> Any:
    """A value that a spreadsheet shows as it is: no formula, no control character.

    A text that starts like a formula gets an apostrophe in front, which spreadsheets take for "this
    is text". Numbers are numbers, whatever their sign.
    """
    if not isinstance(value, str):
        return value
    text = f"'{value}" if value.startswith(_FORMULA) else value
    return printable(text)
