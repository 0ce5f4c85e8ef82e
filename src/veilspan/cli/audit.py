"""``veilspan audit``: try to refute what an estimator promises, on generated adversarial tables."""

from __future__ import annotations

from typing import Annotated

import typer

from veilspan._progress import show_progress
from veilspan.catalogue import COMMANDS
from veilspan.cli.arguments.options import Neighbors
from veilspan.cli.console import VIOLATION, print_json, say


def audit(
    estimator: Annotated[str, typer.Argument(help=f"{', '.join(COMMANDS)}.")],
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
    if estimator not in COMMANDS:
        raise ValueError(f"unknown estimator {estimator!r}; known are {', '.join(COMMANDS)}.")
    if runs < 0 or runs == 1:
        raise ValueError(f"runs must be 0 (replay only) or at least 2; got {runs}.")
    from veilspan.audit.api import audit as run_audit

    model = COMMANDS[estimator].make_small(epsilon=epsilon, delta=delta, neighbors=neighbors)
    with show_progress("starting", total=1, quiet=json) as bar:
        report = run_audit(model, runs=runs, seed=seed, progress=bar.show)
    if json:
        print_json(report.to_dict())
    else:
        say(repr(report))
    if not report.ok:
        raise typer.Exit(VIOLATION)
