"""DP-AccMD of linear models: the rate, the steps of both geometries, and where it ends."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize

from solvers.linear.runs import run, table
from veilspan import Budget
from veilspan.losses.linear import Logistic, Multinomial, Squared
from veilspan.losses.penalties import L2, Box, L1Ball, L2Ball, NoPenalty, Simplex
from veilspan.solvers.linear.base import LinearProblem
from veilspan.solvers.linear.gradient_descent import GradientDescent
from veilspan.solvers.linear.mirror_descent import AcceleratedMirror, EntropyGeometry

X, TRUTH = table()
N, P = X.shape
#: Where minimisers without noise stop: coefficients, up to 2, differ by 5e-8 at most.
STOPPED = 5e-7
SIGNS = np.where(X @ (4 * TRUTH) + np.random.default_rng(1).logistic(size=N) > 0, 1.0, -1.0)


def problem(penalty, loss=None, n_rows=N, width=P, intercept=True, expected=None):
    return LinearProblem(loss or Logistic(), penalty, width, n_rows, expected, intercept)


def risk(theta):
    return Logistic().value(X @ theta, SIGNS).mean()


# ---------------------------------------------------------------- without privacy


@pytest.mark.parametrize("geometry", ["l2", "entropy"])
@pytest.mark.parametrize("penalty", [L1Ball(2.0), Simplex(1.5)], ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
def test_it_ends_at_the_minimum_over_a_ball(penalty, geometry, intercept):
    task = problem(penalty, intercept=intercept)
    found = run(AcceleratedMirror(geometry=geometry), task, X, SIGNS).theta
    best = run(GradientDescent(), task, X, SIGNS).theta
    assert penalty.value(found[:-1] if intercept else found) == 0
    np.testing.assert_allclose(found, best, atol=STOPPED)


def test_it_ends_at_the_minimum_of_a_penalised_loss():
    def penalised(theta):
        return risk(theta) + 0.01 * theta[:-1] @ theta[:-1]

    found = run(AcceleratedMirror(), problem(L2(0.02)), X, SIGNS)
    best = minimize(penalised, np.zeros(P), tol=1e-12).x
    np.testing.assert_allclose(found.theta, best, atol=STOPPED)
    assert "no longer than" in found.stopped


def test_several_scores():
    classes = np.argmax(X @ np.random.default_rng(3).standard_normal((P, 3)), axis=1)
    task = problem(L1Ball(3.0), Multinomial(3))
    found = run(AcceleratedMirror(500, geometry="entropy"), task, X, classes).theta
    best = run(GradientDescent(), task, X, classes).theta
    loss = [Multinomial(3).value(X @ theta, classes).mean() for theta in (found, best)]
    assert found.shape == (P, 3)
    assert loss[0] - loss[1] < 1e-9  # 7e-12


def test_sparse_rows_give_the_same():
    task = problem(L1Ball(2.0))
    dense = run(AcceleratedMirror(20), task, X, SIGNS).theta
    found = run(AcceleratedMirror(20), task, sparse.csr_array(X), SIGNS).theta
    np.testing.assert_allclose(found, dense, atol=1e-10)


@pytest.mark.parametrize("geometry", ["l2", "entropy"])
def test_the_error_falls_with_the_square_of_the_steps(geometry):
    """Within 8 L B_w / (T + 1)^2 for every T, on a squared loss without strong convexity.

    As many gradient steps of the same size end more than a thousand times as far from the minimum.
    """
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 80)) * 0.9 ** np.arange(80)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    weights = np.zeros(80)
    weights[[3, 20]] = 1.0, -0.5
    y = x @ weights
    penalty = L1Ball(1.5)
    task = problem(penalty, Squared(), 60, 80, intercept=False)

    def excess(theta):  # at the truth the loss is zero
        return Squared().value(x @ theta, y).mean()

    far = 1.25 if geometry == "l2" else 2 * 1.5**2 * math.log(160)  # 2 B_w
    for steps in (4, 16, 64, 256):
        found = excess(run(AcceleratedMirror(steps, geometry), task, x, y).theta)
        assert found <= 4 * Squared().smoothness * far / (steps + 1) ** 2
    plain = run(GradientDescent(256, 0.5, 1e6, "last"), task, x, y).theta
    if geometry == "l2":
        assert excess(plain) > 500 * found  # 1,357 of this table


# ---------------------------------------------------------------- the two steps on weights


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10**6), st.sampled_from([0.01, 0.3, 5.0]))
def test_the_near_step_is_the_minimiser_in_l1(p, seed, size):
    """Against random competitors in the simplex, near and far."""
    rng = np.random.default_rng(seed)
    space = EntropyGeometry(problem(Simplex(2.0), width=p, intercept=False))
    point, gradient = rng.dirichlet(np.ones(p)), rng.standard_normal(p)

    def value(weights):
        moved = 2.0 * (weights - point)
        return np.abs(moved).sum() ** 2 / (2 * size) + gradient @ moved

    found = space.near(point, gradient, size)
    assert found.sum() == pytest.approx(1.0)
    assert found.min() >= -1e-15
    for scale in (1.0, 0.1, 0.01):
        for rival in rng.dirichlet(np.ones(p), 20):
            assert value(found) <= value((1 - scale) * found + scale * rival) + 1e-12


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10**6), st.sampled_from([0.01, 0.3, 5.0]))
def test_the_mirror_step_is_the_minimiser_in_entropy(p, seed, size):
    rng = np.random.default_rng(seed)
    space = EntropyGeometry(problem(Simplex(2.0), width=p, intercept=False))
    point, gradient = rng.dirichlet(np.ones(p)), rng.standard_normal(p)

    def value(weights):
        return 4.0 * weights @ np.log(weights / point) / size + 2.0 * gradient @ weights

    found = space.mirror(point, gradient, size)
    assert found.sum() == pytest.approx(1.0)
    for scale in (1.0, 0.1, 0.01):
        for rival in rng.dirichlet(np.ones(p), 20):
            assert value(found) <= value((1 - scale) * found + scale * rival) + 1e-12


# ---------------------------------------------------------------- plans


def test_many_coefficients_in_an_l1_ball_ask_for_entropy():
    def kind(width, penalty):
        return type(AcceleratedMirror()._geometry(problem(penalty, width=width))).__name__

    assert kind(20, L1Ball(3.0)) == "EuclideanGeometry"
    assert kind(2000, L1Ball(3.0)) == kind(2000, Simplex(3.0)) == "EntropyGeometry"
    assert kind(2000, L2Ball(3.0)) == kind(2000, NoPenalty()) == "EuclideanGeometry"


def test_louder_noise_gets_fewer_steps():
    def steps(n, epsilon=1.0):
        task = problem(L2Ball(5.0), n_rows=None, expected=n)
        events = AcceleratedMirror().prepare(task, Budget(epsilon, 1e-6), "add-remove").events
        return events[-1].count

    found = [steps(n) for n in (20, 1000, 10_000, 10**8, None)]
    assert found == sorted(found)
    assert found[0] == 5
    assert found[1] < found[2] < found[3] == found[4]
    assert steps(1000, 0.1) < steps(1000)


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
def test_seeds_decide_everything(neighbors):
    task = problem(L1Ball(2.0), n_rows=N if neighbors == "replace-one" else None, expected=N)
    one, two, other = (
        run(AcceleratedMirror(), task, X, SIGNS, 1.0, neighbors, seed) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.theta, two.theta)
    assert one.trace == two.trace
    assert not np.array_equal(one.theta, other.theta)


@pytest.mark.parametrize(
    "options",
    [{"steps": 0}, {"geometry": "l1"}, {"clip": -1.0}, {"smoothness": 0.0}],
    ids=str,
)
def test_bad_settings_are_refused(options):
    word = next(iter(options))
    with pytest.raises(ValueError, match=word if word != "smoothness" else "must be positive"):
        AcceleratedMirror(**options)


def test_entropy_needs_an_l1_ball_or_a_simplex():
    with pytest.raises(ValueError, match="needs an l1-ball or a simplex; the penalty is 'box'"):
        AcceleratedMirror(geometry="entropy").prepare(
            problem(Box(-1.0, 1.0)), Budget(1.0, 1e-6), "replace-one"
        )
