"""The commands that check, and those that show evidence: their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veilspan.catalogue import COMMANDS
from veilspan.cli.options import AsJson, KeyFile, Neighbors, Release


def report(
    release: Release,
    out: Annotated[
        Path | None, typer.Option(help="An .html file; report.html in the release by default.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    audit: Annotated[
        Path | None, typer.Option(help="What veilspan audit --json printed, to show it too.")
    ] = None,
    ledger: Annotated[str | None, typer.Option(help="Ledger whose budget is drawn.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Whose budget in the ledger.")] = None,
    ledger_key: Annotated[Path | None, typer.Option(help="Key file of the ledger.")] = None,
    key: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Write what was promised and learned as one offline HTML page.

    Nothing in it is computed from rows.
    """
    from veilspan.cli.report import run_report

    run_report(
        release,
        out,
        as_json=json,
        key=key,
        ledger=ledger,
        dataset=dataset,
        ledger_key=ledger_key,
        audit=audit,
        title=title,
    )


def audit(
    estimator: Annotated[
        str,
        typer.Argument(help=f"{', '.join(COMMANDS)}."),
    ],
    epsilon: Annotated[float, typer.Option(help="The epsilon that is promised.")] = 1.0,
    delta: Annotated[float, typer.Option(help="The delta that is promised.")] = 1e-6,
    neighbors: Neighbors = "replace-one",
    runs: Annotated[
        int, typer.Option(help="Fits on each of two tables; 0 leaves the game out.")
    ] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of all runs.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON only.")] = False,
) -> None:
    """Try to refute the promise of an estimator, on adversarial tables.

    Exit code 3 if a violation was found.
    """
    from veilspan.cli.audit import run_audit

    run_audit(
        estimator,
        epsilon=epsilon,
        delta=delta,
        neighbors=neighbors,
        runs=runs,
        seed=seed,
        as_json=json,
    )


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Names from the list, a paper for all of its figures, or all."),
    ] = None,
    full: Annotated[
        bool,
        typer.Option("--full/--quick", help="Everything, for hours, or minutes on made-up rows."),
    ] = False,
    data: Annotated[Path | None, typer.Option(help="Folder with real data, for --full.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for pictures, tables and verdicts.")] = Path(
        "veilspan-evidence"
    ),
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Begin anew instead of going on after a break.")
    ] = False,
    peers: Annotated[
        bool, typer.Option(help="Run other libraries too, in environments of their own.")
    ] = True,
    json: Annotated[bool, typer.Option("--json", help="Print the records as JSON only.")] = False,
    page: Annotated[
        Path | None, typer.Option(help="Write the results in --out as a page (evidence.md).")
    ] = None,
    tiny: Annotated[bool, typer.Option("--tiny", hidden=True)] = False,
) -> None:
    """Rerun figures and tables of the papers; without names, list them."""
    from veilspan.cli.reproduce import run_items, show_list, write_page

    if names:
        scale = "tiny" if tiny else "full" if full else "quick"
        run_items(names, scale=scale, data=data, out=out, fresh=fresh, peers=peers, as_json=json)
    elif page is None:
        show_list(out, as_json=json)
    if page is not None:
        write_page(out, page)
