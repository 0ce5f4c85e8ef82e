"""``veilspan plan``: what a fit would ask and cost, and how good it would be. No file is read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from veilspan.cli.arguments.estimators import find_kind, read_parameters
from veilspan.cli.arguments.options import AsJson, Delta, Epsilon, KindName, Neighbors, Parameters
from veilspan.cli.console import print_json, say

if TYPE_CHECKING:
    from veilspan.cli.simulation.forecast import Forecast


def plan(
    kind: KindName,
    rows: Annotated[int, typer.Option(help="Number of rows (users).")],
    columns: Annotated[int, typer.Option(help="Number of columns (items).")],
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-6,
    neighbors: Neighbors = "replace-one",
    param: Parameters = None,
    simulate: Annotated[bool, typer.Option(help="Also fit made-up tables, for seconds.")] = True,
    json: AsJson = False,
) -> None:
    """What a fit would cost, and how good it would be (simulated).

    Prints the plan (events and noise) and the errors of fits to made-up tables of this shape. No
    file is read, nothing is spent.

    Example: veilspan plan robust-pca --rows 5000 --columns 30
    """
    found = find_kind(kind)
    from veilspan.cli.simulation import forecast as forecasts
    from veilspan.privacy.budget import Budget

    Budget(epsilon, delta)
    if rows < 2 or columns < 1:
        raise ValueError("a plan needs --rows of at least 2 and --columns of at least 1.")
    given = read_parameters(found, param or ())
    settings = {**forecasts.choose_public_bounds(found, columns), **given}
    asked = forecasts.MadeUpFit(found, rows, columns, settings, delta, neighbors)
    planned = asked.make_model(epsilon).plan(rows, columns)
    forecast = None
    judged = found.reads != "rows" or forecasts.learns_subspace(found)
    if simulate and judged and columns <= forecasts.MOST_COLUMNS:
        forecast = forecasts.simulate(asked, epsilon, quiet=json)
    if json:
        errors = None if forecast is None else forecast.to_dict()
        print_json({"plan": planned.to_dict(), "simulated": errors})
        return
    say(planned)
    if forecast is not None:
        _show(forecast, epsilon, rows)
    elif simulate and not judged:
        say(f"\nNot simulated: there are no made-up tables to judge {found.estimator} by.")
    elif simulate:
        say(f"\nNot simulated: more than {forecasts.MOST_COLUMNS} columns would take minutes.")


def _show(forecast: Forecast, epsilon: float, rows: int) -> None:
    say(f"\nSimulated on {forecast.seeds} made-up tables of {forecast.rows:,} rows (medians):")
    say(f"  {'epsilon':>10}  {forecast.measure}")
    for level, error in forecast.errors.items():
        name = "no privacy" if math.isinf(level) else f"{level:g}"
        mark = "  <- asked for" if level == epsilon else ""
        say(f"  {name:>10}  {error:.3g}{mark}")
    if forecast.rows < rows:
        say(
            f"Fewer rows than the {rows:,} asked about, to take seconds: with all of them the "
            "private errors are usually smaller."
        )
    say("It tells what the noise does at this size, not how well your data suit the method.")
