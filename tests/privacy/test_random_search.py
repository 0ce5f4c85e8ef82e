"""A search costs what its theorem says: by brute force, and a wrong theorem is caught."""

import math

import numpy as np
import pytest

from veilspan import Budget, Plan
from veilspan.privacy import gdp
from veilspan.privacy.accounting import delta_spent, epsilon_spent, privacy_curve
from veilspan.privacy.errors import BudgetExceededError
from veilspan.privacy.events import (
    GaussianEvent,
    ObjectiveEvent,
    SampledGaussianEvent,
    SearchEvent,
    event_from_dict,
    event_to_dict,
    with_noise,
)
from veilspan.privacy.plan import event_lines
from veilspan.privacy.random_search import (
    chance_tried,
    draw_geometric,
    factor_cost,
    find_log_factor,
    mean_trials,
)
from veilspan.privacy.renyi import epsilon_renyi, renyi_divergences

LAWS = [(eta, gamma) for eta in (-0.5, 0.0, 0.5, 1.0, 3.0) for gamma in (0.02, 0.3, 0.9)]


def law_of_trials(eta, gamma, most=20_000):
    """P(K = k), k = 1, 2, ..., by the recursion of the negative binomial law."""
    k = np.arange(1, most)
    logs = np.concatenate([[0.0], np.cumsum(np.log((k + eta) / (k + 1)) + math.log1p(-gamma))])
    weights = np.exp(logs)
    return weights / weights.sum()


def generating(eta, gamma):
    """f(q), without the recursion."""
    if eta == 0:
        return lambda q: np.log1p(-(1 - gamma) * q) / math.log(gamma)
    return lambda q: ((1 - (1 - gamma) * q) ** -eta - 1) / (gamma**-eta - 1)


def best_of(law, eta, gamma):
    """Law of the best outcome, outcomes ordered from the worst score to the best."""
    below = np.concatenate([[0.0], np.cumsum(law)])
    below[-1] = 1.0
    return np.diff(generating(eta, gamma)(below))


def hockey_stick(p, q, epsilon):
    """Largest P(S) - e^epsilon Q(S), in both orders: the exact profile of a pair."""
    grown = math.exp(epsilon)
    return max(np.maximum(p - grown * q, 0).sum(), np.maximum(q - grown * p, 0).sum())


def pairs(rng, count):
    """Pairs of laws on a few outcomes: close, far, and with outcomes that one of them never has."""
    for number in range(count):
        size = int(rng.integers(2, 7))
        p = rng.dirichlet(np.full(size, 0.7))
        tilt = rng.choice([0.1, 0.5, 1.5])
        q = p * np.exp(tilt * rng.choice([-1.0, 1.0], size))
        if number % 3 == 0:
            q[rng.integers(size)] *= 1e-3 if number % 2 else 0.0
        yield p, q / q.sum()


@pytest.mark.parametrize(("eta", "gamma"), LAWS)
def test_the_law_of_the_number_of_trials(eta, gamma):
    law = law_of_trials(eta, gamma)
    k = np.arange(1, len(law) + 1)
    assert mean_trials(eta, gamma) == pytest.approx((law * k).sum(), rel=1e-8)
    for q in (0.1, 0.7, 0.95):
        assert generating(eta, gamma)(q) == pytest.approx((law * q**k).sum(), rel=1e-9)
    assert chance_tried(eta, gamma, 5) == pytest.approx(1 - (law * 0.8**k).sum(), rel=1e-9)


def test_the_mean_is_continuous_at_the_logarithmic_law():
    assert mean_trials(1e-7, 0.1) == pytest.approx(mean_trials(1e-4, 0.1), rel=1e-3)
    assert mean_trials(0.0, 0.1) == pytest.approx(9 / math.log(10), rel=1e-9)


