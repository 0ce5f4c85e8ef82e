"""Noisy steps in the metric of a released Gram matrix."""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from solvers.linear.cases import BOTH, fit, neighbor_pairs, unit_rows
from veilspan import Budget
from veilspan.audit.replay import replay
from veilspan.losses.linear import Huber, Logistic, Multinomial, SmoothedHinge, Squared
from veilspan.losses.penalties import L1, L2, NoPenalty
from veilspan.queries.linear.slope_gradient import SlopeGradient
from veilspan.solvers.linear import newton, quadratic
from veilspan.solvers.linear.asked.residual_cap import ResidualCap
from veilspan.solvers.linear.base import LinearProblem
from veilspan.solvers.linear.gradient_descent import GradientDescent
from veilspan.solvers.linear.newton import PrivateNewton
from veilspan.solvers.linear.quadratic import Quadratic, eigenvalues_mapped
from veilspan.solvers.linear.sufficient_statistics import SufficientStatistics

#: Where minimisers stop: coefficients, up to 6, differ by 2e-7 at most.
STOPPED = 1e-6
LOSSES = [Logistic(), SmoothedHinge(), Huber(), Squared()]


def table(n=300, p=4, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    x = unit_rows(rng, n, p) * np.linspace(0.2, 1.0, p)
    scores = 6 * x @ rng.standard_normal((p, classes)) + rng.gumbel(size=(n, classes))
    return x, scores.argmax(axis=1)


def test_without_noise_it_is_scikit_learns_logistic_regression():
    x, y = table()
    theta = fit(PrivateNewton(), Logistic(), x, 2.0 * y - 1, penalty=L2(0.01))
    model = LogisticRegression(C=1 / (0.01 * 300), fit_intercept=False, tol=1e-10, max_iter=5000)
    np.testing.assert_allclose(theta, model.fit(x, y).coef_[0], atol=STOPPED)


def test_without_noise_it_is_scikit_learns_multinomial_regression():
    x, y = table(classes=3)
    theta = fit(PrivateNewton(), Multinomial(3), x, y, penalty=L2(0.01))
    model = LogisticRegression(C=1 / (0.01 * 300), fit_intercept=False, tol=1e-10, max_iter=5000)
    np.testing.assert_allclose(theta.T, model.fit(x, y).coef_, atol=STOPPED)


@pytest.mark.parametrize("penalty", [L2(0.02), L1(0.01)], ids=["l2", "l1"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_without_noise_it_ends_where_descent_ends(loss, penalty):
    x, y = table()
    thetas = [
        fit(solver, loss, x, 2.0 * y - 1, penalty=penalty)
        for solver in (PrivateNewton(), GradientDescent())
    ]
    np.testing.assert_allclose(*thetas, atol=STOPPED)


def test_the_intercept_is_spared():
    x, _ = table()
    x = np.column_stack([x, np.ones(len(x))]) / np.sqrt(2)
    theta = fit(PrivateNewton(200), Logistic(), x, np.ones(len(x)), penalty=L2(5.0), intercept=True)
    assert theta[-1] > 5  # unbounded without a penalty: every row has the same class
    assert np.linalg.norm(theta[:-1]) < 1e-3  # the constant column says it all


def test_sparse_rows_give_the_same_theta():
    x, y = table()
    thin = sparse.csr_array(np.where(np.abs(x) > 0.2, x, 0.0))
    thetas = [fit(PrivateNewton(5), Logistic(), t, 2.0 * y - 1) for t in (thin, thin.toarray())]
    np.testing.assert_allclose(*thetas, atol=1e-10)


def test_columns_of_unlike_scale_are_learned_where_descent_is_slow():
    """A column 20 times shorter than the others decides: 0.92 of these rows against 0.62."""
    rng = np.random.default_rng(0)
    x = unit_rows(rng, 20_000, 4) * [0.05, 1, 1, 1]
    y = np.where(rng.random(20_000) < 1 / (1 + np.exp(-200 * x[:, 0])), 1.0, -1.0)
    newton, descent = (
        np.mean((x @ fit(solver, Logistic(), x, y, epsilon=1.0)) * y > 0)
        for solver in (PrivateNewton(), GradientDescent(100))
    )
    assert newton > descent + 0.2


@pytest.mark.parametrize("penalty", [NoPenalty(), L2(0.01), L1(0.001)], ids=lambda x: x.name)
def test_whitened_steps_end_at_the_minimum(penalty):
    """Noise too faint to matter: other coordinates, the same minimum."""
    x, y = table(3000, classes=3)
    theta, wanted = (
        fit(solver, Multinomial(3), x, y, penalty=penalty, epsilon=epsilon)
        for solver, epsilon in (
            (PrivateNewton(400, clip=100.0, momentum=0.9, whiten=True), 1e5),
            (PrivateNewton(), math.inf),
        )
    )
    theta, wanted = (found - found.mean(axis=1, keepdims=True) for found in (theta, wanted))
    np.testing.assert_allclose(theta, wanted, atol=0.1)


def test_whitened_rows_are_not_charged_for_what_they_have_in_common():
    """One long column that is the same for all, and thirty short ones that decide."""
    rng = np.random.default_rng(0)
    x = np.column_stack([np.full(8000, 0.95), 0.3 * unit_rows(rng, 8000, 30)])
    y = (8 * x[:, 1:] @ rng.standard_normal((30, 4)) + rng.gumbel(size=(8000, 4))).argmax(axis=1)
    plain, whitened = (
        np.mean([
            np.mean((x @ fit(solver, Multinomial(4), x, y, epsilon=0.5, seed=s)).argmax(1) == y)
            for s in range(3)
        ])
        for solver in (PrivateNewton(), PrivateNewton(whiten=True))
    )  # fmt: skip
    assert whitened > plain + 0.02


@pytest.mark.parametrize("neighbors", BOTH)
@pytest.mark.parametrize("loss", [Logistic(), Multinomial(3)], ids=lambda x: x.name)
def test_replay_of_whitened_steps(loss, neighbors):
    targets = [0, 1, 2] if loss.n_outputs > 1 else [-1.0, 1.0]

    def run(data):
        solver = PrivateNewton(3, momentum=0.5, whiten=True)
        return fit(solver, loss, *data, epsilon=1.0, neighbors=neighbors)

    for one, two in neighbor_pairs(neighbors, targets):
        report = replay(run, one, two)
        assert report.ok, report.findings
        assert report.realised_mu <= Budget(1.0, 1e-6).mu * (1 + 1e-6)


def test_whitening_needs_slopes_with_a_bound():
    x, y = table()
    with pytest.raises(ValueError, match="bounded slopes"):
        fit(PrivateNewton(whiten=True), Squared(), x, 2.0 * y - 1, epsilon=1.0)
    with pytest.raises(ValueError, match="bounded slopes"):
        PrivateNewton(whiten=True, cap=ResidualCap())


@pytest.mark.parametrize("neighbors", BOTH)
@pytest.mark.parametrize("momentum", [0.0, 0.5])
@pytest.mark.parametrize("loss", [Logistic(), Squared(), Multinomial(3)], ids=lambda x: x.name)
def test_replay(loss, momentum, neighbors):
    targets = [0, 1, 2] if loss.n_outputs > 1 else [-1.0, 1.0]

    def run(data):
        solver = PrivateNewton(3, momentum=momentum)
        return fit(solver, loss, *data, epsilon=1.0, neighbors=neighbors)

    used = []
    for one, two in neighbor_pairs(neighbors, targets):
        report = replay(run, one, two)
        assert report.ok, report.findings
        assert report.realised_mu <= Budget(1.0, 1e-6).mu * (1 + 1e-6)
        used.append(report.largest_use)
    assert max(used) > 0.99


class HalfTheSensitivity(SlopeGradient):
    def sensitivity(self, neighbors):
        return self.bound / 2


class NoNoiseInTheStop(PrivateNewton):
    """Chooses its clip by the rows."""

    def run(self, curator, problem):
        block = next(curator._rows.blocks(10))
        clipped = PrivateNewton(self.steps, clip=float(1e-3 + np.abs(block.x).max()))
        return clipped.run(curator, problem)


def test_broken_copies_are_caught(monkeypatch):
    def run(solver):
        return lambda data: fit(solver, Logistic(), *data, epsilon=1.0)

    pairs = list(neighbor_pairs("replace-one", [-1.0, 1.0]))
    assert not all(replay(run(NoNoiseInTheStop(3)), *pair).ok for pair in pairs)
    monkeypatch.setattr(newton, "SlopeGradient", HalfTheSensitivity)
    assert not all(replay(run(PrivateNewton(3)), *pair).ok for pair in pairs)


def test_squared_loss_agrees_with_statistics():
    x, y = table()
    thetas = [fit(s, Squared(), x, 2.0 * y - 1) for s in (PrivateNewton(), SufficientStatistics())]
    np.testing.assert_allclose(*thetas, atol=1e-7)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"steps": 0}, "steps"),
        ({"gram_share": 1.0}, "gram_share"),
        ({"clip": 0.0}, "clip"),
        ({"momentum": 1.0}, "momentum"),
    ],
)
def test_nonsense_is_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        PrivateNewton(**settings)


