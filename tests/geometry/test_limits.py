"""Where formulas of the textbook lose their digits: cut loci, boundaries, bad conditioning.

What a point of float64 cannot say is named in each test as EPS times a condition number; tolerances
are a few of those. Where there is no such number 1e-14 and 1e-13 are rounding, 45 and 450 EPS.
"""

import numpy as np
import pytest
from scipy.linalg import expm

from geometry.cases import SMALL, WITH_LOG, rng, tangent
from veilspan.geometry import SPD, Grassmann, Lorentz, PoincareBall, Sphere, Stiefel

with_log = pytest.mark.parametrize("m", WITH_LOG.values(), ids=WITH_LOG.keys())
EPS = np.finfo(float).eps
METRICS = ["affine-invariant", "bures-wasserstein", "log-euclidean"]


@with_log
def test_coincident_points(m):
    x = m.random_point(rng(), 3)
    np.testing.assert_allclose(m.log(x, x), 0, atol=1e-14)
    np.testing.assert_allclose(m.dist(x, x), 0, atol=1e-14)
    np.testing.assert_allclose(m.separation(m.exp(x, m.zero_tangent(x)), x), 0, atol=1e-14)
    u = tangent(m, x, 1)
    np.testing.assert_allclose(m.transport(x, x, u), u, rtol=0, atol=1e-13)


@with_log
@pytest.mark.parametrize("length", [1e-3, 1e-7, 1e-11])
def test_close_points_keep_their_direction(m, length):
    x = m.random_point(rng(3))
    u = tangent(m, x, 4, length)
    y = m.exp(x, u)
    # y itself is rounded to about 1e-16 of its size; no formula can do better than that.
    assert m.norm(x, m.log(x, y) - u) < 2e-14
    assert m.dist(x, y) == pytest.approx(length, abs=2e-14)


@pytest.mark.parametrize("name", SMALL)
def test_vanishing_vectors(name):
    m = SMALL[name]
    x = m.random_point(rng(1))
    u = tangent(m, x, 2, 1e-200)
    for moved in (m.exp(x, u), m.retract(x, u)):
        np.testing.assert_allclose(m.separation(moved, x), 0, atol=1e-14)


@pytest.mark.parametrize("gap", [0.0, 1e-15, 1e-12, 1e-8, 1e-4])
def test_sphere_near_the_antipode(gap):
    m = Sphere(5)
    x = m.random_point(rng())
    e = tangent(m, x, 1, 1.0)
    y = m.exp(x, (np.pi - gap) * e)
    if gap == 0:
        y = -x
    v = m.log(x, y)
    assert m.dist(x, y) == pytest.approx(np.pi - gap, abs=1e-15 * 5)
    assert m.norm(x, v) == pytest.approx(np.pi - gap, abs=1e-15 * 5)
    assert abs(x @ v) < 1e-14
    np.testing.assert_allclose(m.exp(x, v), y, rtol=0, atol=1e-14)
    u = m.random_tangent(x, 1.0, rng(2), size=4)
    moved = m.transport(x, y, u)
    np.testing.assert_allclose(moved @ y, 0, atol=1e-13)
    np.testing.assert_allclose(moved @ moved.T, u @ u.T, rtol=0, atol=1e-13)
    # A point this close to the antipode holds its direction only to EPS / gap; 0.2 of it is seen.
    np.testing.assert_allclose(
        m.transport(x, y, v), -m.log(y, x), atol=1e-14 if gap == 0 else 1e-14 + 2 * EPS / gap
    )


def test_sphere_batch_mixes_near_far_and_opposite():
    m = Sphere(4)
    x = np.array([0.0, 0.6, 0.0, 0.8])
    ys = np.array([x, -x, [1.0, 0.0, 0.0, 0.0], [0.0, 0.8, 0.0, -0.6]])
    np.testing.assert_allclose(m.exp(x, m.log(x, ys)), ys, rtol=0, atol=1e-15)
    np.testing.assert_allclose(m.dist(x, ys), [0, np.pi, np.pi / 2, np.pi / 2], rtol=0, atol=1e-15)


def test_grassmann_orthogonal_subspaces():
    m = Grassmann(5, 2)
    eye = np.eye(5)
    x, y = eye[:, :2], eye[:, [0, 2]]
    assert m.dist(x, y) == pytest.approx(np.pi / 2, abs=1e-15)
    np.testing.assert_allclose(m.separation(m.exp(x, m.log(x, y)), y), 0, atol=1e-15)
    u = m.random_tangent(x, 1.0, rng(), size=3)
    moved = m.transport(x, y, u)
    np.testing.assert_allclose(y.T @ moved, 0, atol=1e-14)
    np.testing.assert_allclose(m.inner(y, moved, moved), m.inner(x, u, u), rtol=1e-14)
    far = eye[:, 3:]
    assert m.dist(x, far) == pytest.approx(np.pi / np.sqrt(2), abs=1e-15)


