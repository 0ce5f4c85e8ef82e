"""DP-GD and DP-SGD for linear models: their minima, their steps, and what leaves."""

import math

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from solvers.linear.runs import replayed, run, table
from veilspan import Budget, GaussianEvent, Plan, SampledGaussianEvent
from veilspan.curator.curator import Curator
from veilspan.curator.rows import Rows
from veilspan.losses import linear as losses
from veilspan.losses import penalties
from veilspan.privacy.noise import SeededNoise
from veilspan.queries.linear.slope_gradient import SlopeGradient
from veilspan.solvers.linear import gradient_descent
from veilspan.solvers.linear.base import LinearProblem, Needs, fits, require, shorten
from veilspan.solvers.linear.by_name import SOLVERS, linear_solver
from veilspan.solvers.linear.gradient_descent import GradientDescent, StochasticGradient

#: Where minimisers without noise stop: coefficients, up to 2.4, differ by 4e-8 at most.
STOPPED = 4e-7
RELATIONS = ("replace-one", "add-remove")
X, TRUTH = table()
N, P = X.shape
LOGISTIC = np.random.default_rng(1).logistic(size=N)
HEAVY = np.random.default_rng(2).standard_t(2, N)
SIGNS = np.where(X @ (4 * TRUTH) + LOGISTIC > 0, 1.0, -1.0)
TARGETS = np.clip(X @ TRUTH / 4 + 0.1 * HEAVY, -1, 1)


def problem(loss, penalty, n_rows=N, width=P, **settings):
    return LinearProblem(loss, penalty, width, n_rows, **settings)


def objective(loss, penalty, y):
    """What is minimised, written down once more."""
    return lambda theta: loss.value(X @ theta, y).mean() + penalty.value(theta[:-1])


# ---------------------------------------------------------------- without privacy: the minimum


def test_logistic_regression():
    from sklearn.linear_model import LogisticRegression

    rows, _ = table(intercept=False)
    y = np.where(rows @ TRUTH[:-1] + 0.3 * LOGISTIC > 0, 1.0, -1.0)
    found = run(GradientDescent(), problem(losses.Logistic(), penalties.L2(0.01), width=P - 1,
                                           intercept=False), rows, y)  # fmt: skip
    peer = LogisticRegression(C=1 / (0.01 * N), fit_intercept=False, tol=1e-12, max_iter=5000)
    np.testing.assert_allclose(found.theta, peer.fit(rows, y).coef_[0], atol=STOPPED)
    assert "gradient" in found.stopped


def test_multinomial_regression():
    from sklearn.linear_model import LogisticRegression

    rows, _ = table(intercept=False)
    rng = np.random.default_rng(2)
    y = np.argmax(rows @ rng.standard_normal((P - 1, 3)) * 3 + rng.gumbel(size=(N, 3)), axis=1)
    found = run(GradientDescent(), problem(losses.Multinomial(3), penalties.L2(0.02), width=P - 1,
                                           intercept=False), rows, y)  # fmt: skip
    peer = LogisticRegression(C=1 / (0.02 * N), fit_intercept=False, tol=1e-12, max_iter=5000)
    np.testing.assert_allclose(found.theta, peer.fit(rows, y).coef_.T, atol=STOPPED)


def linear_peers():
    from sklearn.linear_model import ElasticNet, Lasso, Ridge

    exact = {"fit_intercept": False, "tol": 1e-12, "max_iter": 100_000}
    return {
        "ridge": (penalties.L2(0.05), Ridge(0.05 * N, fit_intercept=False)),
        "lasso": (penalties.L1(0.02), Lasso(0.02, **exact)),
        "elastic net": (
            penalties.ElasticNet(0.01, 0.4),
            ElasticNet(0.01, l1_ratio=0.4, **exact),
        ),
    }


@pytest.mark.parametrize("name", ["ridge", "lasso", "elastic net"])
def test_least_squares(name):
    penalty, peer = linear_peers()[name]
    rows, _ = table(intercept=False)
    y = np.clip(rows @ [1.0, 0.0, -0.5, 0.02] + 0.05 * HEAVY, -1, 1)
    found = run(GradientDescent(), problem(losses.Squared(), penalty, width=P - 1,
                                           intercept=False), rows, y)  # fmt: skip
    np.testing.assert_allclose(found.theta, peer.fit(rows, y).coef_, atol=STOPPED)
    if name == "lasso":
        assert (found.theta == 0).any()


