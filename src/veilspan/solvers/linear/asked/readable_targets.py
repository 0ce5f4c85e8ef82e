"""How many rows have a target that could be read: a small paid count, to tell people of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from veilspan.curator.curator import Curator
from veilspan.privacy.events import Event
from veilspan.queries.moments import RowCount
from veilspan.solvers.linear.base import LinearProblem, LinearResult

READABLE = "readable"
#: Share of mu^2: noise elsewhere grows by 0.05 %, and the count has a std of 32 / mu rows.
READABLE_SHARE = 0.001


@dataclass(frozen=True)
class AskReadable:
    """A count of the rows that taught the model anything, asked after the solver.

    Rows whose target is missing keep their places and count nothing
    (:class:`~veilspan.queries.moments.RowCount`, sensitivity 1 under both relations).

    Attributes
    ----------
    events : tuple of events
        The one question that it asks, with its noise; none before that is set.
    """

    events: tuple[Event, ...] = ()

    event = READABLE
    share = READABLE_SHARE

    def ask(self, curator: Curator, problem: LinearProblem, result: LinearResult) -> LinearResult:
        """Ask for the count; it changes nothing that was learned."""
        return replace(result, readable=curator.answer(RowCount(), event=READABLE))