@pytest.mark.parametrize("length", [0.1, 5.0, 60.0])
@pytest.mark.parametrize("metric", ["euclidean", "canonical"])
def test_stiefel_geodesics_against_the_full_matrix_exponential(metric, length):
    """exp(W) X exp(-A) of the n x n skew W: slow, and independent of the small blocks."""
    m = Stiefel(8, 3, metric=metric)
    x = m.random_point(rng())
    u = tangent(m, x, 1, length)
    a, half = x.T @ u, u - x @ (x.T @ u) / 2
    w = half @ x.T - x @ half.T
    expected = expm(w) @ x if metric == "canonical" else expm(w + x @ a @ x.T) @ x @ expm(-a)
    np.testing.assert_allclose(m.exp(x, u), expected, atol=1e-13 * max(1, length))


def test_grassmann_does_not_see_the_basis():
    m = Grassmann(6, 3)
    x, y = m.random_point(rng(), 2)
    q, r = Stiefel(3, 3).random_point(rng(1), 2)
    assert m.dist(x @ q, y @ r) == pytest.approx(m.dist(x, y), abs=1e-14)
    np.testing.assert_allclose(m.log(x @ q, y @ r), m.log(x, y) @ q, rtol=0, atol=1e-14)
    u = m.random_tangent(x, 1.0, rng(2))
    np.testing.assert_allclose(
        m.transport(x @ q, y @ r, u @ q), m.transport(x, y, u) @ r, rtol=0, atol=1e-13
    )
    assert m.separation(x, x @ q) < 1e-15


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9])
def test_ball_near_the_boundary(gap):
    m = PoincareBall(3)
    directions = Sphere(3).random_point(rng(), 2)
    x, y = (1 - gap) * directions
    # Next to the boundary 1 - |x|^2 is known to EPS / gap only; 0.1 of it is seen.
    tol = 4 * EPS / gap
    v = m.log(x, y)
    assert m.norm(x, v) == pytest.approx(m.dist(x, y), rel=tol)
    np.testing.assert_allclose(m.exp(x, v), y, atol=tol)
    assert m.contains(m.exp(x, v))
    u = m.random_tangent(x, 1.0, rng(1), size=3)
    moved = m.transport(x, y, u)
    np.testing.assert_allclose(m.norm(y, moved), m.norm(x, u), rtol=tol)
    np.testing.assert_allclose(m.norm(y, m.transport(x, y, v) + m.log(y, x)), 0, atol=tol)
    through_the_centre = m.exp(x, m.log(x, -x))
    np.testing.assert_allclose(through_the_centre, -x, atol=tol)


def test_ball_neighbours_at_the_boundary_keep_their_direction():
    m = PoincareBall(2)
    x = np.array([1 - 1e-6, 0.0])
    u = np.array([0.3, 0.4]) * 1e-6
    np.testing.assert_allclose(m.log(x, m.exp(x, u)), u, rtol=1e-8)
    y = m.exp(x, u)
    moved = m.transport(x, y, u)
    assert m.norm(y, moved) == pytest.approx(m.norm(x, u), rel=1e-8)


def test_ball_is_never_left():
    m = PoincareBall(3)
    x = np.array([0.5, 0.1, 0.0])
    far = m.exp(x, np.array([[1e3, 0, 0], [0, 1e6, 0], [-40.0, 0, 0]]))
    assert m.contains(far).all()
    assert np.isfinite(m.dist(x, far)).all()
    assert np.isfinite(m.log(far, x)).all()
    assert np.isfinite(m.random_tangent(far, 1.0, rng())).all()


@pytest.mark.parametrize("radius", [3.0, 8.0, 14.0])
def test_hyperboloid_far_out(radius):
    m = Lorentz(4)
    apex = np.array([1.0, 0, 0, 0])
    x = m.exp(apex, tangent(m, apex, 0, radius))
    assert m.contains(x)
    assert m.dist(apex, x) == pytest.approx(radius, rel=1e-12)
    tol = 4 * EPS * np.exp(radius)  # entries are as large as exp(radius); 0.4 EPS of it is seen
    u = m.random_tangent(x, 1.0, rng(1), size=3)
    c = m.to_coordinates(x, u)
    np.testing.assert_allclose(m.norm(x, u), np.linalg.norm(c, axis=-1), rtol=1e-14)
    y = m.exp(x, u[0])
    assert m.dist(x, y) == pytest.approx(m.norm(x, u[0]), abs=tol)
    assert m.norm(x, m.log(x, y) - u[0]) < tol
    np.testing.assert_allclose(m.norm(y, m.transport(x, y, u)), m.norm(x, u), rtol=tol)