SMOOTH = {
    "logistic": (losses.Logistic(), SIGNS),
    "hinge": (losses.SmoothedHinge(0.5), SIGNS),
    "huber": (losses.Huber(0.05), TARGETS),
    "quantile": (losses.Quantile(0.8, 0.1), TARGETS),
    "squared": (losses.Squared(), TARGETS),
}


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_every_loss_with_an_intercept_that_is_not_penalised(name, form):
    loss, y = SMOOTH[name]
    penalty = penalties.L2(0.01)
    rows = X if form == "dense" else sparse.csr_array(X)
    found = run(GradientDescent(), problem(loss, penalty), rows, y)

    def gradient(theta):
        return X.T @ loss.slope(X @ theta, y) / N + 0.01 * np.append(theta[:-1], 0)

    best = minimize(objective(loss, penalty, y), np.zeros(P), jac=gradient, method="L-BFGS-B",
                    options={"ftol": 1e-16, "gtol": 1e-11, "maxiter": 10_000})  # fmt: skip
    np.testing.assert_allclose(found.theta, best.x, atol=STOPPED)


def test_constraints():
    """A minimum in a ball or a box, by another minimiser."""
    loss, y = SMOOTH["logistic"]
    cases = {
        penalties.Box(-0.5, 0.6): {"bounds": [(-0.5, 0.6)] * (P - 1) + [(None, None)]},
        penalties.L2Ball(0.7): {
            "constraints": {"type": "ineq", "fun": lambda t: 0.49 - t[:-1] @ t[:-1]}
        },
        penalties.Simplex(1.5): {
            "bounds": [(0, None)] * (P - 1) + [(None, None)],
            "constraints": {"type": "eq", "fun": lambda t: t[:-1].sum() - 1.5},
        },
    }
    for penalty, held in cases.items():
        found = run(GradientDescent(), problem(loss, penalty), X, y)
        best = minimize(
            lambda t: loss.value(X @ t, y).mean(), np.full(P, 0.1), method="SLSQP",
            jac=lambda t: X.T @ loss.slope(X @ t, y) / N, **held,
            options={"ftol": 1e-15, "maxiter": 1000},
        )  # fmt: skip
        np.testing.assert_allclose(found.theta, best.x, atol=STOPPED)
        assert penalty.value(found.theta[:-1]) == 0


# ---------------------------------------------------------------- the steps


@pytest.mark.parametrize("output", ["last", "average"])
def test_without_noise_it_is_plain_descent(output):
    loss, penalty = losses.Logistic(), penalties.L1(0.01)
    solver = GradientDescent(steps=7, step=0.7, clip=0.2, output=output)
    found = run(solver, problem(loss, penalty), X, SIGNS)
    theta, path = np.zeros(P), []
    for _ in range(7):
        cap = 0.2 / np.linalg.norm(X, axis=1)
        mean = X.T @ np.clip(loss.slope(X @ theta, SIGNS), -cap, cap) / N
        theta = theta - 0.7 * mean
        theta[:-1] = penalty.prox(theta[:-1], 0.7)
        path.append(theta)
    expected = theta if output == "last" else np.mean(path[3:], axis=0)
    np.testing.assert_allclose(found.theta, expected, atol=1e-12)
    assert len(found.trace) == 7


def test_a_random_iterate_is_one_of_them():
    settings = {"step": 1.0, "clip": 1.0}
    loss = problem(losses.Logistic(), penalties.NoPenalty())
    path = [run(GradientDescent(steps=k, output="last", **settings), loss, X, SIGNS).theta
            for k in range(1, 7)]  # fmt: skip
    chosen = set()
    for seed in range(30):
        solver = GradientDescent(steps=6, output="random", **settings)
        theta = run(solver, loss, X, SIGNS, seed=seed).theta
        chosen |= {k for k in range(6) if np.array_equal(theta, path[k])}
    assert len(chosen) >= 4  # 30 fixed seeds: fewer would be a chance below 1e-6


def test_samples_are_those_of_the_curator_and_momentum_adds_up():
    loss, rate = losses.Logistic(), 0.3
    solver = StochasticGradient(1.5, rate, step=0.5, clip=1.0, momentum=0.9, output="last")
    found = run(solver, problem(loss, penalties.L2(0.1)), X, SIGNS, seed=3)
    theta, velocity = np.zeros(P), np.zeros(P)
    for k in range(5):
        part = np.random.default_rng([3, 1, k]).random(N) < rate
        slopes = loss.slope(X[part] @ theta, SIGNS[part])
        velocity = 0.9 * velocity + X[part].T @ slopes / (rate * N)
        theta = theta - 0.5 * velocity
        theta[:-1] /= 1 + 0.5 * 0.1
    np.testing.assert_allclose(found.theta, theta, atol=1e-12)


