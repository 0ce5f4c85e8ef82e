import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veilspan import Budget, GaussianEvent, SampledGaussianEvent, calibrate_noise, epsilon_spent
from veilspan.privacy.events import with_noise


def spent(events, delta, neighbors, factor=1.0):
    scaled = [with_noise(event, event.noise_multiplier * factor) for event in events]
    return epsilon_spent(scaled, delta, neighbors=neighbors)


@given(
    st.floats(0.01, 20),
    st.floats(1e-10, 1e-2),
    st.lists(st.tuples(st.floats(0.1, 10), st.integers(1, 50)), min_size=1, max_size=4),
)
def test_full_batch_noise_is_exact_from_the_safe_side(epsilon, delta, shape):
    events = [GaussianEvent(f"e{i}", z, count) for i, (z, count) in enumerate(shape)]
    chosen = calibrate_noise(Budget(epsilon, delta), events)
    assert spent(chosen, delta, "replace-one") <= epsilon * (1 + 1e-12)
    assert spent(chosen, delta, "replace-one", 1 - 1e-4) > epsilon


CASES = [
    ("add-remove", 1.0, [SampledGaussianEvent("s", 0.01, count=2000)]),
    ("replace-one", 1.0, [SampledGaussianEvent("s", 0.01, count=2000)]),
    ("replace-one", 0.1, [SampledGaussianEvent("s", 0.1, count=50)]),
    ("add-remove", 6.0, [SampledGaussianEvent("s", 0.02, count=300)]),
    ("replace-one", 0.5, [GaussianEvent("g", 3.0), SampledGaussianEvent("s", 0.05, count=100)]),
]


@pytest.mark.parametrize(("neighbors", "epsilon", "events"), CASES)
def test_sampled_noise_is_tight_from_the_safe_side(neighbors, epsilon, events):
    chosen = calibrate_noise(Budget(epsilon, 1e-6), events, neighbors=neighbors)
    assert spent(chosen, 1e-6, neighbors) <= epsilon
    assert spent(chosen, 1e-6, neighbors, 1 - 1e-4) > epsilon


def test_relative_noise_is_kept():
    a, b = calibrate_noise(Budget(1, 1e-6), [GaussianEvent("a", 2.0), GaussianEvent("b", 6.0)])
    assert b.noise_multiplier / a.noise_multiplier == pytest.approx(3.0)


@settings(max_examples=30)
@given(st.lists(st.floats(0.01, 5), min_size=1, max_size=5))
def test_weights_are_shares_of_mu_squared(weights):
    budget = Budget(0.8, 1e-6)
    events = [GaussianEvent(f"e{i}", count=i + 1) for i in range(len(weights))]
    chosen = calibrate_noise(budget, events, weights=weights)
    for event, weight in zip(chosen, weights):
        assert event.mu**2 == pytest.approx(budget.mu**2 * weight / sum(weights), rel=1e-6)


def test_weights_with_a_sampled_event():
    events = [GaussianEvent("start"), SampledGaussianEvent("step", 0.01, count=500)]
    budget = Budget(1.0, 1e-6)
    chosen = calibrate_noise(budget, events, weights=[0.2, 0.8])
    # 500 sampled steps are not quite one Gaussian; 0.4 % off.
    assert chosen[0].mu ** 2 == pytest.approx(0.2 * budget.mu**2, rel=0.01)
    assert spent(chosen, 1e-6, "replace-one") <= 1.0
    assert spent(chosen, 1e-6, "replace-one", 1 - 1e-4) > 1.0


def test_an_infinite_budget_needs_no_noise():
    chosen = calibrate_noise(Budget(math.inf, 1e-6), [c for case in CASES for c in case[2]])
    assert all(event.noise_multiplier == 0 for event in chosen)


@pytest.mark.parametrize(
    ("events", "weights"),
    [([], None), ([GaussianEvent("a", 0.0)], None)]
    + [([GaussianEvent("a")], w) for w in ([], [1, 1], [0.0], [-1.0], [float("nan")])],
)
def test_nonsense_is_refused(events, weights):
    with pytest.raises(ValueError):
        calibrate_noise(Budget(1, 1e-6), events, weights=weights)
