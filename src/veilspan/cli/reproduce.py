"""``veilspan reproduce``: list every figure, table and comparison, and rerun them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from veilspan._errors import raised_by
from veilspan._printable import printable
from veilspan.cli.console import make_console, say
from veilspan.cli.experiments import import_experiments


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
    recheck: Annotated[
        bool,
        typer.Option("--recheck", help="Compute some parts of a finished run again and compare."),
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
    if names:
        settings = {
            "scale": "tiny" if tiny else "full" if full else "quick",
            "data": data,
            "out": out,
            "fresh": fresh,
            "recheck": recheck,
            "peers": peers,
        }
        run_items(names, settings, as_json=json)
    elif page is None:
        show_list(out, as_json=json)
    if page is not None:
        write_page(out, page)


def show_list(out: Path, *, as_json: bool) -> None:
    """Print every item with what its last run in ``out`` found."""
    registry, records = import_experiments("registry"), import_experiments("records")
    rows = [{**_facts(item), **records.read_status(out, item.name)} for item in registry.ITEMS]
    if as_json:
        say(json.dumps(rows, indent=1))
        return
    from rich.table import Table

    console = make_console(width=None if sys.stdout.isatty() else 120)
    for paper in registry.PAPERS:
        table = Table(box=None, pad_edge=False, title_justify="left", title_style="bold")
        table.title = f"{paper.short}: {paper.citation}"
        for column, width in (("name", 20), ("", 11), ("shows", None), ("status", None)):
            table.add_column(column, min_width=width, overflow="fold")
        for row in rows:
            if row["paper"] == paper.key:
                table.add_row(row["name"], row["label"], row["title"], printable(row["status"]))
        console.print(table)
        console.print()
    console.print(
        f"Status: the last runs in {printable(str(out))}. Rerun one: veilspan reproduce NAME "
        "[--quick | --full] [--data DIR]",
        markup=False,
    )


def _facts(item: Any) -> dict[str, Any]:
    return {"name": item.name, "paper": item.paper, "label": item.label, "title": item.title,
            "uses": item.uses}  # fmt: skip


def run_items(names: list[str], settings: dict[str, Any], *, as_json: bool) -> None:
    """Rerun some items, one after another; exit code 1 if one of them could not be run.

    Parameters
    ----------
    names : list of str
        As the user said them.
    settings : dict
        What ``experiments.job.run_item`` takes beside the item: scale, data, out, fresh, recheck,
        peers.
    as_json : bool
        Whether to print the records alone.
    """
    scale, data = settings["scale"], settings["data"]
    if data is not None and scale != "full":
        raise ValueError(
            "--data is for --full: a quick run generates its rows or takes sets that come with "
            "scikit-learn."
        )
    if data is not None and not data.is_dir():
        raise ValueError(f"there is no folder {data}; --data names the folder with the files.")
    with _trusted_words():
        items = import_experiments("registry").choose(names)
    records, failures = [], []
    for count, item in enumerate(items, start=1):
        place = f"[{count}/{len(items)}] " if len(items) > 1 else ""
        say(f"{place}{item.name}: {item.label}, {item.title} ({scale})", error=True)
        try:
            with _trusted_words():
                record = import_experiments("job").run_item(item, **settings)
        except Exception as error:  # whatever it is, the others are run
            if len(items) == 1:
                raise
            failures.append(item.name)
            say(f"{item.name}: {error}", error=True)
            continue
        records.append(record)
        if not as_json:
            show_record(record, settings["out"])
    if as_json:
        say(json.dumps(records, indent=1))
    if failures:
        say(f"could not be run: {', '.join(failures)}", error=True)
        raise typer.Exit(1)


@contextmanager
def _trusted_words() -> Iterator[None]:
    """Let the command print what an error of the experiments says.

    Only texts that a ``raise`` of veilspan wrote are printed, because another text could quote a
    row. Those of the experiments keep to the same rule. They are trusted here, where the package is
    known to be ours, and nowhere else: other people have packages of this name.
    """
    try:
        yield
    except (ValueError, TypeError, RuntimeError, ImportError) as error:
        if not raised_by(error, "experiments"):
            raise
        kind = ValueError if isinstance(error, (ValueError, TypeError)) else RuntimeError
        raise kind(str(error)) from error


def show_record(record: dict[str, Any], out: Path) -> None:
    """Print the verdict, the claims and where the files are."""
    say(f"{record['label']}: {record['verdict']}")
    words = {True: "holds", False: "DOES NOT HOLD", None: "not judged"}
    for claim in record["claims"]:
        say(f"  {words[claim['holds']]}: {claim['claim']}; {claim['measured']}")
    for cost in record["costs"]:
        why = f" ({cost['why']})" if cost["why"] else ""
        say(f"  {cost['method']}: claims epsilon {cost['claimed']:.3g}, has {cost['true']}{why}")
    files = [f"{record['name']}.{suffix}" for suffix in ("json", "csv")]
    files += [f"{stem}.png" for stem in record["pictures"]]
    say(f"  {record['cpu_seconds']:.0f} s of CPU; {out}/: {', '.join(files)}")


def write_page(out: Path, page: Path) -> None:
    """Write the results in ``out`` as a page of Markdown with its pictures beside it."""
    taken = import_experiments("page").publish(out, page)
    say(f"{page}: {len(taken)} results taken over from {out}", error=True)