@pytest.mark.parametrize(("eta", "gamma"), LAWS)
def test_the_bounds_hold_for_discrete_mechanisms(eta, gamma):
    rng = np.random.default_rng(3)
    for p, q in pairs(rng, 15):
        cost = (eta + 1) * find_log_factor(lambda e, p=p, q=q: hockey_stick(p, q, e), gamma)
        mean = mean_trials(eta, gamma)
        a, b = best_of(p, eta, gamma), best_of(q, eta, gamma)
        for left in (0.0, 0.05, 0.3, 1.0, 3.0):
            bound = mean * hockey_stick(p, q, left)
            assert hockey_stick(a, b, left + cost) <= bound * (1 + 1e-9) + 1e-12
        if (p > 0).all() and (q > 0).all():
            for order in (1.5, 4.0, 20.0):
                allowed = renyi(p, q, order) + math.log(mean) / (order - 1) + cost
                assert renyi(a, b, order) <= allowed + 1e-9


def renyi(p, q, order):
    return max(
        math.log((x**order * y ** (1 - order)).sum()) / (order - 1) for x, y in ((p, q), (q, p))
    )


def violations(exponent_less_eta, mean_factor=1.0):
    """How often a bound with another exponent, or another mean, is broken by some pair."""
    rng, broken = np.random.default_rng(4), 0
    for eta, gamma in LAWS:
        for p, q in pairs(rng, 15):
            log_c = find_log_factor(lambda e, p=p, q=q: hockey_stick(p, q, e), gamma)
            cost, mean = (eta + exponent_less_eta) * log_c, mean_trials(eta, gamma) * mean_factor
            a, b = best_of(p, eta, gamma), best_of(q, eta, gamma)
            for left in (0.0, 0.3, 1.0):
                bound = mean * hockey_stick(p, q, left)
                broken += hockey_stick(a, b, max(0.0, left + cost)) > bound * (1 + 1e-9) + 1e-12
    return broken


def test_wrong_bounds_are_broken_by_the_same_pairs():
    assert violations(1.0) == 0
    assert violations(0.0) > 0  # eta in place of eta + 1
    assert violations(1.0, mean_factor=0.3) > 0  # a mean that is too small


def test_the_best_of_a_fixed_number_is_not_one_fit():
    """The best of ten fixed trials, counted as one: the classical mistake."""
    p, q, epsilon = np.array([0.5, 0.5]), np.array([0.9, 0.1]), math.log(5)
    a, b = (np.diff(np.concatenate([[0.0], np.cumsum(law)]) ** 10) for law in (p, q))
    assert hockey_stick(p, q, epsilon) < 1e-12
    assert hockey_stick(a, b, epsilon) > 0.3


def test_the_factor_is_the_best_and_below_the_published_one():
    for mu, gamma in ((0.1, 0.05), (1.0, 0.3), (3.0, 0.01)):
        grid = np.linspace(0, 6 * mu + mu * mu, 4001)
        deltas = np.array([gdp.delta_of(mu, e) for e in grid])
        odds = (1 - gamma) / gamma
        ours = np.maximum(1 + deltas * odds, gamma + (1 - gamma) * (np.exp(grid) + deltas))
        found = find_log_factor(lambda e, mu=mu: gdp.delta_of(mu, e), gamma)
        assert found <= math.log(ours.min()) + 1e-12
        assert found == pytest.approx(math.log(ours.min()), rel=2e-3)
        assert found < math.log((np.exp(grid) + deltas * odds).min())


def test_the_geometric_law_is_drawn_exactly():
    rng, gamma, draws = np.random.default_rng(5), 1 / 27, 20_000
    drawn = np.array([draw_geometric(gamma, rng) for _ in range(draws)])
    assert drawn.min() == 1
    for k in (1, 5, 27, 80):
        tail = (1 - gamma) ** k
        # 5 standard errors: four checks fail by chance with probability below 3e-6
        assert abs((drawn > k).mean() - tail) < 5 * math.sqrt(tail * (1 - tail) / draws)


def search(*trials, eta=1.0, gamma=1 / 27):
    return SearchEvent(name="search", trials=trials, eta=eta, gamma=gamma)


FIT = (GaussianEvent("fit", 7.5), GaussianEvent("score", 20.0))


