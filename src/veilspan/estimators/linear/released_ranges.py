r"""What a model keeps of the ranges of its columns, and how it scores rows by them.

A model that was fitted to rows clipped to ranges, public or released, clips the rows that it
predicts alike:

    score(x) = <min(max(x, low), high), coef_> + intercept_.

So ``coef_`` is in the units of the features and means what it means in every linear model, **for
entries inside the ranges**; beyond an end a column says no more than at the end. Where all rows lie
inside, this is X @ coef_.T + intercept_. Columns that were left out have the coefficient 0.

A bound on the length of rows alone (``row_norm`` without ranges) clips nothing here: it does not
say which column is off, so that a longer row is scored as it is.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from veilspan.estimators.linear.feature_scaling import asks_ranges, checked_ranges
from veilspan.privacy.errors import LoudNoiseWarning
from veilspan.privacy.plan import Plan
from veilspan.queries.linear.row_scaling import RowScaling
from veilspan.solvers.linear.asked.private_ranges import RANGES

HIDDEN_COLUMNS = (
    "{} of {} columns were left out (columns_used_ tells which): noise hides what they hold, if it "
    "is more than zeros. If you know their ranges without the data, say feature_range=(lo, hi); "
    "more rows, fewer columns or a larger epsilon help as well."
)
ALIKE_COLUMNS = (
    "{} of {} columns were left out (columns_used_ tells which): nearly all of their entries are "
    "alike, as far as noise tells, at the value that feature_range_ says."
)


class ReleasedRanges:
    """What gives a linear model the ranges of its columns, and scores that keep to them.

    Attributes
    ----------
    feature_range_ : array of shape (2, n_features)
        Released lowest and highest value of each column; only where they were paid for.
    columns_used_ : bool array of shape (n_features,)
        Columns that showed something above the noise, and not the same number in all rows; the
        others were left out.
    clipped_to_ : array of shape (2, n_features)
        Ends that a fit by a public ``feature_range`` has clipped rows to; only there.
    """

    _scales_by_ranges = True

    #: Whether a range of targets is paid for.
    _asks_targets = False

    feature_range_: np.ndarray
    columns_used_: np.ndarray
    clipped_to_: np.ndarray
    coef_: np.ndarray
    intercept_: Any
    epsilon: float

    @property
    def _asks_ranges(self: Any) -> bool:
        """Whether ranges of the features are paid for."""
        if self.schema is not None:
            return False
        return asks_ranges(self.bounds, self.feature_range, self.row_norm)

    def _keep_ranges(self, row_map: RowScaling, plan: Plan) -> None:
        self._forget_ranges()
        left_out = row_map.left_out()
        if left_out is None:
            return
        if all(event.name != RANGES for event in plan.events):
            self.clipped_to_ = np.array([row_map.low, row_map.high])
            return
        self.feature_range_ = np.array([row_map.low, row_map.high])
        self.columns_used_ = ~left_out

    def _forget_ranges(self) -> None:
        """Remove what an earlier fit has left."""
        for name in ("feature_range_", "columns_used_", "clipped_to_"):
            self.__dict__.pop(name, None)

    def _warn_of_columns(self) -> None:
        """Say how many columns were left out and why, which the released ranges tell."""
        used = vars(self).get("columns_used_")
        if used is None or used.all():
            return
        at_zero = (self.feature_range_ == 0).all(axis=0)
        hidden, alike = int((~used & at_zero).sum()), int((~used & ~at_zero).sum())
        if hidden:
            warnings.warn(HIDDEN_COLUMNS.format(hidden, used.size), LoudNoiseWarning, stacklevel=3)
        if alike and self.epsilon != math.inf:
            warnings.warn(ALIKE_COLUMNS.format(alike, used.size), LoudNoiseWarning, stacklevel=3)

    def _ends_of_rows(self: Any) -> np.ndarray | None:
        """Ends that rows are clipped to, in a fit and afterwards; None where there are none."""
        for name in ("feature_range_", "clipped_to_"):
            if name in vars(self):
                return np.asarray(vars(self)[name])
        if self.schema is not None or self.feature_range is None:
            return None
        # An earlier release, which does not say whether its table was sparse: zero stays inside.
        low, high = checked_ranges(self.feature_range, self.n_features_in_)
        if self.center != "midpoint":
            low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        return np.array([low, high])

    def _linear_scores(self, table: Any) -> np.ndarray:
        """Scores of own rows, clipped to the ranges if there are any."""
        ends = self._ends_of_rows()
        if ends is None:
            return np.asarray(table @ self.coef_.T + self.intercept_)
        low, high = ends
        if isinstance(table, np.ndarray):
            return np.asarray(np.clip(table, low, high) @ self.coef_.T + self.intercept_)
        # Entries that are not stored are zeros, and a range need not hold zero.
        zero = np.clip(0.0, low, high)
        rows = table.astype(np.float64)
        rows.sum_duplicates()
        rows.data = np.clip(rows.data, low[rows.indices], high[rows.indices]) - zero[rows.indices]
        return np.asarray(rows @ self.coef_.T + (zero @ self.coef_.T + self.intercept_))

    def _ranges_shapes(self, n_features: int) -> dict[str, tuple[int, ...]]:
        """Shapes of what a saved release holds of ranges."""
        if "clipped_to_" in vars(self):
            return {"clipped_to_": (2, n_features)}
        if "feature_range_" not in vars(self):
            return {}
        return {"feature_range_": (2, n_features), "columns_used_": (n_features,)}
