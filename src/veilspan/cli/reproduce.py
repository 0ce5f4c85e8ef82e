"""``veilspan reproduce``: list every figure, table and comparison, and rerun them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import typer

from veilspan._printable import printable
from veilspan.cli.console import say
from veilspan.cli.experiments import experiment

SCHEMA = 1


def show_list(out: Path, *, as_json: bool) -> None:
    """Print every item with what its last run in ``out`` found."""
    registry = experiment("registry")
    rows = [{**_facts(item), **status(out, item.name)} for item in registry.ITEMS]
    if as_json:
        say(json.dumps(rows, indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
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


def status(out: Path, name: str) -> dict[str, Any]:
    """What is known of an item from an earlier run, in words and numbers."""
    record = read_record(out / f"{name}.json")
    if any((out / f"{name}.{scale}.cells.jsonl").exists() for scale in ("quick", "full")):
        return {"status": "interrupted: run it again to go on", "scale": None}
    if record is None:
        return {"status": "not run", "scale": None}
    judged = [claim for claim in record["claims"] if claim["holds"] is not None]
    held = sum(claim["holds"] for claim in judged)
    text = f"{record['scale']}: {held} of {len(judged)} claims hold" if judged else record["scale"]
    return {"status": text, "scale": record["scale"], "hold": held, "claims": len(judged)}


def read_record(path: Path) -> dict[str, Any] | None:
    """The JSON of a finished run, or ``None`` where there is none that can be read."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    known = isinstance(record, dict) and record.get("schema") == SCHEMA
    return record if known else None


def _facts(item: Any) -> dict[str, Any]:
    return {"name": item.name, "paper": item.paper, "label": item.label, "title": item.title,
            "uses": item.uses}  # fmt: skip


def run_items(
    names: list[str],
    *,
    scale: str,
    data: Path | None,
    out: Path,
    fresh: bool,
    peers: bool,
    as_json: bool,
) -> None:
    """Rerun some items, one after another; exit code 1 if one of them could not be run."""
    if data is not None and scale != "full":
        raise ValueError(
            "--data is for --full: a quick run generates its rows or takes sets that come with "
            "scikit-learn."
        )
    if data is not None and not data.is_dir():
        raise ValueError(f"there is no folder {data}; --data names the folder with the files.")
    items = experiment("registry").chosen(names)
    records, failures = [], []
    for count, item in enumerate(items, start=1):
        place = f"[{count}/{len(items)}] " if len(items) > 1 else ""
        say(f"{place}{item.name}: {item.label}, {item.title} ({scale})", error=True)
        try:
            record = run_item(item, scale=scale, data=data, out=out, fresh=fresh, peers=peers)
        except Exception as error:  # whatever it is, the others are run
            if len(items) == 1:
                raise
            failures.append(item.name)
            say(f"{item.name}: {error}", error=True)
            continue
        records.append(record)
        if not as_json:
            show_record(record, out)
    if as_json:
        say(json.dumps(records, indent=1))
    if failures:
        say(f"could not be run: {', '.join(failures)}", error=True)
        raise typer.Exit(1)


def run_item(item: Any, **options: Any) -> dict[str, Any]:
    """Run one item with one BLAS thread, so that CPU times mean the same everywhere."""
    from threadpoolctl import threadpool_limits

    job = experiment("job").Job(item, **options)
    with threadpool_limits(1):
        getattr(experiment(item.module), item.call)(job)
    record = read_record(job.file("json"))
    if record is None:
        raise RuntimeError(f"{item.name} ended without a result: this is a bug.")
    return record


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
    taken = experiment("page").publish(out, page)
    say(f"{page}: {len(taken)} results taken over from {out}", error=True)
