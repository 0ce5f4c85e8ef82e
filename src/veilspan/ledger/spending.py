"""What was spent on a dataset, and what is left."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from veilspan._notebook import draw_card, draw_table_card
from veilspan.ledger.costs import cost_of
from veilspan.ledger.filters import CAP, Rule
from veilspan.ledger.records import Account, Terms
from veilspan.ledger.words import sentences
from veilspan.ledger.words.fits import Fitting, find_fitting, gaussian_epsilon
from veilspan.ledger.words.shares import Shares, add_leader, count_shares
from veilspan.privacy.plan import Plan


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
    led : tuple of int
        Places of the rules that had most left after some charge so far.
    last : mapping or None
        The plan that was charged last, as it was recorded; None if there is none.
    withdrawn : int
        Releases that are not to be used any more; their charges stay spent.
    """

    terms: Terms
    rules: tuple[Rule, ...]
    account: Account
    charges: int
    tests: int
    released: int
    led: tuple[int, ...] = ()
    last: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    withdrawn: int = 0

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
        """Part of the budget that is used, from 0 to 1, by the rule with most left."""
        return self.shares.used

    @property
    def shares(self) -> Shares:
        """Parts of the budget that are used and left; those of all charges add up to them."""
        return count_shares(self.account)

    @property
    def last_plan(self) -> Plan | None:
        """The plan that was charged last; None if there is none, or of a test."""
        if self.last is None:
            return None
        try:
            plan = Plan.from_dict(self.last)
        except (ValueError, TypeError, KeyError, RuntimeError):  # of another version
            return None
        return plan if plan.budget.is_private else None

    def fitting(self, plan: Plan, delta: float | None = None) -> Fitting:
        """The largest fit of a plan's kind that still fits, by default at the account's delta.

        At another delta an epsilon cannot be compared with that of the account.
        """
        delta = self.terms.delta if delta is None else delta
        return find_fitting(plan, self.rules, self.account, delta)

    def after(self, plan: Plan) -> Spending:
        """The account as it would stand after a fit of this plan; nothing is charged.

        Raises ``BudgetExceededError``, in the words of a refused charge, if it does not fit.
        """
        costs = cost_of(plan, self.rules)
        allowed, spent = self.account.allowed, self.account.spent
        would = tuple(min(CAP, past + cost) for past, cost in zip(spent, costs))
        rooms = zip(self.rules, allowed, would, costs)
        if not any(r.active and c < CAP and units <= most for r, most, units, c in rooms):
            raise sentences.refuse_charge(self.terms, self.rules, self.account, costs, plan)
        return replace(
            self,
            account=replace(self.account, spent=would),
            charges=self.charges + 1,
            led=add_leader(self.led, allowed, would),
            last=plan.to_dict(),
        )

    @property
    def _any(self) -> bool:
        return any(self.account.spent)

    def left(self, delta: float | None = None) -> float:
        """Largest epsilon of a Gaussian fit at ``delta`` that still fits, 0 if none.

        Rounded down so that the plan of such a fit, whose own noise is rounded, fits as well.
        """
        delta = self.terms.delta if delta is None else delta
        return gaussian_epsilon(self.rules, self.account, delta)

    def left_for(self, plan: Plan) -> float:
        """Largest epsilon of a fit of a plan's kind, at its delta, that still fits; 0 if none.

        Exact for full-batch Gaussian plans, close for others (``fitting(plan).exact`` says which).

        Parameters
        ----------
        plan : Plan
            Of a fit of that kind, at whatever epsilon: ``estimator.plan(...)``, or ``plan_``.
        """
        return self.fitting(plan, plan.budget.delta).epsilon

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready summary (an infinite epsilon is the string ``"inf"``)."""

        def plain(value: float) -> float | str:
            return value if math.isfinite(value) else "inf"

        terms, place = self.terms, self.shares.place
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
            "withdrawn": self.withdrawn,
            "left_fraction": self.shares.left,
            "counted_by": None if place is None else self.rules[place].name,
            "recounted": bool(set(self.led) - {place}),
            "still_fits": sentences.list_what_fits(self),
        }

    def __repr__(self) -> str:
        first, facts = sentences.describe_spending(self)
        lines = [
            f"  {label if i == 0 else '':<10} {line}"
            for label, texts in facts
            for i, line in enumerate(texts)
        ]
        return "\n".join([first, *lines, f"  {sentences.WHY}"])

    def _repr_html_(self) -> str:
        first, facts = sentences.describe_spending(self)
        return draw_card(first, facts, used=self.fraction, foot=sentences.WHY)


def describe_accounts(title: str, states: Iterable[Spending]) -> str:
    """Several accounts as one card for a notebook."""
    rows = [
        (
            state.terms.name,
            sentences.say_used_and_left(state),
            "; ".join(sentences.list_what_fits(state)),
            f"{state.charges}",
        )
        for state in states
    ]
    if not rows:
        return draw_card(title, [], foot="no datasets yet")
    head = ("dataset", "budget", "still fits", "charges")
    return draw_table_card(title, head, rows, foot=sentences.WHY)
