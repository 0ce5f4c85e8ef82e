r"""The stage before a linear model: rows are scaled, by public bounds or by ranges paid for.

A row x of d features is clipped to its ranges and becomes

    v / max(|v|, sqrt(R^2 + b^2)),      v = ((x - c) / s, b),

c and s being the middle and half of the width of each range (``center="midpoint"``), or zero and
the far end (``center="zero"``, which keeps zeros zero, and the plane of a model without an
intercept through the origin); R the bound on the length of the scaled
features; b = ``intercept_scaling`` R the constant column of the intercept. So the constant is part
of a row of at most unit length, and whatever is proven for such rows covers the intercept: it costs
the features a factor sqrt(1 + intercept_scaling^2) of their length, and no separate release.

**Ranges that were released** (:mod:`veilspan.solvers.linear.asked.private_ranges`) are used
alike, with two differences. A column in which nothing was found becomes 0 in every row, and its
coefficient 0; so does one whose rows are all in one point, unless it is centred at zero. Columns of
which most entries are 0 (one-hot codes, amounts that few have) are centred at zero, so that rows
are as short as they can be; others in the middle of their range.

Every number of the map is public and it looks at one row only, so neighbouring tables stay
neighbouring (:mod:`veilspan.queries.linear.row_scaling`). A row is rounded alike, bit for bit,
wherever it stands in the table, so that rounding is part of the map.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veilspan._scales import SMALLEST_SCALE, check_location, check_scale, check_width
from veilspan.curator.curator import Curator
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import Event, GaussianEvent
from veilspan.queries.linear.row_scaling import RowScaling
from veilspan.solvers.linear.asked.narrow_columns import (
    LOOKS,
    NARROW,
    NARROW_TARGETS,
    zoom_in,
)
from veilspan.solvers.linear.asked.private_ranges import (
    COVERAGE,
    FINER,
    LENGTH,
    RANGES,
    ColumnRanges,
    coverage_of,
    private_length,
    private_ranges,
)
from veilspan.solvers.linear.asked.target_range import (
    TARGETS,
    ReleasedTargets,
    private_target_range,
)

#: Shares of mu^2 for ranges of features, for the length of rows, and for the range of targets:
#: errors of them only make rows and targets shorter than they need be.
RANGES_SHARE, FINER_SHARE, LENGTH_SHARE, TARGETS_SHARE = 0.07, 0.02, 0.01, 0.02
#: The same for columns, or targets, that lie close together far from zero: few, and all of their
#: rows are in a few bins, so that little noise is not needed.
NARROW_SHARE, NARROW_TARGETS_SHARE = 0.015, 0.005


@dataclass(frozen=True)
class FeatureBounds:
    """What an estimator was told about its features, all of it public.

    Attributes
    ----------
    feature_range : (low, high) or None
        Numbers or arrays, one entry per feature.
    row_norm : float or None
        Bound on the length of a row after centring and scaling.
    center : {None, "midpoint", "zero"}
        ``None`` is the midpoint for dense tables and zero for sparse ones, and without an
        intercept.
    intercept_scaling : float or None
        Constant column over ``row_norm``; None without an intercept.
    bounds : None or "private"
        Whether ranges come from a release; they do as well where nothing else is said.
    """

    feature_range: Any
    row_norm: float | None
    center: str | None
    intercept_scaling: float | None
    bounds: str | None = None

    def check(self, n_features: int) -> RowScaling | None:
        """Refuse impossible bounds, with the sentence that says what to change.

        Returns the map that public bounds give a dense table (or any, at ``center="zero"``); None
        where ranges are to be paid for.
        """
        if self.bounds not in (None, "private"):
            raise ValueError(f'bounds must be None or "private"; got {self.bounds!r}.')
        if self.bounds is not None and self.feature_range is not None:
            raise ValueError('bounds="private" estimates feature_range: leave one of them out.')
        if self.center not in (None, "midpoint", "zero"):
            raise ValueError(f'center must be None, "midpoint" or "zero"; got {self.center!r}.')
        asked = asks_ranges(self.bounds, self.feature_range, self.row_norm)
        if self.center == "midpoint" and self.feature_range is None and not asked:
            raise ValueError('center="midpoint" needs a feature_range to be in the middle of.')
        if self.center == "midpoint" and self.intercept_scaling is None:
            raise ValueError(
                'center="midpoint" with fit_intercept=False would lay the plane through the middle '
                'of the ranges, not through the origin: say center="zero", or leave it out.'
            )
        # What the parameters make together is refused here, not later; any ranges do for that.
        told = replace(self, feature_range=(-1.0, 1.0)) if asked else self
        row_map = told.map_for(n_features, sparse=self.is_at_zero)
        return None if asked else row_map

    @property
    def is_at_zero(self) -> bool:
        """Whether rows of dense tables, too, are centred at zero."""
        return self.center == "zero" or self.intercept_scaling is None

    def map_of_ranges(self, ranges: ColumnRanges, sparse: bool) -> RowScaling:
        """The map by released ranges, which shortens no row unless ``row_norm`` says so."""
        at_zero = np.full(ranges.found.shape, sparse or self.is_at_zero)
        if self.center is None:
            at_zero |= ranges.mostly_zero
        low = np.where(at_zero, np.minimum(ranges.low, 0.0), ranges.low)
        high = np.where(at_zero, np.maximum(ranges.high, 0.0), ranges.high)
        center = np.where(at_zero, 0.0, low / 2 + high / 2)
        scale = np.where(at_zero, np.maximum(-low, high), high / 2 - low / 2)
        same = ranges.one_point & ~at_zero
        low, high = np.where(same, center, low), np.where(same, center, high)
        used = ranges.found & ~same
        length = self.row_norm
        if length is None:
            length = math.sqrt(max(1, int(used.sum())))
        return self.sized(
            RowScaling(
                None if sparse else center,
                np.where(used, scale, 1.0),
                low=np.where(ranges.found, low, 0.0),
                high=np.where(ranges.found, high, 0.0),
            ),
            float(length),
        )

    def sized(self, row_map: RowScaling, length: float) -> RowScaling:
        """The same map for rows of another length, longer ones shortened to it."""
        constant = (self.intercept_scaling or 0.0) * length
        return replace(row_map, row_norm=math.hypot(length, constant), intercept=constant)

    def refuse_midpoint(self, sparse: bool) -> None:
        """Refuse a centre that would fill a sparse table."""
        if self.center == "midpoint" and sparse:
            raise ValueError(
                'center="midpoint" would fill the zeros of a sparse table: say center="zero", or '
                "pass a dense one."
            )

    def map_for(self, n_features: int, sparse: bool) -> RowScaling:
        """The map for tables of this many columns."""
        self.refuse_midpoint(sparse)
        at_zero = sparse or self.is_at_zero
        low = high = center = None
        scale: Any = 1.0
        length = 1.0
        if self.feature_range is not None:
            low, high = checked_ranges(self.feature_range, n_features)
            length = math.sqrt(n_features)
            if at_zero:
                low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
                scale = np.maximum(-low, high)
            else:
                center, scale = low / 2 + high / 2, high / 2 - low / 2
            scale = np.where(scale > 0, scale, 1.0)
        if self.row_norm is not None:
            length = check_scale(self.row_norm, "row_norm")
        constant = 0.0
        if self.intercept_scaling is not None:
            constant = check_scale(self.intercept_scaling, "intercept_scaling") * length
        return RowScaling(center, scale, math.hypot(length, constant), constant, low, high)


@dataclass(frozen=True)
class FeatureScaling:
    """The stage before a linear model's solver: rows are scaled into the unit ball.

    Attributes
    ----------
    bounds : FeatureBounds
        What is public about the features.
    n_columns : int
        Columns of the scaled rows, the constant one of the intercept included.
    events : tuple of events
        Releases of ranges, of a length, of the targets' range; none with public bounds.
    public_map : RowScaling or None
        The map of public bounds for dense tables.
    left : float
        Share of mu^2 that the events leave to the solver.
    """

    bounds: FeatureBounds
    n_columns: int
    events: tuple[Event, ...] = ()
    public_map: RowScaling | None = None
    left: float = 1.0

    def find_map(self, curator: Curator) -> RowScaling:
        """The map by public bounds, or by what is asked for now."""
        asked = {event.name for event in self.events}
        row_map = self._find_features(curator, asked)
        if TARGETS not in asked:
            return row_map
        shifted = self.bounds.intercept_scaling is not None
        found = private_target_range(curator)
        return replace(row_map, targets=ReleasedTargets.of_released(found, shifted))

    def _find_features(self, curator: Curator, asked: set[str]) -> RowScaling:
        if RANGES in asked:
            self.bounds.refuse_midpoint(curator.is_sparse)
            coverage = coverage_of(curator, RANGES, COVERAGE)
            ranges = zoom_in(curator, private_ranges(curator, coverage), coverage, NARROW)
            row_map = self.bounds.map_of_ranges(ranges, curator.is_sparse)
            if LENGTH not in asked:
                return row_map
            bare = replace(row_map, row_norm=row_map.features_norm, intercept=0.0)
            return self.bounds.sized(row_map, private_length(curator, bare))
        if self.public_map is not None and not curator.is_sparse:
            return self.public_map
        return self.bounds.map_for(curator.n_features, curator.is_sparse)


def plan_scaling(
    bounds: FeatureBounds, n_features: int, budget: Budget, targets: bool = False
) -> FeatureScaling:
    """The stage that scales rows; what nobody knows of them is asked for.

    Parameters
    ----------
    bounds : FeatureBounds
        What is public about the features. Where that is nothing, ranges are asked for with shares
        of 0.07 and 0.02 of mu^2, those far from zero again with 0.015, and the length of rows with
        0.01.
    n_features : int
        Columns of the rows as they are.
    budget : Budget
        Of the whole fit.
    targets : bool
        Whether the range of the targets is to be asked for, with shares of 0.02 and 0.005.
    """
    public_map = bounds.check(n_features)
    parts: list[tuple[str, int, float]] = []  # name, questions, share of mu^2
    if public_map is None:
        parts += [(RANGES, 1, RANGES_SHARE), (FINER, 1, FINER_SHARE)]
        parts.append((NARROW, LOOKS, NARROW_SHARE))
        if bounds.row_norm is None:
            parts.append((LENGTH, 1, LENGTH_SHARE))
    if targets:
        parts.append((TARGETS, 2, TARGETS_SHARE))
        parts.append((NARROW_TARGETS, LOOKS, NARROW_TARGETS_SHARE))
    events: tuple[Event, ...] = ()
    left = 1.0
    for name, count, share in parts:
        events += (GaussianEvent(name, math.sqrt(count / share) / budget.mu, count),)
        left -= share
    columns = n_features + (bounds.intercept_scaling is not None)
    return FeatureScaling(bounds, columns, events, public_map, left)


def asks_ranges(bounds: Any, feature_range: Any, row_norm: Any) -> bool:
    """Whether ranges are to be paid for: somebody says so, or says nothing at all."""
    return bounds is not None or (feature_range is None and row_norm is None)


def checked_ranges(feature_range: Any, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Low and high ends of shape (d,), or a sentence."""
    try:
        low, high = feature_range
        if max(np.ndim(low), np.ndim(high)) > 1:
            raise ValueError
        ends = np.empty((2, n_features))
        ends[0], ends[1] = low, high
    except (TypeError, ValueError):
        raise ValueError(
            "feature_range must be (lo, hi), each a number or an array with one entry for each "
            f"of the {n_features} features."
        ) from None
    low, high = check_location(ends, "feature_range")
    if not (high / 2 - low / 2).min() >= SMALLEST_SCALE:  # else all is well at a glance
        if not (low <= high).all():
            raise ValueError("feature_range must not have a low end above its high end.")
        check_width(low, high, "feature_range")
    return low, high
