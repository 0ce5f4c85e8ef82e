"""The range of a regression's targets, where nobody knows it in advance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

from veilspan.curator.curator import Curator
from veilspan.queries.linear.column_choice import TargetColumn
from veilspan.queries.linear.column_histograms import ColumnHistograms
from veilspan.queries.linear.target_scaling import TargetScaling
from veilspan.solvers.linear.asked.log_grid import LOG_EDGES
from veilspan.solvers.linear.asked.narrow_columns import NARROW_TARGETS, zoom_in
from veilspan.solvers.linear.asked.private_ranges import MOST_BINS, coverage_of, private_ranges
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

#: Why a range says little: noise hides the targets, or where in it they are, or they reach beyond
#: all bins.
Lost = Literal["noise", "coarse", "far"]
HIDDEN = (
    "noise hides where the targets lie: target_range_ is (-1, 1) for want of anything better, and "
    "predictions keep to it, which is of no use unless they lie there. If you know their range "
    "without the data, say target_range=(lo, hi); more rows or a larger epsilon help as well."
)
FAR = (
    f"targets reach beyond {LOG_EDGES[-1]:.2g} in size, further than bins do: they are clipped to "
    "target_range_, and predictions keep to it. Say target_range=(lo, hi), known without the data, "
    "or change their unit."
)
COARSE = (
    "noise hides how close together the targets lie in target_range_, or how many lie outside of "
    "it: predictions may be worse than one number for all. If you know their range without the "
    "data, say target_range=(lo, hi); more rows or a larger epsilon help as well."
)
WARNINGS: dict[Lost, str] = {"noise": HIDDEN, "coarse": COARSE, "far": FAR}


@dataclass(frozen=True)
class TargetRange:
    """A released range of targets.

    Attributes
    ----------
    low, high : float
        Its ends.
    lost : {"noise", "coarse", "far"} or None
        Why it does not hold the targets, where released counts say so.
    """

    low: float
    high: float
    lost: Lost | None = None


@dataclass(frozen=True)
class ReleasedTargets(TargetScaling):
    """A map of targets by a released range, which says whether they are within.

    Parameters
    ----------
    lost : {"noise", "coarse", "far"} or None
        See :class:`TargetRange`.
    """

    lost: Lost | None = None

    @classmethod
    def of_released(cls, found: TargetRange, shifted: bool) -> Self:
        """The map by a range; around zero where nothing may shift."""
        low, high = found.low, found.high
        if not shifted:  # so that its width is public in units of its end
            low, high = -max(-low, high), max(-low, high)
        plain = TargetScaling.of_range(low, high, shifted)
        return cls(plain.low, plain.high, plain.middle, plain.half, found.lost)


def private_target_range(curator: Curator) -> TargetRange:
    """Ask for the range of the targets (events "targets" and "narrow targets").

    (-1, 1) where noise hides it. The targets are asked for as a table of one column: a row has one
    vote, sensitivity 1 under add-remove and sqrt(2) under replace-one.
    """
    view = curator.mapped(TargetColumn(), 1)
    coverage = coverage_of(curator, TARGETS, 1 - FAR_TARGETS)
    ranges = private_ranges(
        view, coverage, first=TARGETS, second=TARGETS, failure=TARGETS_FAILURE, widen=True
    )
    ranges = zoom_in(view, ranges, coverage, NARROW_TARGETS, TARGETS_FAILURE)
    if not ranges.found[0]:
        return TargetRange(-1.0, 1.0, "noise")
    low, high = float(ranges.low[0]), float(ranges.high[0])
    far = low < LOG_EDGES[0] or high > LOG_EDGES[-1]
    noise = curator.planned(TARGETS).noise_multiplier
    noise *= ColumnHistograms(1, LOG_EDGES).sensitivity(curator.plan.neighbors)
    hidden = noise_quantile(1, MOST_BINS, TARGETS_FAILURE) * noise / ranges.n_rows
    margin = min(max(MARGIN, MARGIN_PER_HIDDEN * hidden), MOST_MARGIN) * (high - low)
    lost: Lost | None = "far" if far else None if ranges.told[0] else "coarse"
    return TargetRange(low - margin, high + margin, lost)