def test_sampled_descent_ends_near_the_minimum():
    penalty = penalties.L2(0.05)
    best = run(GradientDescent(), problem(losses.Logistic(), penalty), X, SIGNS).theta
    solver = StochasticGradient(epochs=60, batch_rate=0.2, step=1.0)
    found = run(solver, problem(losses.Logistic(), penalty), X, SIGNS, epsilon=np.inf)
    # Without privacy nothing is clipped; what is left is the fluctuation of samples: 0.011.
    assert np.linalg.norm(found.theta - best) < 0.03 * np.linalg.norm(best)


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize(
    ("solver", "noise"),
    [(GradientDescent(), None), (StochasticGradient(10, 0.1, step=4.0), 1.2)],
    ids=["gd", "sgd"],
)
def test_private_descent_learns_where_there_are_rows_enough(solver, noise, neighbors):
    x, truth = table(8000)
    y = np.where(x @ (6 * truth) + np.random.default_rng(2).logistic(size=8000) > 0, 1.0, -1.0)
    rows = 8000 if neighbors == "replace-one" else None
    asked = problem(losses.Logistic(), penalties.L2(1e-3), rows, expected_rows=8000)
    exact = run(GradientDescent(), asked, x, y, neighbors=neighbors).theta
    private = run(solver, asked, x, y, 2.0, neighbors, noise=noise).theta
    agree = np.mean((x @ exact > 0) == (x @ private > 0))
    assert agree > 0.985  # 0.994 to 0.997 of these seeds


def test_a_gradient_of_noise_is_shortened():
    """With 2 rows at epsilon 0.01 every step is noise: none is longer than the clip."""
    asked = problem(losses.Logistic(), penalties.NoPenalty(), 2)
    solver = GradientDescent(steps=5, step=1.0, clip=0.1, output="last")
    found = run(solver, asked, X[:2], SIGNS[:2], epsilon=0.01)
    assert np.linalg.norm(found.theta) <= 0.5  # five steps of 0.1; chance makes it 0.11
    assert all(entry["gradient"] == pytest.approx(0.1) for entry in found.trace)
    np.testing.assert_array_equal(shorten(np.array([1e300, 1e300]), 1.0), 0)


# ---------------------------------------------------------------- plans and defaults


def test_plans():
    budget = Budget(1.0, 1e-6)
    many = problem(losses.Logistic(), penalties.NoPenalty(), 100_000)
    (event,) = GradientDescent().prepare(many, budget, "replace-one").events
    assert (event.name, event.count) == ("step", 400)
    assert math.sqrt(event.count) / event.noise_multiplier == pytest.approx(budget.mu)
    # nu = 2 sqrt(5) / (10 mu), and the walk of T steps of length 8 * 0.3 stays below 400.
    few = problem(losses.Logistic(), penalties.NoPenalty(), 10)
    nu = 2 * math.sqrt(5) / (10 * budget.mu)
    assert GradientDescent().prepare(few, budget, "replace-one").events[0].count == int(
        400 / (2.4 * nu)
    )
    numbers = problem(losses.Squared(), penalties.NoPenalty(), 400)
    assert 50 < GradientDescent().prepare(numbers, budget, "replace-one").events[0].count < 200
    unknown = problem(losses.Logistic(), penalties.NoPenalty(), None)
    count, event = GradientDescent().prepare(unknown, budget, "add-remove").events
    assert (count.name, count.count, event.count) == ("count", 1, 400)
    (event,) = StochasticGradient(3, 0.25).prepare(many, budget, "replace-one").events
    assert isinstance(event, SampledGaussianEvent)
    assert (event.count, event.sampling_rate) == (12, 0.25)


def test_noise_depends_on_the_clip_alone():
    """Sensitivity 2 C over n: the trace says what noise the mean gradient had."""
    budget = Budget(1.0, 1e-6)
    for clip, used in ((0.1, 0.1), (5.0, 1.0)):  # beyond the slope bound a clip changes nothing
        solver = GradientDescent(steps=9, clip=clip)
        found = run(solver, problem(losses.Logistic(), penalties.L2(0.1)), X, SIGNS, 1.0)
        expected = 2 * used * 3 / budget.mu / N
        assert found.trace[0]["noise_std"] == pytest.approx(expected, rel=2e-3)


