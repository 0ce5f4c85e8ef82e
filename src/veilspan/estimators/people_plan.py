r"""Plans for people with several rows: what their number costs, and what a group of rows does.

*The count.* Under replace-one the schema says how many people there are. A share of mu^2, 1 %, pays
for a noisy number of people found (:mod:`veilspan.curator.people_count`), and a warning says when
it is far from the schema's. Everything else then has 99 % of mu^2, so half a percent more noise.
The count has noise of std 10/mu people: 42 at epsilon 1 and delta 1e-6. It speaks of a departure of
more than 5 % of the people and of 4 standard deviations, which a right count has once in 16,000
fits.

*Groups.* With ``combine = "none"`` one person is k rows. A solver is prepared for mu/k, and what it
asks is charged as it is for a person (:mod:`veilspan.curator.group_curator`): z'/k where the solver
has z'. How many of the slots are filled is nobody's to tell, so the number of rows counts as
private to the solver, which asks for it with noise where it needs it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from veilspan._words import plural
from veilspan.curator.curator import Curator
from veilspan.curator.group_curator import GroupCurator
from veilspan.curator.people_count import PEOPLE, count_people
from veilspan.privacy.accounting import fits_budget
from veilspan.privacy.budget import Budget
from veilspan.privacy.errors import PeopleCountWarning
from veilspan.privacy.events import Event, GaussianEvent, with_noise
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.noise import NoiseSource
from veilspan.privacy.plan import Plan, PlanPart
from veilspan.solvers.base import Prepared

#: Share of mu^2 for the noisy number of people.
COUNT_SHARE = 0.01
#: Shares of mu^2 that are tried for all the rest. Gaussian releases fit the first, exactly; those
#: that are accounted numerically (samples, objective perturbation) may need the next.
_REST_SHARES = (1 - COUNT_SHARE, 0.97, 0.93, 0.85)
#: How far the noisy number of people is from the schema's before somebody is told.
FAR_SHARE, FAR_STDS = 0.05, 4.0


def has_people(schema: Any) -> bool:
    """Whether a schema has units of several rows."""
    return schema is not None and schema.unit.id is not None


def rows_per_unit(schema: Any) -> int:
    """Rows of one unit in the curator's table: 1, or the slots of ``combine = "none"``."""
    if has_people(schema) and schema.unit.combine == "none":
        return int(schema.unit.max_rows)
    return 1


def expected_rows(schema: Any) -> int | None:
    """A public guess of the number of rows where it counts as private."""
    if rows_per_unit(schema) == 1:
        return None if schema.expected is None else int(schema.expected)
    people = schema.count if schema.expected is None else schema.expected
    return None if people is None else int(people) * rows_per_unit(schema)


def prepare_people(
    prepare: Callable[[Budget], Prepared[Any, Any]],
    schema: Any,
    budget: Budget,
    neighbors: Neighbors,
) -> tuple[Prepared[Any, Any], tuple[Event, ...]]:
    """A solver prepared for people, and what it asks as it is charged for one of them.

    Parameters
    ----------
    prepare : callable
        The solver, prepared for a budget of one row.
    schema : Schema
        Whose units have several rows.
    budget : Budget
        Of one person.
    neighbors : {"replace-one", "add-remove"}
        The neighbour relation.
    """
    group = rows_per_unit(schema)
    count: tuple[Event, ...] = ()
    if neighbors == "replace-one":
        loud = math.sqrt(1 / COUNT_SHARE) / budget.mu if budget.is_private else 0.0
        count = (GaussianEvent(PEOPLE, loud),)
    shares = _REST_SHARES if count else (1.0,)
    for share in shares:
        part = budget
        if budget.is_private and (group > 1 or count):
            part = Budget.of_mu(budget.mu * math.sqrt(share) / group, budget.delta)
        prepared = prepare(part)
        if group > 1:
            _refuse_samples(prepared, schema)
        events = tuple(with_noise(e, e.noise_multiplier / group) for e in prepared.all_events)
        if fits_budget((*count, *events), budget, neighbors):
            return prepared, (*count, *events)
    raise ValueError(
        f"epsilon = {budget.epsilon:g} is too small at delta = {budget.delta:g} for "
        + (f"{group:,} rows a {schema.protects}: " if group > 1 else "this method: ")
        + "use a smaller max_rows, or a larger epsilon."
    )


def _refuse_samples(prepared: Prepared[Any, Any], schema: Any) -> None:
    """Refuse what is proved for one row alone, with the ways out."""
    way = f'combine the rows of a {schema.protects}: combine = "mean" in the schema\'s [unit].'
    if any(not isinstance(event, GaussianEvent) for event in prepared.all_events):
        raise ValueError(
            f'combine = "none" protects all rows of a {schema.protects} by noise on sums over all '
            f"rows; the solver {prepared.solver.name!r} samples rows or perturbs an objective, "
            'which protects single rows. Name another solver (solver="gd", "newton", or '
            f'"statistics" for squared losses), or {way}'
        )
    if prepared.stated is not None or prepared.paired:
        raise ValueError(
            'with combine = "none", noise_std and center="pairs" are not offered: leave them out, '
            f"or {way}"
        )


def open_people(
    rows: Any,
    plan: Plan,
    prepared: Prepared[Any, Any],
    source: NoiseSource,
    noise: Any,
    schema: Any,
    found: int,
) -> tuple[Curator, Curator]:
    """The curator of a fit to people, and what the solver is to see of it; people are counted.

    Parameters
    ----------
    rows : Rows
        Units, or their slots.
    plan, prepared : Plan, Prepared
        What may be asked, and who asks.
    source, noise : NoiseSource, str
        Where noise comes from, and its kind.
    schema : Schema
        How many people there are said to be.
    found : int
        How many there are: exact, and secret.
    """
    group = rows_per_unit(schema)
    if group == 1:
        curator = Curator(rows, plan, source, noise=noise)
    else:
        seen = PlanPart(
            budget=prepared.budget,
            neighbors=plan.neighbors,
            n_rows=None,
            n_features=plan.n_features,
            events=prepared.all_events,
            adaptive=plan.adaptive,
        )
        curator = GroupCurator(rows, plan, source, noise=noise, rows_per_unit=group, seen=seen)
    if plan.neighbors == "replace-one":
        tell_when_far(*count_people(curator, found), schema)
    if group == 1:
        return curator, curator.part(prepared.budget, prepared.all_events)
    return curator, curator


def tell_when_far(noisy: float, std: float, schema: Any) -> None:
    """Warn when a noisy number of people is far from the schema's."""
    count = schema.count
    away = abs(noisy - count)
    if away <= max(FAR_SHARE * count, FAR_STDS * std):
        return
    people = plural(schema.protects)
    what = (
        "the others were left out, chosen at random"
        if noisy > count
        else "the places of the others were left empty"
    )
    warnings.warn(
        f"the table has about {max(0.0, noisy):,.0f} {people} (noise of {std:,.0f}, paid for), the "
        f"schema says {count:,}: {what}. If the schema is wrong, correct its count.",
        PeopleCountWarning,
        stacklevel=6,
    )


def with_people(plan: Plan, schema: Any) -> Plan:
    """The plan with what is public of units of several rows among its decisions."""
    from veilspan.tables.persons.trade_off import describe_trade_off

    return replace(plan, decisions={**describe_trade_off(schema.unit), **plan.decisions})
