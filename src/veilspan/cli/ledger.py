"""``veilspan ledger``: open accounts, see what is left, read and check the record.

Names of datasets and damaged entries may hold anything, so they are printed as one line each and
without characters that a terminal would obey.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from veilspan._printable import printable
from veilspan.cli.approvals import commands
from veilspan.cli.console import make_console, print_json, say

if TYPE_CHECKING:
    from veilspan.ledger import Ledger, Spending
    from veilspan.ledger.records import Entry

BAR_WIDTH = 40
#: From this part of the budget on, the bar changes its colour.
_COLOURS = ((0.9, "red"), (0.6, "yellow"), (0.0, "green"))

app = typer.Typer(
    help="Privacy budgets that outlive a process: create, show, history, verify, export, upgrade; "
    "and what people ask of them: requests, request, approve, refuse, withdraw.",
    no_args_is_help=True,
)
_DECIDING = (commands.requests, commands.request, commands.approve, commands.refuse)
for _decide in (*_DECIDING, commands.withdraw):
    app.command()(_decide)

Location = Annotated[str, typer.Argument(help="The ledger's file, or postgresql://...")]
DatasetName = Annotated[str, typer.Argument(help="Name of the dataset.")]
MaybeDataset = Annotated[str | None, typer.Argument(help="One dataset only.")]
KeyFile = Annotated[Path | None, typer.Option("--key", help="File with the ledger's key.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON only.")]


@app.command()
def create(
    location: Location,
    dataset: DatasetName,
    epsilon: Annotated[float, typer.Option(help="What all releases together may spend.")],
    delta: Annotated[float, typer.Option(help="And its delta.")],
    neighbors: Annotated[str, typer.Option(help="replace-one or add-remove.")] = "replace-one",
    accounting: Annotated[str, typer.Option(help="auto, gdp or rdp.")] = "auto",
    test: Annotated[bool, typer.Option("--test", help="For rehearsals: takes seeds.")] = False,
    unit: Annotated[str, typer.Option(help="Whom fits protect: row, user, patient, ...")] = "row",
    data: Annotated[
        str | None, typer.Option(help="Dataset that schemas must be of; by default DATASET.")
    ] = None,
    approval: Annotated[
        bool, typer.Option("--approval", help="Every charge needs an approved request.")
    ] = False,
    key: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Open a dataset's account, in a new ledger or an old one. Its terms never change."""
    ledger = _open_ledger(location, key)
    handle = ledger.dataset(
        dataset,
        epsilon,
        delta,
        neighbors=neighbors,
        accounting=accounting,
        test=test,
        unit=unit,
        data=data,
        approval=approval,
    )
    if json:
        head = str(ledger.head())
        print_json({**handle.spent().to_dict(), "head": head, "key_file": ledger.key_file})
        return
    _show_spending([handle.spent()])
    key_file = printable(ledger.key_file)
    say(f"  sealed by  {key_file} (keep it, and keep it apart from the ledger)")


@app.command()
def show(
    location: Location, dataset: MaybeDataset = None, key: KeyFile = None, json: AsJson = False
) -> None:
    """Show what was spent on each dataset and what is left."""
    ledger = _open_ledger(location, key)
    one = [] if dataset is None else [ledger.dataset(dataset).spent()]
    states = one or list(ledger.spent().values())
    if json:
        print_json([state.to_dict() for state in states])
    elif states:
        _show_spending(states)
    else:
        say("no datasets yet")


