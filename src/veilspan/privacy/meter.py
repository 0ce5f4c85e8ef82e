"""Meters: each question is let pass or refused by the plan, and what passed is recorded.

A meter is charged *before* a row is read. What it has let pass is spent, whatever happens next.

Whoever watches (:func:`watch_steps`) is told of each question that passes: how far a fit has come.
Under a fixed plan the questions and their order are public, so that a step tells nothing. An
adaptive plan chooses them by noisy answers, which are paid for. When a step comes is running time,
which no release protects.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction

from veilspan.privacy.errors import BudgetExceededError
from veilspan.privacy.events import Event, GaussianEvent, merge, with_count
from veilspan.privacy.plan import Plan

_WATCHER: ContextVar[Callable[[str], None] | None] = ContextVar("veilspan_steps", default=None)


@contextmanager
def watch_steps(watcher: Callable[[str], None]) -> Iterator[None]:
    """Call ``watcher(name of the event)`` at each question of the fits inside the block."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


class Meter(ABC):
    """Keeps count of what may still be asked, and of what has been asked already."""

    def __init__(self) -> None:
        self._spent: dict[Event, list[int]] = {}  # how often each was let pass

    @property
    def spent(self) -> tuple[Event, ...]:
        """Events that were let pass, equal ones joined."""
        return merge(with_count(event, times) for event, (times,) in self._spent.items())

    def charge(self, name: str, noise_multiplier: float | None = None) -> Event:
        """Charge one question, or raise ``BudgetExceededError``; return the event that covers it.

        A planned event may cover more questions than this one, as its ``count`` says.
        """
        event = self._admit(name, noise_multiplier)
        self._spent.setdefault(event, [0])[0] += 1
        watcher = _WATCHER.get()
        if watcher is not None:
            watcher(name)
        return event

    @abstractmethod
    def _admit(self, name: str, noise_multiplier: float | None) -> Event:
        """Return the event that covers one question, if there is one."""


class ScheduleMeter(Meter):
    """Lets exactly the planned events pass, each as often as planned."""

    def __init__(self, events: tuple[Event, ...]) -> None:
        super().__init__()
        self._planned = {event.name: event for event in events}
        self._left = {event.name: event.count for event in events}

    def _admit(self, name: str, noise_multiplier: float | None) -> Event:
        if noise_multiplier is not None:
            raise BudgetExceededError(
                "a fixed plan sets the noise of each event: ask by the name of the event alone, "
                "without a noise_multiplier."
            )
        if self._left.get(name, 0) < 1:
            known = ", ".join(repr(planned) for planned in self._planned) or "nothing"
            raise BudgetExceededError(
                f"the plan does not cover another {name!r}; it covers {known}, each as often as "
                "planned. Plan for more, or ask for less."
            )
        self._left[name] -= 1
        return self._planned[name]


class GaussianFilter(Meter):
    """Lets full-batch Gaussian questions pass while the sum of mu_k^2 stays within mu^2.

    Each mu_k may depend on all earlier answers: the sum is a valid privacy filter for GDP with no
    loss (Smith & Thakurta 2022, Theorem 1; Koskela, Tobaben & Honkela 2022).

    Admitted is a question if the exact sum of all squares, its own among them, is at most
    mu^2 (1 + 1e-12). The tolerance is granted once, to the sum: a solver that spends "all that is
    left" is off by a few roundings. ``Budget.mu`` is rounded down by 1e-9, which pays for it, and a
    ledger charges mu^2 (1 + 1e-9) for an adaptive plan (``ledger.costs``). Squares below the
    smallest float count as that float, so that no number of questions is free. A question that the
    plan names has the noise that it says there, and is charged each time like any other.
    """

    TOLERANCE = Fraction(1, 10**12)

    def __init__(self, mu: float, planned: tuple[Event, ...] = ()) -> None:
        super().__init__()
        if not mu > 0:
            raise ValueError(f"mu must be positive; got {mu}.")
        self.mu = mu
        self._planned = {event.name: event for event in planned}
        # Floats are fractions with a power of two below: their sum is exact and stays short.
        self._sum = Fraction(0)

    @property
    def left(self) -> float:
        """What is left of mu^2, never below 0; infinite without privacy."""
        if math.isinf(self.mu):
            return math.inf
        return max(0.0, float(Fraction(self.mu) ** 2 - self._sum))

    def _admit(self, name: str, noise_multiplier: float | None) -> Event:
        if noise_multiplier is None:
            if name not in self._planned:
                raise BudgetExceededError(
                    f"{name!r} is not in the plan: a question that an adaptive plan does not name "
                    "says its noise itself: pass a noise_multiplier."
                )
            noise_multiplier = self._planned[name].noise_multiplier
        event = GaussianEvent(name, noise_multiplier)
        if math.isinf(self.mu):
            return event
        cost = max(event.mu * event.mu, math.ulp(0.0))
        if math.isinf(cost) or not self._covers(Fraction(cost)):
            raise BudgetExceededError(
                f"{name!r} would cost mu^2 = {cost:.6g}; {self.left:.6g} is left."
            )
        self._sum += Fraction(cost)
        return event

    def _covers(self, cost: Fraction) -> bool:
        return self._sum + cost <= Fraction(self.mu) ** 2 * (1 + self.TOLERANCE)


def meter_for(plan: Plan) -> Meter:
    """Return the meter that enforces a plan."""
    if plan.adaptive:
        return GaussianFilter(plan.budget.mu, plan.events)
    return ScheduleMeter(plan.events)
