r"""How far a tracked subspace may be turned, from what its releases have told.

A private tracker carries a precision J: one over the variance of each entry of the tilt between
its basis and the truth, D - r by r entries, of released and public numbers alone
(:mod:`veilspan.solvers.stream`). The sum of their squares is J^-1 times a chi-square with r (D - r)
degrees of freedom, and the root of it at least the largest principal angle's tangent. The truth is
the subspace of the rows' own law, so that sampling is in it; rows that drift are as far as the
tracker believes them to.
"""

from __future__ import annotations

import math
from typing import Any

from sklearn.utils.validation import check_is_fitted

from veilspan.estimators.noise.summary import Line, Parts, Summarised

LEVEL = 0.95
NO_PRIVACY = "a tracker without epsilon has no noise to tell of: it is not private."
TRACKED = (
    "By noise and sampling, from released numbers: what bounding rows does is not in it, nor rows "
    "that drift faster than blocks show."
)


class TrackedAngle(Summarised):
    """What gives a tracker its ``subspace_angle_`` and its ``summary``."""

    @property
    def subspace_angle_(self) -> float:
        """Degrees by which noise may have turned the subspace, with 95 %; private mode only."""
        check_is_fitted(self, "components_")
        stream: Any = vars(self).get("_private_")
        if stream is None or not stream.plan.budget.is_private:
            raise AttributeError(NO_PRIVACY)
        return find_tracked_angle(float(stream.belief.precision), *stream.belief.basis.shape)

    def summary(self) -> Any:
        """A table of what was released and how far noise may have turned it; nothing is spent."""
        check_is_fitted(self, "components_")
        if vars(self).get("_private_") is None:
            raise AttributeError(NO_PRIVACY)
        return super().summary()

    def _summary_parts(self) -> Parts:
        told: Any = self
        private = told._private_.plan.budget.is_private
        angle = self.subspace_angle_ if private else None
        line = Line("subspace", float(told.releases_), angle)
        return Parts("", (line,), (TRACKED,), ("releases", "turned by (degrees, 95 %)"))


def find_tracked_angle(precision: float, n_features: int, n_components: int) -> float:
    """The angle of the formula; 90 where nothing is known."""
    from scipy.stats import chi2

    entries = n_components * (n_features - n_components)
    if entries == 0:
        return 0.0
    if not precision > 0:
        return 90.0
    return math.degrees(math.atan(math.sqrt(float(chi2.ppf(LEVEL, entries)) / precision)))
