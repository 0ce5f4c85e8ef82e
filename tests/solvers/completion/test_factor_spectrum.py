import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veilspan.solvers.completion.factor_spectrum import (
    PairModel,
    Spectrum,
    find_spectrum,
    measure_rise,
)
from veilspan.solvers.completion.item_posterior import estimate_loadings

USERS = 4000


def sample_ratings(rng, rated, share, users=USERS, items=100):
    """Ratings of variance 1, of which one taste explains a share; 0 where there is none."""
    v = rng.choice([-1.0, 1.0], items)
    e = math.sqrt(share) * rng.standard_normal((users, 1)) * v
    e += math.sqrt(1 - share) * rng.standard_normal((users, items))
    return e * (rng.random((users, items)) < rated), math.sqrt(share) * v


def model_of(rng, rated, share, noise_std=0.0, **sizes):
    e, v = sample_ratings(rng, rated, share, **sizes)
    users, items = e.shape
    noise = rng.standard_normal((items, items))
    matrix = e.T @ e + noise_std * (noise + noise.T) / 2
    counts = np.maximum((e != 0).sum(axis=0).astype(float), 1.0)
    return PairModel(matrix, counts, float(users), noise_std), v


@pytest.mark.parametrize("rated", [0.2, np.linspace(0.02, 0.9, 100)])
@pytest.mark.parametrize("noise_std", [0.0, 40.0, 1e4])
def test_noise_and_sampling_alone_are_no_factor(rated, noise_std):
    """Without noise the old edge was 0, and every eigenvalue of unrelated ratings a factor."""
    model, _ = model_of(np.random.default_rng(0), rated, 0.0, noise_std)
    # The largest exceeds the edge by a few K^(-2/3) / 2 of it, 2 % each: never by a tenth.
    assert measure_rise(model) < 1.1
    if noise_std == 0:
        assert len(find_spectrum(model, 24).values) == 0


@pytest.mark.parametrize("rated", [0.2, np.linspace(0.02, 0.9, 100)])
def test_a_taste_is_found_and_its_items_whoever_rates_them(rated):
    model, v = model_of(np.random.default_rng(1), rated, 0.3)
    found = find_spectrum(model, 24)
    assert len(found.values) == 1
    loadings = estimate_loadings(model, found)
    ours = loadings.factors[:, 0] * np.sign(loadings.factors[:, 0] @ v)
    # About n p^2 / p ratings beside others' say 0.55 of each item: errors are below 0.1 for items
    # that are rated by a fifth, larger for rare ones, which are drawn to 0.
    often = model.counts > 0.15 * USERS
    np.testing.assert_allclose(ours[often], v[often], rtol=0, atol=0.15)
    assert loadings.ridge == pytest.approx(0.7, rel=0.05)


def test_eigenvectors_alone_would_not_know_rare_items():
    """What the posterior is for: an eigenvector of the sum holds c_j v_j."""
    model, v = model_of(np.random.default_rng(1), np.linspace(0.02, 0.9, 100), 0.3)
    vector = np.linalg.eigh(model.matrix)[1][:, -1]
    ours = estimate_loadings(model, find_spectrum(model, 24)).factors[:, 0]
    rare = (model.counts > 0.05 * USERS) & (model.counts < 0.2 * USERS)

    def kept(loadings):
        """Mean loading of rare items along the truth, over that of all."""
        loadings = loadings * np.sign(loadings @ v)
        return np.mean(loadings[rare] / v[rare]) / np.mean(loadings / v)

    assert kept(vector) < 0.4
    assert kept(ours) > 0.8


def test_loadings_in_noise_are_drawn_to_nothing():
    model, _ = model_of(np.random.default_rng(2), 0.2, 0.3, noise_std=100.0)
    clear = model_of(np.random.default_rng(2), 0.2, 0.3)[0]
    noisy, exact = (estimate_loadings(m, find_spectrum(m, 1)).factors[:, 0] for m in (model, clear))
    assert np.mean(noisy**2) < 1.1 * np.mean(exact**2)
    assert abs(np.corrcoef(noisy, exact)[0, 1]) > 0.6


def test_a_ridge_is_never_next_to_nothing():
    """Shares that added up to more than 1 once made it 0: at least half of a rating is its own."""
    rng = np.random.default_rng(3)
    model, _ = model_of(rng, 0.1, 0.0, users=60, items=80)
    vectors = np.linalg.qr(rng.standard_normal((80, 24)))[0].T
    many = Spectrum(np.full(24, 3 * model.edge), vectors, model.edge)
    assert estimate_loadings(model, many).ridge >= 0.499 * model.rating_variance


def test_errors_are_never_larger_than_their_scales():
    """R_jk <= d_j^2 d_k^2, by Cauchy and Schwarz, for any counts."""
    rng = np.random.default_rng(4)
    model, _ = model_of(rng, np.linspace(0.02, 0.9, 100), 0.2, noise_std=7.0)
    both = np.outer(model.counts, model.counts) / model.users
    errors = 7.0**2 / 2 + both * model.rating_variance**2
    d = model.error_scales
    assert (errors <= np.outer(d, d) ** 2 * (1 + 1e-12)).all()


@given(st.floats(1.001, 100), st.floats(1.0, 1e3))
def test_power_is_the_spike_along_its_turned_vector(over, edge):
    """A spike x under noise of edge 2 t is seen at x + t^2 / x, turned by cos^2 = 1 - t^2 / x^2."""
    t = edge / 2
    spike = over * t
    seen = Spectrum(np.array([spike + t**2 / spike]), np.ones((1, 1)), edge)
    expected = spike * (1 - t**2 / spike**2)
    assert seen.power[0] == pytest.approx(expected, rel=1e-6, abs=1e-6 * spike)


def test_two_answers_are_averaged_by_precision():
    first = PairModel(np.zeros((2, 2)), np.ones(2), 5.0, 2.0)
    both = first.average_with(np.full((2, 2), 10.0), 1.0, 4.0)
    np.testing.assert_allclose(both.matrix, 8.0)
    assert both.noise_std == pytest.approx(math.sqrt(0.8))


def test_a_noisy_trace_below_zero_leaves_an_edge():
    """Rounding must not make the share of sampling negative: its power would not be a number."""
    for size in range(3, 40):
        model = PairModel(-np.eye(size), np.full(size, 7.3), 2000.0, 0.1 * size)
        assert model.sampling_share >= 0
        assert model.edge >= 2 * math.sqrt(size)
