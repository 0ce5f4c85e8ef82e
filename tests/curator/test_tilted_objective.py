"""A minimisation ends and is certified on every table, however badly a direction was found."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import cho_factor

from veilspan.curator import tilted_objective
from veilspan.curator.objective_door import (
    Tolerance,
    check_certifiable,
    objective_event,
    tolerance_of,
)
from veilspan.curator.rows import Block
from veilspan.curator.tilted_objective import TiltedObjective, minimise, shifted_factor
from veilspan.losses.linear import Huber, Logistic, Multinomial
from veilspan.losses.penalties import NoPenalty
from veilspan.privacy.budget import Budget
from veilspan.solvers.linear.base import LinearProblem
from veilspan.solvers.linear.objective_perturbation import ObjectivePerturbation


def collinear(n, width, seed, loss=None, lam=1e-15):
    """Rows along one direction: H has one large eigenvalue, and otherwise lam."""
    rng = np.random.default_rng(seed)
    direction = rng.standard_normal(width)
    x = np.outer(rng.uniform(0.5, 1, n), direction / np.linalg.norm(direction))
    loss = loss or Logistic()
    event = objective_event(loss, lam=lam, clip=1.0)
    return TiltedObjective(lambda part: part(Block(x, np.ones(n))), loss, event, width)


def test_no_factorisation_fails_where_lam_is_near_rounding():
    failed = 0
    for seed in range(40):
        objective = collinear(3000, 6, seed)
        h = objective._sum(
            lambda block, shrink, cap, o=objective: o._hessian(block, shrink, cap, np.zeros(6))
        )
        try:
            cho_factor(h + objective.event.lam * np.eye(6))
        except np.linalg.LinAlgError:
            failed += 1
        assert np.isfinite(objective.solve(np.zeros(6), np.ones(6))).all()
    assert failed >= 5  # the case is the one that is meant


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e280])
def test_the_worst_matrices_get_a_factor(scale):
    for h in (np.zeros((3, 3)), -np.ones((3, 3)), np.ones((3, 3)), np.diag([1.0, -1.0, 0.0])):
        factor, _ = shifted_factor(scale * h, 1e-290)
        assert np.isfinite(np.triu(factor)).all()


def test_conjugate_gradients_break_off_where_rounding_bends_h_down(monkeypatch):
    objective = collinear(200, 5, 0, Multinomial(3), lam=1e-3)
    gradient = np.ones(objective.shape)
    monkeypatch.setattr(TiltedObjective, "_times", lambda self, theta, v: -v)
    assert not objective._conjugate_gradients(np.zeros(objective.shape), gradient).any()
    assert not objective._conjugate_gradients(np.zeros(objective.shape), 0 * gradient).any()


def wrong_directions(gradient):
    turned = np.roll(gradient, 1)
    return {
        "up": gradient,
        "none": np.zeros_like(gradient),
        "not a number": np.full_like(gradient, np.nan),
        "endless": np.full_like(gradient, -np.inf),
        "tiny": -1e-30 * gradient,
        "huge": -1e30 * gradient,
        "across": turned - gradient * np.vdot(turned, gradient) / np.vdot(gradient, gradient),
    }


@pytest.mark.parametrize("kind", wrong_directions(np.ones(3)))
def test_it_ends_whatever_direction_is_tried(kind, monkeypatch):
    """Before, such a step was taken once it was short enough: some of these never ended."""
    objective = collinear(60, 3, 1, Huber(), lam=2.0)
    tilt = np.array([1.0, -0.5, 2.0])
    bounds = tolerance_of(objective.event, 60, 3, radius=50.0)
    expected = minimise(objective, tilt, bounds)
    monkeypatch.setattr(
        TiltedObjective,
        "solve",
        lambda self, theta, gradient, anew=True: wrong_directions(gradient)[kind],
    )
    asked = []
    whole = TiltedObjective.row_gradient

    def counted(self, theta):
        asked.append(1)
        # Steps of -g / 4K shrink J - J* by 1 - lam / 4K a step; |g| >= tau bounds their number.
        assert len(asked) < 20_000
        return whole(self, theta)

    monkeypatch.setattr(TiltedObjective, "row_gradient", counted)
    with np.errstate(all="ignore"):
        found = minimise(objective, tilt, bounds)
    assert np.linalg.norm(found - expected) <= 2 * bounds.tau / 2.0


def test_a_lam_below_rounding_is_refused_by_public_numbers():
    event = replace(objective_event(Logistic(), lam=1e-9), noise_multiplier=5.0)
    bounds = tolerance_of(event, 2**24, 10, radius=50.0)
    with pytest.raises(ValueError, match="too small for so many rows and columns"):
        check_certifiable(event, bounds)
    check_certifiable(event, tolerance_of(event, 10, 10, radius=1e9))
    problem = LinearProblem(Logistic(), NoPenalty(), 10, None)
    with pytest.raises(ValueError, match="Choose at least"):
        ObjectivePerturbation(lam=3e-5, radius=1e-3).prepare(
            problem, Budget(1e5, 1e-6), "add-remove"
        )


@pytest.mark.parametrize("lam", [1e-4, 1.0])
@pytest.mark.parametrize("length", [0.0, 1.0, 2.1, 2.2, 10.0, 1e6])
def test_what_is_certifiable_leaves_gradients_above_four_errors(lam, length):
    """The inequality of the docstring, at the edge of what is allowed."""
    event = replace(objective_event(Logistic(), lam=lam), noise_multiplier=5.0)
    bounds = tolerance_of(event, 10**6, 20, radius=1.0)
    edge = 50 * (bounds.error(2.1) + bounds.tilt)  # the least lam that is allowed at R = 1
    doubt = bounds.error(length)
    if length <= 2.1:
        least = bounds.tau - doubt - bounds.tilt
    else:
        least = edge * (length - 2) - doubt - bounds.tilt
    assert least >= 4 * doubt * (1 - 1e-9)


def test_ordinary_tables_need_no_step_but_newtons():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((400, 5)) / 3
    y = np.sign(x[:, 0] + 0.1)
    event = objective_event(Logistic(), lam=0.5, clip=1.0)
    asked = []

    def total(part):
        asked.append(1)
        return part(Block(x, y))

    objective = TiltedObjective(total, Logistic(), event, 5)
    minimise(objective, np.ones(5), tolerance_of(event, 400, 5, radius=50.0))
    assert len(asked) < 30


# ---------------------------------------------------------------- steps below a float's spacing


class ShortSighted:
    """J = |theta - t|^2 / 2, and directions 36 times shorter than Newton's."""

    shape = (1,)
    event = SimpleNamespace(std=1.0, lam=1.0)

    def __init__(self):
        self.asked = 0

    def row_gradient(self, theta):
        return theta

    def solve(self, theta, gradient, *, anew=True):
        self.asked += 1
        assert self.asked < 2000, "the search stands still"
        return -gradient / 36


TINY = Tolerance(fixed=1e-3 * 2.0**-53, growing=4 * 2.0**-53, tilt=0.0, radius=1.0, curvature=1.0)
MINIMA = np.linspace(1.01, 1.97, 33)  # of which a broken search stands still at 12


def test_a_step_shorter_than_a_float_is_not_taken_for_a_fall():
    for minimum in MINIMA:
        found = minimise(ShortSighted(), np.array([-minimum]), TINY)
        assert abs(found[0] - minimum) <= TINY.tau


def test_a_fall_judged_by_the_step_that_was_meant_stands_still(monkeypatch):
    def judged_by_the_direction(bounds, theta, trial, ahead, least):
        error = bounds.error(float(np.linalg.norm(trial)))
        return float(np.vdot(ahead, minimum - theta)) <= -error * np.linalg.norm(minimum - theta)

    monkeypatch.setattr(tilted_objective, "_falls", judged_by_the_direction)
    stood_still = 0
    for minimum in MINIMA:
        try:
            minimise(ShortSighted(), np.array([-minimum]), TINY)
        except AssertionError:
            stood_still += 1
    assert stood_still > 6