@app.command()
def history(
    location: Location,
    dataset: MaybeDataset = None,
    last: Annotated[int | None, typer.Option(min=1, help="Only the last so many.")] = None,
    before: Annotated[int | None, typer.Option(min=1, help="Only before this entry.")] = None,
    key: KeyFile = None,
    json: AsJson = False,
) -> None:
    """List every entry: what was charged, its share of the budget, whether it was released.

    All shares of a dataset are by the rule with most left now, so that they add up. A record that
    was tampered with is listed as it stands, with exit code 1.
    """
    from veilspan.cli.io.ledger_export import entry_to_dict
    from veilspan.ledger import TamperError

    ledger, damaged = _open_ledger(location, key), None
    try:
        entries = ledger.history(dataset, limit=last, before=before)
    except TamperError as error:
        damaged, entries = error, _read_unchecked(ledger, dataset, last, before)
    states = {} if damaged is not None or not entries else ledger.spent()
    if json:
        print_json(
            [{**entry_to_dict(entry), "share": _find_share(entry, states)} for entry in entries]
        )
    else:
        _show_entries(entries, states)
    if damaged is not None:
        raise damaged


@app.command()
def verify(
    location: Location,
    head: Annotated[
        str | None, typer.Option(help="A head noted earlier, count:digest, as in a release.")
    ] = None,
    key: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Check every seal and sum, and that nothing was cut off. Exit code 1 if something is wrong."""
    report = _open_ledger(location, key).verify(head)
    if json:
        found = {"ok": bool(report), "entries": report.entries, "problems": list(report.problems)}
        head = str(report.head) if report.head else None
        print_json({**found, "notes": list(report.notes), "head": head})
    else:
        for problem in report.problems:
            say(f"PROBLEM  {printable(problem)}")
        for note in report.notes:
            say(f"NOTE     {printable(note)}")
        if report:
            say(f"{report.entries} entries checked, no change found.")
        if report.head:
            say(f"head  {printable(str(report.head))}")
    if not report:
        raise typer.Exit(1)


@app.command()
def export(
    location: Location,
    out: Annotated[Path, typer.Option(help="A .csv or .json file; replaced if it is there.")],
    key: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Write the record to a file that people and other programs can read."""
    from veilspan.cli.io.ledger_export import export_ledger

    n_entries = export_ledger(_open_ledger(location, key), out)
    if json:
        print_json({"file": str(out), "entries": n_entries})
    else:
        say(f"{n_entries} entries written to {printable(str(out))}")


@app.command()
def upgrade(location: Location, key: KeyFile = None, json: AsJson = False) -> None:
    """Bring the tables of an older ledger to this version's format, as the first charge would."""
    ledger = _open_ledger(location, key)
    ledger.upgrade()
    if json:
        print_json({"head": str(ledger.head())})
    else:
        say("the ledger has the format of this version; earlier ones refuse it.")


def _open_ledger(location: str, key: Path | None) -> Ledger:
    from veilspan.ledger import Ledger

    return Ledger(location, key)


def _show_spending(states: Iterable[Spending]) -> None:
    """Print each dataset with a bar: full is spent."""
    from rich.text import Text

    console = make_console(soft_wrap=True)
    blocks = "█░" if "utf" in console.encoding.lower() else "#-"
    for state in states:
        first, *rest = (printable(line) for line in repr(state).splitlines())
        colour = next(colour for least, colour in _COLOURS if state.fraction >= least)
        console.print(Text(first, style="bold"))
        console.print(Text(f"  {draw_bar(state.fraction, blocks)}", style=colour))
        for line in rest:
            console.print(Text(line))


def draw_bar(fraction: float, blocks: str = "█░") -> str:
    """Draw a bar that is full only when everything is spent, and empty only when nothing is."""
    filled = max(min(int(fraction * BAR_WIDTH), BAR_WIDTH), int(fraction > 0))
    return blocks[0] * filled + blocks[1] * (BAR_WIDTH - filled)


def _show_entries(entries: Sequence[Entry], states: Mapping[str, Spending]) -> None:
    """Print one line for each entry, then how its shares were counted."""
    from rich.table import Table
    from rich.text import Text

    from veilspan.ledger.records import RELEASE
    from veilspan.ledger.words.shares import write_share

    table = Table(box=None, pad_edge=False)
    table.add_column("entry", justify="right")
    for title in ("time (UTC)", "dataset", "kind"):
        table.add_column(title, overflow="fold")
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("what", overflow="fold")
    released = {entry.about for entry in entries if entry.kind == RELEASE}
    for entry in entries:
        time = entry.time[:19].replace("T", " ")
        share = _find_share(entry, states)
        told = "" if share is None else write_share(share)  # equal charges are written equally
        what = _describe(entry, released=entry.seq in released)
        cells = time, entry.dataset, entry.kind, told, what
        table.add_row(str(entry.seq), *(Text(printable(str(cell))) for cell in cells))
    make_console().print(table)
    _say_how_shares_count(entries, states)


def _say_how_shares_count(entries: Sequence[Entry], states: Mapping[str, Spending]) -> None:
    """Below a list of charges: what they come to, and when the rule with most left changed."""
    from veilspan.ledger.records import CHARGE
    from veilspan.ledger.words import sentences

    charged = {entry.dataset for entry in entries if entry.kind == CHARGE}
    for name in sorted(charged & set(states)):
        state = states[name]
        told = f"{sentences.say_used_and_left(state)}, {sentences.say_how_counted(state)}"
        say(printable(f"{name}: {told}."))
        for line in sentences.say_rule_changes(entries, state):
            say(printable(f"  {line}"))
    if charged & set(states):
        say(sentences.WHY)


def _find_share(entry: Entry, states: Mapping[str, Spending]) -> float | None:
    """Share of its dataset's budget that a charge used; None of other entries."""
    from veilspan.ledger.records import CHARGE

    state = states.get(entry.dataset)
    if entry.kind != CHARGE or state is None:
        return None
    return state.shares.of(entry.content["costs"])


def _read_unchecked(
    ledger: Ledger, dataset: str | None, last: int | None, before: int | None
) -> list[Entry]:
    """Entries without any check, for whoever looks for what was done to them."""
    from veilspan.ledger.stores.base import open_store

    with open_store(ledger.url).reading() as book:
        entries = list(book.entries())
    chosen = [
        entry
        for entry in entries
        if dataset in (None, entry.dataset) and (before is None or entry.seq < before)
    ]
    return chosen if last is None else chosen[-last:]


def _describe(entry: Entry, *, released: bool) -> str:
    """What an entry says, in a few words."""
    from veilspan.ledger import TamperError
    from veilspan.ledger.approvals.words import describe_entry
    from veilspan.ledger.records import CHARGE, DATASET, RELEASE

    try:
        content = entry.content
        if told := describe_entry(entry):
            return told
        if entry.kind == DATASET:
            terms = content["terms"]
            unit = f" for one {terms['unit']} of {terms['data']}" if "unit" in terms else ""
            return f"budget epsilon = {terms['epsilon']:g}, delta = {terms['delta']:g}{unit}"
        if entry.kind == RELEASE:
            return f"of entry {entry.about}"
        if entry.kind == CHARGE:
            return _describe_charge(entry, content, released=released)
    except (TamperError, ValueError, KeyError, TypeError):
        return "cannot be read: run verify"
    return f"opened by veilspan {content.get('version', '')}"


def _describe_charge(entry: Entry, content: dict[str, Any], *, released: bool) -> str:
    from veilspan.privacy.schema_record import SchemaRecord

    cost = f"epsilon = {float(content['epsilon']):g}, delta = {content['delta']:g}"
    # Charges from before units were recorded say nothing about them.
    unit = f" for one {content['unit']}" if "unit" in content else ""
    key = f", key {entry.key}" if entry.key else ""
    test = f"; TEST ({content['test']})" if content["test"] else ""
    state = "" if released else "; not recorded as released"
    schema = ""
    if "schema" in content:
        schema = f", schema {SchemaRecord.from_dict(content['schema']).describe(short=True)}"
    return f"{content['method']}, {cost}{unit}{schema}{key}{test}{state}"
