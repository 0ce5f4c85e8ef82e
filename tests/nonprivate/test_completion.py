import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from nonprivate.completion_baselines import (
    als_fit,
    frank_wolfe_fit,
    item_bias_fit,
    ridge_rows,
    user_mean_fit,
)
from veilspan.datasets.ratings import make_ratings


def pairs(table):
    return np.repeat(np.arange(table.shape[0]), np.diff(table.indptr)), table.indices


def error(fit, table):
    return float(np.sqrt(np.mean((fit.at(*pairs(table)) - table.data) ** 2)))


def test_means_and_biases_by_hand():
    table = sparse.csr_array(np.array([[1.0, 3.0, 0.0], [0.0, 4.0, 2.0], [0.0, 0.0, 0.0]]))
    fit = user_mean_fit(table)
    assert fit.user_means.tolist() == [2.0, 3.0, 2.5]  # nobody's ratings: the mean of all
    biased = item_bias_fit(table, shrinkage=1.0)
    np.testing.assert_allclose(biased.item_bias, [-1 / 2, 2 / 3, -1 / 2])
    np.testing.assert_allclose(biased.at([2], [1]), [2.5 + 2 / 3])


def test_each_step_up_predicts_better():
    data = make_ratings(1500, 40, 2, ratings_per_user=25)
    fits = [
        user_mean_fit(data.train),
        item_bias_fit(data.train),
        als_fit(data.train, 2, ridge=2.0),
    ]
    held = [error(fit, data.test) for fit in fits]
    # 0.911, 0.782 and 0.539 of this seed.
    assert held[0] > held[1] + 0.1
    assert held[1] > held[2] + 0.2


def test_rounds_lower_the_objective_of_least_squares():
    data = make_ratings(200, 20, 2, ratings_per_user=12)
    values = []
    for rounds in range(5):
        fit = als_fit(data.train, 3, ridge=1.5, rounds=rounds)
        penalty = 1.5 * (np.sum(fit.user_factors**2) + np.sum(fit.item_factors**2))
        values.append(len(data.train.data) * error(fit, data.train) ** 2 + penalty)
    assert np.all(np.diff(values) <= 1e-9 * values[0])


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_ridge_rows_solve_their_normal_equations(seed):
    rng = np.random.default_rng(seed)
    table = sparse.random_array((9, 6), density=0.4, rng=rng, format="csr")
    factors = rng.standard_normal((6, 2))
    found = ridge_rows(table, factors, 0.3)
    for i in range(9):
        items = table.indices[table.indptr[i] : table.indptr[i + 1]]
        y = table.data[table.indptr[i] : table.indptr[i + 1]]
        normal = factors[items].T @ factors[items] + 0.3 * np.eye(2)
        np.testing.assert_allclose(normal @ found[i], factors[items].T @ y, rtol=0, atol=1e-10)


def test_frank_wolfe_keeps_its_norm_and_its_rate():
    """Jaggi (2013): within 2 C_f / (t + 2) of the optimum, with C_f <= 4 k^2; here it is 0."""
    rng = np.random.default_rng(0)
    left, right = rng.uniform(-1, 1, (60, 2)), rng.uniform(-1, 1, (30, 2))
    truth = left @ right.T
    truth -= truth.mean(axis=1, keepdims=True)
    norm = np.linalg.svd(truth, compute_uv=False).sum()
    for rounds in (1, 5, 40):
        fit = frank_wolfe_fit(sparse.csr_array(truth), norm, rounds=rounds)
        whole = fit.user_factors @ fit.item_factors.T
        assert np.linalg.svd(whole, compute_uv=False).sum() <= norm * (1 + 1e-9)
        value = np.sum((whole - truth) ** 2) / 2
        assert value <= 2 * 4 * norm**2 / (rounds + 2)
    assert value < 0.003 * np.sum(truth**2) / 2  # 0.0016


def test_steps_of_one_over_the_rounds_would_stay_away():
    """The printed step never exceeds 0.632 of the norm; 2 / (t + 1) reaches a rank-one table."""
    truth = np.outer(np.ones(40), np.tile([1.0, -1.0], 10))
    norm = np.linalg.norm(truth)
    fit = frank_wolfe_fit(sparse.csr_array(truth), norm, rounds=20)
    np.testing.assert_allclose(fit.user_factors @ fit.item_factors.T, truth, rtol=0, atol=1e-12)


def test_bad_tables_are_refused():
    with pytest.raises(ValueError, match="no rating"):
        user_mean_fit(sparse.csr_array((3, 4)))
    twice = sparse.csr_array((np.ones(2), np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
    with pytest.raises(ValueError, match="stored twice"):
        als_fit(twice, 1)
