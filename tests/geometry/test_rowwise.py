"""Maps of a stack treat each member by itself: the same bits in any company, and never a word."""

import warnings

import numpy as np
import pytest

from geometry.cases import WITH_LOG, rng, tangent
from veilspan.estimators.manifold.points import as_points, flat_on_manifold
from veilspan.geometry import SPD, Ball, Grassmann, Lorentz, PoincareBall, Sphere
from veilspan.geometry import _linalg as linalg
from veilspan.geometry._rowwise import apply_or_nan

CASES = {
    **WITH_LOG,
    "wide sphere": Sphere(9000),  # beyond the buffer of einsum
    "long frames": Grassmann(2100, 4),
    "ten by ten": SPD(10),
}


def members(m, n=70):
    """Points near and far of a base, one of them almost at its antipode where there is one."""
    x = m.random_point(rng(1))
    lengths = np.geomspace(1e-3, 3.0, n).reshape(-1, *[1] * x.ndim)
    base = np.broadcast_to(x, (n, *x.shape))
    with np.errstate(all="ignore"):
        y = m.exp(base, lengths * tangent(m, base, 2, 1.0))
    if isinstance(m, Sphere):
        y[5], y[33] = -x, m.nearest_point(-x + 1e-9 * y[7])
    return x, np.where(np.isfinite(y), y, base)


@pytest.mark.parametrize("name", CASES)
def test_a_member_gets_the_same_bits_in_any_company(name):
    m = CASES[name]
    x, stack = members(m)
    vectors = m.log(x, stack)
    ball = Ball(m, x, 0.3)
    maps = {
        "log": (lambda y: m.log(x, y), stack),
        "log_coordinates": (lambda y: m.log_coordinates(x, y), stack),
        "exp": (lambda u: m.exp(x, u), vectors),
        "transport": (lambda u: m.transport(x, stack[3], u), vectors),
        "to_coordinates": (lambda u: m.to_coordinates(x, u), vectors),
        "nearest_point": (m.nearest_point, stack),
        "dist": (lambda y: m.dist(x, y), stack),
        "norm": (lambda u: m.norm(x, u), vectors),
        "pull_in": (ball.pull_in, stack),
        "pull_in of a table": (
            lambda y: flat_on_manifold(np.asfortranarray(y.reshape(len(y), -1)), m, ball),
            m.nearest_point(stack),
        ),
    }
    wide = np.prod(m.point_shape) > 1000
    for what, (function, given) in maps.items():
        whole = function(given)
        for start, size in ((0, 1), (5, 1), (69, 1), (4, 2), (32, 3), (1, 64))[: 3 if wide else 6]:
            part = slice(start, start + size)
            np.testing.assert_array_equal(function(given[part].copy()), whole[part], err_msg=what)


def test_squarings_by_batch_would_be_caught():
    """The number of squarings of the longest matrix for all of them, as it was."""
    stack = linalg.sym(rng(0).standard_normal((40, 4, 4)))
    alone = np.stack([linalg.expm(a[None])[0] for a in stack])
    np.testing.assert_array_equal(linalg.expm(stack), alone)
    halvings = int(np.ceil(np.log2(np.abs(stack).sum(axis=-2).max() / 0.75)))
    together = linalg.expm(stack * 0.5**halvings)
    for _ in range(halvings):
        together = together @ together
    np.testing.assert_allclose(together, alone, rtol=1e-11, atol=1e-12)
    assert (together != alone).any()


@pytest.mark.parametrize("norm", [0.0, 5e-324, 0.75, np.nextafter(0.75, 1), 0.8, 1.5, 1.6, 300.0])
def test_matrices_are_halved_to_three_quarters(norm):
    halvings = int(linalg._halvings(np.array(norm)))
    assert np.ldexp(norm, -halvings) <= 0.75
    assert halvings == 0 or np.ldexp(norm, 1 - halvings) > 0.75


