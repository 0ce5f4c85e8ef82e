"""DP-SVRG and DP-SVRG++ of linear models: what they ask, and where they end."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from privacy.affordable import budget_for
from veilspan import Budget, Plan, SampledGaussianEvent
from veilspan.curator.curator import Curator
from veilspan.curator.rows import Rows
from veilspan.curator.tape import recording
from veilspan.losses.linear import Logistic
from veilspan.losses.penalties import L2, L2Ball, NoPenalty
from veilspan.privacy.accounting import epsilon_spent
from veilspan.privacy.calibration import calibrate_noise
from veilspan.privacy.events import GaussianEvent, with_noise
from veilspan.privacy.noise import SeededNoise
from veilspan.solvers.linear.base import LinearProblem
from veilspan.solvers.linear.svrg import LEAST_CHANGE, SVRG, SVRGPlus, quick_share
from veilspan.solvers.manifold.rsvrg import best_share

BOTH = pytest.mark.parametrize("kind", [SVRG, SVRGPlus])
SHARE = {"anchor_share": 0.5}


def table(n=200, p=4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, p))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x, np.where(x @ np.arange(1, p + 1) + rng.standard_normal(n) > 0, 1.0, -1.0)


def run(solver, x, y, epsilon=math.inf, penalty=None, neighbors="replace-one", seed=0, noise=None):
    """Result, curator and tape of a fit; ``noise`` saves the seconds of a calibration."""
    n = len(y) if neighbors == "replace-one" else None
    penalty = penalty or L2(0.05)
    problem = LinearProblem(Logistic(), penalty, x.shape[1], n, len(y), intercept=False)
    budget = Budget(epsilon, 1e-6)
    events = solver.prepare(
        problem, budget if noise is None else Budget(math.inf, 1e-6), neighbors
    ).events
    if noise is not None:
        events = tuple(with_noise(event, noise) for event in events)
        budget = budget if epsilon == math.inf else budget_for(events, neighbors)
    plan = Plan(
        method="test",
        budget=budget,
        neighbors=neighbors,
        n_rows=n,
        n_features=x.shape[1],
        events=events,
    )
    curator = Curator(Rows(x, y), plan, SeededNoise(seed))
    with recording() as tape:
        result = solver.run(curator, problem)
    return result, curator, tape


def objective(theta, x, y, lam):
    return np.logaddexp(0, -y * (x @ theta)).mean() + lam / 2 * theta @ theta


@BOTH
def test_without_noise_it_ends_at_the_minimum(kind):
    x, y = table()
    found, _, _ = run(kind(), x, y)
    best = minimize(objective, np.zeros(4), (x, y, 0.05), tol=1e-10).x
    np.testing.assert_allclose(found.theta, best, atol=1e-7)  # both stop at 1e-8
    assert "no longer than" in found.stopped


@BOTH
def test_a_constraint_is_kept(kind):
    x, y = table()
    found, _, _ = run(kind(3, **SHARE), x, y, 1.0, L2Ball(0.3), noise=5.0)
    assert np.linalg.norm(found.theta) <= 0.3 + 1e-9


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
@pytest.mark.parametrize(
    ("solver", "lengths", "free"),
    [(SVRG(3, 4, 0.3, **SHARE), [4, 4, 4], 3), (SVRGPlus(3, 2, 0.3, **SHARE), [4, 8, 16], 1)],
)
def test_what_is_asked(solver, lengths, free, neighbors):
    """One full release an epoch; every inner step that is not at its anchor asks for a change."""
    x, y = table()
    result, curator, tape = run(solver, x, y, 1.0, neighbors=neighbors)
    assert curator.spent == curator.plan.events  # all of the plan is used, and nothing else
    assert curator.plan.epsilon <= 1.0
    assert solver.lengths(3) == lengths == [entry["steps"] for entry in result.trace]
    asked = [entry.question.event[0] for entry in tape.entries]
    assert asked.count("anchor") == 3
    assert asked.count("step") == sum(lengths) - free
    assert asked.count("count") == (neighbors == "add-remove")


def test_the_bound_of_a_change_is_what_the_way_from_the_anchor_allows():
    """0.25 |theta - anchor| on the first asked step, never above the clip of differences."""
    x, y = table(20_000)
    solver = SVRG(1, 6, 0.5, step=0.2, clip=1.0, difference_clip=0.02, **SHARE)
    _, _, tape = run(solver, x, y, 5.0, NoPenalty(), noise=2.0)
    anchor, *changes = tape.entries
    moved = 0.2 * np.linalg.norm(anchor.given / 20_000)
    bounds = [entry.question.bound for entry in changes]
    assert bounds[0] == pytest.approx(0.25 * moved)
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[-1] == 0.02
    # Noise is in proportion to it, up to what covers rounding.
    scales = [entry.question.std / entry.question.bound for entry in changes]
    np.testing.assert_allclose(scales, scales[0], rtol=1e-3)


def test_at_its_anchor_a_question_still_has_a_bound():
    x, y = table()
    solver = SVRGPlus(2, 2, 0.5, step=1e-12, **SHARE)
    _, _, tape = run(solver, x, y, 1.0, noise=5.0)
    bounds = [e.question.bound for e in tape.entries if e.question.event[0] == "step"]
    assert min(bounds) == pytest.approx(LEAST_CHANGE * 0.3, abs=0)


def test_two_inner_steps_with_nearly_all_rows_are_gradient_descent():
    """Then the change is exact, and the result the mean of two full steps."""
    x, y = table()
    found, _, _ = run(SVRG(1, 2, 1 - 1e-12, step=1.0, **SHARE), x, y, penalty=NoPenalty())

    def step(theta):
        return theta + x.T @ (y / (1 + np.exp(y * (x @ theta)))) / len(y)

    first = step(np.zeros(4))
    np.testing.assert_allclose(found.theta, (first + step(first)) / 2, rtol=0, atol=1e-13)


@BOTH
def test_seeds_decide_everything(kind):
    x, y = table()
    one, two, other = (run(kind(2, **SHARE), x, y, 1.0, seed=s, noise=5.0)[0] for s in (1, 1, 2))
    np.testing.assert_array_equal(one.theta, two.theta)
    assert one.trace == two.trace
    assert not np.array_equal(one.theta, other.theta)


@BOTH
def test_louder_noise_gets_fewer_epochs(kind):
    def epochs(n, epsilon):
        problem = LinearProblem(Logistic(), NoPenalty(), 20, None, n)
        return kind().default_epochs(problem, Budget(epsilon, 1e-6), "add-remove")

    found = [epochs(n, 1.0) for n in (100, 500, 10**6, None)]
    assert found == sorted(found)
    assert found[0] < found[1] < found[2] == found[3]
    assert epochs(500, 0.1) < epochs(500, 1.0)


def test_the_printed_noise_is_not_private():
    """Theorem 4.1 at T m = 10 n one-row steps, c = 1, nominal epsilon 1: the claim of the class."""
    n, delta = 10_000, 1e-6
    steps = 10 * n
    printed = math.sqrt(steps * math.log(1 / delta)) / n  # over G
    event = SampledGaussianEvent("step", 1 / n, printed, steps)
    assert epsilon_spent([event], delta, neighbors="add-remove") == pytest.approx(790, abs=1)
    assert epsilon_spent([event], delta, neighbors="replace-one") > 790


@pytest.mark.parametrize(
    ("clip", "rate", "neighbors"), [(0.2, 0.1, "replace-one"), (1.0, 0.5, "add-remove")]
)
def test_the_share_of_the_anchors_is_nearly_the_best(clip, rate, neighbors):
    """An inner step's noise variance is that of a search with the accountant, to 1e-5."""
    budget, scale = Budget(1.0, 1e-6), 2.0 if neighbors == "replace-one" else 1.0
    events = GaussianEvent("anchor", count=5), SampledGaussianEvent("step", rate, count=45)

    def variance(share):
        anchor, step = calibrate_noise(
            budget, events, neighbors=neighbors, weights=(share, 1 - share)
        )
        return (scale * anchor.noise_multiplier) ** 2 + (clip * step.noise_multiplier / rate) ** 2

    best = variance(best_share(budget, events, neighbors, clip))
    assert variance(quick_share(5, 45, clip)) < 1.0001 * best


@pytest.mark.parametrize(
    "settings",
    [
        {"epochs": 0},
        {"inner_steps": 1},
        {"batch_rate": 1.0},
        {"step": -1.0},
        {"clip": 0.0},
        {"difference_clip": 0.0},
        {"anchor_share": 1.0},
    ],
    ids=str,
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        SVRG(**settings)


@BOTH
def test_a_loss_without_smooth_slopes_is_refused(kind):
    class Absolute(Logistic):
        name = "absolute"
        smoothness = math.inf

    problem = LinearProblem(Absolute(), NoPenalty(), 3, 10)
    with pytest.raises(ValueError, match="needs a loss with a smooth slope; the absolute loss"):
        kind().prepare(problem, Budget(1.0, 1e-6), "replace-one")
