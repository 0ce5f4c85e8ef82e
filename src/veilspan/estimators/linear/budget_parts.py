"""Parts of one budget: what a solver may spend after stages whose noise is fixed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from veilspan.privacy.budget import Budget
from veilspan.privacy.calibration import calibrate_beside
from veilspan.privacy.events import Event, GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.solvers.linear.asked.class_shares import AskShares
from veilspan.solvers.linear.asked.confidence import AskConfidence
from veilspan.solvers.linear.asked.curvature import AskCurvature
from veilspan.solvers.linear.asked.readable_targets import AskReadable
from veilspan.solvers.linear.base import LinearPrepared

#: What is asked once a solver is done, to tell people of what was learned.
After = AskShares | AskConfidence | AskReadable


def prepare_rest(
    before: tuple[Event, ...],
    share: float,
    budget: Budget,
    neighbors: Neighbors,
    prepare: Callable[[Budget], LinearPrepared],
    afters: tuple[After | AskCurvature, ...] = (),
) -> LinearPrepared | None:
    """A solver prepared for what other events leave of a budget; None if nothing is found.

    Its settings are those of the share that earlier events leave. What is asked after it takes a
    percent or less: its settings need not know, and its noise grows by a factor near 1
    (:func:`veilspan.privacy.calibration.calibrate_beside`).

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
        return replace(prepare(budget), afters=without_noise(afters))
    prepared = prepare(budget.part(share) if before else budget)
    has_bars = getattr(prepared.solver, "needs_diagonal", False)
    asked = [after for after in afters if has_bars or not isinstance(after, AskCurvature)]
    found = calibrate_beside(
        budget, before, prepared.events, neighbors=neighbors, share=share, later=asked
    )
    if found is None:
        return None
    events, told = found
    ready = tuple(replace(after, events=(event,)) for after, event in zip(asked, told))
    return replace(prepared, events=events, afters=ready)


def without_noise(
    afters: tuple[After | AskCurvature, ...],
) -> tuple[After | AskCurvature, ...]:
    """The same where nothing is private: answers are exact."""
    asked: tuple[After | AskCurvature, ...] = ()
    for after in afters:
        asked = (*asked, replace(after, events=(GaussianEvent(after.event, 0.0),)))
    return asked
