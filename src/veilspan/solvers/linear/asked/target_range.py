"""The range of a regression's targets, where nobody knows it in advance."""

from __future__ import annotations

from veilspan.curator.curator import Curator
from veilspan.queries.linear.column_choice import TargetColumn
from veilspan.queries.linear.column_histograms import ColumnHistograms
from veilspan.solvers.linear.asked.narrow_columns import NARROW_TARGETS, zoom_in
from veilspan.solvers.linear.asked.private_ranges import LOG_EDGES, MOST_BINS, private_ranges
from veilspan.solvers.noisy_counts import noise_quantile

TARGETS = "targets"
#: Probability of an end that noise alone made: far away, it would ruin every prediction.
TARGETS_FAILURE = 1e-10
#: Share of targets that may be clipped.
FAR_TARGETS = 2e-4
#: What a range of targets is widened by at either end beside, over its width: at least and at most,
#: and for each part of the rows that noise may hide in a bin. A range that is too wide costs
#: little, as noise follows the residuals; one that is too narrow cuts targets, which bends every
#: slope.
MARGIN, MOST_MARGIN, MARGIN_PER_HIDDEN = 0.1, 1.0, 10.0


def private_target_range(curator: Curator) -> tuple[float, float]:
    """Ask for the range of the targets (events "targets" and "narrow targets").

    (-1, 1) where noise hides it. The targets are asked for as a table of one column: a row has one
    vote, sensitivity 1 under add-remove and sqrt(2) under replace-one.
    """
    view = curator.mapped(TargetColumn(), 1)
    ranges = private_ranges(
        view, 1 - FAR_TARGETS, first=TARGETS, second=TARGETS, failure=TARGETS_FAILURE
    )
    ranges = zoom_in(view, ranges, 1 - FAR_TARGETS, NARROW_TARGETS, TARGETS_FAILURE)
    if not ranges.found[0]:
        return -1.0, 1.0
    low, high = float(ranges.low[0]), float(ranges.high[0])
    noise = curator.planned(TARGETS).noise_multiplier
    noise *= ColumnHistograms(1, LOG_EDGES).sensitivity(curator.plan.neighbors)
    hidden = noise_quantile(1, MOST_BINS, TARGETS_FAILURE) * noise / ranges.n_rows
    margin = min(max(MARGIN, MARGIN_PER_HIDDEN * hidden), MOST_MARGIN) * (high - low)
    return low - margin, high + margin
