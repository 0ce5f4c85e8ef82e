"""Balls: what they hold, and how points outside are pulled in."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geometry.cases import WITH_LOG, rng, tangent
from veilspan.geometry import (
    SPD,
    Ball,
    Euclidean,
    Grassmann,
    Lorentz,
    PoincareBall,
    Sphere,
)

METRICS = ("affine-invariant", "bures-wasserstein", "log-euclidean")


@given(
    st.sampled_from(sorted(WITH_LOG)),
    st.integers(0, 2**32 - 1),
    st.floats(0.01, 0.5),
    st.floats(1e-3, 1.5),
)
def test_pulling_in(name, seed, radius, length):
    """Inside nothing changes; outside the direction stays and the distance is the radius.

    Less the first margin of ``pull_in`` that suffices, 1e-12, or rarely the second, 1e-9.
    """
    m = WITH_LOG[name]
    center = m.random_point(rng(seed))
    # Within the reach of exp: Bures-Wasserstein geodesics end, those of spheres come back.
    length = min(length, 0.9 * least_reach(m, center))
    ball = Ball(m, center, radius)
    far = m.exp(center, tangent(m, center, seed + 1, length))
    near = ball.pull_in(far)
    assert m.contains(near)
    if length <= radius * (1 - 1e-6):
        np.testing.assert_array_equal(near, far)
    elif length > radius * (1 + 1e-6):
        assert float(m.dist(center, near)) == pytest.approx(radius, rel=2e-9)
        here, there = (m.log(center, p) for p in (near, far))
        np.testing.assert_allclose(here * length, there * radius, atol=2e-9 * length * radius)
    assert m.dist(center, near) <= radius * (1 + 1e-9)


def least_reach(m, center):
    if m == WITH_LOG["spd-bures"]:
        return math.sqrt(np.linalg.eigvalsh(center)[0])
    return math.pi / 2


@pytest.mark.parametrize("name", ["euclidean", "sphere", "spd-affine", "spd-log", "poincare"])
def test_pulling_in_twice_is_pulling_in_once(name):
    m = WITH_LOG[name]
    ball = Ball(m, m.reference_point, 0.4)
    points = m.random_point(rng(1), 50)
    once = ball.pull_in(points)
    assert (once != points).any()
    assert ball.contains(once).all()
    np.testing.assert_array_equal(ball.pull_in(once), once)
    one = ball.pull_in(points[0])
    np.testing.assert_allclose(one, once[0], rtol=0, atol=1e-13)


@pytest.mark.parametrize("far", [1 - 1e-9, 1 - 1e-12, 1 - 1e-15])
def test_points_at_the_edge_of_the_poincare_ball(far):
    """There 1 - |x|^2 is all rounding, and distances of it differ from one formula to the next."""
    m = PoincareBall(3)
    ball = Ball(m, np.zeros(3), 1.0)
    directions = Sphere(3).random_point(rng(0), 200)
    for points in (far * directions, far * directions[0]):
        near = ball.pull_in(points)
        np.testing.assert_allclose(m.dist(np.zeros(3), near), 1.0, rtol=1e-9)
        cosines = np.sum(near * points, axis=-1) / np.linalg.norm(near, axis=-1)
        np.testing.assert_allclose(cosines, far, rtol=1e-9)


def test_pulling_in_leaves_the_argument_alone():
    ball = Ball(Euclidean(2), np.zeros(2), 1.0)
    points = np.array([[3.0, 4.0], [0.1, 0.0]])
    points.flags.writeable = False
    np.testing.assert_allclose(ball.pull_in(points), [[0.6, 0.8], [0.1, 0.0]], rtol=0, atol=1e-11)
    np.testing.assert_array_equal(points, [[3.0, 4.0], [0.1, 0.0]])


def test_an_infinite_ball_holds_everything():
    ball = Ball(Euclidean(2), np.zeros(2), math.inf)
    np.testing.assert_array_equal(ball.pull_in([[1e100, 0.0]]), [[1e100, 0.0]])


@pytest.mark.parametrize("metric", METRICS)
@given(seed=st.integers(0, 2**32 - 1), low=st.floats(1e-4, 1.0), ratio=st.floats(1.01, 1e5))
def test_a_ball_of_eigenvalues_holds_them_all_and_is_tight(metric, seed, low, ratio):
    m, high = SPD(3, metric=metric), low * ratio
    ball = Ball.from_eigenvalues(m, low, high)
    turn = np.linalg.qr(rng(seed).standard_normal((3, 3)))[0]
    inside = (turn * rng(seed).uniform(low, high, 3)) @ turn.T
    assert m.dist(ball.center, (inside + inside.T) / 2) <= ball.radius * (1 + 1e-9)
    for extreme in (low, high):
        assert float(m.dist(ball.center, extreme * np.eye(3))) == pytest.approx(ball.radius)


@given(st.floats(0.01, 0.99))
def test_a_ball_of_norms(largest):
    """The same ball of hyperbolic space in both models, and the plain one."""
    poincare = Ball.from_norm(PoincareBall(2), largest)
    edge = np.array([0.0, largest])
    assert float(PoincareBall(2).dist(poincare.center, edge)) == pytest.approx(poincare.radius)
    lifted = 2 * largest / (1 - largest**2)
    assert Ball.from_norm(Lorentz(3), lifted).radius == pytest.approx(poincare.radius)
    assert Ball.from_norm(Euclidean(2), largest).radius == largest


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ball(SPD(2), np.eye(3), 1.0), "shape|point"),
        (lambda: Ball(SPD(2), -np.eye(2), 1.0), "centre"),
        (lambda: Ball(SPD(2), np.full((2, 2), np.nan), 1.0), "centre"),
        (lambda: Ball(Sphere(2), np.ones(2), 1.0), "centre"),
        (lambda: Ball(SPD(2), np.eye(2), 0.0), "radius"),
        (lambda: Ball(SPD(2), np.eye(2), math.nan), "radius"),
        (lambda: Ball.from_eigenvalues(SPD(2), 0.0, 1.0), "low"),
        (lambda: Ball.from_eigenvalues(SPD(2), 2.0, 1.0), "low"),
        (lambda: Ball.from_eigenvalues(SPD(2), 1.0, math.inf), "low"),
        (lambda: Ball.from_eigenvalues(Sphere(2), 1.0, 2.0), "definite"),
        (lambda: Ball.from_norm(PoincareBall(2), 1.0), "below 1"),
        (lambda: Ball.from_norm(Euclidean(2), -1.0), "positive"),
        (lambda: Ball.from_norm(Grassmann(3, 1), 1.0), "centre"),
    ],
)
def test_what_is_not_a_ball_is_refused(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_a_ball_is_a_value():
    ball = Ball.from_eigenvalues(SPD(2), 0.1, 10.0)
    for again in (pickle.loads(pickle.dumps(ball)), copy.deepcopy(ball)):
        np.testing.assert_array_equal(again.center, ball.center)
        assert (again.manifold, again.radius) == (ball.manifold, ball.radius)
        assert repr(again) == repr(ball)
    with pytest.raises(ValueError, match="read-only"):
        ball.center[0, 0] = 5.0
