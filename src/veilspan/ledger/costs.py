"""What a fit costs under each rule of a dataset: whole units, rounded up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from veilspan.ledger.errors import LedgerError
from veilspan.ledger.filters import CAP, UNIT, Rule
from veilspan.privacy.events import Event, GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.plan import Plan

#: Added to every Rényi divergence, relatively and per release: far more than its quadrature errs.
_RELATIVE, _ABSOLUTE = 1e-9, 1e-11


def cost_of(plan: Plan, rules: Sequence[Rule]) -> tuple[int, ...]:
    """Units that a plan costs under each rule; ``CAP`` where the rule cannot count it.

    A fixed plan costs its events. An adaptive plan, whose solver spends as it goes, costs all of
    its budget: mu^2, plus the 1e-9 that its own filter may be off by rounding.
    """
    if not plan.budget.is_private:
        raise LedgerError(
            "a fit without noise (epsilon = inf) has no finite cost: give it an epsilon, or "
            "charge it to a dataset made with test=True."
        )
    if plan.adaptive:
        whole = Fraction(plan.budget.mu) ** 2 * (1 + Fraction(_RELATIVE))
        return tuple(_gaussian_units(whole, rule) for rule in rules)
    return cost_of_events(plan.events, rules, plan.neighbors)


def cost_of_events(
    events: Sequence[Event], rules: Sequence[Rule], neighbors: Neighbors
) -> tuple[int, ...]:
    """Units that events cost under each rule (:func:`cost_of` says how)."""
    return _cost(tuple(event for event in events if event.count), tuple(rules), neighbors)


@lru_cache(maxsize=256)  # pure: the folds of a search cost the same
def _cost(
    events: tuple[Event, ...], rules: tuple[Rule, ...], neighbors: Neighbors
) -> tuple[int, ...]:
    """Add up the events: full-batch Gaussian ones exactly, as fractions.

    Others have no mu, and a Rényi divergence that is computed in floats and rounded up generously.
    """
    if any(event.noise_multiplier == 0 for event in events):
        raise LedgerError("a release without noise has no finite cost: calibrate its noise.")
    gaussian = sum(
        (
            Fraction(event.count) / Fraction(event.noise_multiplier) ** 2
            for event in events
            if isinstance(event, GaussianEvent)
        ),
        Fraction(0),
    )
    others = [event for event in events if not isinstance(event, GaussianEvent)]
    exact = [_gaussian_units(gaussian, rule) for rule in rules]
    if not others:
        return tuple(exact)
    numeric = _renyi_units(others, [rule.order for rule in rules if rule.order], neighbors)
    return tuple(
        CAP if rule.order is None else min(CAP, units + numeric[rule.order])
        for rule, units in zip(rules, exact)
    )


def _gaussian_units(mu_squared: Fraction, rule: Rule) -> int:
    """mu^2, or its Rényi divergence a mu^2 / 2, without any rounding but the last."""
    factor = Fraction(1) if rule.order is None else Fraction(rule.order) / 2
    return min(CAP, math.ceil(mu_squared * factor * UNIT))


def _renyi_units(
    events: Sequence[Event], orders: Sequence[float], neighbors: Neighbors
) -> dict[float, int]:
    from veilspan.privacy.renyi import renyi_divergences

    divergences = renyi_divergences(events, orders, neighbors=neighbors)
    padding = _ABSOLUTE * sum(event.count for event in events)
    units = {}
    for order, divergence in zip(orders, divergences.tolist()):
        amount = divergence * (1 + _RELATIVE) + padding
        if math.isnan(amount) or amount < 0:
            raise LedgerError("the cost of an event could not be computed; nothing was charged.")
        units[order] = CAP if amount >= CAP / UNIT else math.ceil(amount * UNIT)
    return units
