"""The filter: exact sums, rounding on the safe side, several rules at once."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.requests import SAMPLED, plan_of
from veilspan import GaussianEvent, ObjectiveEvent
from veilspan.ledger import LedgerError
from veilspan.ledger.costs import cost_of, cost_of_events
from veilspan.ledger.filters import (
    ACCOUNTING,
    CAP,
    MOST_RULES,
    UNIT,
    Rule,
    best_order,
    rules_for,
    rules_from_list,
    rules_to_list,
)
from veilspan.ledger.stores.base import check_units
from veilspan.ledger.words.fits import largest_epsilon
from veilspan.privacy import gdp
from veilspan.privacy.renyi import epsilon_renyi, renyi_divergences

budgets = st.tuples(st.floats(0.05, 20), st.floats(1e-12, 1e-3))
GDP = Rule(None, 1e-6, True)


@given(budgets)
def test_all_that_is_allowed_stays_within_the_promise(budget):
    epsilon, delta = budget
    for rule in rules_for(epsilon, delta, "auto"):
        allowed = rule.allowance(epsilon)
        if rule.order is None:
            assert gdp.delta_of(math.sqrt(allowed / UNIT), epsilon) <= rule.delta
        elif allowed >= 0:
            a, rho = rule.order, allowed / UNIT
            log_delta = (a - 1) * (rho - epsilon + math.log1p(-1 / a)) - math.log(a)
            assert log_delta <= math.log(rule.delta)


@given(budgets, st.sampled_from(ACCOUNTING))
def test_the_rules_in_force_share_delta(budget, accounting):
    rules = rules_for(*budget, accounting)
    assert len(rules) == MOST_RULES
    assert math.fsum(rule.delta for rule in rules if rule.active) <= budget[1] * (1 + 1e-12)
    assert {r.allowance(budget[0]) for r in rules if not r.active} <= {-1}
    assert rules_from_list(rules_to_list(rules)) == rules


@given(budgets)
def test_the_main_order_is_the_best_for_a_gaussian(budget):
    epsilon, delta = budget

    def room(a):
        rule = Rule(a, delta, True)
        return rule.gaussian_room(rule.allowance(epsilon))

    best = best_order(epsilon, delta)
    assert all(room(best) >= room(1 + (best - 1) * f) * (1 - 1e-6) for f in (0.5, 0.9, 1.1, 2))


def test_what_the_rules_cost_in_epsilon():
    """Room for a Gaussian fit at epsilon = 3: all of it, or a known part."""
    rooms = {}
    for accounting in ACCOUNTING:
        rules = rules_for(3.0, 1e-6, accounting)
        room = max(r.gaussian_room(r.allowance(3.0)) for r in rules if r.active)
        rooms[accounting] = largest_epsilon(room, 1e-6)
    assert rooms["gdp"] == pytest.approx(3.0, rel=1e-5)
    assert 2.85 < rooms["auto"] < 3.0
    assert 2.6 < rooms["rdp"] < 2.9


@given(st.lists(st.tuples(st.floats(0.3, 300), st.integers(1, 50)), min_size=1, max_size=8))
def test_gaussian_costs_are_exact_and_rounded_up(releases):
    events = [GaussianEvent(f"e{i}", z, count) for i, (z, count) in enumerate(releases)]
    rules = rules_for(3.0, 1e-6, "auto")
    exact = sum(count / Fraction(z) ** 2 for z, count in releases)
    for rule, units in zip(rules, cost_of_events(events, rules, "replace-one")):
        truth = exact * UNIT * (1 if rule.order is None else Fraction(rule.order) / 2)
        assert 0 <= units - truth < 1


@given(st.lists(st.floats(0.5, 100), min_size=1, max_size=40), budgets)
def test_rounding_never_grants_more_than_the_budget(multipliers, budget):
    """Charge after charge until the exact rule is full: the true sum stays within mu^2."""
    epsilon, delta = budget
    rule = Rule(None, delta, True)
    allowed, spent, truth = rule.allowance(epsilon), 0, Fraction(0)
    for z in multipliers:
        (cost,) = cost_of_events([GaussianEvent("e", z)], [rule], "replace-one")
        if spent + cost <= allowed:
            spent += cost
            truth += 1 / Fraction(z) ** 2
    assert truth <= Fraction(gdp.mu_of(epsilon, delta)) ** 2


@given(st.floats(1.1, 64), st.floats(0.5, 50))
def test_renyi_divergence_of_a_gaussian_is_the_closed_form(order, z):
    """D_a(N(0, s^2) || N(1, s^2)) = a / (2 s^2), also by the numbers that others are charged."""
    (units,) = cost_of_events([GaussianEvent("e", z)], [Rule(order, 1e-6, True)], "add-remove")
    assert units / UNIT == pytest.approx(order / (2 * z * z), rel=1e-9, abs=2e-12)
    assert renyi_divergences([GaussianEvent("e", z)], [order])[0] <= units / UNIT * (1 + 1e-12)


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
def test_costs_of_other_releases_are_at_least_their_divergences(neighbors):
    tilted = ObjectiveEvent(
        name="t", lam=3.0, clip=1.0, smoothness=0.25, shape="logistic", noise_multiplier=8.0
    )
    rules = rules_for(3.0, 1e-6, "auto")
    costs = cost_of_events([SAMPLED, tilted, GaussianEvent("e", 4.0)], rules, neighbors)
    assert costs[0] == CAP  # there is no mu
    orders = [rule.order for rule in rules[1:]]
    events = [SAMPLED, tilted, GaussianEvent("e", 4.0)]
    divergences = renyi_divergences(events, orders, neighbors=neighbors)
    for units, divergence in zip(costs[1:], divergences):
        assert divergence <= units / UNIT <= divergence * (1 + 1e-6)


def test_epsilon_of_what_was_spent_agrees_with_the_accountants():
    events = [GaussianEvent("e", 4.0, 3)]
    assert GDP.epsilon(cost_of_events(events, [GDP], "replace-one")[0]) == pytest.approx(
        gdp.epsilon_of(math.sqrt(3) / 4, 1e-6), rel=1e-8
    )
    rule = Rule(8.0, 1e-6, True)
    (units,) = cost_of_events(events, [rule], "replace-one")
    assert rule.epsilon(units) == pytest.approx(epsilon_renyi(events, 1e-6, orders=[8.0]))
    assert rule.epsilon(0) == 0
    assert rule.epsilon(CAP) == math.inf


def test_an_adaptive_plan_costs_its_whole_budget():
    plan = plan_of(2.0, events=(GaussianEvent("forecast", 100.0),), adaptive=True)
    (units,) = cost_of(plan, [GDP])
    assert plan.budget.mu**2 <= units / UNIT <= plan.budget.mu**2 * (1 + 1e-8)


@pytest.mark.parametrize("cost", [-1, 1.0, math.nan, math.inf, True, None, CAP + 1, "1"])
def test_only_whole_numbers_of_units_are_costs(cost):
    with pytest.raises(LedgerError, match="whole number"):
        check_units([0] * (MOST_RULES - 1) + [cost])


def test_no_noise_has_no_cost():
    with pytest.raises(LedgerError, match="no finite cost"):
        cost_of(plan_of(math.inf), [GDP])
    with pytest.raises(LedgerError, match="without noise"):
        cost_of_events((GaussianEvent("e", 0.0),), [GDP], "replace-one")