def test_both_models_are_the_same_hyperbolic_space():
    """Stereographic projection is an isometry, so distances must agree to rounding."""
    ball, sheet = PoincareBall(3), Lorentz(4)
    p = ball.random_point(rng(), 6)
    s = np.sum(p**2, axis=-1, keepdims=True)
    x = np.concatenate([1 + s, 2 * p], axis=-1) / (1 - s)
    np.testing.assert_allclose(ball.pairwise(p, p), sheet.pairwise(x, x), rtol=0, atol=1e-13)


# ------------------------------------------------------------------ ill-conditioned matrices


def ill_conditioned(n, condition, seed):
    q = Stiefel(n, n).random_point(rng(seed))
    x = (q * np.geomspace(1, 1 / condition, n)) @ q.T
    return (x + x.T) / 2


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("condition", [1e6, 1e9, 1e12])
@pytest.mark.parametrize("n", [3, 11, 30])
def test_ill_conditioned_matrices(metric, condition, n):
    """Everything stays finite, and residuals relative to the matrices stay at rounding.

    float64 holds the least eigenvalue of such a matrix to EPS * condition only: metric residuals
    may grow to that (0.003 of it is seen), normwise ones must not.
    """
    m = SPD(n, metric=metric)
    x, y = ill_conditioned(n, condition, 1), ill_conditioned(n, condition, 2)
    fuzz = EPS * condition
    v = m.log(x, y)
    back = m.exp(x, v)
    bound = 1e-13 * n * np.sqrt(condition) + 1e-15 * condition
    assert np.linalg.norm(back - y) < bound * np.linalg.norm(y)
    assert m.norm(x, v) == pytest.approx(m.dist(x, y), rel=fuzz)
    c = rng(3).standard_normal((4, n, n))
    u = m.from_coordinates(x, c)
    again = m.from_coordinates(x, m.to_coordinates(x, u))
    np.testing.assert_allclose(again, u, atol=fuzz * np.abs(u).max())
    moved = m.transport(x, y, u)
    assert np.isfinite(moved).all()
    np.testing.assert_allclose(m.norm(y, moved), m.norm(x, u), rtol=fuzz)
    assert np.isfinite(m.random_tangent(x, 1.0, rng(4), size=2)).all()


@pytest.mark.parametrize("metric", METRICS)
def test_scale_does_not_matter(metric):
    m = SPD(4, metric=metric)
    x, y = m.random_point(rng(), 2)
    for scale in (1e-150, 1e150) if metric != "bures-wasserstein" else (1e-100, 1e100):
        v = m.log(scale * x, scale * y)
        np.testing.assert_allclose(m.exp(scale * x, v), scale * y, rtol=1e-11)
        assert np.isfinite(m.dist(scale * x, scale * y))


@pytest.mark.parametrize("metric", METRICS)
def test_equal_eigenvalues(metric):
    m = SPD(4, metric=metric)
    x = 2.0 * np.eye(4)
    u = tangent(m, x, 0)
    np.testing.assert_allclose(m.log(x, m.exp(x, u)), u, rtol=0, atol=1e-14)
    np.testing.assert_allclose(m.norm(3 * x, m.transport(x, 3 * x, u)), m.norm(x, u), rtol=1e-13)
    almost = x + 1e-13 * np.diag([0.0, 1.0, 2.0, 3.0])
    np.testing.assert_allclose(m.inner(almost, u, u), m.inner(x, u, u), rtol=1e-11)


def test_bures_transport_is_parallel_between_commuting_points():
    m = SPD(3, metric="bures-wasserstein")
    q = Stiefel(3, 3).random_point(rng())
    x, y = ((q * lam) @ q.T for lam in ([1.0, 2.0, 3.0], [1.5, 1.8, 3.5]))
    np.testing.assert_allclose(m.transport(x, y, m.log(x, y)), -m.log(y, x), rtol=0, atol=1e-14)


# ------------------------------------------------------------------ many steps


@pytest.mark.parametrize("name", ["sphere", "stiefel", "stiefel-canonical", "grassmann", "lorentz"])
@pytest.mark.parametrize("move", ["exp", "retract"])
def test_rounding_does_not_add_up(name, move):
    m = SMALL[name]
    generator = rng(7)
    x = m.random_point(generator)
    for _ in range(2000):
        x = getattr(m, move)(x, m.random_tangent(x, 0.05, generator))
    assert m.contains(x, atol=1e-14)
