"""DP-RGD and DP-RSGD against descent written plainly, and their limits."""

import math

import numpy as np
import pytest

from geometry.cases import WITH_LOG, rng, tangent
from solvers.manifold.runs import run
from veilspan import (
    RGD,
    RSGD,
    Budget,
    FrechetLoss,
    GaussianEvent,
    LeadingSubspace,
    Loss,
    SampledGaussianEvent,
)
from veilspan.geometry import SPD, Ball, Euclidean, Sphere, Stiefel
from veilspan.geometry.errors import UnavailableOperationError
from veilspan.solvers.manifold.base import ManifoldProblem
from veilspan.solvers.manifold.secant_steps import SecantSteps
from veilspan.solvers.steps import DecreasingSteps


def points_around(m, count=20, length=0.4):
    center = m.random_point(rng(7))
    base = np.broadcast_to(center, (count, *center.shape))
    return center, m.exp(base, tangent(m, base, 1, length))


@pytest.mark.parametrize("name", WITH_LOG)
def test_without_noise_it_is_plain_descent(name):
    m = WITH_LOG[name]
    start, rows = points_around(m)
    result, spent, _ = run(RGD(steps=4, step=DecreasingSteps(0.5)), FrechetLoss(m), rows, start)
    point = start
    for k in range(4):
        gradient = -m.log(point, rows).mean(axis=0)
        point = m.exp(point, -0.5 / math.sqrt(k + 1) * gradient)
    assert m.separation(result.point, point) < 1e-12
    assert spent == (GaussianEvent("step", 0.0, 4),)
    assert "4 planned steps" in result.stopped


def test_clipping_is_that_of_the_gradients_of_single_rows():
    rows = np.array([[3.0, 4.0], [0.0, 0.5], [-0.3, 0.4]])
    result, _, _ = run(RGD(steps=1), FrechetLoss(Euclidean(2)), rows, np.zeros(2), bound=1.0)
    expected = np.mean([[0.6, 0.8], [0.0, 0.5], [-0.3, 0.4]], axis=0)
    np.testing.assert_allclose(result.point, expected, atol=1e-15)


def test_averaging_is_the_mean_of_the_second_half():
    m = Euclidean(2)
    rows = rng(0).standard_normal((30, 2))
    plain, _, _ = run(RGD(steps=6, step=0.3), FrechetLoss(m), rows, np.zeros(2), noise=3.0)
    mean, _, _ = run(
        RGD(steps=6, step=0.3, average=True), FrechetLoss(m), rows, np.zeros(2), noise=3.0
    )
    iterates = [entry["point"] for entry in plain.trace[4:]] + [plain.point]
    np.testing.assert_allclose(mean.point, np.mean(iterates, axis=0), atol=1e-12)


def test_a_tolerance_stops_without_noise_and_not_under_noise():
    rows = rng(0).standard_normal((30, 2))
    solver = RGD(steps=50, tolerance=1e-9)
    exact, spent, _ = run(solver, FrechetLoss(Euclidean(2)), rows, np.zeros(2))
    assert spent == (GaussianEvent("step", 0.0, 2),)
    assert "no longer than 1e-09" in exact.stopped
    _, spent, _ = run(solver, FrechetLoss(Euclidean(2)), rows, np.zeros(2), noise=1.0)
    assert spent == (GaussianEvent("step", 1.0, 50),)


def test_a_noisy_gradient_is_no_longer_than_the_clip():
    result, _, _ = run(
        RGD(steps=20), FrechetLoss(SPD(3)), np.tile(np.eye(3), (2, 1, 1)), np.eye(3), noise=100.0,
        bound=0.2,
    )  # fmt: skip
    assert max(entry["gradient"] for entry in result.trace) <= 0.2 * (1 + 1e-9)
    assert SPD(3).contains(result.point)


