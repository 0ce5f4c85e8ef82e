r"""The stage that finds the centre: two questions before a subspace solver, and what they open.

*Budget.* Of mu^2, 3 % for the mean of unit rows and 2 % for the look at caps. Both noise
multipliers are set before a row is read. Before an adaptive solver the second question is asked
only where the first leaves it open, and the solver spends what is then left; a fixed plan asks
both.

*What answers decide.* Which view of the rows all later questions go through: the rows as they are,
the rows with a cap set to zero (a map of single rows at released numbers), or differences of
randomly paired rows (replace-one alone). Related tables stay related in each of the three
(``curator.curator``), so the sensitivities of the solver's questions stand as they are derived.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

from veilspan.curator.curator import Curator
from veilspan.privacy.budget import Budget
from veilspan.privacy.errors import CenterWarning
from veilspan.privacy.events import Event, GaussianEvent
from veilspan.queries.subspace.directions import DirectionSum, OutsideCap, RingSums
from veilspan.solvers.base import View
from veilspan.solvers.subspace.centre.verdict import (
    CapLook,
    Look,
    MeanDirection,
    Verdict,
    judge_caps,
    judge_mean,
)

DIRECTION, CAP = "mean direction", "caps"
#: Shares of mu^2. A mean has D numbers and a solver asks for D r or more, so 3 % tell it well
#: enough; the solver's own error grows by 2.5 % for both.
DIRECTION_SHARE, CAP_SHARE = 0.03, 0.02
#: What is left for the solver.
REST_SHARE = 1 - DIRECTION_SHARE - CAP_SHARE

REFUSED = (
    "{reason}. A subspace through the origin would be wrong, and differences of paired rows, which "
    'find it all the same, are private under neighbors="replace-one" only. Use that, or give '
    'center= a public vector; center="origin" insists on the origin. What was charged stays '
    "charged."
)
DOUBTED = (
    "RobustPCA took {centre}, but its released numbers do not decide it: {doubt}. If you know "
    'which it is, say center="pairs" or center="origin".'
)


@dataclass(frozen=True)
class FindCentre:
    """The stage before a subspace solver: it asks where rows point.

    Attributes
    ----------
    n_columns : int
        Columns of the table, before and after.
    events : tuple of events
        The two questions, with their noise.
    """

    n_columns: int
    events: tuple[Event, ...]

    @classmethod
    def plan(cls, n_columns: int, budget: Budget) -> FindCentre:
        """Set the noise of both questions, from public numbers."""
        mu = budget.mu  # infinite without privacy: no noise
        direction = GaussianEvent(DIRECTION, 1 / (mu * math.sqrt(DIRECTION_SHARE)))
        return cls(n_columns, (direction, GaussianEvent(CAP, 1 / (mu * math.sqrt(CAP_SHARE)))))

    def find_map(self, curator: Curator) -> FoundCentre:
        """Ask, judge, and say how the next questions are to see rows."""
        mean = _ask_mean(curator)
        verdict = judge_mean(mean)
        if verdict is None or not curator.plan.adaptive:  # a fixed plan is what happens
            look = _ask_caps(curator, mean)
            verdict = verdict or judge_caps(mean, look)
        if verdict.centre == "pairs" and curator.plan.neighbors != "replace-one":
            reason = verdict.reason[0].upper() + verdict.reason[1:]
            raise ValueError(REFUSED.format(reason=reason))
        if verdict.doubt is not None:
            taken = {"pairs": "differences of paired rows", "origin": "the origin"}
            warnings.warn(
                DOUBTED.format(centre=taken[verdict.centre], doubt=verdict.doubt),
                CenterWarning,
                stacklevel=2,
            )
        cut = verdict.cosine
        return FoundCentre(verdict, None if cut is None else OutsideCap(mean.caps()[0], cut))


@dataclass(frozen=True, eq=False)
class FoundCentre(View):
    """How rows are seen after the stage, and why."""

    verdict: Verdict
    cap: OutsideCap | None = None

    def open(self, curator: Curator, budget: Budget, events: tuple[Event, ...]) -> Curator:
        """The same door, to rows as the verdict has them."""
        if self.verdict.centre == "pairs":
            return curator.paired(budget, events)
        if self.cap is not None:
            return curator.mapped(self.cap, curator.n_features, budget, events)
        return curator.part(budget, events)


def _ask_mean(curator: Curator) -> MeanDirection:
    answer = curator.answer(DirectionSum(), event=DIRECTION)
    total, count = answer.value
    known = curator.plan.n_rows
    n_rows = float(known) if known is not None else max(1.0, float(count[0]))
    return MeanDirection(total / n_rows, answer.noise_std / n_rows, n_rows)


def _ask_caps(curator: Curator, mean: MeanDirection) -> Look:
    """Ask for sums by rings, and make of them what is outside of each nested cap."""
    point, n_rows = mean.caps(), mean.n_rows
    answer = curator.answer(RingSums(), point, event=CAP)
    sums, (*counts, ahead) = (part / n_rows for part in answer.value)
    noise = answer.noise_std / n_rows
    caps = []
    for k, cosine in enumerate(point[1]):
        beyond = sums[k + 1 :]  # rings outside of cap k; each has noise of its own
        outside = MeanDirection(beyond.sum(axis=0), noise * math.sqrt(len(beyond)), n_rows)
        caps.append(CapLook(cosine, outside, float(sum(counts[: k + 1]))))
    return Look(tuple(caps), float(ahead), noise)
