"""What an attacker gains: bounds against tests whose error rates are known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from veilspan import GaussianEvent, PrivacyStatement, SampledGaussianEvent
from veilspan.privacy.accounting import epsilon_spent
from veilspan.reports.promise import Promise, promise_of

SHARES = st.floats(1e-5, 0.5)


def statement(events, epsilon=None, neighbors="add-remove"):
    if epsilon is None:
        epsilon = epsilon_spent(events, 1e-6, neighbors=neighbors)
    return PrivacyStatement(
        method="test",
        epsilon=epsilon,
        delta=1e-6,
        neighbors=neighbors,
        events=tuple(events),
        assumptions=(),
        private=True,
    )


@given(st.floats(0.05, 3.0), SHARES)
def test_a_gaussian_is_met_and_the_bound_by_its_curve_lies_above(mu, share):
    exact = promise_of(statement([GaussianEvent("a", 1 / mu)]))
    assert exact.mu == pytest.approx(mu, rel=1e-6)
    best = norm.sf(norm.isf(share) - mu)
    assert exact.detection_rate(share) == pytest.approx(best, rel=1e-5)
    by_curve = Promise(exact.epsilons, exact.deltas, None)
    assert best * (1 - 1e-9) <= by_curve.detection_rate(share) <= best * 1.02


@given(st.floats(0.05, 3.0))
def test_an_even_guess_is_the_threshold_test(mu):
    promise = promise_of(statement([GaussianEvent("a", 1 / mu)]))
    assert promise.even_odds == pytest.approx(norm.cdf(mu / 2), rel=1e-6)


def test_a_sampled_release_is_bounded_above_the_likelihood_ratio_test():
    """One step, add-remove: the mixture (1-q) N(0) + q N(1) against N(0), by thresholds."""
    rate, noise = 0.3, 0.8
    promise = promise_of(statement([SampledGaussianEvent("a", rate, noise)]))
    assert promise.mu is None
    for threshold in np.linspace(-1, 4, 12):
        false_alarms = norm.sf(threshold / noise)
        detected = (1 - rate) * false_alarms + rate * norm.sf((threshold - 1) / noise)
        assert detected <= promise.detection_rate(false_alarms) * (1 + 1e-6)
        # The bound holds in both orders of the pair; with a small share it is nearly met.
        assert promise.detection_rate(false_alarms) <= min(1, detected * 1.25 + 1e-3)


def test_nothing_is_gained_below_blind_guessing_or_above_certainty():
    promise = promise_of(statement([SampledGaussianEvent("a", 0.01, 5.0)]))
    for share in (1e-5, 1e-3, 0.5, 1.0):
        assert share <= promise.detection_rate(share) <= 1


def test_an_adaptive_solver_is_held_to_its_filter():
    """It used less than it was allowed; how much may depend on rows, so the promise stands."""
    little = statement([GaussianEvent("a", 100.0)], epsilon=1.0)
    assert promise_of(little).mu == pytest.approx(0.23667, rel=1e-3)


@pytest.mark.parametrize(
    ("events", "epsilon"),
    [([GaussianEvent("a", 0.0)], math.inf), ([], 1.0), ([GaussianEvent("a", 1.0)], math.inf)],
)
def test_without_noise_there_is_no_curve(events, epsilon):
    assert promise_of(statement(events, epsilon)) is None