def test_settings_that_make_no_descent():
    for settings, words in (
        ({"steps": 0}, "steps must be a whole number"),
        ({"step": -1.0}, "step must be positive"),
        ({"clip": math.inf}, "clip must be positive and finite"),
        ({"output": "best"}, "output must be"),
        ({"tolerance": -1.0}, "tolerance must be >= 0"),
    ):
        with pytest.raises(ValueError, match=words):
            GradientDescent(**settings)
    for settings, words in (
        ({"epochs": 0}, "epochs must be positive"),
        ({"batch_rate": 1.0}, "batch_rate must lie strictly"),
        ({"momentum": 1.0}, "momentum must be"),
    ):
        with pytest.raises(ValueError, match=words):
            StochasticGradient(**settings)


def test_solvers_by_name():
    assert linear_solver("gd") == GradientDescent()
    assert linear_solver("sgd") == StochasticGradient()
    own = GradientDescent(steps=3)
    assert linear_solver(own) is own
    for name in SOLVERS:
        assert linear_solver(name).name == name
    with pytest.raises(ValueError, match=r"auto, gd, sgd.*got 'lbfgs'"):
        linear_solver("lbfgs")
    with pytest.raises(TypeError, match="GradientDescent is a class"):
        linear_solver(GradientDescent)
    with pytest.raises(TypeError, match="lacks name, prepare, run, with_clip"):
        linear_solver(3)


def test_what_does_not_fit_is_refused_with_a_sentence():
    plain = problem(losses.Squared(), penalties.L2(1.0))
    assert fits(Needs(), plain)
    for needs, words in (
        (Needs(losses=("logistic",)), "needs the loss to be logistic, and it is squared; use"),
        (Needs(penalties=("l1-ball", "simplex")), "to be l1-ball or simplex, and it is l2; use"),
        (Needs(slope_bound=True), "a loss with a bounded slope, which the squared loss has not"),
        (Needs(slope_bound=True, instead="a Huber loss"), "; use a Huber loss."),
    ):
        assert not fits(needs, plain)
        with pytest.raises(ValueError, match=words):
            require("objective", needs, plain)
    with pytest.raises(ValueError, match="one score, and the multinomial loss has 3"):
        require("x", Needs(one_score=True), problem(losses.Multinomial(3), penalties.L2(1.0)))


# ---------------------------------------------------------------- audits

AUDITED = {
    "gd": GradientDescent(steps=4, step=2.0, clip=0.2),
    "gd, random": GradientDescent(steps=4, step=2.0, clip=0.2, output="random"),
    "sgd": StochasticGradient(1.5, 0.3, step=2.0, clip=0.2, momentum=0.5),
}


def made(loss):
    return lambda n_rows: LinearProblem(loss, penalties.L2(0.1), 4, n_rows)


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("loss", [losses.Logistic(), losses.Squared(), losses.Multinomial(3)],
                         ids=lambda loss: loss.name)  # fmt: skip
@pytest.mark.parametrize("name", AUDITED)
def test_nothing_but_answers_leaves(name, loss, neighbors, some_of):
    budget = Budget(5.0, 1e-6)
    settings = {"classes": max(2, loss.n_outputs), "noise": 3.0 if name == "sgd" else None}
    for report in replayed(AUDITED[name], made(loss), neighbors, 5.0, pick=some_of, **settings):
        assert report.ok, report.findings
        assert report.questions >= 4
        if "sgd" not in name:
            assert report.realised_mu <= budget.mu


class Unclipped(SlopeGradient):
    """A deliberately broken copy: every row's gradient passes for short."""

    def norms(self, block, point):
        return np.zeros_like(super().norms(block, point))


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("name", AUDITED)
def test_a_clip_that_is_skipped_is_caught(name, neighbors, monkeypatch):
    monkeypatch.setattr(gradient_descent, "SlopeGradient", Unclipped)
    reports = list(replayed(AUDITED[name], made(losses.Logistic()), neighbors, noise=3.0))
    assert any("times the declared sensitivity" in " ".join(r.findings) for r in reports)


def test_a_plan_without_the_event_is_refused():
    plan = Plan(
        method="test",
        budget=Budget(1.0, 1e-6),
        neighbors="replace-one",
        n_rows=2,
        n_features=1,
        events=(GaussianEvent("other", 30.0),),
    )
    curator = Curator(Rows(np.zeros((2, 1)), np.zeros(2)), plan, SeededNoise(0))
    with pytest.raises(ValueError, match="no event named 'step'"):
        curator.planned("step")
