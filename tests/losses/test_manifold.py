"""Gradients of losses on manifolds against differences of their values."""

import numpy as np
import pytest

from geometry.cases import SMALL, WITH_LOG, rng, tangent
from veilspan import FrechetLoss, LeadingSubspace, Loss
from veilspan.geometry import SPD, Euclidean, Grassmann, Sphere, Stiefel
from veilspan.geometry.errors import UnavailableOperationError

SUBSPACES = {"sphere": Sphere(5), "line": Grassmann(5, 1), "plane": Grassmann(5, 2)}


def slope(loss, rows, point, direction, h=1e-5):
    """Central difference of the values along a geodesic."""
    m = loss.manifold
    ahead, behind = (loss.values(rows, m.exp(point, t * direction)) for t in (h, -h))
    return (ahead - behind) / (2 * h)


def check_gradients(loss, rows, point):
    m = loss.manifold
    gradients = loss.gradients(rows, point)
    assert m.is_tangent(point, gradients, atol=1e-8).all()
    for seed in range(3):
        u = tangent(m, point, seed, length=1.0)
        expected = slope(loss, rows, point, u)
        np.testing.assert_allclose(m.inner(point, gradients, u), expected, atol=1e-7, rtol=1e-7)


def near(m, point, count, seed=1, length=0.4):
    """Points around a point, none of them beyond its cut locus."""
    base = np.broadcast_to(point, (count, *point.shape))
    return m.exp(base, tangent(m, base, seed, length))


@pytest.mark.parametrize("name", WITH_LOG)
def test_frechet_gradients_are_slopes_of_half_the_squared_distance(name):
    m = WITH_LOG[name]
    point = m.random_point(rng(100))
    check_gradients(FrechetLoss(m), near(m, point, 5), point)


@pytest.mark.parametrize("name", WITH_LOG)
def test_coordinates_are_those_of_the_gradients(name):
    m = WITH_LOG[name]
    loss, point = FrechetLoss(m), m.random_point(rng(100))
    rows = near(m, point, 5)
    direct = loss.coordinates(rows, point)
    around = m.to_coordinates(point, loss.gradients(rows, point)).reshape(5, -1)
    np.testing.assert_allclose(direct, around, atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(direct, axis=1), m.dist(point, rows), rtol=1e-9)


@pytest.mark.parametrize("name", sorted(set(SMALL) - set(WITH_LOG)))
def test_a_manifold_without_logarithm_is_refused_at_once(name):
    with pytest.raises(UnavailableOperationError, match="log"):
        FrechetLoss(SMALL[name])


@pytest.mark.parametrize("name", SUBSPACES)
def test_leading_subspace_gradients_are_slopes_of_the_energy(name):
    m = SUBSPACES[name]
    check_gradients(LeadingSubspace(m), rng(3).standard_normal((6, 5)), m.random_point(rng(100)))


@pytest.mark.parametrize("name", SUBSPACES)
def test_leading_subspace_bounds(name):
    """|gradient| <= |z|^2 / 2, met half way between inside and outside; curvatures in [0, 1]."""
    m = SUBSPACES[name]
    loss, point = LeadingSubspace(m, row_norm=2.0), m.random_point(rng(100))
    basis = point.reshape(5, -1)
    outside = m.project(point, rng(1).standard_normal(point.shape)).reshape(5, -1)[:, 0]
    worst = basis[:, 0] + outside / np.linalg.norm(outside)
    rows = rng(4).standard_normal((50, 5))
    rows = np.vstack([rows / np.linalg.norm(rows, axis=1, keepdims=True), worst / np.sqrt(2)]) * 2
    lengths = np.linalg.norm(loss.coordinates(rows, point), axis=1)
    assert lengths.max() == pytest.approx(loss.largest_gradient)
    assert lengths[-1] == pytest.approx(loss.largest_gradient)
    for scale in (1.0, 1e3):
        curvatures = loss.curvatures(scale * rows, point)
        assert (curvatures >= 0).all()
        assert (curvatures <= 1).all()


@pytest.mark.parametrize("name", SUBSPACES)
def test_leading_subspace_is_where_the_gradient_vanishes(name):
    m = SUBSPACES[name]
    rows = rng(5).standard_normal((40, 5)) * [5, 4, 1, 0.5, 0.1]
    point = LeadingSubspace(m)._leading(rows.T @ rows)
    assert m.contains(point)
    total = LeadingSubspace(m).gradients(rows, point).sum(axis=0)
    assert np.abs(total).max() < 1e-10 * np.sum(rows**2)


def test_leading_subspace_needs_a_sphere_or_grassmann():
    with pytest.raises(TypeError, match="Sphere or a Grassmann"):
        LeadingSubspace(SPD(3))
    with pytest.raises(ValueError, match="row_norm"):
        LeadingSubspace(Sphere(3), row_norm=0.0)


def test_own_gradients_are_made_tangent():
    m = Stiefel(4, 2)
    point, rows = m.random_point(rng(100)), rng(1).standard_normal((3, 4))
    loss = Loss(m, gradient=lambda z, w: z[:, :, None] * np.ones((1, 1, 2)))
    assert m.is_tangent(point, loss.gradients(rows, point)).all()


def test_own_euclidean_gradients_are_converted():
    """tr(Z W) has the Euclidean gradient Z and, on SPD, the Riemannian one W Z W."""
    m = SPD(3)
    point, rows = m.random_point(rng(100)), m.random_point(rng(1), 4)
    loss = Loss(m, euclidean_gradient=lambda z, w: z, value=lambda z, w: np.sum(z * w, axis=(1, 2)))
    np.testing.assert_allclose(loss.gradients(rows, point), point @ rows @ point, rtol=1e-12)
    check_gradients(loss, rows, point)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"gradient": np.add, "euclidean_gradient": np.add},
        {"gradient": np.add, "curvature": 0.0},
        {"gradient": np.add, "largest_gradient": -1.0},
    ],
    ids=lambda options: ",".join(options),
)
def test_contradictory_losses_are_refused(options):
    with pytest.raises((ValueError, TypeError)):
        Loss(Euclidean(2), **options)


def test_a_gradient_of_the_wrong_shape_is_refused_without_the_number_of_rows():
    loss = Loss(Euclidean(2), gradient=lambda z, w: z[:, :1])
    with pytest.raises(ValueError, match=r"shape \(2,\) per row") as caught:
        loss.gradients(np.ones((4321, 2)), np.zeros(2))
    assert "4321" not in str(caught.value)


def test_a_loss_without_values_says_so():
    loss = Loss(Euclidean(2), gradient=lambda z, w: w - z)
    with pytest.raises(NotImplementedError, match="gradients only"):
        loss.values(np.ones((4, 2)), np.zeros(2))
