"""Step sizes as values: public, fixed before the first answer, callable with k = 0, 1, 2, ..."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

#: Name of the event that pays for the steps of a descent.
STEP = "step"

#: Size of step k = 0, 1, 2, ...
StepSchedule = Callable[[int], float]


@dataclass(frozen=True)
class ConstantSteps:
    """Steps of one size, whatever came before."""

    size: float

    def __call__(self, k: int) -> float:
        """Size of step k, counted from 0."""
        return self.size


@dataclass(frozen=True)
class GeometricSteps:
    """Halved ``halvings`` times, evenly over ``steps``: initial * 2^-floor(k halvings / steps)."""

    initial: float
    halvings: int
    steps: int

    def __call__(self, k: int) -> float:
        """Size of step k, counted from 0."""
        return math.ldexp(self.initial, -(k * self.halvings // self.steps))


@dataclass(frozen=True)
class DecreasingSteps:
    """initial / sqrt(k + 1), the rate of subgradient methods without strong convexity."""

    initial: float

    def __call__(self, k: int) -> float:
        """Size of step k, counted from 0."""
        return self.initial / math.sqrt(k + 1)


@dataclass(frozen=True)
class PaperSteps:
    """initial * 2^-floor(k / every), counting k from 1 (Maunu, Yu & Lerman 2022, section 6.1)."""

    initial: float = 1.0
    every: int = 50

    def __call__(self, k: int) -> float:
        """Size of step k, counted from 0."""
        return math.ldexp(self.initial, -((k + 1) // self.every))


@dataclass(frozen=True)
class FallingSteps:
    """Another schedule for ``after`` steps, then halved every ``every`` steps from where it is."""

    schedule: StepSchedule
    after: int
    every: float

    def __call__(self, k: int) -> float:
        """Size of step k, counted from 0."""
        return self.schedule(min(k, self.after)) * 2.0 ** (-max(k - self.after, 0) / self.every)


@dataclass(frozen=True)
class RestartedSteps:
    """Another schedule, begun again every ``period`` steps."""

    schedule: StepSchedule
    period: int

    def __call__(self, k: int) -> float:
        """Size of step k, counted from 0."""
        return self.schedule(k % self.period)
