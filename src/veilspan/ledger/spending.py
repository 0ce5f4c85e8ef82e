"""What was spent on a dataset, what is left, and how a refusal says so."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from veilspan.ledger.costs import cost_of_events
from veilspan.ledger.filters import CAP, UNIT, Rule
from veilspan.ledger.records import Account, Terms
from veilspan.privacy import gdp
from veilspan.privacy.accounting import epsilon_spent, gaussian_only
from veilspan.privacy.errors import BudgetExceededError
from veilspan.privacy.events import Event, with_noise
from veilspan.privacy.plan import Plan

#: The search for what still fits ends at 2 to this power times the planned noise, where a fit would
#: be nothing but noise; beyond it the message says that nothing is left.
_MOST_NOISE = 16.0
#: Relative margin by which "what is left" is rounded down: it covers the roundings of mu_of and
#: epsilon_of (1e-9) and of a unit in the last place, so that a fit that spends it all passes.
_MARGIN = 1e-7


@dataclass(frozen=True)
class Spending:
    """State of a dataset's account.

    Attributes
    ----------
    terms : Terms
        What may be spent.
    rules : tuple of Rule
        The ways of counting.
    account : Account
        Units allowed and spent under each.
    charges, tests, released : int
        Charges so far, those among them that were tests, and those whose release was recorded.
    """

    terms: Terms
    rules: tuple[Rule, ...]
    account: Account
    charges: int
    tests: int
    released: int

    @property
    def epsilon_gdp(self) -> float:
        """Epsilon spent by exact Gaussian accounting, at the rule's delta.

        Infinite as soon as a release that is not full-batch Gaussian was charged.
        """
        return self.rules[0].epsilon(self.account.spent[0])

    @property
    def epsilon_rdp(self) -> float:
        """Epsilon spent by Rényi accounting: the least over the dataset's orders."""
        pairs = list(zip(self.rules, self.account.spent))[1:]
        return 0.0 if not self.account.spent[1] else min(r.epsilon(units) for r, units in pairs)

    @property
    def epsilon(self) -> float:
        """Epsilon spent by the best rule that is in force; at most that of the terms."""
        pairs = zip(self.rules, self.account.spent)
        return min(r.epsilon(units) for r, units in pairs if r.active) if self._any else 0.0

    @property
    def fraction(self) -> float:
        """Part of the budget that is spent, from 0 to 1, by the rule with most room."""
        pairs = zip(self.account.allowed, self.account.spent)
        return min((spent / allowed for allowed, spent in pairs if allowed > 0), default=1.0)

    @property
    def _any(self) -> bool:
        return any(self.account.spent)

    def left(self, delta: float | None = None) -> float:
        """Largest epsilon of a Gaussian fit at ``delta`` that still fits, 0 if none.

        Rounded down so that the plan of such a fit, whose own noise is rounded, fits as well.
        """
        pairs = zip(self.rules, self.account.allowed, self.account.spent)
        room = max(r.gaussian_room(allowed - spent) for r, allowed, spent in pairs if r.active)
        return largest_epsilon(room, self.terms.delta if delta is None else delta)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready summary (an infinite epsilon is the string ``"inf"``)."""

        def plain(value: float) -> float | str:
            return value if math.isfinite(value) else "inf"

        terms = self.terms
        return {
            "dataset": terms.name,
            "epsilon": terms.epsilon,
            "delta": terms.delta,
            "neighbors": terms.neighbors,
            "accounting": terms.accounting,
            "test": terms.test,
            "unit": terms.unit,
            "data": terms.data,
            "spent_epsilon": plain(self.epsilon),
            "spent_epsilon_gdp": plain(self.epsilon_gdp),
            "spent_epsilon_rdp": plain(self.epsilon_rdp),
            "spent_fraction": self.fraction,
            "left_epsilon": self.left(),
            "charges": self.charges,
            "tests": self.tests,
            "released": self.released,
        }

    def __repr__(self) -> str:
        terms = self.terms
        lines = [
            f"{terms.name}: {self.fraction:.1%} spent of {terms.describe()}",
            f"  protects   {_write_unit(terms)}",
            f"  spent      epsilon = {_write(self.epsilon_gdp)} (exact, Gaussian releases), "
            f"{_write(self.epsilon_rdp)} (Rényi)",
            f"  left       one Gaussian fit with epsilon = {self.left():.4g} at delta = "
            f"{terms.delta:g}",
            f"  charges    {self.charges}, {self.released} released, {self.tests} tests",
        ]
        return "\n".join(lines)


def largest_epsilon(room: float, delta: float) -> float:
    """Epsilon of the largest Gaussian fit within mu^2 = ``room``, less ``_MARGIN``; 0 if none."""
    if not room > 0:
        return 0.0
    mu = math.sqrt(room) * (1 - _MARGIN) - 1 / UNIT
    return gdp.epsilon_of(mu, delta) * (1 - _MARGIN) if mu > 0 else 0.0


def fitting_epsilon(plan: Plan, rules: tuple[Rule, ...], account: Account, delta: float) -> float:
    """Epsilon of the largest fit of a plan's kind that still fits: its events with more noise.

    Exact up to rounding for Gaussian plans. Others are made noisier as a whole until they fit; a
    new plan at that epsilon may spread its noise a little differently.
    """
    room = [allowed - spent for allowed, spent in zip(account.allowed, account.spent)]
    if plan.adaptive or gaussian_only(plan.events):
        pairs = zip(rules, room)
        return largest_epsilon(max(r.gaussian_room(u) for r, u in pairs if r.active), delta)

    def noisier(factor: float) -> tuple[Event, ...]:
        return tuple(with_noise(e, e.noise_multiplier * factor) for e in plan.events)

    def fits(factor: float) -> bool:
        costs = cost_of_events(noisier(factor), rules, plan.neighbors)
        return any(cost <= units for cost, units, r in zip(costs, room, rules) if r.active)

    low, high = 0.0, 1.0  # powers of two
    while not fits(2.0**high):
        low, high = high, 2 * high
        if high > _MOST_NOISE:
            return 0.0
    for _ in range(10):
        middle = (low + high) / 2
        low, high = (low, middle) if fits(2.0**middle) else (middle, high)
    return epsilon_spent(noisier(2.0**high), delta, neighbors=plan.neighbors)


def refusal(
    terms: Terms, rules: tuple[Rule, ...], account: Account, costs: tuple[int, ...], plan: Plan
) -> BudgetExceededError:
    """The error for a request that does not fit: what is short, and what would still fit."""
    short = [
        (spent + cost - allowed) / max(allowed, 1)
        for rule, allowed, spent, cost in zip(rules, account.allowed, account.spent, costs)
        if rule.active and cost < CAP and spent < CAP
    ]
    if not short:
        return BudgetExceededError(
            f"the dataset {terms.name!r} counts full-batch Gaussian releases only (accounting "
            f"gdp); {plan.method} makes others. Use a solver without sampling, or a dataset with "
            "accounting='auto'."
        )
    fits = fitting_epsilon(plan, rules, account, plan.budget.delta)
    about = "" if plan.adaptive or gaussian_only(plan.events) else "about "
    still = (
        f"The largest epsilon that still fits is {about}{_round_down(fits)} at delta = "
        f"{plan.budget.delta:g}."
        if fits > 0
        else "Nothing is left."
    )
    return BudgetExceededError(
        f"{plan.method} with epsilon = {plan.epsilon:.6g} does not fit into what is left of "
        f"{terms.name!r} ({terms.describe()}): it is short by {max(min(short), 1e-6):.4%} of the "
        f"whole budget. {still} Nothing was charged."
    )


def _round_down(value: float) -> str:
    """Six significant digits, rounded down: who types them is not refused."""
    scale = 10.0 ** (5 - math.floor(math.log10(value)))
    return f"{math.floor(value * scale) / scale:.6g}"


def _write_unit(terms: Terms) -> str:
    """Whom the account protects, and whose schemas it takes."""
    if terms.unit is None:
        return "one row (one user, by MatrixCompletion); opened before units were recorded"
    return f"one {terms.unit}; takes schemas of {terms.data}"


def _write(epsilon: float) -> str:
    return f"{epsilon:.4g}" if math.isfinite(epsilon) else "not defined"