def test_iterates_stay_in_the_ball():
    m = SPD(2)
    ball = Ball(m, np.eye(2), 0.3)
    rows = np.tile(5 * np.eye(2), (4, 1, 1))
    result, _, _ = run(RGD(steps=6), FrechetLoss(m), rows, np.eye(2), noise=5.0, ball=ball)
    visited = [entry["point"] for entry in result.trace] + [result.point]
    assert all(m.dist(np.eye(2), point) <= 0.3 * (1 + 1e-9) for point in visited)


def test_secant_steps_are_used_without_noise_and_plain_ones_under_it():
    m = SPD(3)
    start, rows = points_around(m, length=1.5)
    solver = RGD(steps=6, step=SecantSteps(0.5, range=10.0))
    exact, _, _ = run(solver, FrechetLoss(m), rows, start)
    assert {entry["size"] for entry in exact.trace} > {0.5}
    noisy, _, _ = run(solver, FrechetLoss(m), rows, start, noise=5.0)
    assert {entry["size"] for entry in noisy.trace} == {0.5}


def test_samples_are_planned_as_samples():
    rows = rng(0).standard_normal((2000, 3))
    solver = RSGD(steps=3, batch_rate=0.25, step=0.5)
    result, spent, tape = run(solver, FrechetLoss(Euclidean(3)), rows, np.zeros(3), noise=0.0)
    assert spent == (SampledGaussianEvent("step", 0.25, 0.0, 3),)
    assert [entry.question.event[2] for entry in tape.entries] == [0.25] * 3
    # Each sample's sum is over its own rows: the three directions differ, and each is near the
    # mean of all. Over the coins an entry has mean `wanted` and variance (1 - q) / q sum g^2 / n^2;
    # nine entries within six of its roots: false alarm below 9 x 2e-9.
    directions = np.array([entry["direction"] + 0.0 for entry in result.trace])
    wanted = np.array([entry["point"] for entry in result.trace]) - rows.mean(axis=0)
    assert not np.allclose(directions, wanted, atol=1e-6)
    points = np.array([entry["point"] for entry in result.trace])
    squares = np.sum((points[:, None] - rows[None]) ** 2, axis=1)
    assert np.all(np.abs(directions - wanted) < 6 * np.sqrt(0.75 / 0.25 * squares) / 2000)


@pytest.mark.parametrize("solver", [RGD(steps=30, step=1.5), RSGD(steps=30, step=1.5)])
def test_the_leading_eigenvector_is_found(solver):
    rows = rng(1).standard_normal((3000, 5)) * [0.8, 0.3, 0.2, 0.1, 0.1]
    start = np.ones(5) / math.sqrt(5)
    result, _, _ = run(solver, LeadingSubspace(Sphere(5), 3.0), rows, start, noise=2.0, bound=4.5)
    assert abs(result.point[0]) > 0.99  # 0.9999 and, with samples, 0.995 of these seeds


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (RGD, {"steps": 0}, "steps"),
        (RGD, {"steps": 2.5}, "steps"),
        (RGD, {"steps": True}, "steps"),
        (RSGD, {"batch_rate": 0.0}, "batch_rate"),
        (RSGD, {"batch_rate": 1.0}, "batch_rate"),
        (RSGD, {"batch_rate": math.nan}, "batch_rate"),
    ],
)
def test_bad_settings_are_refused(kind, settings, message):
    with pytest.raises(ValueError, match=message):
        kind(**settings)


def test_averages_need_a_logarithm_and_say_so_before_anything_is_spent():
    loss = Loss(Stiefel(3, 2), lambda z, w: z, curvature=1.0)
    problem = ManifoldProblem(loss, 1.0, loss.manifold.reference_point, 10)
    assert RGD().prepare(problem, Budget(1.0, 1e-6), "replace-one").events
    with pytest.raises(UnavailableOperationError, match="log"):
        RGD(average=True).prepare(problem, Budget(1.0, 1e-6), "replace-one")


def test_a_step_is_asked_for_before_anything_is_spent():
    problem = ManifoldProblem(LeadingSubspace(Sphere(3)), 1.0, np.eye(3)[0], 10)
    with pytest.raises(ValueError, match="give the solver a step"):
        RGD().prepare(problem, Budget(1.0, 1e-6), "replace-one")
