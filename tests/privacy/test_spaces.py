import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veilspan.privacy.spaces import ProductSpace, SymmetricSpace, TangentSpace, VectorSpace


def symmetric(rng, d):
    a = rng.standard_normal((d, d))
    return a + a.T


class UnitSphere:
    """The sphere's tangent coordinates, as a manifold offers them."""

    coordinate_shape = (4,)

    def to_coordinates(self, x, u):
        return u

    def from_coordinates(self, x, c):
        return c - (c @ x)[..., None] * x if c.ndim > 1 else c - (c @ x) * x


def spaces(rng):
    x = rng.standard_normal(4)
    x /= np.linalg.norm(x)
    u = rng.standard_normal(4)
    u -= (u @ x) * x
    return [
        (VectorSpace((3, 2)), rng.standard_normal((3, 2))),
        (SymmetricSpace(4), symmetric(rng, 4)),
        (TangentSpace(UnitSphere(), x), u),
        (
            ProductSpace((SymmetricSpace(2), VectorSpace((3,))), (1.0, 2.0**0.5)),
            (symmetric(rng, 2), rng.standard_normal(3)),
        ),
    ]


@given(st.integers(0, 10**6))
def test_projecting_inverts_embedding(seed):
    for space, value in spaces(np.random.default_rng(seed)):
        coordinates = space.embed(value)
        assert coordinates.shape == (space.coordinates,)
        again = space.embed(space.project(coordinates.copy()))
        np.testing.assert_allclose(again, coordinates, rtol=0, atol=1e-12)


@given(st.integers(0, 10**6))
def test_projection_is_orthogonal_so_that_noise_stays_isotropic(seed):
    """embed(project(.)) is a symmetric idempotent matrix, found by one-hot coordinates."""
    for space, _ in spaces(np.random.default_rng(seed)):
        columns = [space.embed(space.project(row.copy())) for row in np.eye(space.coordinates)]
        matrix = np.stack(columns, axis=1)
        np.testing.assert_allclose(matrix, matrix.T, rtol=0, atol=1e-12)
        np.testing.assert_allclose(matrix @ matrix, matrix, rtol=0, atol=1e-12)


def test_symmetric_noise_has_the_frobenius_shape():
    space = SymmetricSpace(3)
    basis = np.stack([space.project(row.copy()) for row in np.eye(9)])
    variance = (basis**2).sum(axis=0)  # of each entry, per unit of noise
    np.testing.assert_allclose(np.diag(variance), 1.0)
    np.testing.assert_allclose(variance[np.triu_indices(3, 1)], 0.5)


def test_norms_of_a_stack():
    rng = np.random.default_rng(0)
    for space, value in spaces(rng):
        if isinstance(space, ProductSpace):
            stack = tuple(np.stack([part, 2 * part]) for part in value)
        else:
            stack = np.stack([value, 2 * value])
        np.testing.assert_allclose(space.norms(stack), [space.norm(value), 2 * space.norm(value)])


@pytest.mark.parametrize("weights", [(), (1.0,), (1.0, 0.0), (1.0, float("inf"))])
def test_bad_products_are_refused(weights):
    with pytest.raises(ValueError):
        ProductSpace((VectorSpace((1,)), VectorSpace((2,))), weights)
