r"""Which requests still fit: a privacy filter for fits that are chosen one after the other.

An analyst asks for a fit, sees its release, and chooses the next fit, and its budget, by what she
saw. A *filter* says before each fit whether it may run, such that all releases together are
(epsilon, delta)-DP whatever she does.

Rules
-----
*gdp*: the sum of mu_i^2 stays within mu^2, mu-GDP being exactly (epsilon, delta_0)-DP. A valid
filter without loss for Gaussian releases (Smith & Thakurta 2022, Theorem 1; Koskela, Tobaben &
Honkela 2022).

*rdp, at one order a fixed in advance*: the sum of Rényi divergences of order a stays within

    rho = epsilon - log(1 - 1/a) + (log delta_j + log a) / (a - 1),

a valid filter too (Feldman & Zrnic 2021); rho is what converts to (epsilon, delta_j)
by Canonne, Kamath & Steinke 2020, Proposition 12.

A privacy loss distribution is no such rule: composing until it is full is *not* private if budgets
are chosen on the way. It is used within a fit, whose schedule is fixed beforehand, never across.

Several rules at once
---------------------
A request passes if it fits under *some* rule; every rule counts every charge, and a rule that was
exceeded never lets anything pass again. Which rule lives longest depends on what is asked, hence on
releases, and this choice is paid for by splitting delta:

*Proposition.* If rule j alone is a valid filter at (epsilon, delta_j), then the filter above is one
at (epsilon, sum_j delta_j).

*Proof.* Fix two neighbouring tables and an analyst; P and Q are the laws of everything she sees.
Let P_j, Q_j be the laws if the ledger stops for good just before the charge that kills rule j. By
assumption P_j(S) <= e^epsilon Q_j(S) + delta_j. Say that a course of events belongs to rule j if j
is the first rule that is alive at its end. Every course belongs to exactly one rule, since the last
charge passed under some rule, which is then alive. Let F_j be the courses of rule j. On F_j nobody
ever killed rule j, so that there the stopped ledger and the real one are the same: P = P_j and
Q = Q_j on subsets of F_j. Hence

    P(S) = sum_j P_j(S and F_j) <= sum_j [ e^epsilon Q_j(S and F_j) + delta_j ]
         = e^epsilon Q(S) + sum_j delta_j.      []

Fits may overlap in time: a release that is shown later than it was charged is a function of one
shown at once, to an analyst who knows less.

Units
-----
Costs and allowances are whole numbers of 1e-12; costs are rounded up, allowances down. A cost of
``CAP`` or more is "does not fit under this rule".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from veilspan.privacy import gdp

#: Units to one of mu^2 or of a Rényi divergence.
UNIT = 10**12
#: Relative margin for the rounding of a few float64 operations, 1e-16 each.
_MARGIN = 1e-12
#: Least Rényi order of a rule. At 1 a divergence does not bound any delta.
_LEAST_ORDER = 1.05
#: Twice this still fits into 64 bits with a sign.
CAP = 4 * 10**18
ACCOUNTING = ("auto", "gdp", "rdp")
#: Orders of the Rényi rules, as multiples of the best one for a Gaussian, and their parts of delta.
#: Sampled releases are mostly at their best below it, tilted objectives above. Gaussian ones lose
#: 3 to 5 % of the budget (of rho) to the parts of the other two. The rules of a dataset are written
#: into its entry, so that other numbers here would change new datasets only.
_ORDERS = ((1.0, 0.6), (0.8, 0.3), (1.5, 0.1))
MOST_RULES = 1 + len(_ORDERS)


@dataclass(frozen=True)
class Rule:
    """One way of counting.

    Attributes
    ----------
    order : float or None
        Rényi order; None counts mu^2.
    delta : float
        Its part of delta.
    active : bool
        Whether a request may pass by it; a rule that is not only shows what was spent.
    """

    order: float | None
    delta: float
    active: bool

    @property
    def name(self) -> str:
        """``"gdp"`` or ``"rdp at order a"``."""
        return "gdp" if self.order is None else f"rdp at order {self.order:g}"

    def allowance(self, epsilon: float) -> int:
        """Units that (epsilon, delta) has room for, rounded down; -1 if the rule is not active."""
        if not self.active:
            return -1
        if self.order is None:
            return _units_below(gdp.mu_of(epsilon, self.delta) ** 2)
        a = self.order
        return _units_below(
            epsilon - math.log1p(-1 / a) + (math.log(self.delta) + math.log(a)) / (a - 1)
        )

    def epsilon(self, units: int) -> float:
        """Epsilon at the rule's delta after this many units, rounded up; inf from ``CAP`` on."""
        if units >= CAP:
            return math.inf
        if units <= 0:
            return 0.0
        amount = units / UNIT
        if self.order is None:
            return gdp.epsilon_of(math.sqrt(amount) * (1 + _MARGIN), self.delta)
        a = self.order
        converted = amount + math.log1p(-1 / a) - (math.log(self.delta) + math.log(a)) / (a - 1)
        return max(0.0, converted * (1 + _MARGIN))

    def gaussian_room(self, units: int) -> float:
        """mu^2 of the largest Gaussian release that costs this many units."""
        amount = max(units, 0) / UNIT
        return amount if self.order is None else 2 * amount / self.order


def rules_for(epsilon: float, delta: float, accounting: str) -> tuple[Rule, ...]:
    """Rules of a new dataset, fixed for ever by its terms.

    ``"gdp"`` gives mu^2 all of delta, ``"rdp"`` the orders, ``"auto"`` half to each.
    """
    exact, renyi = {"gdp": (1.0, 1.0), "rdp": (1.0, 1.0), "auto": (0.5, 0.5)}[accounting]
    best = best_order(epsilon, delta * renyi * _ORDERS[0][1])
    orders = (
        Rule(max(_LEAST_ORDER, round(best * factor, 3)), delta * renyi * share, accounting != "gdp")
        for factor, share in _ORDERS
    )
    return (Rule(None, delta * exact, accounting != "rdp"), *orders)


def rules_to_list(rules: tuple[Rule, ...]) -> list[dict[str, Any]]:
    """JSON-ready rules, for the line of a dataset."""
    return [{"order": r.order, "delta": r.delta, "active": r.active} for r in rules]


def rules_from_list(records: list[dict[str, Any]]) -> tuple[Rule, ...]:
    """Rebuild the rules that :func:`rules_to_list` wrote into the entry of a dataset."""
    return tuple(Rule(**record) for record in records)


@lru_cache(maxsize=64)
def best_order(epsilon: float, delta: float) -> float:
    """Order at which (epsilon, delta) has room for the largest Gaussian release.

    Maximises mu^2 = 2 rho(a) / a over a > 1, by a grid in log(a - 1) and its refinement.
    """

    def room(log_excess: float) -> float:
        a = 1 + math.exp(log_excess)
        rho = epsilon - math.log1p(-1 / a) + (math.log(delta) + math.log(a)) / (a - 1)
        return 2 * rho / a

    # Orders from 1.02 to a million; where the best lies outside, the end is taken.
    low, high = -4.0, 14.0
    for _ in range(6):
        step = (high - low) / 40
        best = max((low + step * i for i in range(41)), key=room)
        low, high = best - step, best + step
    return 1 + math.exp(best)


def _units_below(amount: float) -> int:
    """Whole units, rounded down by a margin larger than the rounding of floats.

    At least -1, which no spending is within, and below ``CAP``, which no allowance may reach.
    """
    return max(-1, min(CAP - 1, math.floor(amount * (1 - _MARGIN) * UNIT) - 1))
