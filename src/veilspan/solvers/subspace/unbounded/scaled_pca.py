r"""PCA of columns that were brought to equal scale by private numbers.

1. *Ranges* of all columns from noisy histograms, as linear models without bounds find them
   (:func:`~veilspan.solvers.linear.asked.private_ranges.private_ranges`). Each column is moved to
   the middle of its range and divided by half of its width: a map of single rows.
2. *Looks* and one *second moment* of the mapped rows (:mod:`.looks`).
3. The released diagonal holds the variances of the columns, so dividing rows and columns of the
   matrix by their roots makes correlations of it: post-processing.

It answers another question than PCA of the columns as they are: there a column of large numbers
decides, here every column counts alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.moments import SecondMoment
from veilspan.queries.subspace.column_scaling import ColumnScaling
from veilspan.solvers.base import Prepared, calibrate_events, count_rows
from veilspan.solvers.linear.asked.private_ranges import (
    FINER,
    RANGES,
    ColumnRanges,
    private_ranges,
)
from veilspan.solvers.subspace.analyze_gauss import SECOND_MOMENT, PrincipalComponents
from veilspan.solvers.subspace.base import SubspaceProblem
from veilspan.solvers.subspace.unbounded.components import read_components
from veilspan.solvers.subspace.unbounded.looks import FIRST_LOOK, SECOND_LOOK, look_around
from veilspan.solvers.subspace.unbounded.notes import (
    describe,
    notes_of_columns,
    notes_of_looks,
)
from veilspan.solvers.subspace.unbounded.row_bound import choose_row_bound, describe_row_bound
from veilspan.solvers.subspace.unbounded.stretch import decompose
from veilspan.solvers.subspace.unbounded.stretched_pca import (
    LOOK_SHARES,
    USUAL_COMPONENTS,
    edge_of_events,
    entry_noise,
)

#: Shares of the budget (of mu^2) for ranges and finer ranges: a row votes in every column, so that
#: histograms need more than looks do.
RANGE_SHARES = (0.05, 0.05)
#: Stds of its noise that a column's variance must show; one that does not is credited with them.
LEAST_SHOWN = 3.0


@dataclass(frozen=True)
class ScaledPCA:
    """PCA of correlations, with ranges, centre and bound asked for.

    Attributes
    ----------
    row_norm : float or None
        Public bound on the length of a scaled, centred row; ``None`` asks for one.
    share : float or None
        Share of the variance that the components are to hold, in place of their number.
    """

    row_norm: float | None = None
    share: float | None = None

    @property
    def name(self) -> str:
        """What plans and errors call it, in two words."""
        return "scaled PCA"

    def prepare(
        self, problem: SubspaceProblem, budget: Budget, neighbors: Neighbors
    ) -> Prepared[SubspaceProblem, PrincipalComponents]:
        """Share the budget out among ranges, looks and the moment."""
        names = (RANGES, FINER, FIRST_LOOK, SECOND_LOOK, SECOND_MOMENT)
        rest = 1 - sum(RANGE_SHARES) - sum(LOOK_SHARES)
        shares = (*RANGE_SHARES, *LOOK_SHARES, rest)
        asked = tuple(map(GaussianEvent, names))
        events = calibrate_events(budget, neighbors, problem.n_rows, asked, shares)
        edge = edge_of_events(events[-1:], neighbors, problem.n_features)
        decisions = describe(problem, self.row_norm, edge, "private, from ranges")
        return Prepared(self, problem, budget, events, decisions)

    def run(self, curator: Curator, problem: SubspaceProblem) -> PrincipalComponents:
        """Find ranges, scale, look, ask for the moment, and make correlations of it."""
        n_rows = problem.n_rows or count_rows(curator)
        scaling = _scaling_by(private_ranges(curator))
        mapped = curator.mapped(scaling, problem.n_features)
        given, private = problem.center, problem.private_center is not None
        start = -scaling.middle if given is None else given - scaling.middle
        around = look_around(
            mapped, None if private else start * scaling.factor, n_rows, private_center=private
        )
        wanted = problem.n_components or min(USUAL_COMPONENTS, problem.n_features)
        if self.row_norm is None:
            bound = choose_row_bound(around, entry_noise(curator, SECOND_MOMENT), wanted)
        else:
            bound = describe_row_bound(around, self.row_norm)
        query = SecondMoment(bound.row_norm)
        answer = mapped.answer(query, around.center, event=SECOND_MOMENT)
        moment, noise = answer.value / n_rows, answer.noise_std / n_rows
        least, seen = LEAST_SHOWN * noise + 1e-300, scaling.factor > 0
        resolved = np.diag(moment) > least
        sizes = np.where(seen, np.sqrt(np.maximum(np.diag(moment), least)), 1.0)
        # Noise of small columns is stretched with them; its mean square over all entries counts.
        entry = noise / math.sqrt(2) * float(np.mean(1 / sizes**2))
        found = read_components(
            decompose(moment / np.outer(sizes, sizes), entry),
            problem.n_components,
            self.share,
            around,
            bound.row_norm,
            notes_of_looks(around, bound, private_center=private)
            + notes_of_columns(seen, resolved),
        )
        width = np.where(seen, 1 / np.where(seen, scaling.factor, 1), 1)
        center = scaling.middle + width * (0.0 if around.center is None else around.center)
        if not private:
            center = np.zeros(problem.n_features) if given is None else given
        doubt = found.doubt
        if doubt is not None:  # of correlations all variances are 1: here are the columns' own
            doubt = replace(doubt, spread=sizes).times(width)
        angles = found.angles
        if angles is not None:  # sampling moves the variances that are divided by, too
            angles = angles._replace(sampled=None)
        return replace(found, center=center, scale=width * sizes, doubt=doubt, angles=angles)


def _scaling_by(ranges: ColumnRanges) -> ColumnScaling:
    """Columns to the middle of their ranges, over half of their width; unseen ones left out."""
    half = ranges.high / 2 - ranges.low / 2
    seen = ranges.found & (half > 0)
    factor = np.where(seen, 1 / np.where(seen, half, 1.0), 0.0)
    return ColumnScaling(np.where(seen, ranges.low / 2 + ranges.high / 2, 0.0), factor)
