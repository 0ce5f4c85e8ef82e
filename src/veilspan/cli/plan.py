"""``veilspan plan``: what a fit would ask and cost, and how good it would be. No file is read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from veilspan.cli.arguments.estimators import find_kind, make_estimator, read_parameters
from veilspan.cli.arguments.options import (
    AccountName,
    AsJson,
    Delta,
    Epsilon,
    KindName,
    MaybeNeighbors,
    Parameters,
    SchemaFile,
)
from veilspan.cli.console import BUDGET, print_json, say

if TYPE_CHECKING:
    from veilspan.catalogue import Kind
    from veilspan.planning import UtilityCurve
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
    ledger: Annotated[
        str | None, typer.Option(help="Ledger that would be charged: says what would be left.")
    ] = None,
    dataset: AccountName = None,
    ledger_key: Annotated[Path | None, typer.Option(help="Key file of the ledger.")] = None,
    simulate: Annotated[bool, typer.Option(help="Also fit made-up tables, for seconds.")] = True,
    profile: Annotated[
        Path | None,
        typer.Option(help="Release of a profile of this schema: made-up rows are like its."),
    ] = None,
    json: AsJson = False,
) -> None:
    """What a fit would cost in budget and, simulated, in what is learned.

    Prints the plan (events and noise), and what noise costs fits to made-up tables of this shape,
    relative to no noise. With --profile the made-up rows are drawn from a released profile. With
    --ledger also what it would use of the budget and what would be left (exit code 4 if it does
    not fit). Only what is public is read, nothing is spent.

    Example: veilspan plan logistic --schema ward.toml
    """
    found = find_kind(kind)
    from veilspan.cli.io.declared_data import choose_neighbors, load_schema
    from veilspan.privacy.budget import Budget

    Budget(epsilon, delta)
    declared = None if schema is None else load_schema(schema)
    given = read_parameters(found, param or ())
    released = None if profile is None else _load_profile(profile, declared, simulate=simulate)
    rows, columns = _choose_shape(found, declared, rows, columns, given, released)
    promise = choose_neighbors(neighbors, declared)
    budget = {"epsilon": epsilon, "delta": delta, "neighbors": promise}
    if declared is None:
        settings = {**_choose_public_bounds(found, columns), **given}
        model = make_estimator(found, columns, settings, **budget)
        planned: Plan = model.plan(rows, columns)
    else:
        model = found.load_class()(**given, schema=declared, **budget)
        planned = model.plan(rows) if declared.count is None else model.plan()
    account = _foresee(model, planned, declared, ledger, dataset, ledger_key)
    curve, why = _simulate(model, rows, columns, released, quiet=json) if simulate else (None, None)
    weak = _find_weak_delta(planned, rows, declared, given)
    if json:
        told = None if curve is None else curve.to_dict()
        print_json(
            {
                "plan": planned.to_dict(),
                "simulated": told,
                "not_simulated": why,
                "refused": weak,
                "account": account,
            }
        )
        raise typer.Exit(0 if account is None or account["fits"] else BUDGET)
    say(planned)
    if account is not None:
        say(f"  {account['told']}")
    if weak is not None:
        say(f"  WEAK: {weak} A fit is refused without --allow-weak.")
    if curve is not None:
        _show(curve)
    elif why is not None:
        say(f"\nNot simulated: {why}")
    if account is not None and not account["fits"]:
        raise typer.Exit(BUDGET)


def _foresee(
    model: Any,
    planned: Plan,
    schema: Schema | None,
    ledger: str | None,
    dataset: str | None,
    key: Path | None,
) -> dict[str, Any] | None:
    """What the ledger would say after such a fit; None without a ledger."""
    name = dataset or (schema.name if schema is not None else None)
    if ledger is None:
        if dataset is not None or key is not None:
            raise ValueError("--dataset and --ledger-key belong to a --ledger.")
        return None
    if not name:
        raise ValueError("--ledger and --dataset go together: where the budget is, and whose.")
    from veilspan.estimators.charging import open_charge
    from veilspan.ledger import Ledger
    from veilspan.ledger.costs import cost_of
    from veilspan.ledger.words.sentences import list_what_fits, say_before_charge
    from veilspan.privacy.errors import BudgetExceededError
    from veilspan.privacy.noise import noise_source

    account = Ledger(ledger, key).dataset(name)
    open_charge(account, model, planned, noise_source(model.random_state))  # is it ever covered?
    state = account.spent()
    try:
        after = state.after(planned)
    except BudgetExceededError as refusal:
        return {"dataset": state.terms.name, "fits": False, "told": f"NOT COVERED: {refusal}"}
    costs = cost_of(planned, state.rules)
    return {
        "dataset": state.terms.name,
        "fits": True,
        "would_use_fraction": after.shares.of(costs),
        "would_leave_fraction": after.shares.left,
        "would_still_fit": list_what_fits(after),
        "told": say_before_charge(after, costs, planned),
    }


def _load_profile(folder: Path, schema: Schema | None, *, simulate: bool) -> Any:
    """The released profile of a folder, or a sentence on why it is none of this schema."""
    from veilspan.planning.released_trials import check_profile
    from veilspan.releases import load

    if schema is None:
        raise ValueError("--profile needs --schema FILE, the schema that it was released with.")
    if not simulate:
        raise ValueError("--profile is what made-up rows are like: leave --no-simulate out.")
    found = load(folder)
    if type(found).__name__ != "Profile":
        raise ValueError(
            f"{folder} is a release of {type(found).__name__}: --profile takes one that veilspan "
            "profile wrote."
        )
    check_profile(found, schema)
    return found


def _simulate(
    model: Any, rows: int, columns: int, profile: Any, *, quiet: bool
) -> tuple[UtilityCurve | None, str | None]:
    """The simulated curve, or why there is none."""
    from veilspan.planning import NotSimulatedError, simulate_utility

    width = columns if getattr(model, "schema", None) is None else None
    # A program that reads the answer wants no bar.
    progress = (lambda done, total: None) if quiet else None
    try:
        curve = simulate_utility(
            model, n=rows, n_features=width, profile=profile, progress=progress
        )
        return curve, None
    except NotSimulatedError as problem:
        return None, str(problem)


def _choose_public_bounds(kind: Kind, columns: int) -> dict[str, Any]:
    """Parameters that suit made-up tables, for what the user says nothing about."""
    if kind.reads == "rows":
        wanted = "n_components" in kind.load_class()().get_params()
        return {"n_components": min(2, columns)} if wanted else {}
    if kind.reads == "points":
        return {"eigenvalues": (0.01, 100.0)}
    if kind.reads == "ratings":
        return {"rating_range": (1.0, 5.0)}
    if kind.reads == "cells":
        return {}
    bounds: dict[str, Any] = {"feature_range": (-1.0, 1.0)}
    return bounds | ({"target_range": (-1.0, 1.0)} if kind.reads == "numbers" else {})


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
    profile: Any,
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
    if rows is not None and schema.count not in (None, rows):
        raise ValueError(f"leave --rows out: the schema's count is {schema.count:,}.")
    if rows is not None and rows < 2:
        raise ValueError("a plan needs --rows of at least 2.")
    if rows is None and schema.count is None and schema.neighbors == "replace-one":
        raise ValueError(
            "a plan needs the public number of rows: --rows N, or count = N in the schema's [unit]."
        )
    items = schema.column_of_role("item")
    wide = len(getattr(items, "categories", ())) if kind.reads == "ratings" else None
    guess = _SOME_ROWS if profile is None else max(2, round(profile.people.value))
    return rows or schema.count or schema.expected or guess, wide or len(schema.columns_out)


def _show(curve: UtilityCurve) -> None:
    head, table = str(curve).split("\n", 1)
    say(f"\n{head}")
    drawn = f" like those of {curve.profile}" if curve.profile else ""
    say(
        f"\nSimulated on made-up tables of {curve.rows_simulated:,} rows{drawn}: what is left of "
        f"the {curve.measure}. 100% is what the same method learns without noise."
    )
    say(table)
    for strength, meaning in curve.planted.items():
        say(f"  {strength}: {meaning}")
    if curve.rows_simulated < curve.n:
        say(f"Fewer rows than the {curve.n:,} asked about, with the noise that those would have.")
    if curve.profile:
        say(
            "The rows were drawn from the profile's histograms, missing shares and correlations; "
            "categories have no correlations there and are drawn on their own. No row was read."
        )
    say("It tells what the noise does at this size, not how well your data suit the method.")
