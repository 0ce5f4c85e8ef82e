r"""Which centre rows need, decided by two released sums of their directions.

Let z be the unit rows, m their mean and rho = |m| (without what noise adds to it).

1. *No mean* (rho is not above noise): nothing speaks against the **origin**.
2. *A long mean* (rho > 0.55): most rows lie to one side, which a minority could not do: **pairs**.
3. Else some rows lean to one side. For a few nested caps around m it is asked: what would be the
   mean m2 of the rest if this one was cut out, and the share i of rows inside; and of all rows the
   share a that is ahead (z.m > 0).

   * *A cluster, or a cone.* Cutting it out takes at least half of the mean, and what is left is
     balanced: those ahead are the cluster and half of the rest, a = i + (1 - i)/2. The **cap** that
     leaves the shortest mean stays cut out, the narrowest of equals.
   * *An offset.* More than three quarters of all rows are ahead; or a lean of 2a - 1 of the rows
     makes a mean of less than half of it, which a minority that points one way would not: rows far
     off the direction lean, each by a little. **Pairs**.
   * *A minority* that no cap holds: the **origin**, which the solver is robust at.

All numbers that enter are released and paid for: the verdict is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import chdtri

Centre = Literal["origin", "pairs", "cap"]

# Set on the kinds of `veilspan reproduce outlier-kinds` with seeds that its record does not use.

#: Standard deviations of its noise that a share of rows may be off by.
SURE = 4.0
#: Chance that noise alone makes a mean that is believed: four standard deviations of a normal.
BY_CHANCE = 3.2e-5
#: Standard deviations of n rows' own mean, where they are balanced about the origin.
SURE_OF_ROWS = 4.0
#: Length below which a mean is no reason for anything: cutting it out would gain nothing.
LEAST_MEAN = 0.05
#: Length that no minority of rows reaches together with balanced other rows.
LONG_MEAN = 0.55
#: What is left of the mean, at most, where a cluster has been cut out of it.
KEPT_MEAN = 0.5
#: By how much the share of rows ahead may miss what a cluster in balanced rows would make.
BALANCE = 0.1
#: Share of rows ahead beyond which they are no minority with half of the others.
MOST_AHEAD = 0.75
#: A mean shorter than this share of the rows that lean: each of them leans by a little.
SHALLOW = 0.5
#: Half-angle of the narrowest cap, in radians: this much, and twice the error of its direction.
CAP_ANGLE, LEAST_ANGLE = 0.15, 0.3
#: The widest cap, which holds cones, and how many nested ones are looked at.
MOST_ANGLE, CAPS = 1.0, 3


@dataclass(frozen=True)
class MeanDirection:
    """A released mean of unit rows.

    Attributes
    ----------
    vector : array of shape (D,)
        The mean, with noise.
    noise : float
        Standard deviation of the noise on each entry.
    n_rows : float
        Number of rows, public or released.
    """

    vector: np.ndarray
    noise: float
    n_rows: float

    @property
    def least(self) -> float:
        """Length that a mean must have to be told from noise, of the release and of the rows.

        |noise|^2 is a chi-square, whose tail is heavier than a normal one where columns are few.
        """
        columns = len(self.vector)
        released = self.noise**2 * (float(chdtri(columns, BY_CHANCE)) - columns)
        return math.sqrt(max(released, SURE_OF_ROWS**2 / self.n_rows, LEAST_MEAN**2))

    @property
    def length(self) -> float:
        """Length of the mean without what noise adds to it; 0 where it may be noise alone.

        A mean of unit rows is at most 1 long: where that cannot be told from noise, nothing can.
        """
        if self.least >= 1:
            return 0.0
        power = float(self.vector @ self.vector) - len(self.vector) * self.noise**2
        return math.sqrt(power) if power > self.least**2 else 0.0

    @property
    def error(self) -> float:
        """About the angle, in radians, by which noise turns the direction."""
        return self.noise * math.sqrt(len(self.vector)) / self.length if self.length else math.pi

    def caps(self) -> tuple[np.ndarray, tuple[float, ...]]:
        """Direction and cosines of nested caps that a cluster may lie in, the narrowest first."""
        narrow = min(max(CAP_ANGLE + 2 * self.error, LEAST_ANGLE), MOST_ANGLE)
        angles = np.linspace(narrow, MOST_ANGLE, CAPS if narrow < MOST_ANGLE else 1)
        length = float(np.linalg.norm(self.vector))
        direction = self.vector / length if length > 0 else np.eye(1, len(self.vector))[0]
        return direction, tuple(map(float, np.cos(angles)))


@dataclass(frozen=True)
class CapLook:
    """What was released about one cap: its cosine, the mean outside of it, the share inside."""

    cosine: float
    outside: MeanDirection
    inside: float


@dataclass(frozen=True)
class Look:
    """What was released about nested caps, and the share of rows ahead with its noise."""

    caps: tuple[CapLook, ...]
    ahead: float
    noise: float

    def cluster(self, mean: MeanDirection) -> CapLook | None:
        """The cap that holds a cluster in balanced rows, if one does."""
        slack = BALANCE + SURE * self.noise
        fitting = [
            cap
            for cap in self.caps
            if cap.outside.length <= KEPT_MEAN * mean.length
            and self.ahead - (1 + cap.inside) / 2 <= slack
        ]
        return min(fitting, key=lambda cap: cap.outside.length, default=None)


@dataclass(frozen=True)
class Verdict:
    """Which centre rows need, why, and whether the released numbers are clear about it.

    Attributes
    ----------
    centre : {"origin", "pairs", "cap"}
        What the next questions use.
    reason : str
        Why, in words and released numbers.
    doubt : str or None
        What speaks for another centre, where that is within noise.
    cosine : float or None
        Of the cap that is cut out.
    """

    centre: Centre
    reason: str
    doubt: str | None = None
    cosine: float | None = None


def judge_mean(mean: MeanDirection) -> Verdict | None:
    """What the mean alone says; None where a cap has to be looked at."""
    if mean.length == 0:
        return Verdict(
            "origin",
            f"the mean direction of the rows is shorter than {mean.least:.2g}, which is what can "
            "be told from noise: they are balanced about the origin as far as the budget tells",
        )
    if mean.length > LONG_MEAN:
        return Verdict(
            "pairs",
            f"the mean direction of the rows has length {mean.length:.2f} of 1: most of them lie "
            "to one side of the origin",
        )
    return None


def judge_caps(mean: MeanDirection, look: Look) -> Verdict:
    """What the mean and a look at caps around it say together."""
    lean = 2 * look.ahead - 1
    cap = look.cluster(mean)
    if cap is not None:
        left, angle = cap.outside.length, math.degrees(math.acos(cap.cosine))
        return Verdict(
            "cap",
            f"{_percent(cap.inside)} of the rows point within {angle:.0f} degrees of their "
            f"mean direction; without them its length falls from {mean.length:.2f} to "
            + (f"{left:.2f}" if left else f"below {cap.outside.least:.2g}"),
            cosine=cap.cosine,
        )
    shallow = mean.length < SHALLOW * lean
    if look.ahead > MOST_AHEAD or shallow:
        why = "they lie to one side of the origin"
        if look.ahead <= MOST_AHEAD:
            why = "by a little each: the origin is not where they are centred"
        return Verdict(
            "pairs",
            f"{_percent(look.ahead)} of the rows lean towards their mean direction, of length "
            f"{mean.length:.2f}: {why}",
            _doubt(look, mean),
        )
    return Verdict(
        "origin",
        f"about {_percent(max(lean, 0.0))} of the rows lean to one side without being a cluster, "
        "and the others are balanced about the origin",
        _doubt(look, mean),
    )


def _doubt(look: Look, mean: MeanDirection) -> str | None:
    """What is within noise of the other verdict, if anything is."""
    shallow_by = mean.length / SHALLOW - (2 * look.ahead - 1)
    decided = look.ahead > MOST_AHEAD + 2 * look.noise or shallow_by < -4 * look.noise
    against = look.ahead < MOST_AHEAD - 2 * look.noise and shallow_by > 4 * look.noise
    if decided or against:
        return None
    return (
        f"{_percent(look.ahead)} of the rows lean to one side, with noise of "
        f"{100 * look.noise:.1f} percentage points: this many may be a minority of outliers, or "
        "rows that are not centred at the origin"
    )


def _percent(share: float) -> str:
    return f"{100 * min(max(share, 0.0), 1.0):.0f} %"
