"""``veilspan demo``: generated genes, two private components, and the map that they draw."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veilspan.cli.arguments.options import AsJson, Epsilon
from veilspan.cli.console import note, print_json


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture and the records.")] = Path(
        "veilspan-demo"
    ),
    epsilon: Epsilon = 1.0,
    delta: Annotated[float, typer.Option(help="Privacy budget delta.")] = 1e-6,
    json: AsJson = False,
) -> None:
    """Draw a map from made-up genes by two private components.

    Writes a picture, a report and the record of what was spent.
    """
    from veilspan.cli.demo.methods import learn
    from veilspan.cli.demo.picture import NO_PICTURE, can_draw
    from veilspan.cli.demo.results import make_record, save_result, show_result
    from veilspan.cli.demo.stages import show_stages
    from veilspan.privacy.budget import Budget

    budget = Budget(epsilon, delta)
    if not budget.is_private:
        raise ValueError("the demo compares private methods: epsilon must be finite.")
    out.mkdir(parents=True, exist_ok=True)  # before the work: better refused now than afterwards
    with show_stages(quiet=json) as stages:
        result = learn(budget, stages)
        stages.describe("writing picture and report" if can_draw() else "writing the report")
        save_result(result, out)
        stages.advance()
    if json:
        print_json(make_record(result))
    else:
        show_result(result, out)
    if not can_draw():
        note(NO_PICTURE)
