"""``veilspan datasets``: made-up tables to try everything on."""

from __future__ import annotations

from pathlib import Path

from veilspan.cli.console import busy, print_json, say
from veilspan.cli.samples import GENERATORS
from veilspan.cli.tables import check_output, write_table


def show_generators(*, as_json: bool) -> None:
    """List the tables that can be made."""
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


def write_sample(
    name: str,
    out: Path,
    *,
    rows: int,
    columns: int | None,
    components: int,
    seed: int,
    force: bool,
    as_json: bool,
) -> None:
    """Make a table and write it."""
    if name not in GENERATORS:
        raise ValueError(f"unknown dataset {name!r}; known are {', '.join(GENERATORS)}.")
    made = GENERATORS[name]
    width = made.columns if columns is None else columns
    if rows < 1 or width < 1 or components < 1:
        raise ValueError("--rows, --columns and --components must be at least 1.")
    if seed < 0:
        raise ValueError("--seed must not be negative.")
    check_output(out)
    if out.exists() and not force:
        raise FileExistsError(f"{out} exists; choose another file, or --force to replace it.")
    with busy(f"making {name}", quiet=as_json):
        sample = made.make(rows, width, components, seed)
        write_table(out, sample.names, sample.columns)
    lines, size = len(sample.columns[0]), len(sample.names)
    if as_json:
        print_json({"file": str(out), "rows": lines, "columns": size, "truth": sample.truth})
    else:
        say(f"{lines:,} lines x {size} columns written to {out} ({sample.truth})")