def test_a_member_that_fails_fails_alone():
    m = SPD(3)
    stack = np.stack([np.eye(3), -np.eye(3), 2 * np.eye(3), np.full((3, 3), np.nan), 3 * np.eye(3)])
    found = apply_or_nan(lambda y: m.log_coordinates(np.eye(3), y), stack, (3, 3))
    assert np.isfinite(found[[0, 2, 4]]).all()
    assert np.isnan(found[1]).all()
    for i in (0, 2, 4):
        np.testing.assert_array_equal(found[i], m.log_coordinates(np.eye(3), stack[i : i + 1])[0])


def lifted(tail):
    tail = np.asarray(tail, dtype=np.float64)
    return np.concatenate([[np.sqrt(1 + tail @ tail)], tail])


def spd_of(condition, seed, size=3):
    turn = np.linalg.qr(rng(seed).standard_normal((size, size)))[0]
    matrix = (turn * np.geomspace(1, condition, size) / np.sqrt(condition)) @ turn.T
    return (matrix + matrix.T) / 2


#: Scales and conditions of matrices.
SCALED = ((1, 1), (1e-60, 1e10), (1e60, 1e10), (1e130, 1e8), (1e-130, 1e3), (1e-300, 1))


def extreme_cases():
    """(ball, points of the manifold that are hard to pull in)."""
    lorentz = Lorentz(4)
    for center in ([0, 0, 0], [3, 1, 0], [100, 0, 0], [1e4, 0, 0], [0, 3e13, 1e13]):
        along = np.array(center if any(center) else [1.0, 0, 0]) / max(np.linalg.norm(center), 1)
        directions = (along, -along, np.array([0.3, 0.5, -0.4]))
        far = [lifted(s * v) for s in (1e8, 1e17, 1e60, 1e139) for v in directions]
        yield Ball(lorentz, lifted(center), 5.0), np.stack(far)
    for metric in ("affine-invariant", "log-euclidean", "bures-wasserstein"):
        for condition, radius in ((1.0, 1e-2), (1e8, 3.0), (1e13, 30.0)):
            points = [scale * spd_of(c, k) for k, (scale, c) in enumerate(SCALED)]
            yield Ball(SPD(3, metric), spd_of(condition, 9), radius), np.stack(points)
    edge = (1 - 1e-16) * np.eye(3)
    yield Ball(PoincareBall(3), np.array([0.999999, 0, 0]), 0.5), np.concatenate([edge, -edge])
    sphere = Sphere(3)
    yield Ball(sphere, np.eye(3)[0], 0.5), np.stack([-np.eye(3)[0], np.eye(3)[1]])
    yield Ball(Grassmann(3, 1), np.eye(3, 1), 0.5), np.eye(3)[:, :, None]


@pytest.mark.parametrize("number", range(len(list(extreme_cases()))))
def test_every_point_has_a_finite_image_in_the_ball(number):
    """Silently, also under a caller's settings, by a rule of that point alone, and only once."""
    ball, points = list(extreme_cases())[number]
    near = np.broadcast_to(ball.center, (3, *ball.center.shape))
    table = np.concatenate([near, points])
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        image = ball.pull_in(table)
        assert np.isfinite(image).all()
        assert ball.contains(image).all()
        assert ball.manifold.contains(image, atol=1e-6).all()
        np.testing.assert_array_equal(image[:3], near)
        np.testing.assert_array_equal(ball.pull_in(image), image)
        for i in range(len(table)):
            np.testing.assert_array_equal(ball.pull_in(table[i : i + 1])[0], image[i])
            np.testing.assert_array_equal(ball.pull_in(table[i]), image[i])


def test_a_far_point_keeps_its_direction():
    """Along the centre, where the formula of before was not a number."""
    ball = Ball(Lorentz(4), lifted([3, 1, 0]), 5.0)
    image = ball.pull_in(lifted([3e60, 1e60, 0]))
    assert float(ball.manifold.dist(ball.center, image)) == pytest.approx(5.0)
    np.testing.assert_allclose(image[2] / image[1], 1 / 3)


def test_points_a_few_roundings_off_stay_as_they_are():
    m = Sphere(5)
    on = m.random_point(rng(0), 50)
    off = on * (1 + 1e-9)
    np.testing.assert_array_equal(as_points(on, m), on)
    np.testing.assert_allclose(np.linalg.norm(as_points(off, m), axis=1), 1.0, rtol=1e-15)
