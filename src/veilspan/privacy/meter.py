"""Meters: they let a question pass while the plan covers it, and keep the record.

A meter is charged *before* a row is read. What it has let pass is spent, whatever happens next.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from veilspan.privacy.errors import BudgetExceededError
from veilspan.privacy.events import Event, GaussianEvent, merge, with_count
from veilspan.privacy.plan import Plan


class Meter(ABC):
    """What may still be asked, and what has been."""

    def __init__(self) -> None:
        self._spent: list[Event] = []

    @property
    def spent(self) -> tuple[Event, ...]:
        """Events that were let pass, equal ones joined."""
        return merge(self._spent)

    def charge(self, name: str, noise_multiplier: float | None = None) -> Event:
        """Charge one question and return its event, or raise ``BudgetExceededError``."""
        event = self._admit(name, noise_multiplier)
        self._spent.append(event)
        return event

    @abstractmethod
    def _admit(self, name: str, noise_multiplier: float | None) -> Event:
        """Return the event of one question if it is covered."""


class ScheduleMeter(Meter):
    """Lets exactly the planned events pass, each as often as planned."""

    def __init__(self, events: tuple[Event, ...]) -> None:
        super().__init__()
        self._planned = {event.name: event for event in events}
        self._left = {event.name: event.count for event in events}

    def _admit(self, name: str, noise_multiplier: float | None) -> Event:
        if noise_multiplier is not None:
            raise BudgetExceededError("a fixed plan sets the noise itself; ask by name alone.")
        if self._left.get(name, 0) < 1:
            known = ", ".join(repr(planned) for planned in self._planned) or "nothing"
            raise BudgetExceededError(
                f"the plan does not cover another {name!r}; it covers {known}, each as often as "
                "planned."
            )
        self._left[name] -= 1
        return with_count(self._planned[name], 1)


class GaussianFilter(Meter):
    """Lets full-batch Gaussian questions pass while the sum of mu_k^2 stays within mu^2.

    Each mu_k may depend on all earlier answers: the sum is a valid privacy filter for GDP with no
    loss (Smith & Thakurta 2022, Theorem 1; Koskela, Tobaben & Honkela 2022).
    """

    def __init__(self, mu: float) -> None:
        super().__init__()
        self.mu = mu

    @property
    def left(self) -> float:
        """What is left of mu^2."""
        spent = math.fsum(event.mu**2 for event in self._spent if isinstance(event, GaussianEvent))
        return max(0.0, self.mu**2 - spent) if math.isfinite(self.mu) else math.inf

    def _admit(self, name: str, noise_multiplier: float | None) -> Event:
        if noise_multiplier is None:
            raise BudgetExceededError("under an adaptive plan each question names its noise.")
        event = GaussianEvent(name, noise_multiplier)
        if math.isinf(self.mu):
            return event
        # budget.mu is rounded down by 1e-9, which pays for the rounding of this comparison.
        if event.mu**2 > self.left + 1e-12 * self.mu**2:
            raise BudgetExceededError(
                f"{name!r} would cost mu^2 = {event.mu**2:.6g}; {self.left:.6g} is left."
            )
        return event


def meter_for(plan: Plan) -> Meter:
    """Return the meter that enforces a plan."""
    return GaussianFilter(plan.budget.mu) if plan.adaptive else ScheduleMeter(plan.events)
