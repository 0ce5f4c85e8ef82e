"""``veilspan ledger``: open accounts, see what is left, read and check the record."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from veilspan.ledger import Ledger

app = typer.Typer(
    help="Privacy budgets that outlive a process: create, show, history, verify, export.",
    no_args_is_help=True,
)

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
    key: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Open a dataset's account, in a new ledger or an old one. Its terms never change."""
    from veilspan.cli.ledger_text import show_spending

    ledger = _ledger(location, key)
    handle = ledger.dataset(
        dataset, epsilon, delta, neighbors=neighbors, accounting=accounting, test=test
    )
    if json:
        head = str(ledger.head())
        _print_json({**handle.spent().to_dict(), "head": head, "key_file": ledger.key_file})
        return
    show_spending([handle.spent()])
    _say(f"  sealed by  {ledger.key_file} (keep it, and keep it apart from the ledger)")


@app.command()
def show(
    location: Location, dataset: MaybeDataset = None, key: KeyFile = None, json: AsJson = False
) -> None:
    """Show what was spent on each dataset and what is left."""
    from veilspan.cli.ledger_text import show_spending

    ledger = _ledger(location, key)
    one = [] if dataset is None else [ledger.dataset(dataset).spent()]
    states = one or list(ledger.spent().values())
    if json:
        _print_json([state.to_dict() for state in states])
    elif states:
        show_spending(states)
    else:
        typer.echo("no datasets yet")


@app.command()
def history(
    location: Location,
    dataset: MaybeDataset = None,
    last: Annotated[int | None, typer.Option(min=1, help="Only the last so many.")] = None,
    before: Annotated[int | None, typer.Option(min=1, help="Only before this entry.")] = None,
    key: KeyFile = None,
    json: AsJson = False,
) -> None:
    """List every entry: what was charged, when, and whether its release was recorded.

    A record that was tampered with is listed as it stands, with exit code 1.
    """
    from veilspan.cli.ledger_text import entries_as_they_stand, entry_to_dict, show_entries
    from veilspan.ledger import TamperError

    ledger, damaged = _ledger(location, key), None
    try:
        entries = ledger.history(dataset, limit=last, before=before)
    except TamperError as error:
        damaged, entries = error, entries_as_they_stand(ledger, dataset, last, before)
    if json:
        _print_json([entry_to_dict(entry) for entry in entries])
    else:
        show_entries(entries)
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
    report = _ledger(location, key).verify(head)
    if json:
        found = {"ok": bool(report), "entries": report.entries, "problems": list(report.problems)}
        head = str(report.head) if report.head else None
        _print_json({**found, "notes": list(report.notes), "head": head})
    else:
        for problem in report.problems:
            _say(f"PROBLEM  {problem}")
        for note in report.notes:
            _say(f"NOTE     {note}")
        if report:
            _say(f"{report.entries} entries checked, no change found.")
        if report.head:
            _say(f"head  {report.head}")
    if not report:
        raise typer.Exit(1)


@app.command()
def export(
    location: Location,
    out: Annotated[Path, typer.Argument(help="A .csv or .json file; replaced if it is there.")],
    key: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Write the record to a file that people and other programs can read."""
    from veilspan.cli.ledger_text import export_ledger

    n_entries = export_ledger(_ledger(location, key), out)
    if json:
        _print_json({"file": str(out), "entries": n_entries})
    else:
        _say(f"{n_entries} entries written to {out}")


def _ledger(location: str, key: Path | None) -> Ledger:
    from veilspan.ledger import Ledger

    return Ledger(location, key)


def _say(text: str) -> None:
    """Print a line. Whatever a name or a damaged entry holds, the terminal gets no commands."""
    from veilspan._printable import printable

    typer.echo(printable(text))


def _print_json(content: Any) -> None:
    typer.echo(json_format.dumps(content, indent=2, allow_nan=False))
