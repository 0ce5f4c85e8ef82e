"""``veilspan datasets``: made-up tables to try everything on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veilspan._progress import show_progress
from veilspan.cli.arguments.options import AsJson
from veilspan.cli.console import print_json, say


def _complete_name(incomplete: str) -> list[str]:
    """Tables that begin like this, for the shell's completion."""
    from veilspan.cli.simulation.generators import GENERATORS

    return [name for name in GENERATORS if name.startswith(incomplete)]


def datasets(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Which table; without a name, list them.", autocompletion=_complete_name
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A .csv, .npy or .parquet file.")] = None,
    rows: Annotated[int, typer.Option(help="Rows, or users.")] = 1000,
    columns: Annotated[int | None, typer.Option(help="Columns, or items.")] = None,
    components: Annotated[int, typer.Option(help="Dimension of the structure.")] = 2,
    seed: Annotated[int, typer.Option(help="Seed.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace the file in --out.")] = False,
    json: AsJson = False,
) -> None:
    """Write made-up tables to try things on; without a name, list them."""
    if name is None:
        show_generators(as_json=json)
        return
    from veilspan._files import write_whole
    from veilspan.cli.io.output_tables import check_output, write_table
    from veilspan.cli.simulation.generators import GENERATORS

    if name not in GENERATORS:
        raise ValueError(f"unknown dataset {name!r}; known are {', '.join(GENERATORS)}.")
    generator = GENERATORS[name]
    width = generator.columns if columns is None else columns
    if rows < 1 or width < 1 or components < 1:
        raise ValueError("--rows, --columns and --components must be at least 1.")
    if seed < 0:
        raise ValueError("--seed must not be negative.")
    place = Path(f"{name}.csv") if out is None else out
    check_output(place)
    declared = place.with_suffix(".toml")
    written = (place, declared) if name in ("ward", "visits") else (place,)  # with a schema
    for path in written:
        if path.exists() and not force:
            raise FileExistsError(f"{path} exists; choose another file, or --force to replace it.")
    with show_progress(f"making {name}", quiet=json):
        sample = generator.make(rows, width, components, seed)
        write_table(place, sample.names, sample.columns)
        if sample.schema is not None:
            text = sample.schema.encode()
            write_whole(declared, lambda stream: stream.write(text))
    lines, size = len(sample.columns[0]), len(sample.names)
    if json:
        found = {"file": str(place), "rows": lines, "columns": size, "truth": sample.truth}
        print_json(found if sample.schema is None else {**found, "schema": str(declared)})
        return
    say(f"{lines:,} lines x {size} columns written to {place} ({sample.truth})")
    if sample.schema is not None:
        say(f"What is public of it: {declared}")


def show_generators(*, as_json: bool) -> None:
    """List the tables that can be made, and which kinds learn from them."""
    from veilspan.cli.simulation.generators import GENERATORS

    if as_json:
        print_json([
            {"name": name, "about": made.about, "columns": made.columns, "fits": made.fits}
            for name, made in GENERATORS.items()
        ])  # fmt: skip
        return
    width = max(map(len, GENERATORS))
    for name, made in GENERATORS.items():
        say(f"{name:<{width}}  {made.about}\n{'':<{width}}  fit: {made.fits}")
    say("\nWrite one: veilspan datasets NAME --rows 1000 --out file.csv")
