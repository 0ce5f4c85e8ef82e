"""Parts of one budget: what a solver may spend after stages whose noise is fixed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from veilspan.privacy.accounting import epsilon_spent, fits_budget
from veilspan.privacy.budget import LEAST_EPSILON, Budget
from veilspan.privacy.events import Event, GaussianEvent, with_noise
from veilspan.privacy.neighbors import Neighbors
from veilspan.solvers.base import After
from veilspan.solvers.linear.asked.curvature import AskCurvature
from veilspan.solvers.linear.base import LinearPrepared

#: Most rounds of the search for the solver's noise: each brings it several digits nearer.
MOST_ROUNDS = 12
#: How near, relative to epsilon, what is spent must come from below; how its logarithm follows that
#: of the noise at first, before two rounds have told; and most noise over that of the first round.
CLOSE, FIRST_SLOPE, MOST_FACTOR = 1e-3, -0.78, 1e6


def prepare_rest(
    before: tuple[Event, ...],
    share: float,
    budget: Budget,
    neighbors: Neighbors,
    prepare: Callable[[Budget], LinearPrepared],
) -> LinearPrepared | None:
    """A solver prepared for what earlier events leave of a budget; None if nothing is found.

    If all releases are Gaussian its part is the share that is left, exactly. Else all events are
    accounted together, and the solver's noise is scaled by a factor near 1 until they fit: its
    settings stay those of the share, and the costly calibration is done once.

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
    part = budget.part(share)
    if part.epsilon < LEAST_EPSILON:
        return None
    prepared = prepare(part)
    everything = (*before, *prepared.events)
    if set(map(type, everything)) <= {GaussianEvent} and fits_budget(everything, budget, neighbors):
        return prepared
    factor, slope = 1.0, FIRST_SLOPE
    last: tuple[float, float] | None = None
    for _ in range(MOST_ROUNDS):
        events = tuple(with_noise(e, e.noise_multiplier * factor) for e in prepared.events)
        spent = epsilon_spent((*before, *events), budget.delta, neighbors=neighbors)
        if budget.epsilon * (1 - CLOSE) < spent <= budget.epsilon or spent == 0:
            return prepared if factor == 1.0 else replace(prepared, events=events)
        point = math.log(factor), math.log(spent)
        if last is not None and point[0] != last[0]:
            slope = min(max((point[1] - last[1]) / (point[0] - last[0]), -2.0), -0.2)
        last = point
        factor *= (budget.epsilon * (1 - CLOSE / 2) / spent) ** (1 / slope)
        if not 1 / MOST_FACTOR < factor < MOST_FACTOR:
            return None
    return None


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
    events: tuple[Event, ...] = ()
    left = share
    for after, part in afters:
        events, left = (*events, *after.events), left - part
    kept: LinearPrepared | None
    if before or events:
        kept = prepare_rest((*before, *events), left, budget, neighbors, prepare)
    else:
        kept = prepare(budget)
    if kept is None:
        return None
    asked: list[After] = []
    for after, _ in afters:
        if isinstance(after, AskCurvature) and not getattr(kept.solver, "needs_diagonal", False):
            fewer = tuple(pair for pair in afters if pair[0] is not after)
            return prepare_with_afters(before, share, fewer, budget, neighbors, prepare)
        asked.append(after)
    return replace(kept, afters=tuple(asked))
