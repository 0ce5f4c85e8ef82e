"""``veilspan reproduce``: its options. What it does is in :mod:`veilspan.cli.reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


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
