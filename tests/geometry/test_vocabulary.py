"""Shapes, types, refusals: what holds for all manifolds apart from the mathematics."""

import pickle

import numpy as np
import pytest

from geometry.cases import SMALL, WITH_LOG, rng, tangent
from veilspan.geometry import (
    SPD,
    Euclidean,
    Grassmann,
    Lorentz,
    Manifold,
    PoincareBall,
    Product,
    Sphere,
    Stiefel,
    UnavailableOperationError,
)

everywhere = pytest.mark.parametrize("m", SMALL.values(), ids=SMALL.keys())
with_log = pytest.mark.parametrize("m", WITH_LOG.values(), ids=WITH_LOG.keys())


@everywhere
def test_leading_axes_broadcast(m):
    x = m.random_point(rng(), (3, 1))
    y = m.random_point(rng(1), (1, 2))
    u = tangent(m, m.random_point(rng(2)), 3)
    full = (3, 2, *m.point_shape)
    base = np.broadcast_to(x, full)
    v = m.project(base, np.broadcast_to(u, full))
    assert m.project(x, np.broadcast_to(u, (2, *u.shape))).shape == full
    assert m.exp(x, v).shape == full
    assert m.transport(x, y, m.project(x, u)).shape == full
    assert m.inner(x, v, v).shape == (3, 2)
    assert m.norm(x[0, 0], v[0, 0]).shape == ()
    assert m.norm(x, v[:1]).shape == (3, 2)
    assert m.inner(x, v[:1], v[:1]).shape == (3, 2)
    assert m.to_coordinates(x, v[:1]).shape == (3, 2, *m.coordinate_shape)
    c = rng(4).standard_normal((1, 2, *m.coordinate_shape))
    assert m.from_coordinates(x, c).shape == full
    assert m.egrad2rgrad(x, v[:1]).shape == full
    assert m.project(x, v[:1]).shape == full
    assert m.separation(x, y).shape == (3, 2)
    np.testing.assert_allclose(m.retract(base, v), m.retract(x, v), rtol=0, atol=1e-14)


@with_log
def test_pairwise_and_geodesic(m):
    xs = m.random_point(rng(), 3)
    ys = m.retract(xs, tangent(m, xs, 1))
    table = m.pairwise(xs, ys)
    assert table.shape == (3, 3)
    np.testing.assert_allclose(np.diagonal(table), m.dist(xs, ys), rtol=0, atol=1e-12)
    path = m.geodesic(xs, ys, [0.0, 0.25, 1.0])
    assert path.shape == (3, 3, *m.point_shape)
    np.testing.assert_allclose(m.separation(path[0], xs), 0, atol=1e-12)
    np.testing.assert_allclose(m.separation(path[2], ys), 0, atol=1e-12)
    np.testing.assert_allclose(m.dist(xs, path[1]), 0.25 * m.dist(xs, ys), rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="two stacks"):
        m.pairwise(xs[0], ys)


@everywhere
def test_arguments_are_left_alone(m):
    x = m.random_point(rng(), 2)
    u = tangent(m, x, 1)
    y = m.retract(x, u)
    c = m.to_coordinates(x, u)
    kept = [a.copy() for a in (x, u, y, c)]
    for a in (x, u, y, c):
        a.flags.writeable = False
    results = [
        m.inner(x, u, u), m.norm(x, u), m.exp(x, u), m.retract(x, u), m.project(x, u),
        m.transport(x, y, u), m.egrad2rgrad(x, u), m.from_coordinates(x, c),
        m.to_coordinates(x, u), m.separation(x, y), m.zero_tangent(x),
    ]  # fmt: skip
    for a, b in zip((x, u, y, c), kept):
        np.testing.assert_array_equal(a, b)
    for result in results:
        assert result.dtype == np.float64
        assert not any(np.shares_memory(result, a) for a in (x, u, y, c))


@everywhere
def test_lists_and_integers_are_points_too(m):
    x = m.random_point(rng())
    u = tangent(m, x, 1)
    np.testing.assert_array_equal(m.exp(x.tolist(), u.tolist()), m.exp(x, u))
    assert Sphere(2).exp([1, 0], [0, 0]).dtype == np.float64


@everywhere
def test_wrong_shape_is_named(m):
    bad = np.zeros((*m.point_shape[:-1], m.point_shape[-1] + 1))
    with pytest.raises(ValueError, match=r"needs an array of shape .*got"):
        m.norm(bad, bad)
    with pytest.raises(ValueError, match=r"needs coordinates of shape .*got"):
        m.from_coordinates(m.random_point(rng()), np.zeros((*m.coordinate_shape[:-1], 99)))


