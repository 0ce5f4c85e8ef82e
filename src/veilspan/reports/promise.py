r"""The promise beyond one point (epsilon, delta): the whole curve, and what an attacker gains.

An attacker who knows all rows but one, and two candidates for that one, must tell from the release
which it was. Let a be the share of false alarms. Under (epsilon, delta)-DP at every point of the
curve delta(.), no test has a detection rate above

    min over epsilon of   min( delta + e^epsilon a,   1 - e^-epsilon (1 - delta - a) )

(Wasserman & Zhou 2010; Dong, Roth & Su 2022, Proposition 2.4), and under mu-GDP none above
Phi(Phi^-1(a) + mu), which is met. With even odds and one guess the attacker is right with
probability at most (1 + delta(0)) / 2, delta(0) being the total variation distance.

Every point of the curve gives a valid bound, so a minimum over a grid is one too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from veilspan.privacy import gdp
from veilspan.privacy.accounting import epsilon_spent, privacy_curve
from veilspan.privacy.statement import PrivacyStatement

#: Points of the drawn curve: enough for a smooth line; every point is a valid bound by itself.
POINTS = 121
#: The curve is drawn down to this delta, or a tenth of the promised one.
LOWEST = 1e-9


@dataclass(frozen=True)
class Promise:
    """The curve delta(epsilon) of a release.

    Attributes
    ----------
    epsilons, deltas : arrays
        Points of the curve.
    mu : float or None
        Given if the release is mu-GDP.
    """

    epsilons: np.ndarray
    deltas: np.ndarray
    mu: float | None

    def detection_rate(self, false_alarms: float) -> float:
        """Largest detection rate of any test with this share of false alarms."""
        if self.mu is not None:
            from scipy.special import ndtr, ndtri

            return float(ndtr(ndtri(false_alarms) + self.mu))
        grown = np.exp(self.epsilons)
        one = self.deltas + grown * false_alarms
        other = 1 - (1 - self.deltas - false_alarms) / grown
        return float(np.clip(min(one.min(), other.min()), false_alarms, 1.0))

    @property
    def even_odds(self) -> float:
        """Largest probability of a right guess between two equally likely candidates."""
        return (1 + float(self.deltas[0])) / 2


def promise_of(statement: PrivacyStatement) -> Promise | None:
    """The curve that a statement promises, or None if it rests on no noise at all.

    A solver that chooses its Gaussian answers as it goes has spent what its filter allowed, and how
    much of that it used may depend on rows. The promise is the filter's, so mu is that of the
    stated (epsilon, delta), and that of the recorded events only if these should cost more.
    """
    if not math.isfinite(statement.epsilon) or statement.epsilon <= 0:
        return None
    if any(event.noise_multiplier == 0 for event in statement.events) or not statement.events:
        return None
    lowest = min(LOWEST, statement.delta / 10)
    mu = statement.mu
    if mu is not None:
        grid = np.linspace(0.0, gdp.epsilon_of(mu, lowest), POINTS)
        return Promise(grid, np.array([gdp.delta_of(mu, epsilon) for epsilon in grid]), mu)
    neighbors = statement.neighbors
    furthest = epsilon_spent(statement.events, lowest, neighbors=neighbors)
    if not math.isfinite(furthest):
        return None
    grid = np.linspace(0.0, max(furthest, 1e-6), POINTS)
    return Promise(*privacy_curve(statement.events, grid, neighbors=neighbors), None)
