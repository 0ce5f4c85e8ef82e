"""Commands. Heavy imports happen inside the commands, so that ``--help`` stays quick."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from veilspan._version import __version__
from veilspan.cli import ledger

app = typer.Typer(
    help="Low-dimensional structure from sensitive rows, under differential privacy.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.add_typer(ledger.app, name="ledger")
_debug = False


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"veilspan {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options of every command."""
    global _debug
    _debug = debug


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture and the records.")] = Path(
        "veilspan-demo"
    ),
    epsilon: Annotated[float, typer.Option(help="Privacy budget epsilon.")] = 1.0,
    delta: Annotated[float, typer.Option(help="Privacy budget delta.")] = 1e-6,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON only.")] = False,
) -> None:
    """Draw a map from generated genes by two private components: a picture and the record."""
    from veilspan.cli.demo import run_demo

    run_demo(out, epsilon, delta, as_json=json)


@app.command()
def audit(
    estimator: Annotated[
        str,
        typer.Argument(
            help="pca, robust-pca, frechet, recommend, tracker, logistic, svc, linear, ridge, "
            "lasso, elastic-net or huber."
        ),
    ],
    epsilon: Annotated[float, typer.Option(help="The epsilon that is promised.")] = 1.0,
    delta: Annotated[float, typer.Option(help="The delta that is promised.")] = 1e-6,
    neighbors: Annotated[str, typer.Option(help="replace-one or add-remove.")] = "replace-one",
    runs: Annotated[
        int, typer.Option(help="Fits on each of two tables; 0 leaves the game out.")
    ] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of all runs.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON only.")] = False,
) -> None:
    """Try to refute the promise of an estimator; exit code 3 if a violation was found."""
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


@app.command()
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
    """Rerun the figures and tables of the papers: without names, list them all."""
    from veilspan.cli.reproduce import run_items, show_list, write_page

    if names:
        scale = "tiny" if tiny else "full" if full else "quick"
        run_items(names, scale=scale, data=data, out=out, fresh=fresh, peers=peers, as_json=json)
    elif page is None:
        show_list(out, as_json=json)
    if page is not None:
        write_page(out, page)


def main() -> None:
    """Run the command line; an error is one sentence and exit code 1."""
    try:
        app()
    except (ValueError, TypeError, OSError, RuntimeError) as error:
        if _debug:
            raise
        print(f"veilspan: {error}", file=sys.stderr)
        raise SystemExit(1) from None
