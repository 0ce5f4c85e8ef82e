"""What the demo made of its people: the files that it writes and the table that it prints."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from veilspan._files import write_whole
from veilspan._printable import printable
from veilspan.cli.console import make_console
from veilspan.cli.demo.methods import (
    N_COMPONENTS,
    N_SCORES,
    PRINTED,
    ROBUST,
    DemoResult,
    View,
    rounded_down,
)
from veilspan.cli.demo.picture import can_draw, draw

NOTES = (
    "Only the components are private. The scatter of people, and its correlation with the true "
    "map, are the data owner's own view.",
    "Every release spends from the same people, and their costs add up: with real rows, make one.",
    "The loci are ancestry-informative: place explains about a quarter of their variance, in real "
    "genomes less than 1 %.",
    "A private 10,000 x 10,000 second moment of 2,387 people would be all noise: a public, "
    "data-independent sum turns the loci into 200 scores first.",
)

#: What a newcomer does after the demo: without programming, with an own file, and in Python.
NEXT = (
    ("a made-up hospital in your browser, no code", "{0} studio --demo"),
    (
        "a table of your own (docs/howto/from_csv_to_release.md)",
        "{0} schema init TABLE.csv --out table.toml",
    ),
    ("ten minutes in Python", "docs/tutorials/quickstart.md"),
)


def save_result(result: DemoResult, out: Path) -> None:
    """Write the record, the components, the report and the picture, each whole or not at all.

    Without matplotlib everything but the picture is written.
    """
    record = json.dumps(make_record(result), indent=2).encode()
    figure = draw(result) if can_draw() else None
    write_whole(out / "privacy.json", lambda f: f.write(record))
    write_whole(out / "components.npy", lambda f: np.save(f, result.release.components))
    assert result.release.fitted is not None
    result.release.fitted.report(out / "report.html")
    if figure is not None:
        write_whole(out / "picture.png", lambda f: figure.savefig(f, format="png"))


def make_record(result: DemoResult) -> dict[str, Any]:
    """Gather what was measured and spent, JSON-ready."""
    statements = {name: v.privacy.to_dict() for name, v in result.views.items() if v.privacy}
    n_rows, n_loci = result.data.counts.shape
    return {
        "rows": n_rows,
        "loci": n_loci,
        "columns": N_SCORES,
        "components": N_COMPONENTS,
        "map correlation": {name: round(v.correlation, 4) for name, v in result.views.items()},
        "privacy": statements.pop(ROBUST),
        "other releases": statements,
        "as printed": {
            "epsilon claimed": result.budget.epsilon,
            "epsilon at least": result.epsilon_as_printed,
            "epsilon at most": statements[PRINTED]["epsilon"],
        },
        "notes": list(NOTES),
    }


def show_result(result: DemoResult, out: Path) -> None:
    """Print the table, the promise of the release, its re-accounting, and where to go from here."""
    console = make_console()
    console.print()
    console.print(_make_table(result))
    privacy = result.release.privacy
    assert privacy is not None
    check = privacy.verify()
    verdict = "agrees" if check else "DISAGREES"
    console.print(
        f"\nReleased: two components of 200 numbers, at epsilon = {result.budget.epsilon:g}, "
        f"delta = {result.budget.delta:g}.\n"
        f"Accounted again from the record: epsilon = {check.recomputed:.6g} ({verdict})."
    )
    for caveat in NOTES[:2]:
        console.print(f"- {caveat}")
    for lines in (_list_files(out), _list_steps()):
        console.print("\n" + printable(lines, lines=True), soft_wrap=True, markup=False)


def _list_files(out: Path) -> str:
    """The files that are made for people, with a word about each."""
    lines = [f"  {out / 'picture.png'}   the map"] if can_draw() else []
    lines.append(f"  {out / 'report.html'}   what was promised, spent and learned")
    return "\n".join(["Look at", *lines])


def _list_steps() -> str:
    """Three ways on; ``run.py`` says by a variable where it has put the program."""
    program = os.environ.get("VEILSPAN_PROGRAM", "veilspan")
    lines = [f"  {about}\n    {step.format(program)}" for about, step in NEXT]
    return "\n".join(["Next", *lines])


def _make_table(result: DemoResult) -> Any:
    """One line for each method: what it promises and how well it draws the map."""
    from rich.table import Table

    n_rows, n_loci = result.data.counts.shape
    table = Table(
        title=f"{n_rows:,} people x {n_loci:,} loci -> {N_SCORES} scores -> "
        f"{N_COMPONENTS} components"
    )
    table.add_column("method")
    table.add_column("epsilon")
    table.add_column("map correlation", justify="right")
    for name, view in result.views.items():
        cells = name, _say_epsilon(name, view, result), f"{view.correlation:.3f}"
        table.add_row(*cells, style="bold" if name == ROBUST else None)
    return table


def _say_epsilon(name: str, view: View, result: DemoResult) -> str:
    """What a method promises, in words; of the false promise also the truth."""
    if view.privacy is None:
        return "none: not private"
    if name == PRINTED:
        most = rounded_down(result.epsilon_as_printed)
        return f"claims {result.budget.epsilon:g}, truly over {most}"
    return f"{view.privacy.epsilon:.4g}"
