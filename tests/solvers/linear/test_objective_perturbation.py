"""Objective perturbation as a solver: what it minimises, what it refuses, what it records."""

import math

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from veilspan import Budget, GaussianEvent, Plan
from veilspan.curator.curator import Curator
from veilspan.curator.objective_door import fold, objective_event, tolerance_of
from veilspan.curator.rows import Block, Rows
from veilspan.curator.tilted_objective import TiltedObjective, minimise
from veilspan.losses.class_weights import ClassWeighted
from veilspan.losses.linear import (
    Huber,
    Logistic,
    Multinomial,
    Quantile,
    SmoothedHinge,
    Squared,
)
from veilspan.losses.penalties import L1, L2, NoPenalty
from veilspan.privacy.errors import BudgetExceededError, PrivacyError
from veilspan.privacy.noise import SeededNoise
from veilspan.queries.moments import RowSum
from veilspan.solvers.linear.base import LinearProblem
from veilspan.solvers.linear.objective_perturbation import ObjectivePerturbation

LOSSES = [
    Logistic(),
    SmoothedHinge(),
    Squared(),
    Huber(),
    Quantile(),
    Multinomial(3),
    ClassWeighted(Logistic(), (1.0, 3.0)),
    ClassWeighted(Multinomial(3), (1.0, 2.0, 0.5)),
]
NAMES = [loss.name for loss in LOSSES]


def table(loss, n=300, p=4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, p))
    x /= np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True))
    score = x @ rng.standard_normal((p, loss.n_outputs)) + 0.3 * rng.standard_normal((n, 1))
    if loss.n_outputs > 1:
        return x, score.argmax(axis=1).astype(float)
    return x, np.sign(score[:, 0]) if loss.margin else np.clip(score[:, 0], -1, 1)


def curator_for(x, y, loss, solver, *, epsilon=math.inf, neighbors="add-remove", penalty=None):
    n = len(y) if neighbors == "replace-one" else None
    problem = LinearProblem(loss, penalty or NoPenalty(), x.shape[1], n, None, False)
    budget = Budget(epsilon, 1e-6)
    plan = Plan(
        method="test",
        budget=budget,
        neighbors=neighbors,
        n_rows=n,
        n_features=x.shape[1],
        events=solver.prepare(problem, budget, neighbors).events,
    )
    return Curator(Rows(x, y), plan, SeededNoise(3)), problem


@pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
def test_without_noise_it_is_the_minimum(loss):
    x, y = table(loss)
    solver = ObjectivePerturbation(lam=2.0, clip=10.0)
    theta = solver.run(*curator_for(x, y, loss, solver)).theta

    def objective(flat):
        t = flat.reshape(theta.shape)
        return np.sum(loss.value(x @ t, y)) + np.sum(t * t)

    reference = minimize(objective, np.zeros(theta.size), tol=1e-12).x.reshape(theta.shape)
    # The reference, without a gradient of its own, stops 8e-7 away.
    np.testing.assert_allclose(theta, reference, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
def test_sparse_tables_are_the_same_tables(loss):
    x, y = table(loss)
    x[:, 1] = 0.0
    solver = ObjectivePerturbation(lam=3.0, clip=0.4)
    dense = solver.run(*curator_for(x, y, loss, solver, epsilon=5.0)).theta
    same = solver.run(*curator_for(sparse.csr_array(x), y, loss, solver, epsilon=5.0)).theta
    # Rounding of 1e-16 rarely crosses a step of the grid of 1e-6 that answers lie on.
    np.testing.assert_allclose(same, dense, atol=1e-6)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
def test_the_plan_keeps_the_budget_and_the_tilt_is_felt(loss, neighbors):
    x, y = table(loss)
    solver = ObjectivePerturbation()
    curator, problem = curator_for(x, y, loss, solver, epsilon=2.0, neighbors=neighbors)
    assert 1.999 < curator.plan.epsilon <= 2.0
    theta = solver.run(curator, problem).theta
    assert theta.shape == problem.shape
    assert curator.spent == curator.plan.events
    exact = ObjectivePerturbation(lam=curator.plan.events[0].lam, clip=curator.plan.events[0].clip)
    clean = exact.run(*curator_for(x, y, loss, exact, neighbors=neighbors)).theta
    assert 0.0 < np.linalg.norm(theta - clean) < 12  # 0.03 to 7.9 of this seed


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_exact_discrete_noise_serves_as_well(neighbors):
    loss = Logistic()
    x, y = table(loss)
    solver = ObjectivePerturbation(lam=3.0)
    curator, _ = curator_for(x, y, loss, solver, epsilon=3.0, neighbors=neighbors)
    exact = Curator(Rows(x, y), curator.plan, SeededNoise(1), noise="exact")
    answer = exact.minimum(loss, event="objective", output="output", radius=50.0)
    assert np.isfinite(answer.value).all()
    assert 50.0 * 2.0**-22 <= answer.noise_std < 0.05


def test_conjugate_gradients_and_cholesky_find_the_same_minimum(monkeypatch):
    loss = Logistic()
    x, y = table(loss, n=200, p=6)
    solver = ObjectivePerturbation(lam=1.0)
    one = solver.run(*curator_for(x, y, loss, solver)).theta
    monkeypatch.setattr("veilspan.curator.tilted_objective.WIDEST_HESSIAN", 1)
    two = solver.run(*curator_for(x, y, loss, solver)).theta
    np.testing.assert_allclose(two, one, atol=1e-5)  # each is certified to a public tolerance


def objective_of(x, y, loss, lam=1.0, clip=1.0):
    event = objective_event(loss, lam=lam, clip=clip)
    return TiltedObjective(lambda part: part(Block(x, y)), loss, event, x.shape[1])


@pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
def test_no_row_moves_gradient_or_curvature_by_more_than_declared(loss):
    # Wild rows and wild targets, that no estimator has scaled.
    rng = np.random.default_rng(1)
    x = rng.standard_normal((40, 3)) * 10.0 ** rng.uniform(-6, 6, (40, 1))
    y = rng.standard_normal(40) * 100
    full = objective_of(x, y, loss, clip=0.5)
    theta = rng.standard_normal(full.shape)
    for i in range(len(x)):
        keep = np.arange(len(x)) != i
        less = objective_of(x[keep], y[keep], loss, clip=0.5)
        moved = np.linalg.norm(full.row_gradient(theta) - less.row_gradient(theta))
        assert moved <= full.event.clip * (1 + 1e-9)
        if loss.n_outputs == 1:
            v = rng.standard_normal(3)
            v /= np.linalg.norm(v)
            bend = v @ (full._times(theta, v) - less._times(theta, v))
            assert -1e-9 <= bend <= full.event.smoothness * (1 + 1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
def test_curvature_is_the_derivative_of_the_gradient(loss):
    x, y = table(loss, n=30)
    objective = objective_of(x, y, loss, clip=0.9)
    rng = np.random.default_rng(2)
    theta, v = rng.standard_normal((2, *objective.shape))
    h = 1e-6
    change = (objective.row_gradient(theta + h * v) - objective.row_gradient(theta - h * v)) / 2 / h
    image = objective._times(theta, v)
    # A corner of a capped slope may lie within h of a score: then one row is off.
    assert np.linalg.norm(change - image) <= 1e-4 * np.linalg.norm(image) + 1e-4


def test_fold_is_a_contraction_and_keeps_what_is_inside():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((200, 3)) * rng.uniform(0.1, 3, (200, 1))
    folded = np.array([fold(point, 1.0) for point in points])
    for i in range(len(points)):
        gaps = np.linalg.norm(points - points[i], axis=1)
        assert np.all(np.linalg.norm(folded - folded[i], axis=1) <= gaps * (1 + 1e-12) + 1e-15)
    assert np.array_equal(fold(np.array([0.3, 0.2]), 1.0), [0.3, 0.2])
    assert np.all(fold(np.array([3.0, 0.0]), 1.0) == 0)


def test_a_minimum_far_away_is_certified_and_comes_back_as_zero():
    x, y = np.full((50, 1), 1.0), np.ones(50)
    objective = objective_of(x, y, Logistic(), lam=0.1)
    event = objective.event
    bounds = tolerance_of(event, 50, 1, radius=1.0)
    theta = minimise(objective, np.array([-5.0]), bounds)
    assert np.all(fold(theta, 1.0) == 0)


def test_the_radius_makes_room_for_noise_that_was_asked_for():
    loss = Logistic()
    x, y = table(loss)
    loud = ObjectivePerturbation(lam=1.0)
    theta = loud.run(*curator_for(x, y, loss, loud, epsilon=0.3)).theta
    reflected = ObjectivePerturbation(lam=1.0, radius=1.0)
    inside = reflected.run(*curator_for(x, y, loss, reflected, epsilon=0.3)).theta
    assert np.linalg.norm(theta) > 2 > 1.01 > np.linalg.norm(inside)


def test_the_certificate_is_true():
    loss = SmoothedHinge()
    x, y = table(loss)
    objective = objective_of(x, y, loss, lam=0.5)
    bounds = tolerance_of(objective.event, 2**24, 4, radius=50.0)
    tilt = np.array([1.0, -2.0, 0.5, 3.0])
    rough = minimise(objective, tilt, bounds)
    fine = minimise(objective, tilt, tolerance_of(objective.event, 300, 4, radius=50.0))
    assert np.linalg.norm(rough - fine) <= 2 * bounds.tau / 0.5
    assert bounds.tau < 1e-4


def test_lam_grows_with_dimension_budget_and_penalty():
    budget = Budget(1.0, 1e-6)

    def lam(p, budget=budget, penalty=None, n=None):
        problem = LinearProblem(Logistic(), penalty or NoPenalty(), p, n)
        relation = "add-remove" if n is None else "replace-one"
        return ObjectivePerturbation()._event(problem, budget, relation).lam

    assert lam(400) > lam(4)
    assert lam(4, Budget(0.1, 1e-6)) > lam(4)
    assert lam(4, penalty=L2(0.1), n=1000) == pytest.approx(100.0)
    problem = LinearProblem(Logistic(), L2(0.1), 4, 1000)
    with pytest.raises(ValueError, match="below the penalty"):
        ObjectivePerturbation(lam=50.0).prepare(problem, budget, "replace-one")


def test_what_does_not_fit_is_refused_with_a_sentence():
    budget = Budget(1.0, 1e-6)
    with pytest.raises(ValueError, match="no penalty but l2"):
        ObjectivePerturbation().prepare(LinearProblem(Logistic(), L1(0.1), 3), budget, "add-remove")

    class Wrong(Logistic):
        def curvature(self, scores, y):
            return 10 * super().curvature(scores, y)

        def slope(self, scores, y):
            return super().slope(10 * scores, y)

    with pytest.raises(ValueError, match="does not behave like"):
        objective_event(Wrong(), lam=1.0)
    with pytest.raises(ValueError, match="has no bound"):
        objective_event(Squared(), lam=1.0)


def test_the_door_refuses_what_the_plan_does_not_cover():
    loss = Logistic()
    x, y = table(loss)
    solver = ObjectivePerturbation(lam=5.0)
    curator, problem = curator_for(x, y, loss, solver, epsilon=1.0)
    with pytest.raises(PrivacyError, match="pays for a minimum"):
        curator.answer(RowSum(1.0), event="objective")
    curator, problem = curator_for(x, y, loss, solver, epsilon=1.0)
    with pytest.raises(PrivacyError, match="another"):
        curator.minimum(SmoothedHinge(), event="objective", output="output", radius=10.0)
    curator, problem = curator_for(x, y, loss, solver, epsilon=1.0)
    solver.run(curator, problem)
    with pytest.raises(BudgetExceededError):
        solver.run(curator, problem)
    plan = Plan(
        method="test",
        budget=Budget(1.0, 1e-6),
        neighbors="add-remove",
        n_rows=None,
        n_features=4,
        events=(GaussianEvent("objective", 9.0), GaussianEvent("output", 9.0)),
    )
    with pytest.raises(PrivacyError, match="not the events"):
        solver.run(Curator(Rows(x, y), plan, SeededNoise(0)), problem)
