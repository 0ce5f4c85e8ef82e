"""What still fits into an account: the largest epsilon of a fit of a given kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from veilspan.ledger.costs import cost_of_events
from veilspan.ledger.filters import UNIT, Rule
from veilspan.ledger.records import Account
from veilspan.privacy import gdp
from veilspan.privacy.accounting import epsilon_spent, gaussian_only
from veilspan.privacy.budget import LEAST_EPSILON
from veilspan.privacy.events import Event, ObjectiveEvent, SearchEvent, with_noise
from veilspan.privacy.plan import Plan

#: The search for what still fits ends at 2 to this power times the planned noise, where a fit would
#: be nothing but noise; beyond it the message says that nothing of its kind fits.
_MOST_NOISE = 16.0
#: The other end: a plan whose noise could be less than 2 to minus this of itself is small beside
#: what is left, and an epsilon that large is no promise.
_MOST_ROOM = 8.0
#: Relative margin by which "what is left" is rounded down: it covers the roundings of mu_of and
#: epsilon_of (1e-9) and of a unit in the last place, so that a fit that spends it all passes.
_MARGIN = 1e-7


@dataclass(frozen=True)
class Fitting:
    """The largest fit of one kind that still fits.

    Attributes
    ----------
    method : str
        Of which kind; empty for any Gaussian fit.
    epsilon : float
        Its epsilon, 0 if none fits.
    delta : float
        At which delta.
    exact : bool
        Whether that is exact but for rounding; else a plan at this epsilon may spread its noise a
        little differently.
    """

    method: str
    epsilon: float
    delta: float
    exact: bool


def largest_epsilon(room: float, delta: float) -> float:
    """Epsilon of the largest Gaussian fit within mu^2 = ``room``, less ``_MARGIN``; 0 if none."""
    if not room > 0:
        return 0.0
    mu = math.sqrt(room) * (1 - _MARGIN) - 1 / UNIT
    found = gdp.epsilon_of(mu, delta) * (1 - _MARGIN) if mu > 0 else 0.0
    return found if found >= LEAST_EPSILON else 0.0


def gaussian_epsilon(rules: tuple[Rule, ...], account: Account, delta: float) -> float:
    """Epsilon of the largest Gaussian fit that still fits, 0 if none does.

    If it is 0 nothing of any kind fits at this delta: a rule that has room has it for a Gaussian
    fit as well.
    """
    pairs = zip(rules, account.allowed, account.spent)
    rooms = (r.gaussian_room(allowed - spent) for r, allowed, spent in pairs if r.active)
    return largest_epsilon(max(rooms), delta)


def fitting_epsilon(plan: Plan, rules: tuple[Rule, ...], account: Account, delta: float) -> float:
    """Epsilon of the largest fit of a plan's kind that still fits: its events with more noise.

    Exact up to rounding for Gaussian plans. Others are made noisier as a whole until they fit, or
    less noisy as long as they do (:func:`_make_noisier`); a new plan at that epsilon may spread its
    noise a little differently.
    """
    if is_gaussian(plan):
        return gaussian_epsilon(rules, account, delta)
    room = [allowed - spent for allowed, spent in zip(account.allowed, account.spent)]

    def noisier(factor: float) -> tuple[Event, ...]:
        return tuple(_make_noisier(event, factor) for event in plan.events)

    def fits(factor: float) -> bool:
        costs = cost_of_events(noisier(factor), rules, plan.neighbors)
        return any(cost <= units for cost, units, r in zip(costs, room, rules) if r.active)

    low, high = _bracket(fits)
    if high is None:
        return 0.0
    for _ in range(10):
        middle = (low + high) / 2
        low, high = (low, middle) if fits(2.0**middle) else (middle, high)
    found = epsilon_spent(noisier(2.0**high), delta, neighbors=plan.neighbors)
    return found if found >= LEAST_EPSILON else 0.0


def is_gaussian(plan: Plan) -> bool:
    """Whether a plan's cost is that of full-batch Gaussian releases alone."""
    return plan.adaptive or gaussian_only(plan.events)


def find_fitting(plan: Plan, rules: tuple[Rule, ...], account: Account, delta: float) -> Fitting:
    """The largest fit of a plan's kind that still fits, at whatever delta."""
    epsilon = fitting_epsilon(plan, rules, account, delta)
    return Fitting(plan.method, epsilon, delta, is_gaussian(plan))


def find_gaussian(rules: tuple[Rule, ...], account: Account, delta: float) -> Fitting:
    """The largest Gaussian fit that still fits, of whatever estimator."""
    return Fitting("", gaussian_epsilon(rules, account, delta), delta, True)


def _make_noisier(event: Event, factor: float) -> Event:
    """An event with so many times the noise.

    A tilted objective gets as much more of its quadratic term: with the noise alone it would go on
    costing what the curvature of a row tells, and no plan is made like that.
    """
    if isinstance(event, SearchEvent):
        trials: Any = (tuple(_make_noisier(one, factor) for one in kind) for kind in event.trials)
        return replace(event, trials=tuple(trials))
    noisier = with_noise(event, event.noise_multiplier * factor)
    if isinstance(noisier, ObjectiveEvent):
        return replace(noisier, lam=noisier.lam * factor)
    return noisier


def _bracket(fits: Callable[[float], bool]) -> tuple[float, float | None]:
    """Powers of two of the noise, one too low and one that fits; None if none does."""
    low, high = 0.0, 1.0
    if fits(1.0):
        low, high = -1.0, 0.0
        while low > -_MOST_ROOM and fits(2.0**low):
            low, high = 2 * low, low
        return low, high
    while not fits(2.0**high):
        low, high = high, 2 * high
        if high > _MOST_NOISE:
            return low, None
    return low, high
