"""Bounds on error rates and what follows from them: exact values, validity, power."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from veilspan.audit.bounds import (
    ErrorRates,
    choose_test,
    clopper_pearson_upper,
    epsilon_lower_bound,
    error_rates,
)
from veilspan.privacy import gdp

ALPHA = 1e-7


@given(st.integers(1, 5000), st.floats(0, 1), st.sampled_from([0.05, 1e-3, 1e-7]))
def test_clopper_pearson_solves_its_equation(runs, share, alpha):
    """P[at most that many hits] = alpha at the bound, also for an alpha of 1e-7."""
    hits = min(runs - 1, int(share * runs))
    bound = clopper_pearson_upper(hits, runs, alpha)
    assert binom.cdf(hits, runs, bound) == pytest.approx(alpha, rel=1e-6)


def test_clopper_pearson_without_hits_and_with_hits_only():
    assert clopper_pearson_upper(0, 100, 1e-7) == pytest.approx(1 - 1e-7 ** (1 / 100), rel=1e-12)
    assert clopper_pearson_upper(7, 7, 1e-7) == 1.0


@pytest.mark.parametrize(("hits", "runs", "alpha"), [(3, 2, 0.1), (-1, 2, 0.1), (0, 0, 0.1)])
def test_counts_that_cannot_be(hits, runs, alpha):
    with pytest.raises(ValueError, match="hits must lie"):
        clopper_pearson_upper(hits, runs, alpha)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -1.0, math.nan])
def test_alpha_that_cannot_be(alpha):
    with pytest.raises(ValueError, match="alpha must lie"):
        clopper_pearson_upper(1, 2, alpha)


@given(st.floats(0.1, 6.0), st.floats(0.001, 0.999))
def test_a_gaussian_mechanism_meets_its_mu_at_every_threshold(mu, level):
    from scipy.special import ndtr, ndtri

    rates = ErrorRates(level, float(ndtr(-ndtri(level) - mu)), 1, 0.1)
    assert rates.mu == pytest.approx(mu, rel=1e-6, abs=1e-9)
    for epsilon in (0.1, 1.0, 3.0):
        assert rates.delta(epsilon) <= gdp.delta_of(mu, epsilon) * (1 + 1e-9) + 1e-12


@given(st.floats(0.01, 0.4), st.floats(0.01, 0.4), st.floats(0, 0.1))
def test_epsilon_and_delta_are_inverse_to_each_other_and_symmetric(one, two, delta):
    rates, mirrored = ErrorRates(one, two, 1, 0.1), ErrorRates(two, one, 1, 0.1)
    epsilon = rates.epsilon(delta)
    assert epsilon == mirrored.epsilon(delta)
    if epsilon > 0:
        assert rates.delta(epsilon) == pytest.approx(delta, abs=1e-12)


def test_rates_that_say_nothing():
    rates = ErrorRates(0.6, 0.5, 1, 0.1)
    assert rates.mu == 0
    assert rates.epsilon(0.0) == 0
    assert rates.delta(1.0) == 0


# ---------------------------------------------------------------- statistics


def gaussian_scores(mu, runs, seed, repeats=None):
    shape = (2, runs) if repeats is None else (repeats, 2, runs)
    scores = np.random.default_rng(seed).standard_normal(shape)
    scores[..., 1, :] += mu
    return scores


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_bounds_are_wrong_no_more_often_than_they_say(alpha):
    """400 audits of a correct mechanism; six comparisons, each a false alarm with 1e-7."""
    mu, delta = 1.0, 1e-3
    epsilon = gdp.epsilon_of(mu, delta)
    wrong = np.zeros(3, dtype=int)
    for first, second in gaussian_scores(mu, 100, 0, repeats=400):
        wrong += (
            choose_test(first, second, alpha).mu > mu,
            epsilon_lower_bound(first, second, delta, alpha) > epsilon,
            error_rates(first, second, mu / 2, alpha).mu > mu,
        )
    assert np.all(wrong <= binom.isf(1e-7, 400, alpha))


def test_equal_tables_are_not_told_apart():
    """Pure noise must not look like a difference."""
    scores = gaussian_scores(0.0, 4000, 1)
    assert choose_test(*scores, ALPHA).mu == 0
    assert epsilon_lower_bound(*scores, 1e-6, ALPHA) == 0


@pytest.mark.parametrize("sign", [1, -1])
def test_the_direction_is_found(sign):
    first, second = gaussian_scores(3.0, 4000, 2)
    assert 2.4 < choose_test(sign * first, sign * second, ALPHA).mu < 3.0


def test_a_test_fixed_in_advance_uses_every_run():
    first, second = gaussian_scores(3.0, 4000, 3)
    fixed = error_rates(first, second, 1.5, ALPHA)
    assert fixed.runs == 8000
    assert choose_test(first, second, ALPHA).runs == 4000
    assert choose_test(first, second, ALPHA).mu < fixed.mu < 3.0
    assert fixed.mu > 2.6


@pytest.mark.parametrize("factor", [0.5, 0.8])
def test_too_little_noise_is_seen(factor):
    first, second = gaussian_scores(3.0 / factor, 4000, 4)
    assert error_rates(first, second, 1.5 / factor, ALPHA).mu > 3.0
    assert choose_test(first, second, ALPHA).mu > 3.0


def test_infinite_scores_are_taken():
    """A run that cannot come from the other table scores infinity."""
    first, second = np.full(500, -np.inf), np.full(500, np.inf)
    assert choose_test(first, second, ALPHA).mu > 3.0


@pytest.mark.parametrize("scores", [np.array([1.0]), np.array([0.0, np.nan]), np.zeros((2, 2))])
def test_scores_that_cannot_be(scores):
    with pytest.raises(ValueError, match="scores must be"):
        choose_test(scores, np.zeros(9), ALPHA)
