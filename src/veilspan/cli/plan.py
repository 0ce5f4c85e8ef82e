"""``veilspan plan``: what a fit would ask and cost, and how good it would be. No file is read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from veilspan.cli.arguments.estimators import find_kind, read_parameters
from veilspan.cli.arguments.options import (
    AsJson,
    Delta,
    Epsilon,
    KindName,
    MaybeNeighbors,
    Parameters,
    SchemaFile,
)
from veilspan.cli.console import print_json, say

if TYPE_CHECKING:
    from veilspan.catalogue import Kind
    from veilspan.cli.simulation.forecast import Forecast
    from veilspan.privacy.plan import Plan
    from veilspan.tables.schema import Schema

#: Rows of the made-up tables where the number of rows is private and nobody guessed it.
_SOME_ROWS = 10_000


def plan(
    kind: KindName,
    rows: Annotated[
        int | None, typer.Option(help="Number of rows (users); a schema may say it.")
    ] = None,
    columns: Annotated[
        int | None, typer.Option(help="Number of columns (items); a schema says it.")
    ] = None,
    schema: SchemaFile = None,
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-6,
    neighbors: MaybeNeighbors = None,
    param: Parameters = None,
    simulate: Annotated[bool, typer.Option(help="Also fit made-up tables, for seconds.")] = True,
    json: AsJson = False,
) -> None:
    """What a fit would cost, and how good it would be (simulated).

    Prints the plan (events and noise) and the errors of fits to made-up tables of this shape. No
    file but the schema is read, nothing is spent.

    Example: veilspan plan logistic --schema ward.toml
    """
    found = find_kind(kind)
    from veilspan.cli.io.declared_data import choose_neighbors, load_schema
    from veilspan.cli.simulation import forecast as forecasts
    from veilspan.privacy.budget import Budget

    Budget(epsilon, delta)
    declared = None if schema is None else load_schema(schema)
    given = read_parameters(found, param or ())
    rows, columns = _choose_shape(found, declared, rows, columns, given)
    promise = choose_neighbors(neighbors, declared)
    settings = {**forecasts.choose_public_bounds(found, columns), **given}
    asked = forecasts.MadeUpFit(found, rows, columns, settings, delta, promise)
    if declared is None:
        planned = asked.make_model(epsilon).plan(rows, columns)
    else:
        planned = _plan_by_schema(found, declared, rows, given, epsilon, delta)
    forecast = None
    # A profile's plan says how exact it will be: nothing needs to be simulated.
    judged = forecasts.learns_subspace(found) if found.reads == "rows" else found.reads != "cells"
    alone = declared is None or declared.unit.combine != "none"
    if simulate and judged and alone and columns <= forecasts.MOST_COLUMNS:
        forecast = forecasts.simulate(asked, epsilon, quiet=json)
    weak = _find_weak_delta(planned, rows, declared, given)
    if json:
        errors = None if forecast is None else forecast.to_dict()
        print_json({"plan": planned.to_dict(), "simulated": errors, "refused": weak})
        return
    say(planned)
    if weak is not None:
        say(f"  WEAK: {weak} A fit is refused without --allow-weak.")
    if forecast is not None:
        _show(forecast, epsilon, rows)
    elif simulate and not alone:
        say('\nNot simulated: made-up tables have one row a person, combine = "none" has several.')
    elif found.reads == "cells":
        say(
            "\nNothing is simulated: the bars above are what the profile will have, by noise alone."
        )
    elif simulate and not judged:
        say(f"\nNot simulated: there are no made-up tables to judge {found.estimator} by.")
    elif simulate:
        say(f"\nNot simulated: more than {forecasts.MOST_COLUMNS} columns would take minutes.")


def _find_weak_delta(
    planned: Plan, rows: int, schema: Schema | None, given: dict[str, Any]
) -> str | None:
    """Why a fit of this plan is refused without --allow-weak; None if it is not."""
    from veilspan.privacy.strength import is_delta_weak, say_weak_delta

    people: int | None
    if planned.neighbors == "replace-one":
        people = rows if schema is None or schema.count is None else schema.count
    else:  # how many there are is private: a public guess stands for it
        people = given.get("expected_rows") if schema is None else schema.expected
    if not planned.budget.is_private or not is_delta_weak(planned.budget.delta, people):
        return None
    return say_weak_delta(planned.budget.delta, people)


def _choose_shape(
    kind: Kind,
    schema: Schema | None,
    rows: int | None,
    columns: int | None,
    given: dict[str, Any],
) -> tuple[int, int]:
    """Rows and columns of the table, as the user or the schema says."""
    if schema is None:
        if kind.reads == "cells":
            raise ValueError(f"a plan of {kind.command} needs --schema FILE.")
        if rows is None or columns is None:
            raise ValueError("a plan needs --rows and --columns, or --schema FILE, which says it.")
        if rows < 2 or columns < 1:
            raise ValueError("a plan needs --rows of at least 2 and --columns of at least 1.")
        return rows, columns
    from veilspan.cli.io.fit_input import Reading, check_schema

    if columns is not None:
        raise ValueError("leave --columns out: the schema says which columns there are.")
    check_schema(kind, schema, Reading(), given)
    if rows is not None and schema.count is not None:
        raise ValueError(f"leave --rows out: the schema's count is {schema.count:,}.")
    if rows is not None and rows < 2:
        raise ValueError("a plan needs --rows of at least 2.")
    if rows is None and schema.count is None and schema.neighbors == "replace-one":
        raise ValueError(
            "a plan needs the public number of rows: --rows N, or count = N in the schema's [unit]."
        )
    items = schema.column_of_role("item")
    wide = len(getattr(items, "categories", ())) if kind.reads == "ratings" else None
    return rows or schema.count or schema.expected or _SOME_ROWS, wide or len(schema.columns_out)


def _plan_by_schema(
    kind: Kind, schema: Schema, rows: int, given: dict[str, Any], epsilon: float, delta: float
) -> Plan:
    budget = {"epsilon": epsilon, "delta": delta, "neighbors": schema.neighbors}
    model = kind.load_class()(**given, schema=schema, **budget)
    planned: Plan = model.plan(rows) if schema.count is None else model.plan()
    return planned


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
