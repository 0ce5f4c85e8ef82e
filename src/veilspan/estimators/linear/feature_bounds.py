r"""Public bounds of features: how a user's row becomes a row of the unit ball, and a model its own.

A row x of d features is clipped to its ranges and becomes

    v / max(|v|, sqrt(R^2 + b^2)),      v = ((x - c) / s, b),

c and s being the middle and half of the width of each range (``center="midpoint"``), or zero and
the far end (``center="zero"``, which keeps zeros zero); R the bound on the length of the scaled
features; b = ``intercept_scaling`` R the constant column of the intercept. So the constant is part
of a row of at most unit length, and whatever is proven for such rows covers the intercept: it costs
the features a factor sqrt(1 + intercept_scaling^2) of their length, and no separate release.

Every number of the map is public and it looks at one row only, so neighbouring tables stay
neighbouring (:mod:`veilspan.queries.linear.row_scaling`). A row is rounded alike, bit for bit,
wherever it stands in the table, so that rounding is part of the map.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veilspan._scales import check_location, check_scale, check_width
from veilspan.queries.linear.row_scaling import RowScaling
from veilspan.solvers.linear.private_ranges import ColumnRanges


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
        ``None`` is the midpoint for dense tables and zero for sparse ones.
    intercept_scaling : float or None
        Constant column over ``row_norm``; ``None`` without an intercept.
    bounds : None or "private"
        Whether ranges come from a release.
    """

    feature_range: Any
    row_norm: float | None
    center: str | None
    intercept_scaling: float | None
    bounds: str | None = None

    def check(self, owner: str, n_features: int) -> RowScaling | None:
        """Refuse missing or impossible bounds, with the sentence to add.

        Returns the map that public bounds give a dense table (or any, at ``center="zero"``).
        """
        if self.bounds not in (None, "private"):
            raise ValueError(f'bounds must be None or "private"; got {self.bounds!r}.')
        if self.bounds is not None and self.feature_range is not None:
            raise ValueError('bounds="private" estimates feature_range: leave one of them out.')
        if self.bounds is None and self.feature_range is None and self.row_norm is None:
            raise ValueError(
                f"{owner} needs bounds on the features that are known without the data: say "
                f"{owner}(feature_range=(lo, hi)) with numbers or one entry per feature, or "
                "row_norm=..., or bounds='private' to have ranges estimated from the budget."
            )
        if self.center not in (None, "midpoint", "zero"):
            raise ValueError(f'center must be None, "midpoint" or "zero"; got {self.center!r}.')
        if self.center == "midpoint" and self.feature_range is None and self.bounds is None:
            raise ValueError('center="midpoint" needs a feature_range to be in the middle of.')
        # What the parameters make together is refused here, not later; any ranges do for that.
        told = self if self.bounds is None else replace(self, feature_range=(-1.0, 1.0))
        row_map = told.map_for(n_features, sparse=self.center == "zero")
        return row_map if self.bounds is None else None

    def with_ranges(self, ranges: ColumnRanges) -> FeatureBounds:
        """The same with ranges that were released."""
        return replace(self, feature_range=(ranges.low, ranges.high))

    def map_for(self, n_features: int, sparse: bool) -> RowScaling:
        """The map for tables of this many columns."""
        if self.center == "midpoint" and sparse:
            raise ValueError(
                'center="midpoint" would fill the zeros of a sparse table: say center="zero", or '
                "pass a dense one."
            )
        low = high = center = None
        scale: Any = 1.0
        length, constant = 1.0, 0.0
        if self.feature_range is not None:
            low, high = checked_ranges(self.feature_range, n_features)
            length = math.sqrt(n_features)
            if sparse or self.center == "zero":
                low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
                scale = np.maximum(-low, high)
            else:
                center, scale = low / 2 + high / 2, high / 2 - low / 2
            scale = np.where(scale > 0, scale, 1.0)
        if self.row_norm is not None:
            length = check_scale(self.row_norm, "row_norm")
        if self.intercept_scaling is not None:
            constant = check_scale(self.intercept_scaling, "intercept_scaling") * length
        return RowScaling(center, scale, math.hypot(length, constant), constant, low, high)


def checked_ranges(feature_range: Any, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Low and high ends of shape (d,), or a sentence."""
    try:
        low, high = (np.asarray(end, dtype=np.float64) for end in feature_range)
        low, high = (np.broadcast_to(end, (n_features,)).copy() for end in (low, high))
    except (TypeError, ValueError):
        raise ValueError(
            "feature_range must be (lo, hi), each a number or an array with one entry for each "
            f"of the {n_features} features."
        ) from None
    check_location([low, high], "feature_range")
    if not (low <= high).all():
        raise ValueError("feature_range must not have a low end above its high end.")
    check_width(low, high, "feature_range")
    return low, high
