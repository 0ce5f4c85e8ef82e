"""``minimize``: what it finds, what it refuses, and that a recorded plan can be run again."""

import dataclasses
import json
import math
import warnings

import numpy as np
import pytest

from geometry.cases import rng
from veilspan import (
    RGD,
    RSGD,
    RSVRG,
    Budget,
    FrechetLoss,
    GaussianEvent,
    LeadingSubspace,
    Loss,
    NotPrivateWarning,
    Plan,
    PrivacyError,
    minimize,
)
from veilspan.curator.tape import recording
from veilspan.datasets import make_spd
from veilspan.geometry import SPD, Ball, Euclidean, Grassmann, Sphere, Stiefel

ONE, NOTHING_PRIVATE = Budget(1.0, 1e-6), Budget(math.inf, 1e-6)
SOLVERS = {
    "calibrated": None,
    "rgd": RGD(steps=3, step=0.5),
    "rsgd": RSGD(steps=3, step=0.5, batch_rate=0.3),
    "rsvrg": RSVRG(1, 2, 0.3, step=0.5, anchor_share=0.5),
}
every_solver = pytest.mark.parametrize("solver", SOLVERS)


def rows(n=200, width=5):
    return rng(0).standard_normal((n, width)) * [0.6, *[0.1] * (width - 1)]


