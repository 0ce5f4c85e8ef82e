"""Points to begin at, points put back on the manifold, and logarithms in coordinates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geometry.cases import SMALL, WITH_LOG, rng, tangent
from veilspan.geometry import SPD, Lorentz, Sphere

everywhere = pytest.mark.parametrize("name", SMALL)


@everywhere
def test_the_reference_point_is_one_fixed_point(name):
    m = SMALL[name]
    point = m.reference_point
    assert point.shape == m.point_shape
    assert m.contains(point)
    point *= 2  # a copy: changing it changes nothing
    np.testing.assert_array_equal(2 * m.reference_point, point)


@everywhere
@pytest.mark.parametrize("size", [None, 5])
def test_points_of_the_manifold_stay_where_they_are(name, size):
    m = SMALL[name]
    points = m.random_point(rng(3), size)
    before = points.copy()
    np.testing.assert_allclose(m.nearest_point(points), points, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(points, before)


@given(st.sampled_from(sorted(SMALL)), st.integers(0, 2**32 - 1), st.floats(-12, -4))
def test_rounding_is_taken_off(name, seed, digits):
    m = SMALL[name]
    points = m.random_point(rng(seed), 4)
    error = 10**digits * rng(seed + 1).standard_normal(points.shape)
    if "poincare" in name or "product-parallel" in name:
        error *= 1e-3  # room to the edge of the ball
    again = m.nearest_point(points + error)
    assert m.contains(again, atol=1e-12).all()
    assert (m.separation(points, again) <= 20 * 10**digits * (1 + m._size(points))).all()


def test_nearest_points_of_known_arrays():
    np.testing.assert_allclose(Sphere(2).nearest_point([3.0, 4.0]), [0.6, 0.8])
    np.testing.assert_allclose(Lorentz(2).nearest_point([9.0, 0.75]), [1.25, 0.75])
    np.testing.assert_allclose(
        SPD(2).nearest_point([[1.0, 0.2], [0.0, 1.0]]), [[1.0, 0.1], [0.1, 1.0]]
    )


@pytest.mark.parametrize("name", WITH_LOG)
def test_coordinates_of_the_logarithm(name):
    m = WITH_LOG[name]
    x = m.random_point(rng(3))
    y = m.exp(x, tangent(m, np.broadcast_to(x, (6, *x.shape)), 1, 0.4))
    direct = m.log_coordinates(x, y)
    assert direct.shape == (6, *m.coordinate_shape)
    np.testing.assert_allclose(direct, m.to_coordinates(x, m.log(x, y)), rtol=0, atol=1e-10)
    np.testing.assert_allclose(m.from_coordinates(x, direct), m.log(x, y), rtol=0, atol=1e-10)
    lengths = np.linalg.norm(direct.reshape(6, -1), axis=1)
    np.testing.assert_allclose(lengths, m.dist(x, y), rtol=1e-9)
    np.testing.assert_allclose(m.log_coordinates(x, y[0]), direct[0], rtol=0, atol=1e-12)
