"""How frequent each class is: a small paid count, so that a rare one can be told of."""

from __future__ import annotations

from dataclasses import dataclass, replace

from veilspan.curator.curator import Curator
from veilspan.privacy.events import Event
from veilspan.queries.linear.class_votes import ClassCounts
from veilspan.solvers.linear.base import LinearProblem, LinearResult
from veilspan.solvers.linear.rare_classes.around_solver import SHARES

#: Share of mu^2: noise elsewhere grows by 0.25 %, and counts have a std of 20 / mu rows.
COUNTS_SHARE = 0.005


@dataclass(frozen=True)
class AskShares:
    """Counts of the classes, asked after the solver (:class:`ClassCounts`).

    Attributes
    ----------
    events : tuple of events
        The one question that it asks, with its noise; none before that is set.
    """

    events: tuple[Event, ...] = ()

    event = SHARES
    share = COUNTS_SHARE

    def ask(self, curator: Curator, problem: LinearProblem, result: LinearResult) -> LinearResult:
        """Ask for the counts; they change nothing that was learned."""
        answer = curator.answer(ClassCounts(problem.loss), event=SHARES)
        return replace(result, class_counts=answer)
