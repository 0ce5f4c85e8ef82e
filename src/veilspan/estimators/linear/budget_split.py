"""How a linear model's budget is split between ranges of features and the solver."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from veilspan.privacy.accounting import epsilon_spent
from veilspan.privacy.budget import LEAST_EPSILON, Budget
from veilspan.privacy.events import Event, with_noise
from veilspan.privacy.neighbors import Neighbors
from veilspan.solvers.linear.base import LinearProblem, LinearSolver
from veilspan.solvers.linear.private_ranges import ranges_event

if TYPE_CHECKING:
    from collections.abc import Callable

#: Share of mu^2 for private ranges: their errors only make rows shorter than they need be.
RANGES_SHARE = 0.1
_ROUNDS = 8


@dataclass(frozen=True)
class LinearSplit:
    """What a fit asks, in two parts.

    Attributes
    ----------
    first : tuple of events
        Releases of ranges; none with public bounds.
    budget : Budget
        What is left to the solver.
    problem : LinearProblem
        What it minimises.
    solver : LinearSolver
        Which it is.
    events : tuple of events
        Its releases.
    """

    first: tuple[Event, ...]
    budget: Budget
    problem: LinearProblem
    solver: LinearSolver
    events: tuple[Event, ...]


def split_budget(
    budget: Budget,
    neighbors: Neighbors,
    prepare: Callable[[Budget], tuple[LinearProblem, LinearSolver]],
    private_bounds: bool,
) -> LinearSplit:
    """Events of a fit that together cost no more than the budget.

    Parameters
    ----------
    budget : Budget
        Of the whole fit.
    neighbors : {"replace-one", "add-remove"}
        The neighbour relation.
    prepare : callable
        The problem and the solver that a part of the budget would be given to.
    private_bounds : bool
        Whether ranges are asked for first, with a share of 0.1 of mu^2. If all releases are
        Gaussian the solver's part has the other 0.9; else it is searched for, by accounting both
        parts together.
    """
    if not private_bounds or not budget.is_private:
        problem, solver = prepare(budget)
        first = (with_noise(ranges_event(), 0.0),) if private_bounds else ()
        return LinearSplit(
            first, budget, problem, solver, solver.events(problem, budget, neighbors)
        )
    event = ranges_event()
    first = (with_noise(event, math.sqrt(event.count / RANGES_SHARE) / budget.mu),)
    epsilon = Budget.of_mu(budget.mu * math.sqrt(1 - RANGES_SHARE), budget.delta).epsilon
    kept: LinearSplit | None = None
    for _ in range(_ROUNDS):
        part = Budget(epsilon, budget.delta)
        problem, solver = prepare(part)
        events = solver.events(problem, part, neighbors)
        spent = epsilon_spent((*first, *events), budget.delta, neighbors=neighbors)
        if spent <= budget.epsilon:
            kept = LinearSplit(first, part, problem, solver, events)
            if spent > budget.epsilon * (1 - 1e-4) or spent == 0:
                break
        epsilon *= budget.epsilon / spent * (1 - 2e-5)
        if epsilon < LEAST_EPSILON:
            break
    if kept is None:
        raise ValueError(
            f"epsilon = {budget.epsilon:g} is too small at delta = {budget.delta:g} for private "
            "bounds and a solver together: give public bounds, or a larger epsilon."
        )
    return kept
