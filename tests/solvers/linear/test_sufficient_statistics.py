"""Least squares from released statistics."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet as ReferenceNet
from sklearn.linear_model import Lasso, LinearRegression, Ridge

from solvers.linear.cases import BOTH, fit, neighbor_pairs, problem_for, unit_rows
from veilspan import Budget
from veilspan.audit.replay import replay
from veilspan.losses.linear import Logistic, Squared
from veilspan.losses.penalties import L1, L2, ElasticNet, L1Ball, L2Ball
from veilspan.solvers.linear.sufficient_statistics import SufficientStatistics


def table(n=400, p=5, seed=0):
    rng = np.random.default_rng(seed)
    x = unit_rows(rng, n, p)
    return x, np.clip(x @ np.linspace(-0.4, 0.5, p) + 0.1 * rng.standard_normal(n), -1, 1)


def with_constant(x):
    return np.column_stack([x, np.ones(len(x))]) / np.sqrt(2)


@pytest.mark.parametrize(
    ("penalty", "reference"),
    [
        (None, LinearRegression()),
        (L2(0.1), Ridge(alpha=0.1 * 400 * 2)),
        (L1(0.02), Lasso(alpha=0.02 * np.sqrt(2), tol=1e-12)),
    ],
    ids=["none", "l2", "l1"],
)
def test_without_noise_it_is_scikit_learns_model(penalty, reference):
    x, y = table()
    theta = fit(
        SufficientStatistics(), Squared(), with_constant(x), y, penalty=penalty, intercept=True
    )
    # Rows are x / sqrt(2), so theta is sqrt(2) times the coefficients, and so is what it costs.
    reference.fit(x, y)
    np.testing.assert_allclose(theta[:-1] / np.sqrt(2), reference.coef_, rtol=0, atol=1e-10)
    assert theta[-1] / np.sqrt(2) == pytest.approx(reference.intercept_, abs=1e-10)


def test_without_intercept_and_with_an_elastic_net():
    x, y = table()
    theta = fit(SufficientStatistics(), Squared(), x, y, penalty=ElasticNet(0.05, 0.5))
    reference = ReferenceNet(alpha=0.05, l1_ratio=0.5, fit_intercept=False, tol=1e-12).fit(x, y)
    np.testing.assert_allclose(theta, reference.coef_, rtol=0, atol=1e-12)


@pytest.mark.parametrize("penalty", [L1Ball(0.3), L2Ball(0.3)], ids=["l1", "l2"])
def test_constraints_are_kept_under_noise(penalty):
    x, y = table()
    for epsilon in (0.1, 1.0):
        theta = fit(SufficientStatistics(), Squared(), x, y, penalty=penalty, epsilon=epsilon)
        assert np.isfinite(penalty.value(theta * (1 - 1e-9)))


def test_singular_columns_need_no_care():
    x, y = table()
    theta = fit(SufficientStatistics(), Squared(), np.column_stack([x, x]) / np.sqrt(2), y)
    assert np.linalg.norm(theta) < 1  # 0.72, as without the copies


@pytest.mark.parametrize("neighbors", BOTH)
def test_many_rows_find_the_coefficients(neighbors):
    """60,000 rows at epsilon 1: noise moves theta by 0.001 to 0.0035 in these ten fits."""
    x, y = table(60_000)
    exact = np.linalg.lstsq(x, y, rcond=None)[0]
    for seed in range(5):
        theta = fit(
            SufficientStatistics(), Squared(), x, y, epsilon=1.0, neighbors=neighbors, seed=seed
        )
        assert np.linalg.norm(theta - exact) < 0.006


def test_few_rows_stay_near_zero():
    """Noise far above the data: the filter keeps theta short, whatever the noise."""
    x, y = table(30)
    lengths = [
        np.linalg.norm(fit(SufficientStatistics(), Squared(), x, y, epsilon=0.1, seed=seed))
        for seed in range(20)
    ]
    assert max(lengths) < 4  # 2.8 of these seeds


@pytest.mark.parametrize("neighbors", BOTH)
def test_replay(neighbors):
    def run(data):
        return fit(SufficientStatistics(), Squared(), *data, epsilon=1.0, neighbors=neighbors)

    used = []
    for one, two in neighbor_pairs(neighbors, [-1.0, 0.3, 1.0]):
        report = replay(run, one, two)
        assert report.ok, report.findings
        assert report.realised_mu <= Budget(1.0, 1e-6).mu * (1 + 1e-6)
        used.append(report.largest_use)
    assert max(used) > 0.99  # the pairs are hard enough to mean something


class LooksAtRows(SufficientStatistics):
    """Divides by the true number of rows, private or not."""

    def run(self, curator, problem):
        result = super().run(curator, problem)
        true = sum(block.n_rows for block in curator._rows.blocks(100))
        return replace(result, theta=result.theta * true)


def test_a_copy_that_looks_at_rows_is_caught():
    pair = next(iter(neighbor_pairs("add-remove", [-1.0, 1.0])))
    report = replay(
        lambda data: fit(LooksAtRows(), Squared(), *data, epsilon=1.0, neighbors="add-remove"),
        *pair,
    )
    assert not report.ok


def test_other_losses_are_refused_in_words():
    problem = problem_for(np.eye(3), Logistic())
    with pytest.raises(ValueError, match="squared"):
        SufficientStatistics().prepare(problem, Budget(1.0, 1e-6), "replace-one")
    with pytest.raises(ValueError, match="coefficient_norm"):
        SufficientStatistics(0.0)