def simulate(loss, data, budget=ONE, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return minimize(loss, data, budget=budget, **{"random_state": 0, **options})


# ---------------------------------------------------------------- what it finds


@pytest.mark.parametrize("m", [Sphere(5), Grassmann(5, 1), Grassmann(5, 2)], ids=repr)
def test_without_privacy_the_leading_eigenvectors(m):
    table = rng(0).standard_normal((300, 5)) * [0.3, 0.2, 0.1, 0.05, 0.01]
    found = simulate(LeadingSubspace(m), table, NOTHING_PRIVATE)
    count = found.point.size // 5
    leading = np.linalg.eigh(table.T @ table)[1][:, -count:]
    angles = Grassmann(5, count).dist(found.point.reshape(5, count), leading)
    assert angles < 1e-6
    assert not found.privacy.private


def test_a_loss_of_your_own_on_a_manifold_without_logarithm():
    """Procrustes: min |W - Z|^2 over orthonormal W is the polar factor of the mean of Z."""
    m = Stiefel(4, 2)
    table = m.random_point(rng(1)) + 0.1 * rng(2).standard_normal((50, 4, 2))
    loss = Loss(m, euclidean_gradient=lambda z, w: w - z, row_shape=(4, 2), curvature=1.0)
    found = simulate(loss, table, NOTHING_PRIVATE)
    np.testing.assert_allclose(found.point, m.nearest_point(table.mean(axis=0)), atol=1e-9)


@every_solver
@pytest.mark.parametrize("clip", [1e-9, 1.0, 1e9])
def test_any_clip_gives_a_point(solver, clip):
    for loss, data in (
        (LeadingSubspace(Grassmann(5, 2)), rows(20)),
        (FrechetLoss(SPD(2)), make_spd(20, 2).points),
    ):
        found = simulate(loss, data, clip=clip, solver=SOLVERS[solver])
        assert np.isfinite(found.point).all()
        assert loss.manifold.contains(found.point, atol=1e-6)
        assert found.privacy.epsilon == pytest.approx(1.0, rel=1e-3)
        assert found.stopped


def test_start_and_ball():
    m = SPD(2)
    ball = Ball(m, 2 * np.eye(2), 0.1)
    data = make_spd(30, 2).points
    found = simulate(FrechetLoss(m), data, clip=1.0, ball=ball, solver=RGD(steps=2))
    assert m.dist(ball.center, found.point) <= 0.1 * (1 + 1e-9)
    np.testing.assert_array_equal(found.trace[0]["point"], ball.center)
    begun = simulate(FrechetLoss(m), data, clip=1.0, start=3 * np.eye(2), solver=RGD(steps=2))
    np.testing.assert_array_equal(begun.trace[0]["point"], 3 * np.eye(2))


# ---------------------------------------------------------------- what it refuses


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss": "energy"}, "loss must be"),
        ({"budget": 1.0}, "budget must be a Budget"),
        ({"clip": 0.0}, "clip"),
        ({"clip": math.inf}, "clip"),
        ({"clip": "1"}, "clip"),
        ({"start": np.ones(5)}, "start must be a point"),
        ({"start": np.eye(5)[0][:4]}, "start must be a point"),
        ({"ball": Ball(Sphere(4), np.eye(4)[0], 1.0)}, "ball must be a Ball"),
        ({"ball": 1.0}, "ball must be a Ball"),
        ({"data": np.full((20, 4), 98765.4321)}, "5 numbers each"),
        ({"data": np.full((20, 5, 2), 98765.4321)}, "rows have shape"),
        ({"data": np.full((20, 5), "98765.4321x")}, "real numbers"),
        ({"data": [[98765.4321, 1], [1]]}, "one per person"),
        ({"data": np.full((1, 5), 98765.4321)}, "minimum of 2"),
        ({"data": np.full((20, 5), np.nan)}, "NaN"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused_without_values_of_the_data(change, message):
    settings = {"loss": LeadingSubspace(Sphere(5)), "data": rows(20), "budget": ONE, **change}
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        minimize(**settings)
    error = caught.value
    while error is not None:
        assert "98765" not in str(error)
        error = error.__cause__ or error.__context__


def test_points_of_a_mean_must_be_points():
    bad = make_spd(20, 2).points
    bad[3] = -np.eye(2)
    with pytest.raises(ValueError, match="X holds something"):
        minimize(FrechetLoss(SPD(2)), bad, budget=ONE, clip=1.0)


def test_a_private_minimum_needs_a_bound_and_a_curvature():
    loss = Loss(Euclidean(5), lambda z, w: w - z)
    with pytest.raises(ValueError, match="give clip"):
        minimize(loss, rows(20), budget=ONE)
    for solver in (None, RGD()):
        with pytest.raises(ValueError, match="curvature"):
            minimize(loss, rows(20), budget=ONE, clip=1.0, solver=solver)


# ---------------------------------------------------------------- plans, run again


def again(plan):
    return Plan.from_dict(json.loads(json.dumps(plan.to_dict())))


@every_solver
@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
def test_a_recorded_plan_runs_again_bit_for_bit(solver, neighbors):
    loss = LeadingSubspace(Sphere(5))
    settings = {"solver": SOLVERS[solver], "neighbors": neighbors}
    with recording() as tape:
        first = simulate(loss, rows(), **settings)
    assert again(first.plan) == first.plan
    with recording() as second_tape:
        second = simulate(loss, rows(), plan=again(first.plan), **settings)
    assert second.plan == first.plan
    np.testing.assert_array_equal(second.point, first.point)
    for one, two in zip(tape.entries, second_tape.entries, strict=True):
        assert one.question == two.question
        np.testing.assert_array_equal(one.given, two.given)


@every_solver
def test_another_seed_changes_the_noise_alone(solver):
    loss, settings = LeadingSubspace(Sphere(5)), {"solver": SOLVERS[solver]}
    with recording() as tape:
        first = simulate(loss, rows(), **settings)
    with recording() as other_tape:
        other = simulate(loss, rows(), plan=again(first.plan), random_state=1, **settings)
    assert not np.array_equal(first.point, other.point)
    assert other.privacy.events == first.privacy.events
    fixed = ["query", "event", "coordinates"]
    if SOLVERS[solver] is not None:  # the calibrated solver chooses its bounds by answers
        fixed += ["bound", "sensitivity", "std"]
    for one, two in zip(tape.entries, other_tape.entries, strict=True):
        assert [getattr(one.question, n) for n in fixed] == [
            getattr(two.question, n) for n in fixed
        ]
    # The first question is asked of the same rows at the same point: only its noise differs.
    if SOLVERS[solver] is None or solver == "rgd":
        np.testing.assert_array_equal(tape.entries[0].exact, other_tape.entries[0].exact)
    assert not np.array_equal(tape.entries[0].given, other_tape.entries[0].given)


@pytest.mark.parametrize(
    "change",
    [
        {"data": rows(199)},
        {"loss": LeadingSubspace(Sphere(4)), "data": rows(width=4)},
        {"loss": LeadingSubspace(Grassmann(5, 2))},
        {"budget": Budget(2.0, 1e-6)},
        {"budget": Budget(1.0, 1e-7)},
        {"neighbors": "add-remove"},
        {"clip": 0.1},
        {"solver": RGD(steps=4, step=0.5)},
        {"solver": SOLVERS["rsgd"]},
    ],
    ids=lambda change: ",".join(change),
)
def test_a_plan_of_something_else_is_refused(change):
    settings = {"loss": LeadingSubspace(Sphere(5)), "data": rows(), "solver": SOLVERS["rgd"]}
    plan = simulate(**settings).plan
    with pytest.raises(ValueError, match="not the plan of this call"):
        simulate(**{**settings, **change}, plan=plan)


def test_a_plan_with_less_noise_is_refused():
    settings = {"loss": LeadingSubspace(Sphere(5)), "data": rows(), "solver": SOLVERS["rgd"]}
    plan = simulate(**settings).plan
    noise = plan.events[0].noise_multiplier
    for factor in (0.0, 0.9):
        with pytest.raises(PrivacyError, match="more than its budget"):
            dataclasses.replace(plan, events=(GaussianEvent("step", factor * noise, 3),))
    louder = dataclasses.replace(plan, events=(GaussianEvent("step", 2 * noise, 3),))
    assert simulate(**settings, plan=louder).privacy.epsilon < 0.6
