"""One step on a manifold: capped, finite, on the manifold, in the ball; means of iterates."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geometry.cases import SMALL, WITH_LOG, rng, tangent
from veilspan import FrechetLoss, Loss
from veilspan.geometry import SPD, Ball, Euclidean, Lorentz, PoincareBall, Sphere
from veilspan.solvers.manifold.base import GeodesicMean, cap_length, choose_steps, move_along
from veilspan.solvers.manifold.secant_steps import SecantSteps
from veilspan.solvers.steps import DecreasingSteps

names = st.sampled_from(sorted(SMALL))
seeds = st.integers(0, 2**32 - 1)


def mean_of(manifold, points):
    mean = GeodesicMean(manifold)
    for point in points:
        mean.add(point)
    return mean.point


@given(names, seeds, st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_capping_shortens_what_is_longer_and_nothing_else(name, seed, length, bound):
    m = SMALL[name]
    point = m.random_point(rng(seed))
    u = tangent(m, point, seed + 1, length)
    short = cap_length(m, point, u, bound)
    assert float(m.norm(point, short)) <= bound * (1 + 1e-9)
    if length <= bound * (1 - 1e-9):
        np.testing.assert_array_equal(short, u)
    elif length > bound:
        # Norms of tangent vectors are known to a few hundred roundings.
        scale = length * bound
        np.testing.assert_allclose(short * length, u * bound, rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("length", [1e160, 1e300, math.inf, math.nan])
@pytest.mark.parametrize("name", SMALL)
def test_what_cannot_be_measured_is_no_step(name, length):
    m = SMALL[name]
    point = m.random_point(rng(7))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        short = cap_length(m, point, tangent(m, point, 1, 1.0) * length, 2.0)
    assert not np.any(short)


@given(names, seeds, st.sampled_from([0.0, 1e-300, 1e-8, 1.0, 30.0, 1e3, 1e6, 1e100, 1e300]))
def test_moving_never_leaves_the_manifold(name, seed, length):
    m = SMALL[name]
    point = m.random_point(rng(seed))
    end = move_along(m, point, tangent(m, point, seed + 1, 1.0) * length)
    assert np.isfinite(end).all()
    assert m.contains(end, atol=1e-6)


@given(seeds, st.sampled_from(["spd-affine", "spd-log", "spd-bures", "poincare"]))
def test_one_can_always_move_on(seed, name):
    """Long steps one after the other end at badly conditioned points, never at dead ends."""
    m = SMALL[name]
    point = m.reference_point
    for k in range(4):
        point = move_along(m, point, tangent(m, point, seed + k, 50.0))
        assert math.isfinite(m.norm(point, tangent(m, point, 1, 1.0)))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", SMALL)
def test_a_broken_vector_does_not_move(name, bad):
    m = SMALL[name]
    point = m.random_point(rng(7))
    np.testing.assert_array_equal(move_along(m, point, np.full(m.point_shape, bad)), point)


@pytest.mark.parametrize("name", WITH_LOG)
def test_a_short_step_is_the_exponential_map(name):
    m = WITH_LOG[name]
    point = m.random_point(rng(7))
    u = tangent(m, point, 1, 0.3)
    np.testing.assert_array_equal(move_along(m, point, u), m.exp(point, u))


def test_far_steps_at_far_points():
    """Where exp overflows or ends: e^1000, the edge of the ball, singular matrices."""
    for m, point in (
        (SPD(3), np.diag([1e8, 1.0, 1e-8])),
        (SPD(3, metric="log-euclidean"), np.diag([1e8, 1.0, 1e-8])),
        (SPD(3, metric="bures-wasserstein"), np.diag([1e-8, 1e-4, 1.0])),
        (PoincareBall(3), np.array([1 - 1e-14, 0, 0])),
        (Lorentz(3), Lorentz(3).nearest_point(np.array([0, 1e6, 1e6]))),
    ):
        for seed in range(5):
            end = move_along(m, point, tangent(m, point, seed, 1e3))
            assert np.isfinite(end).all()
            assert m.contains(end, atol=1e-6)


@given(seeds, st.floats(1e-3, 1e3), st.floats(1e-2, 5.0))
def test_moves_end_in_the_ball(seed, length, radius):
    for m in (SPD(2), PoincareBall(3), Euclidean(2)):
        ball = Ball(m, m.reference_point, radius)
        end = move_along(m, ball.center, tangent(m, ball.center, seed, length), ball)
        assert m.dist(ball.center, end) <= radius * (1 + 1e-9)


@given(seeds, st.integers(1, 12))
def test_the_geodesic_mean_is_the_arithmetic_mean_in_flat_space(seed, count):
    points = rng(seed).standard_normal((count, 3))
    flat = mean_of(Euclidean(3), points)
    np.testing.assert_allclose(flat, points.mean(axis=0), atol=1e-13)


@pytest.mark.parametrize("name", WITH_LOG)
def test_the_geodesic_mean_of_two_is_the_midpoint_and_of_equals_the_point(name):
    m = WITH_LOG[name]
    x = m.random_point(rng(7))
    y = m.exp(x, tangent(m, x, 1, 0.4))
    mean = GeodesicMean(m)
    mean.add(x)
    mean.add(x)
    assert m.separation(mean.point, x) < 1e-12
    middle = mean_of(m, [x, y])
    assert float(m.dist(middle, x)) == pytest.approx(0.2, rel=1e-7)
    assert float(m.dist(middle, y)) == pytest.approx(0.2, rel=1e-7)


def test_steps_of_all_kinds():
    loss = FrechetLoss(Sphere(3))
    assert choose_steps(None, loss)(5) == 1.0
    assert choose_steps(0.25, loss)(5) == 0.25
    assert choose_steps(DecreasingSteps(2.0), loss)(3) == 1.0
    unknown = Loss(Sphere(3), lambda z, w: z)
    with pytest.raises(ValueError, match="curvature"):
        choose_steps(None, unknown)
    for bad in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="step must be positive"):
            choose_steps(bad, loss)


def quadratic_trace(curvature, size=0.1):
    """Two points of descent on curvature |w|^2 / 2, as a solver writes them down."""
    before = np.array([1.0, 2.0])
    after = before - size * curvature * before
    last = {"point": before, "direction": curvature * before, "size": size}
    return after, curvature * after, [last]


@pytest.mark.parametrize("curvature", [0.5, 1.0, 3.0])
def test_secant_steps_find_the_curvature(curvature):
    point, gradient, trace = quadratic_trace(curvature)
    steps = SecantSteps(1.0, range=10.0)
    assert steps.size(Euclidean(2), point, gradient, 0.0, trace) == pytest.approx(1 / curvature)
    assert steps.size(Euclidean(2), point, gradient, 0.0, []) == 1.0


def test_secant_steps_fall_back_to_the_plain_size():
    m, steps = Euclidean(2), SecantSteps(1.0)
    point, gradient, trace = quadratic_trace(3.0)
    change = float(np.linalg.norm(gradient - trace[0]["direction"]))
    enough = 0.1 * change / math.sqrt(2 * 2)
    assert steps.size(m, point, gradient, 0.99 * enough, trace) == pytest.approx(1 / 3)
    assert steps.size(m, point, gradient, 1.01 * enough, trace) == 1.0
    assert steps.size(m, point, trace[0]["direction"], 0.0, trace) == 1.0  # no change at all
    assert steps.size(m, point, 2 * trace[0]["direction"], 0.0, trace) == 1.0  # not convex
    assert steps.size(m, *quadratic_trace(1e-3)[:2], 0.0, quadratic_trace(1e-3)[2]) == 5.0
    assert steps.size(m, *quadratic_trace(9.0)[:2], 0.0, quadratic_trace(9.0)[2]) == 0.2
