"""A search is charged its Rényi bound; an account of mu^2 alone refuses it in its own words."""

import math

import pytest

from veilspan import Budget, BudgetExceededError, GaussianEvent, Ledger, Plan, SearchEvent
from veilspan.ledger.costs import cost_of_events
from veilspan.ledger.dataset import Request
from veilspan.ledger.filters import CAP, UNIT, rules_for
from veilspan.privacy.accounting import epsilon_spent
from veilspan.privacy.renyi import renyi_divergences

TRIAL = (GaussianEvent("fit", 8.0), GaussianEvent("score", 20.0))
SEARCH = SearchEvent(name="search", trials=(TRIAL,), eta=1.0, gamma=1 / 27)


def a_request(epsilon):
    plan = Plan(
        method="PrivateSearch",
        budget=Budget(epsilon, 1e-6),
        neighbors="replace-one",
        n_rows=1000,
        n_features=3,
        events=(SEARCH,),
    )
    return Request(plan=plan, question="a search")


def test_each_rule_counts_its_own_order():
    rules = rules_for(3.0, 1e-6, "auto")
    costs = cost_of_events((SEARCH,), rules, "replace-one")
    for rule, cost in zip(rules, costs):
        if rule.order is None:
            assert cost == CAP
        else:
            (divergence,) = renyi_divergences((SEARCH,), [rule.order])
            assert divergence * UNIT <= cost <= divergence * UNIT * (1 + 1e-8) + 100


@pytest.mark.parametrize("accounting", ["auto", "rdp"])
def test_it_is_charged_and_what_fits_is_told(tmp_path, accounting):
    epsilon = epsilon_spent((SEARCH,), 1e-6) * 1.0001
    dataset = Ledger(tmp_path / "ledger.db", key=tmp_path / "ledger.key").dataset(
        "people", epsilon=2.5 * epsilon, delta=1e-5, accounting=accounting
    )
    dataset.charge(a_request(epsilon))
    state = dataset.spent()
    assert 0 < state.fraction < 1
    assert math.isfinite(state.epsilon)
    assert 0 < state.left_for(a_request(epsilon).plan) < 2.5 * epsilon
    dataset.charge(a_request(epsilon))
    with pytest.raises(BudgetExceededError, match="Nothing was charged"):
        dataset.charge(a_request(epsilon))


def test_an_account_of_mu_refuses_it(tmp_path):
    dataset = Ledger(tmp_path / "ledger.db", key=tmp_path / "ledger.key").dataset(
        "people", epsilon=9.0, delta=1e-5, accounting="gdp"
    )
    with pytest.raises(BudgetExceededError, match=r"random number of trials.*method='joint'"):
        dataset.charge(a_request(2.0))
    assert dataset.spent().charges == 0
