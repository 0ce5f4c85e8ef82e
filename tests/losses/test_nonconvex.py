"""A loss that is not convex: its bounds, who takes it, and who refuses it."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from veilspan.curator.curator import Curator
from veilspan.curator.rows import Rows
from veilspan.losses.nonconvex import NARROWEST, WIDEST, Biweight
from veilspan.losses.penalties import NoPenalty
from veilspan.privacy.budget import Budget
from veilspan.privacy.noise import noise_source
from veilspan.privacy.plan import Plan
from veilspan.solvers.linear.base import LinearProblem
from veilspan.solvers.linear.by_name import linear_solver
from veilspan.solvers.linear.gradient_descent import GradientDescent

WIDTHS = (NARROWEST, 0.3, 1.0, WIDEST)


def problem(width=0.5, columns=3, rows=400):
    return LinearProblem(Biweight(width), NoPenalty(), columns, rows, None, False)


@pytest.mark.parametrize("width", WIDTHS)
def test_slopes_and_curvatures_are_derivatives(width):
    loss, h = Biweight(width), 1e-6 * width
    u = np.linspace(-1.5 * width, 1.5 * width, 801)
    y = np.zeros_like(u)
    slopes = (loss.value(u + h, y) - loss.value(u - h, y)) / (2 * h)
    np.testing.assert_allclose(slopes, loss.slope(u, y), atol=1e-8 * width)
    bends = (loss.slope(u + h, y) - loss.slope(u - h, y)) / (2 * h)
    np.testing.assert_allclose(bends, loss.curvature(u, y), atol=1e-4)


@pytest.mark.parametrize("width", WIDTHS)
def test_bounds_are_met(width):
    loss = Biweight(width)
    u = np.linspace(-2 * width, 2 * width, 400_001)
    y = np.zeros_like(u)
    assert np.abs(loss.slope(u, y)).max() == pytest.approx(loss.slope_bound, rel=1e-9)
    assert np.abs(loss.slope(u, y)).max() <= loss.slope_bound * (1 + 1e-12)
    curvature = loss.curvature(u, y)
    assert curvature.max() == pytest.approx(loss.smoothness, rel=1e-9)
    assert curvature.min() == pytest.approx(-0.8, rel=1e-6)  # not convex
    assert loss.value(u, y).max() == pytest.approx(width**2 / 6)


def test_residuals_beyond_the_width_do_not_count():
    loss, u = Biweight(0.5), np.array([0.6, 1e8, -1e300])
    np.testing.assert_array_equal(loss.slope(u, np.zeros(3)), 0.0)
    np.testing.assert_array_equal(loss.curvature(u, np.zeros(3)), 0.0)
    assert np.isfinite(loss.value(u, np.zeros(3))).all()


@pytest.mark.parametrize("width", [0.049, 11.0, 0.0, -1.0, math.inf, math.nan])
def test_widths_that_are_refused(width):
    with pytest.raises(ValueError, match=r"width must lie between 0\.05 and 10"):
        Biweight(width)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("clip", [None, 0.01])
def test_objective_perturbation_refuses_every_width(width, clip):
    """Its guarantee rests on convexity: no width may slip through the grid of its check."""
    solver = linear_solver("objective")
    solver = solver if clip is None else solver.with_clip(clip)
    with pytest.raises(ValueError, match="biweight loss does not behave like a two-sided loss"):
        solver.prepare(problem(width), Budget(1.0, 1e-6), "add-remove")


@pytest.mark.parametrize("name", ["newton", "statistics"])
def test_what_rests_on_a_curvature_refuses_it(name):
    with pytest.raises(ValueError, match='it is biweight; use solver="gd"'):
        linear_solver(name).prepare(problem(), Budget(1.0, 1e-6), "add-remove")


def run(solver, rows, y, epsilon, width=0.5, seed=0):
    task, budget = problem(width, rows.shape[1], len(y)), Budget(epsilon, 1e-6)
    events = solver.prepare(task, budget, "replace-one").events
    plan = Plan(
        method="test",
        budget=budget,
        neighbors="replace-one",
        n_rows=len(y),
        n_features=rows.shape[1],
        events=events,
    )
    return solver.run(Curator(Rows(rows, y), plan, noise_source(seed)), task).theta


def contaminated(count):
    """A line of which a third of the rows know nothing: they all have the target 1."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((count, 3))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    y = rows @ [0.3, -0.2, 0.1]
    y[: count // 3] = 1.0
    return rows, y


def test_descent_ends_where_another_minimiser_ends():
    rows, y = contaminated(400)
    loss = Biweight(0.5)

    def objective(theta):
        u = rows @ theta
        return loss.value(u, y).mean(), rows.T @ loss.slope(u, y) / len(y)

    best = minimize(objective, np.zeros(3), jac=True, options={"gtol": 1e-10})
    found = run(GradientDescent(), rows, y, math.inf)
    np.testing.assert_allclose(found, best.x, atol=1e-6)


def test_a_third_of_wrong_targets_does_not_move_it():
    rows, y = contaminated(6000)
    found = run(GradientDescent(steps=100, output="last", clip=1.0), rows, y, 5.0, width=0.4)
    np.testing.assert_allclose(found, [0.3, -0.2, 0.1], atol=0.08)


def test_a_random_iterate_is_one_of_them():
    rows, y = contaminated(400)
    solver = GradientDescent(steps=5, output="random", clip=1.0)
    assert len({run(solver, rows, y, 1.0, seed=s).tobytes() for s in range(4)}) == 4
