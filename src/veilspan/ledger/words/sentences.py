"""The words for an account: the same on the command line, in Python, in notebooks and in reports.

First the share of the budget that is used and left, which adds up; then what still fits of the kind
in question. Nothing here knows a terminal or markup: all is plain text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from veilspan.ledger.filters import CAP, Rule
from veilspan.ledger.records import CHARGE, Account, Entry, Terms
from veilspan.ledger.words.fits import Fitting, find_fitting, find_gaussian
from veilspan.ledger.words.shares import (
    find_leading_rule,
    name_rule,
    write_share,
    write_shares,
    write_used,
)
from veilspan.privacy.accounting import has_search
from veilspan.privacy.errors import BudgetExceededError
from veilspan.privacy.plan import Plan

if TYPE_CHECKING:
    from veilspan.ledger.spending import Spending

#: The page that explains all of it, by a worked example.
PAGE = "docs/explanation/how_a_ledger_counts.md"
#: Why the one number is a share and not an epsilon.
WHY = (
    "Shares add up, epsilons do not: two releases at epsilon 1 are less than one at 2 (How a "
    f"ledger counts, {PAGE})."
)
NOTHING = "Nothing is left."


def say_used_and_left(state: Spending) -> str:
    """The first thing to know: ``14.1 % of the budget used, 85.9 % left``."""
    shares = state.shares
    left = write_shares([shares.used, shares.left])[1]
    (used,) = write_used(shares, [shares.used])
    return f"{used} of the budget used, {left} left"


def say_what_fits(fitting: Fitting, more: bool = True) -> str:
    """One fit that still fits: ``one more PCA at epsilon 0.62 (delta 1e-06)``."""
    again = "one more" if more else "one"
    kind = f"{again} {fitting.method}" if fitting.method else "one Gaussian fit, such as PCA,"
    epsilon = round_down(fitting.epsilon, 6 if fitting.exact else 3)
    about = "" if fitting.exact else "about "
    return f"{kind} at epsilon {about}{epsilon} (delta {fitting.delta:g})"


def list_what_fits(state: Spending) -> list[str]:
    """What still fits: of the kind that was charged last, and of Gaussian fits.

    ``Nothing is left.`` only if nothing of any kind fits.
    """
    any_kind = find_gaussian(state.rules, state.account, state.terms.delta)
    if not any_kind.epsilon:
        return [NOTHING]
    last = state.last_plan
    if last is None:
        return [say_what_fits(any_kind)]
    same_kind = state.fitting(last)
    if not same_kind.epsilon:
        return [f"no further {same_kind.method}", f"but {say_what_fits(any_kind)}"]
    if same_kind.exact:
        return [say_what_fits(same_kind)]
    return [say_what_fits(same_kind), f"or {say_what_fits(any_kind)}"]


def say_how_counted(state: Spending) -> str:
    """By which rule the shares are, and whether earlier ones were by another."""
    place = state.shares.place
    if place is None:
        return "by no rule: this budget is too small for any of them"
    text = f"by {name_rule(state.rules[place])}, the rule with most left"
    if set(state.led) - {place}:
        text += "; earlier charges were counted by another rule and are recounted by this one"
    if state.charges == state.tests and state.terms.accounting != "gdp":
        text += (
            f"; every rule has a part of delta, so one fit gets a little less than epsilon = "
            f"{state.terms.epsilon:g}"
        )
    return text


def describe_spending(state: Spending) -> tuple[str, list[tuple[str, list[str]]]]:
    """An account: its first line, and labelled lines below it."""
    terms = state.terms
    released = f"{state.charges}, {state.released} released, {state.tests} tests"
    if state.withdrawn:
        released += f", {state.withdrawn} withdrawn"
    facts = [
        ("budget", [terms.describe()]),
        ("protects", [write_unit(terms)]),
        ("still fits", list_what_fits(state)),
        ("counted", [say_how_counted(state)]),
        ("charges", [released]),
    ]
    return f"{terms.name}: {say_used_and_left(state)}", facts


def say_after_charge(state: Spending, costs: Sequence[int], plan: Plan) -> str:
    """What a release used, and what its account has left for another of its kind."""
    shares = state.shares
    own = write_share(shares.of(costs))
    left = write_shares([shares.used, shares.left])[1]
    return (
        f"This release used {own} of the budget of {state.terms.name}; {left} is left: "
        f"{say_left_for(state, plan)}."
    )


def say_before_charge(after: Spending, costs: Sequence[int], plan: Plan) -> str:
    """What a fit would use and leave; ``after`` is its account as it would then stand."""
    shares = after.shares
    own = write_share(shares.of(costs))
    left = write_shares([shares.used, shares.left])[1]
    return (
        f"This fit would use {own} of the budget of {after.terms.name}; {left} would be left: "
        f"{say_left_for(after, plan)}."
    )


def say_left_for(state: Spending, plan: Plan) -> str:
    """What is left, for the kind of a plan: never nothing while something else fits."""
    same_kind = state.fitting(plan)
    if same_kind.epsilon:
        return say_what_fits(same_kind)
    any_kind = find_gaussian(state.rules, state.account, state.terms.delta)
    if any_kind.epsilon:
        return f"no further {plan.method}, but {say_what_fits(any_kind)}"
    return "nothing fits any more"


def refuse_charge(
    terms: Terms, rules: tuple[Rule, ...], account: Account, costs: tuple[int, ...], plan: Plan
) -> BudgetExceededError:
    """The error for a request that does not fit: what it needs, what is left, what would fit."""
    pairs = enumerate(zip(rules, account.allowed, account.spent, costs))
    counted = {
        i: (spent + cost - allowed) / max(allowed, 1)
        for i, (rule, allowed, spent, cost) in pairs
        if rule.active and cost < CAP and spent < CAP
    }
    if not counted and has_search(plan.events):
        return BudgetExceededError(
            f"the dataset {terms.name!r} counts full-batch Gaussian releases only (accounting "
            f"gdp); {plan.method} releases the best of a random number of trials, which has no "
            "mu. Use a dataset with accounting='auto' or 'rdp', or method='joint', which fits "
            "every candidate once. Nothing was charged."
        )
    if not counted:
        return BudgetExceededError(
            f"the dataset {terms.name!r} counts full-batch Gaussian releases only (accounting "
            f"gdp); {plan.method} makes others. Use a solver without sampling, or a dataset with "
            "accounting='auto'."
        )
    place = min(counted, key=counted.__getitem__)
    allowed = max(account.allowed[place], 1)
    left = max(allowed - account.spent[place], 0) / allowed
    shown = find_leading_rule(account.allowed, account.spent)
    needed, whose = costs[place] / allowed, "is left" if place == shown else "is left for its kind"
    told = f"{write_need(needed)} of the budget, and {write_share(left)} {whose}"
    if write_need(needed) == write_share(left):  # a difference that the figures do not show
        told += f", {100 * (needed - left):.2g} % too little"
    return BudgetExceededError(
        f"{plan.method} with epsilon = {plan.budget.epsilon:g} does not fit into what is left of "
        f"{terms.name!r} ({terms.describe()}): it needs {told}. "
        f"{_say_what_would_fit(rules, account, plan)} Nothing was charged."
    )


def _say_what_would_fit(rules: tuple[Rule, ...], account: Account, plan: Plan) -> str:
    same_kind = find_fitting(plan, rules, account, plan.budget.delta)
    if same_kind.epsilon:
        return f"Still fits: {say_what_fits(same_kind, more=False)}."
    any_kind = find_gaussian(rules, account, plan.budget.delta)
    if any_kind.epsilon:
        return f"No epsilon of its kind fits any more, but {say_what_fits(any_kind)} does."
    return NOTHING


def say_rule_changes(entries: Sequence[Entry], state: Spending) -> list[str]:
    """For a list of charges in order: which of them changed the rule that has most left."""
    lines = []
    before: int | None = None
    for entry in entries:
        if entry.kind != CHARGE or entry.dataset != state.terms.name:
            continue
        spent = entry.content["spent"]
        place = find_leading_rule(state.account.allowed, spent) if any(spent) else None
        if before is not None and place is not None and place != before:
            lines.append(
                f"From entry {entry.seq} on {state.terms.name} has most left by "
                f"{name_rule(state.rules[place])}, before by {name_rule(state.rules[before])}."
            )
        before = before if place is None else place
    return lines


def write_need(share: float) -> str:
    """What a request needs, as a share that may be more than all of the budget."""
    return write_share(share) if share < 1 else f"{100 * share:.1f} %"


def write_unit(terms: Terms) -> str:
    """Whom the account protects, and whose schemas it takes."""
    if terms.unit is None:
        return "one row (one user, by MatrixCompletion); opened before units were recorded"
    return f"one {terms.unit}; takes schemas of {terms.data}"


def round_down(value: float, digits: int) -> str:
    """So many significant digits, rounded down: who types them is not refused."""
    scale = 10.0 ** (digits - 1 - math.floor(math.log10(value)))
    return f"{math.floor(value * scale) / scale:.{digits}g}"
