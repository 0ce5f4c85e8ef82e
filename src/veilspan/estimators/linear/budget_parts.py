"""Parts of one budget: what a solver may spend after stages whose noise is fixed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from veilspan.privacy.accounting import epsilon_spent
from veilspan.privacy.budget import LEAST_EPSILON, Budget
from veilspan.privacy.events import Event
from veilspan.privacy.neighbors import Neighbors
from veilspan.solvers.base import After
from veilspan.solvers.linear.asked.curvature import AskCurvature
from veilspan.solvers.linear.base import LinearPrepared

#: Most rounds of the search for the solver's part: each brings it several digits nearer.
MOST_ROUNDS = 8


def part_of(budget: Budget, share: float) -> Budget:
    """A share (of mu^2) of a budget."""
    if not budget.is_private:
        return budget
    return Budget.of_mu(budget.mu * math.sqrt(share), budget.delta)


def prepare_rest(
    before: tuple[Event, ...],
    share: float,
    budget: Budget,
    neighbors: Neighbors,
    prepare: Callable[[Budget], LinearPrepared],
) -> LinearPrepared | None:
    """A solver prepared for what earlier events leave of a budget; None if nothing is found.

    If all releases are Gaussian its part is the share that is left, exactly; else it is searched
    for, by accounting all events together.

    Parameters
    ----------
    before : tuple of events
        What is asked before the solver, with its noise.
    share : float
        Of mu^2, what they leave: where the search begins.
    budget : Budget
        Of the whole fit.
    neighbors : {"replace-one", "add-remove"}
        The neighbour relation.
    prepare : callable
        The solver, prepared for a part of the budget.
    """
    if not budget.is_private:
        return prepare(budget)
    epsilon = part_of(budget, share).epsilon
    kept: LinearPrepared | None = None
    for _ in range(MOST_ROUNDS):
        prepared = prepare(Budget(epsilon, budget.delta))
        spent = epsilon_spent((*before, *prepared.events), budget.delta, neighbors=neighbors)
        if spent <= budget.epsilon:
            kept = prepared
            if spent > budget.epsilon * (1 - 1e-4) or spent == 0:
                break
        epsilon *= budget.epsilon / spent * (1 - 2e-5)
        if epsilon < LEAST_EPSILON:
            break
    return kept


def prepare_with_afters(
    before: tuple[Event, ...],
    share: float,
    afters: tuple[tuple[After, float], ...],
    budget: Budget,
    neighbors: Neighbors,
    prepare: Callable[[Budget], LinearPrepared],
) -> LinearPrepared | None:
    """The same with what is asked after the solver, each question with its share of mu^2.

    Bars are asked for only where the solver that is chosen needs it for them.
    """
    events = tuple(event for after, _ in afters for event in after.events)
    left = share - sum(part for _, part in afters)
    kept: LinearPrepared | None
    if before or events:
        kept = prepare_rest((*before, *events), left, budget, neighbors, prepare)
    else:
        kept = prepare(budget)
    if kept is None:
        return None
    fewer = afters
    if not getattr(kept.solver, "needs_diagonal", False):
        fewer = tuple(pair for pair in afters if not isinstance(pair[0], AskCurvature))
    if len(fewer) < len(afters):
        return prepare_with_afters(before, share, fewer, budget, neighbors, prepare)
    return replace(kept, afters=tuple(after for after, _ in afters))
