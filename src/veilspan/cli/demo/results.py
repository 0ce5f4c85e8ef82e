"""What the demo made of its people: the files that it writes and the table that it prints."""

from __future__ import annotations

import json
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


def save_result(result: DemoResult, out: Path) -> None:
    """Write the record, the components and the picture, each whole or not at all.

    Without matplotlib everything but the picture is written.
    """
    record = json.dumps(make_record(result), indent=2).encode()
    figure = draw(result) if can_draw() else None
    write_whole(out / "privacy.json", lambda f: f.write(record))
    write_whole(out / "components.npy", lambda f: np.save(f, result.release.components))
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
    """Print the table, the promise of the release, its re-accounting, and the notes."""
    console = make_console()
    console.print(_make_table(result))
    privacy = result.release.privacy
    assert privacy is not None
    # Without a box: the terminal may be narrower than its lines, and each wraps by itself.
    console.print(f"\nprivacy_ of the {ROBUST}", style="bold")
    console.print(printable(repr(privacy), lines=True), soft_wrap=True, markup=False)
    console.print()
    check = privacy.verify()
    verdict = "agrees" if check else "DISAGREES"
    console.print(f"Re-accounted from the record: epsilon = {check.recomputed:.6g} ({verdict}).")
    for caveat in NOTES:
        console.print(f"- {caveat}")
    written = "picture.png" if can_draw() else "privacy.json"
    console.print(
        f"\nReleased in {result.release.seconds:.2f} s. Look at {printable(str(out))}/{written}"
    )


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
