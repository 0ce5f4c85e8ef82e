"""Step sizes as values: public, fixed before the first answer, callable with k = 0, 1, 2, ..."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from veilspan.privacy.events import Event, GaussianEvent, SampledGaussianEvent
from veilspan.solvers.subspace.base import START

STEP = "step"

#: Size of step k = 0, 1, 2, ...
StepSchedule = Callable[[int], float]


@dataclass(frozen=True)
class ConstantSteps:
    """The same size always."""

    size: float

    def __call__(self, k: int) -> float:
        """Size of step k."""
        return self.size


@dataclass(frozen=True)
class GeometricSteps:
    """Halved ``halvings`` times, evenly over ``steps``: initial * 2^-floor(k halvings / steps)."""

    initial: float
    halvings: int
    steps: int

    def __call__(self, k: int) -> float:
        """Size of step k."""
        return math.ldexp(self.initial, -(k * self.halvings // self.steps))


@dataclass(frozen=True)
class DecreasingSteps:
    """initial / sqrt(k + 1), the rate of subgradient methods without strong convexity."""

    initial: float

    def __call__(self, k: int) -> float:
        """Size of step k."""
        return self.initial / math.sqrt(k + 1)


@dataclass(frozen=True)
class PaperSteps:
    """initial * 2^-floor(k / every), counting k from 1 (Maunu, Yu & Lerman 2022, section 6.1)."""

    initial: float = 1.0
    every: int = 50

    def __call__(self, k: int) -> float:
        """Size of step k."""
        return math.ldexp(self.initial, -((k + 1) // self.every))


@dataclass(frozen=True)
class RestartedSteps:
    """Another schedule, begun again every ``period`` steps."""

    schedule: StepSchedule
    period: int

    def __call__(self, k: int) -> float:
        """Size of step k."""
        return self.schedule(k % self.period)


def descent_events(
    steps: int, sampling_rate: float | None, start_share: float
) -> tuple[tuple[Event, ...], tuple[float, ...]]:
    """One release for the start and ``steps`` gradients, with their shares of the budget."""
    gradients: Event = (
        GaussianEvent(STEP, count=steps)
        if sampling_rate is None
        else SampledGaussianEvent(STEP, sampling_rate, count=steps)
    )
    return (GaussianEvent(START), gradients), (start_share, 1.0 - start_share)


def check_descent(steps: int, sampling_rate: float | None, start_share: float) -> None:
    """Refuse settings that no plan could be made of."""
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise ValueError(f"steps must be a whole number >= 1; got {steps!r}.")
    if sampling_rate is not None and not 0 < sampling_rate < 1:
        raise ValueError(
            "sampling_rate must lie strictly between 0 and 1, or be None for all rows; "
            f"got {sampling_rate}."
        )
    if not 0 < start_share < 1:
        raise ValueError(f"start_share must lie strictly between 0 and 1; got {start_share}.")


def guard_for(neighbors: str, guard: float) -> float:
    """The guard of a gradient; coarser under add-remove, where the rounding of all rows counts."""
    return guard if neighbors == "replace-one" else max(guard, 1e-4)
