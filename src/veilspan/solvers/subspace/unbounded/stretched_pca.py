r"""PCA without a bound or a centre: two looks, a second moment, and a stretched one.

1. *Looks* (:mod:`.looks`): where rows lie, and how long they are around their centre.
2. *Second moment* of the rows around it, bounded by what the lengths say (:mod:`.row_bound`).
3. *Stretched moment* (:mod:`.stretch`): rows stretched by what the first moment says of their
   variances, which lowers the noise where the wanted components could be turned. Both moments are
   joined. Tables of few columns go without, and the second moment has the whole rest.

Which questions are asked, and the noise of each, follows from the budget alone; released answers
decide centres, bounds and stretches. Each answer is a sum of bounded contributions at a point made
of earlier answers, so the theorem of ``curator.curator`` covers the whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from veilspan.curator.curator import Curator
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import Event, GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.moments import SecondMoment
from veilspan.queries.subspace.reshaped_moment import ReshapedMoment
from veilspan.solvers.base import Prepared, calibrate_events, count_rows
from veilspan.solvers.spectral import noise_edge
from veilspan.solvers.subspace.analyze_gauss import SECOND_MOMENT, PrincipalComponents
from veilspan.solvers.subspace.base import SubspaceProblem
from veilspan.solvers.subspace.unbounded.components import read_components
from veilspan.solvers.subspace.unbounded.looks import (
    FIRST_LOOK,
    SECOND_LOOK,
    Surroundings,
    look_around,
)
from veilspan.solvers.subspace.unbounded.notes import (
    describe,
    note_of_center,
    notes_of_looks,
)
from veilspan.solvers.subspace.unbounded.row_bound import (
    RowBound,
    choose_row_bound,
    describe_row_bound,
)
from veilspan.solvers.subspace.unbounded.stretch import (
    NoisyMoment,
    choose_stretch,
    decompose,
    join_moments,
)

STRETCHED_MOMENT = "stretched moment"
#: Shares of the budget (of mu^2): the looks take 4 %, which raises the noise of the rest by 2 %.
LOOK_SHARES = (0.015, 0.025)
#: Of what the looks leave, the first moment's share; the stretched one takes the rest.
FIRST_SHARE = 0.5
#: Columns from which there is a stretched moment. Below, few directions are there to add noise, and
#: reading all rows once more is what a fit mostly takes.
WIDE = 16
#: Components that a bound and a stretch are chosen for where nobody says how many are wanted.
USUAL_COMPONENTS = 10
#: Part of the squared lengths that a bound may cut off and that is still made up for: beyond it the
#: looks saw noise alone.
MOST_CUT = 0.9


@dataclass(frozen=True)
class StretchedPCA:
    """PCA whose centre and bound are asked for where they are not public.

    Attributes
    ----------
    row_norm : float or None
        Public bound on the length of a centred row; ``None`` asks for one.
    largest : float or None
        What no row is longer than, where a schema says it: a bound is never chosen above twice it.
    share : float or None
        Share of the variance that the components are to hold, in place of their number.
    """

    row_norm: float | None = None
    largest: float | None = None
    share: float | None = None

    @property
    def name(self) -> str:
        """What plans and errors call it, in two words."""
        return "stretched PCA"

    def prepare(
        self, problem: SubspaceProblem, budget: Budget, neighbors: Neighbors
    ) -> Prepared[SubspaceProblem, PrincipalComponents]:
        """Share the budget out among looks and moments; nothing of it depends on rows."""
        rest = 1 - sum(LOOK_SHARES)
        moments = {SECOND_MOMENT: 1.0}
        if problem.n_features >= WIDE:
            moments = {SECOND_MOMENT: FIRST_SHARE, STRETCHED_MOMENT: 1 - FIRST_SHARE}
        asked = tuple(map(GaussianEvent, (FIRST_LOOK, SECOND_LOOK, *moments)))
        shares = (*LOOK_SHARES, *(rest * share for share in moments.values()))
        events = calibrate_events(budget, neighbors, problem.n_rows, asked, shares)
        edge = edge_of_events(events[-len(moments) :], neighbors, problem.n_features)
        return Prepared(self, problem, budget, events, describe(problem, self.row_norm, edge))

    def run(self, curator: Curator, problem: SubspaceProblem) -> PrincipalComponents:
        """Look, ask for both moments, decompose what they are together."""
        n_rows = problem.n_rows or count_rows(curator)
        private = problem.private_center is not None
        around = look_around(curator, problem.center, n_rows, private_center=private)
        wanted = problem.n_components or min(USUAL_COMPONENTS, problem.n_features)
        bound = self._bound_rows(curator, around, wanted)
        found = _ask_plain(curator, around, bound)
        if problem.n_features >= WIDE:
            found = _ask_stretched(curator, around, bound, found, wanted)
        if self.row_norm is None:  # variances of rows as long as the looks saw them
            found = found.times(1 / (1 - min(bound.cut, MOST_CUT)))
        notes = notes_of_looks(around, bound, private_center=private)
        learned = read_components(
            found, problem.n_components, self.share, around, bound.row_norm, notes
        )
        return replace(learned, notes=learned.notes + note_of_center(around, learned.variances))

    def _bound_rows(self, curator: Curator, around: Surroundings, wanted: int) -> RowBound:
        if self.row_norm is not None:
            return describe_row_bound(around, self.row_norm)
        moments = [
            e.name for e in curator.plan.events if e.name in (SECOND_MOMENT, STRETCHED_MOMENT)
        ]
        noises = [entry_noise(curator, name) for name in moments]
        together = 1 / math.hypot(*(1 / z for z in noises)) if min(noises) > 0 else 0.0
        chosen = choose_row_bound(around, together, wanted)
        if self.largest is not None and chosen.row_norm > 2 * self.largest:
            return describe_row_bound(around, 2 * self.largest)
        return chosen


def edge_of_events(events: tuple[Event, ...], neighbors: Neighbors, n_features: int) -> float:
    """Eigenvalue that noise reaches in a sum over unit rows, all moments taken together."""
    multipliers = [event.noise_multiplier for event in events]
    together = 0.0 if min(multipliers) == 0 else 1 / math.hypot(*(1 / z for z in multipliers))
    std = together * SecondMoment(1.0).sensitivity(neighbors)
    return noise_edge(std, n_features)


def entry_noise(curator: Curator, event: str) -> float:
    """Std of an off-diagonal entry of a planned second moment of rows bounded by 1."""
    multiplier = curator.planned(event).noise_multiplier
    return multiplier * SecondMoment(1.0).sensitivity(curator.plan.neighbors) / math.sqrt(2)


def _ask_plain(curator: Curator, around: Surroundings, bound: RowBound) -> NoisyMoment:
    query = SecondMoment(bound.row_norm)
    answer = curator.answer(query, around.center, event=SECOND_MOMENT)
    rows = around.n_rows
    return decompose(answer.value / rows, answer.noise_std / math.sqrt(2) / rows)


def _ask_stretched(
    curator: Curator, around: Surroundings, bound: RowBound, found: NoisyMoment, wanted: int
) -> NoisyMoment:
    """Stretch by what was found, ask again, and join both."""
    if found.noise[0, 0] == 0:  # exact already
        return found
    neighbors = curator.plan.neighbors
    stretch, sizes, mean_square = choose_stretch(
        found, wanted, around.center, neighbors, bound.mean_square
    )
    # Stretched rows are bounded as far above their mean square as the rows themselves are.
    row_norm = bound.row_norm * math.sqrt(mean_square / bound.mean_square)
    answer = curator.answer(ReshapedMoment(row_norm), stretch, event=STRETCHED_MOMENT)
    rows = around.n_rows
    return join_moments(found, answer.value / rows, sizes, answer.noise_std / math.sqrt(2) / rows)
