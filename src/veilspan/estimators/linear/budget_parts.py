"""Parts of one budget: what a solver may spend after stages whose noise is fixed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from veilspan.privacy.accounting import epsilon_spent, fits_budget
from veilspan.privacy.budget import LEAST_EPSILON, Budget
from veilspan.privacy.events import Event, GaussianEvent, scale_noise
from veilspan.privacy.neighbors import Neighbors
from veilspan.solvers.linear.asked.class_shares import AskShares
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
    afters: tuple[AskShares | AskCurvature, ...] = (),
) -> LinearPrepared | None:
    """A solver prepared for what other events leave of a budget; None if nothing is found.

    Its settings are those of the share that earlier events leave. What is asked after it takes a
    percent or less: its settings need not know, and its noise grows by a factor near 1. If all
    releases are Gaussian that factor is exact, since their mu^2 add up. Else all events are
    accounted together, and the factor is searched for until they fit: the costly calibration is
    done once.

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
    afters : tuple of afters
        What is asked once the solver is done. Bars are asked for only where the solver that is
        chosen needs it for them.
    """
    if not budget.is_private:
        return prepare(budget)
    part = budget.part(share) if before else budget
    if part.epsilon < LEAST_EPSILON:
        return None
    prepared, left = prepare(part), share
    fixed, asked = before, []
    has_bars = getattr(prepared.solver, "needs_diagonal", False)
    for after in afters:
        if isinstance(after, AskCurvature) and not has_bars:
            continue
        event = GaussianEvent(after.event, 1.0 / (budget.mu * math.sqrt(after.share)))
        asked.append(replace(after, events=(event,)))
        fixed, left = (*fixed, event), left - after.share
    prepared = replace(prepared, afters=tuple(asked))
    if not fixed:
        return prepared
    factor, slope = math.sqrt(share / left), FIRST_SLOPE
    everything = (*fixed, *prepared.events)
    if set(map(type, everything)) <= {GaussianEvent}:
        events = scale_noise(prepared.events, factor)
        if fits_budget((*fixed, *events), budget, neighbors):
            return replace(prepared, events=events)
    last: tuple[float, float] | None = None
    for _ in range(MOST_ROUNDS):
        events = scale_noise(prepared.events, factor)
        spent = epsilon_spent((*fixed, *events), budget.delta, neighbors=neighbors)
        if budget.epsilon * (1 - CLOSE) < spent <= budget.epsilon or spent == 0:
            return replace(prepared, events=events)
        point = math.log(factor), math.log(spent)
        if last is not None and point[0] != last[0]:
            slope = min(max((point[1] - last[1]) / (point[0] - last[0]), -2.0), -0.2)
        last = point
        factor *= (budget.epsilon * (1 - CLOSE / 2) / spent) ** (1 / slope)
        if not 1 / MOST_FACTOR < factor < MOST_FACTOR:
            return None
    return None