def test_steps_stay_at_the_minimum_of_a_singular_quadratic():
    """Rounding, which the least eigenvalue divides, carried theta away: 400 columns of rank 30."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((30, 400)) + 3
    x /= np.linalg.norm(x, axis=1)[:, None]
    gram, theta = x.T @ x / 30, x.T @ rng.standard_normal(30)
    lifted, best = eigenvalues_mapped(gram, 0.0), theta
    upper = Quadratic(lifted, LinearProblem(Squared(), NoPenalty(), 400, intercept=False))
    for _ in range(100):
        theta = upper.minimise(lifted @ theta - gram @ (theta - best))
    assert np.linalg.norm(theta - best) < 2e-3 * np.linalg.norm(best)


def test_minima_without_privacy_take_so_many_steps_in_all(monkeypatch):
    """Columns that are nearly alike under an l1 penalty: a fit took a minute and more."""
    monkeypatch.setattr(quadratic, "MOST_IN_ALL", 50)
    matrix = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-9]])
    problem = LinearProblem(Squared(), L1(1e-6), 2, 100, None)
    again = Quadratic(matrix, problem, in_all=True)
    first = again.minimise(np.array([1.0, 0.5]))
    assert again.is_spent
    np.testing.assert_array_equal(again.minimise(np.array([9.0, 9.0]), first), first)
    assert not Quadratic(matrix, problem).is_spent
