import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veilspan.solvers.completion.factor_spectrum import (
    Spectrum,
    factor_shares,
    find_spectrum,
    local_ridge,
    undo_inflation,
    undo_turning,
)


def covariance_of_ratings(rng, users, items, rated, share):
    """Sum of e e^T for ratings of variance 1, of which one taste explains a share."""
    v = rng.choice([-1.0, 1.0], items)
    e = math.sqrt(share) * rng.standard_normal((users, 1)) * v
    e += math.sqrt(1 - share) * rng.standard_normal((users, items))
    e *= rng.random((users, items)) < rated
    return e.T @ e


def test_shares_of_the_factors_are_those_of_the_data():
    """Tastes with share g of the variance: E W = n p^2 g v v^T off, n p on the diagonal."""
    items, users, rated, share = 200, 5000, 0.2, 0.3
    v = np.ones((1, items)) / math.sqrt(items)
    one = Spectrum(np.array([users * rated**2 * share * items]), v, 0.0)
    power = users * rated * items
    np.testing.assert_allclose(factor_shares(one, power, rated), [share])
    assert local_ridge(np.array([share]), math.inf) == pytest.approx(1.5 * 0.7 / 0.3)
    # Whatever noise does to the trace, they are shares.
    assert factor_shares(one, -1.0, rated).sum() == pytest.approx(1.0)


def test_sampling_alone_is_no_factor():
    """Unrelated ratings without any noise: the old edge was 0, and every eigenvalue a factor."""
    matrix = covariance_of_ratings(np.random.default_rng(0), 4000, 100, 0.2, 0.0)
    found = find_spectrum(matrix, 0.0, 4000, 24)
    # The largest of a semicircle exceeds its edge by about K^(-2/3) of it, 5 %; never by a quarter.
    assert not (found.values > 1.25 * found.edge).any()
    assert len(found.values) <= 2


def test_a_taste_is_found_beside_sampling_and_alone():
    matrix = covariance_of_ratings(np.random.default_rng(1), 4000, 100, 0.2, 0.3)
    found = find_spectrum(matrix, 0.0, 4000, 24)
    assert len(found.values) <= 3
    shares = factor_shares(found, float(np.trace(matrix)), 0.2)
    # 0.3 up to sampling: 4,000 users leave it about 3 %.
    assert shares[0] == pytest.approx(0.3, rel=0.2)
    assert found.risen > 2
    np.testing.assert_allclose(np.mean(found.factors()[:, 0] ** 2), 1.0)


def test_noise_raises_the_edge():
    matrix = covariance_of_ratings(np.random.default_rng(1), 4000, 100, 0.2, 0.3)
    quiet, loud = (find_spectrum(matrix, s, 4000, 24).edge for s in (0.0, 50.0))
    assert loud == pytest.approx(math.sqrt(quiet**2 + 50.0**2 * 200))
    assert not len(find_spectrum(matrix, 1e6, 4000, 24).values)


@given(st.lists(st.floats(1e-3, 2.0), min_size=1, max_size=24), st.floats(0.5, 1e6))
def test_a_ridge_is_never_next_to_nothing(shares, risen):
    """Shares that add up to more than 1 once made it 0."""
    shares = np.sort(shares)[::-1]
    least = local_ridge(np.array([0.5]), risen)
    assert local_ridge(shares, risen) >= least * (1 - 1e-12)


@given(st.floats(1.0, 100), st.floats(0, 1.0))
def test_shrunk_eigenvalues_undo_inflation(signal, relative):
    """A spike x under noise of edge 2 t is seen at x + t^2 / x (for x > t), turned by cos^2."""
    t = signal * relative
    seen = np.array([signal + t**2 / signal])
    assert undo_inflation(seen, 2 * t)[0] == pytest.approx(signal, rel=1e-6)
    power = signal * (1 - t**2 / signal**2)
    assert undo_turning(seen, 2 * t)[0] == pytest.approx(power, rel=1e-6, abs=1e-6 * signal)