@everywhere
def test_membership(m):
    x = m.random_point(rng(), 5)
    assert m.contains(x).all()
    assert m.contains(x).shape == (5,)
    u = m.random_tangent(x, 1.0, rng(1))
    assert m.is_tangent(x, u).all()
    assert m.is_tangent(x, m.zero_tangent(x)).all()
    if not isinstance(m, Euclidean):
        far = x.copy()
        far[1] += 3.0 * np.arange(far[1].size).reshape(far[1].shape)
        assert m.contains(far).tolist() == [True, False, True, True, True]
    if m.dim < np.prod(m.point_shape):
        v = u + rng(2).standard_normal(u.shape)
        assert not m.is_tangent(x, v).any()


def test_membership_of_the_undefined():
    nan = np.full((2, 2), np.nan)
    assert not Stiefel(2, 2).contains(nan)
    assert not Sphere(2).contains(nan[0])
    assert not Euclidean(2).contains(nan[0])
    assert not PoincareBall(2).contains(nan[0])
    assert not Lorentz(3).contains([-1.0, 0.0, 0.0])
    assert SPD(2).contains([nan, np.eye(2)]).tolist() == [False, True]
    assert not SPD(2).contains([[1.0, 2.0], [2.0, 1.0]])


@everywhere
def test_names(m):
    assert eval(repr(m), _namespace()) == m
    assert len({m, pickle.loads(pickle.dumps(m))}) == 1
    assert m.transport_kind in ("parallel", "isometric", "non-expansive")
    assert m.retraction_order in (1, 2)


def _namespace():
    import veilspan.geometry as g

    return {name: getattr(g, name) for name in g.__all__}


@pytest.mark.parametrize("metric", ["euclidean", "canonical"])
def test_stiefel_refuses_what_has_no_closed_form(metric):
    m = Stiefel(5, 2, metric=metric)
    x, y = m.random_point(rng(), 2)
    for operation in ("log", "dist"):
        with pytest.raises(UnavailableOperationError) as caught:
            getattr(m, operation)(x, y)
        text = str(caught.value)
        assert "Stiefel(5, 2" in text
        assert f"'{operation}'" in text
        assert "separation" in text
        assert "Grassmann(5, 2)" in text
        assert isinstance(caught.value, NotImplementedError)
        assert pickle.loads(pickle.dumps(caught.value)).operation == operation


def test_product_refuses_what_a_factor_refuses():
    m = Product(Sphere(3), Stiefel(3, 2))
    with pytest.raises(UnavailableOperationError, match=r"Stiefel\(3, 2"):
        m.log(m.random_point(rng()), m.random_point(rng(1)))


def test_product_parts():
    m = Product(Sphere(3), SPD(2), Euclidean(2))
    x = m.random_point(rng(), 4)
    a, b, c = m.split(x)
    assert (a.shape, b.shape, c.shape) == ((4, 3), (4, 2, 2), (4, 2))
    np.testing.assert_array_equal(m.join(a, b, c), x)
    assert m.join(a[0], b, c).shape == x.shape
    assert m.transport_kind == "parallel"
    assert Product(Sphere(3), Stiefel(3, 2)).transport_kind == "non-expansive"
    assert Product(Sphere(3), SPD(2, "bures-wasserstein")).transport_kind == "isometric"
    with pytest.raises(ValueError, match="needs 3 parts, got 2"):
        m.join(a, b)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Sphere(1), "Sphere: n must be an integer of at least 2, got 1"),
        (lambda: Sphere(2.5), "got 2.5"),
        (lambda: Lorentz(True), "Lorentz: n must be an integer of at least 2"),
        (lambda: PoincareBall(0), "PoincareBall: n must be"),
        (lambda: SPD(0), "SPDAffineInvariant: n must be"),
        (lambda: SPD(3, metric="cosine"), "SPD: metric must be one of 'affine-invariant'"),
        (lambda: Stiefel(2, 3), "Stiefel: p must not exceed n, got n=2, p=3"),
        (lambda: Stiefel(3, 2, metric="flat"), "Stiefel: metric must be"),
        (lambda: Grassmann(2, 3), "Grassmann: p must not exceed n"),
        (lambda: Euclidean(), "at least one size"),
        (lambda: Euclidean(3, 0), "every size must be"),
        (lambda: Product(), "at least one manifold"),
        (lambda: Product(Sphere(3), "sphere"), "every factor must be a Manifold"),
    ],
)
def test_constructors_say_what_is_wrong(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_sizes_from_numpy_are_welcome():
    assert Sphere(np.int64(3)) == Sphere(3)
    assert Sphere(3) != Sphere(4)
    assert Stiefel(3, 2) != Stiefel(3, 2, metric="canonical")


@pytest.mark.parametrize("metric", ["affine-invariant", "bures-wasserstein", "log-euclidean"])
def test_indefinite_points_are_refused_without_printing_them(metric):
    m = SPD(2, metric=metric)
    with pytest.raises(ValueError, match=r"SPD.*\(2\): a point is not positive definite") as caught:
        m.to_coordinates([[1.0, 7.25], [7.25, 1.0]], np.eye(2))
    assert "7.25" not in str(caught.value)


def test_the_base_class_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Manifold((3,), 3)