def test_epsilon_and_delta_are_inverse_and_rounded_up():
    event = search(FIT)
    epsilon = epsilon_spent([event], 1e-6)
    assert delta_spent([event], epsilon) == pytest.approx(1e-6, rel=1e-3)
    assert delta_spent([event], epsilon) <= 1e-6 * (1 + 1e-6)
    assert delta_spent([event], 0.0) == 1.0
    assert epsilon < epsilon_renyi([event], 1e-6) < 1.2 * epsilon
    grid, deltas = privacy_curve([event])
    assert deltas[0] == 1.0
    assert (np.diff(deltas) <= 0).all()
    assert grid[-1] == pytest.approx(epsilon_spent([event], 1e-9), rel=1e-6)


def test_the_dearest_kind_counts():
    cheap, dear = (GaussianEvent("fit", 30.0),), FIT
    both = search(cheap, dear)
    assert epsilon_spent([both], 1e-6) == epsilon_spent([search(dear)], 1e-6)
    assert (renyi_divergences([both]) == renyi_divergences([search(dear)])).all()


def test_other_mechanisms_within_a_trial():
    sampled = SampledGaussianEvent("step", 0.01, noise_multiplier=3.0, count=100)
    tilted = ObjectiveEvent(
        name="minimum", lam=10.0, clip=1.0, smoothness=0.25, shape="logistic", noise_multiplier=9.0
    )
    for neighbors in ("replace-one", "add-remove"):
        for trial in ((sampled, FIT[1]), (tilted, FIT[1])):
            event = search(trial)
            exact = epsilon_spent([event], 1e-6, neighbors=neighbors)
            alone = epsilon_spent(trial, 1e-6, neighbors=neighbors)
            assert alone < exact < epsilon_renyi([event], 1e-6, neighbors=neighbors)


def test_beside_other_events_it_is_counted_by_renyi_orders():
    event, other = search(FIT), GaussianEvent("mean", 10.0)
    together = epsilon_spent([event, other], 1e-6)
    assert together == epsilon_renyi([event, other], 1e-6)
    assert together > epsilon_spent([event], 1e-6)
    assert delta_spent([event, other], together) == pytest.approx(1e-6, rel=1e-3)
    assert epsilon_spent([event, event], 1e-6) > epsilon_spent([event], 1e-6)


def test_noise_scales_all_of_it_and_none_costs_everything():
    event = search(FIT)
    louder = with_noise(event, 15.0)
    assert [one.noise_multiplier for one in louder.trials[0]] == [15.0, 40.0]
    assert epsilon_spent([louder], 1e-6) < epsilon_spent([event], 1e-6)
    silent = with_noise(event, 0.0)
    assert silent.noise_multiplier == 0
    assert epsilon_spent([silent], 1e-6) == math.inf
    assert delta_spent([silent], 1.0) == 1.0


def test_a_plan_keeps_its_budget():
    facts = {"method": "search", "neighbors": "replace-one", "n_rows": 100, "n_features": 3}
    epsilon = epsilon_spent([search(FIT)], 1e-6)
    plan = Plan(budget=Budget(epsilon * 1.001, 1e-6), events=(search(FIT),), **facts)
    assert Plan.from_dict(plan.to_dict()) == plan
    assert "27 on average, geometric" in repr(plan)
    with pytest.raises(BudgetExceededError):
        Plan(budget=Budget(epsilon * 0.999, 1e-6), events=(search(FIT),), **facts)


def test_records_are_read_again_and_hostile_ones_refused():
    event = search(FIT, (GaussianEvent("fit", 9.0),), eta=0.5)
    record = event_to_dict(event)
    assert event_from_dict(record) == event
    assert "secret number of trials" in event_lines((event,))[0]
    for change in (
        {"trials": [[record]]},
        {"trials": 3},
        {"trials": []},
        {"trials": [[]]},
        {"trials": [[{"mechanism": "gaussian", "name": "a"}] * 600]},
        {"eta": -1.0},
        {"eta": math.nan},
        {"gamma": 0.0},
        {"gamma": 1.0},
        {"count": -1},
    ):
        with pytest.raises(ValueError, match=r"."):
            event_from_dict({**record, **change})


def test_the_factor_grows_with_eta_and_the_mean():
    costs = [factor_cost(search(FIT, eta=eta), "replace-one") for eta in (-0.5, 0.0, 1.0)]
    assert costs == sorted(costs)
    assert factor_cost(search(FIT, gamma=0.5), "replace-one") < costs[-1]
