"""Second derivatives of squared distances against their closed forms."""

import numpy as np
import pytest

from geometry.cases import WITH_LOG, rng
from veilspan.geometry import SPD, Euclidean, Lorentz, PoincareBall, SPDLogEuclidean, Sphere
from veilspan.losses.frechet_curvature import curvature_across

DISTANCES = np.array([0.05, 0.5, 1.2])


@pytest.mark.parametrize("m", [PoincareBall(4), Lorentz(5)])
def test_hyperbolic_space_bends_by_d_coth_d(m):
    distances = np.array([0.05, 1.0, 4.0, 12.0])
    found = curvature_across(m, m.random_point(rng(0)), distances)
    np.testing.assert_allclose(found, distances / np.tanh(distances), rtol=1e-3)


def test_the_sphere_bends_by_d_cot_d_and_never_less_than_a_quarter():
    m = Sphere(5)
    found = curvature_across(m, m.random_point(rng(0)), np.array([0.05, 1.0, 3.0]))
    np.testing.assert_allclose(found, [0.05 / np.tan(0.05), 1 / np.tan(1.0), 0.25], rtol=1e-3)


@pytest.mark.parametrize("m", [Euclidean(3), SPDLogEuclidean(3)])
def test_flat_spaces_bend_by_one(m):
    np.testing.assert_allclose(curvature_across(m, m.random_point(rng(0)), DISTANCES), 1, rtol=1e-3)


def test_positive_definite_matrices_lie_between_flat_and_hyperbolic():
    """Sectional curvatures of the affine-invariant metric are between -1/2 and 0."""
    found = curvature_across(SPD(4), np.eye(4), np.array([0.1, 2.0, 6.0]))
    x = np.array([0.1, 2.0, 6.0]) / np.sqrt(2)
    assert np.all(found >= 1 - 1e-3)
    assert np.all(found <= x / np.tanh(x) + 1e-3)
    assert found[2] > 1.3


@pytest.mark.parametrize("name", WITH_LOG)
def test_every_manifold_gives_a_number(name):
    m = WITH_LOG[name]
    found = curvature_across(m, m.random_point(rng(1)), np.array([1e-3, 1.0, 50.0]))
    assert np.all(np.isfinite(found))
    assert np.all(found >= 0.25)
    assert abs(found[0] - 1) < 0.1  # near by, every space is flat
