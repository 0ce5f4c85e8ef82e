"""One run of a subspace solver that decides as it goes how to spend its budget."""

from __future__ import annotations

import math
from typing import Any

from veilspan.curator.curator import Answer, Curator
from veilspan.curator.query import RowQuery
from veilspan.solvers.subspace.base import SubspaceProblem, find_rows_and_center

#: Stands for an infinite mu where the budget is shared out; no noise is added then.
NO_LIMIT = 1e6
#: A rest of the budget below this fraction of it is rounding, and counts as spent.
ROUNDING = 1e-12


class AdaptiveRun:
    """The curator, what is known of its rows, and what is left of the budget.

    Parameters
    ----------
    curator : Curator
        With an adaptive plan. Asked at once for the count and the centre, where these are private.
    problem : SubspaceProblem
        What is solved.

    Attributes
    ----------
    total, left : float
        mu^2 of the budget after count and centre, and what is left of it.
    trace : list of dict
        Public record of the steps.
    """

    def __init__(self, curator: Curator, problem: SubspaceProblem) -> None:
        self.curator = curator
        self.n_rows, self.center = find_rows_and_center(curator, problem)
        self.n_features = problem.n_features
        self.n_components = problem.n_components
        self.neighbors = curator.plan.neighbors
        self.private = curator.plan.budget.is_private
        self.total = min(curator.mu_squared_left, NO_LIMIT**2)
        self.left = self.total
        self.trace: list[dict[str, Any]] = []

    def spend(self, mu2: float) -> float:
        """Take mu^2 from what is left; the noise multiplier that goes with it."""
        mu2 = min(mu2, self.left)
        rest = self.left - mu2
        self.left = rest if rest > ROUNDING * self.total else 0.0
        return 1 / math.sqrt(mu2) if self.private else 0.0

    def ask(self, query: RowQuery, point: Any, *, event: str, mu2: float) -> Answer:
        """Ask one question for this much of the budget."""
        return self.curator.answer(query, point, event=event, noise_multiplier=self.spend(mu2))
