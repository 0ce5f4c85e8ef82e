"""Gradients by automatic differentiation against gradients by hand, to 1e-10."""

import importlib

import numpy as np
import pytest

from geometry.cases import rng
from veilspan import RSGD, Budget, FrechetLoss, LeadingSubspace, Loss, NotPrivateWarning, minimize
from veilspan.geometry import SPD, Sphere
from veilspan.losses.autodiff import _pad

SPHERE, MATRICES = Sphere(5), SPD(3)


def energy(row, point):
    return -0.5 * (row @ point) ** 2


def jax_distance(row, point):
    """Half the squared affine-invariant distance, by eigenvalues of L^-1 Z L^-T."""
    import jax.numpy as jnp
    from jax.scipy.linalg import solve_triangular

    low = jnp.linalg.cholesky(point)
    half = solve_triangular(low, row, lower=True)
    white = solve_triangular(low, half.T, lower=True)
    return 0.5 * jnp.sum(jnp.log(jnp.linalg.eigvalsh((white + white.T) / 2)) ** 2)


def torch_distance(row, point):
    import torch

    low = torch.linalg.cholesky(point)
    half = torch.linalg.solve_triangular(low, row, upper=False)
    white = torch.linalg.solve_triangular(low, half.T, upper=False)
    return 0.5 * torch.sum(torch.log(torch.linalg.eigvalsh((white + white.T) / 2)) ** 2)


DISTANCES = {"jax": jax_distance, "torch": torch_distance}


@pytest.fixture(params=["jax", "torch"])
def engine(request):
    pytest.importorskip(request.param)
    return request.param


def made(engine, manifold, value, **options):
    return getattr(Loss, f"from_{engine}")(manifold, value, **options)


@pytest.mark.parametrize("rows", [1, 7])
def test_energy_on_the_sphere(engine, rows):
    loss, exact = made(engine, SPHERE, energy), LeadingSubspace(SPHERE)
    point, table = SPHERE.random_point(rng(1)), rng(2).standard_normal((rows, 5))
    table.flags.writeable = False  # as blocks are
    np.testing.assert_allclose(
        loss.gradients(table, point), exact.gradients(table, point), atol=1e-12
    )
    np.testing.assert_allclose(loss.values(table, point), exact.values(table, point), atol=1e-12)


@pytest.mark.parametrize("rows", [1, 7])
def test_distance_of_matrices(engine, rows):
    loss = made(engine, MATRICES, DISTANCES[engine], row_shape=(3, 3))
    exact = FrechetLoss(MATRICES)
    point, table = MATRICES.random_point(rng(1)), MATRICES.random_point(rng(2), rows)
    np.testing.assert_allclose(
        loss.gradients(table, point), exact.gradients(table, point), atol=1e-10
    )
    np.testing.assert_allclose(loss.values(table, point), exact.values(table, point), atol=1e-10)


def test_no_setting_is_changed_outside():
    jax = pytest.importorskip("jax")
    loss = made("jax", SPHERE, energy)
    point = SPHERE.random_point(rng(1))
    assert loss.gradients(np.eye(5), point).dtype == np.float64
    assert jax.numpy.asarray(np.ones(2)).dtype == np.float32


def test_samples_of_all_sizes_are_compiled_a_few_times():
    jax = pytest.importorskip("jax")
    traced = []

    def counted(row, point):
        traced.append(row.shape)
        return jax.numpy.sum(row * point)

    loss = made("jax", SPHERE, counted)
    for size in range(1, 65):
        loss.gradients(np.ones((size, 5)), np.ones(5) / np.sqrt(5))
    assert len(traced) <= 7


def test_a_private_minimum(engine):
    """The engine's loss and the built-in one, in the same run, find the same point."""
    table = rng(3).standard_normal((400, 5)) * [0.6, 0.1, 0.1, 0.1, 0.1]
    shared = {"curvature": 0.3, "largest_gradient": 0.5}
    by_hand = Loss(SPHERE, LeadingSubspace(SPHERE).gradients, **shared)
    found = []
    for loss in (made(engine, SPHERE, energy, **shared), by_hand):
        solver = RSGD(steps=4, batch_rate=0.5)
        with pytest.warns(NotPrivateWarning):
            result = minimize(loss, table, budget=Budget(8.0, 1e-6), solver=solver, random_state=0)
        found.append(result.point)
    np.testing.assert_allclose(*found, atol=1e-8)


@pytest.mark.parametrize("rows", range(9))
def test_padding_keeps_the_rows(rows):
    table = rng(rows).standard_normal((rows, 2))
    padded = _pad(table)
    np.testing.assert_array_equal(padded[:rows], table)
    assert len(padded) == {0: 0, 3: 4, 5: 8, 6: 8, 7: 8}.get(rows, rows)


@pytest.mark.parametrize("name", ["jax", "torch"])
def test_a_missing_engine_is_named(name, monkeypatch):
    def absent(wanted, *args):
        raise ImportError(wanted)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(ImportError, match=rf"veilspan\[{name}\]"):
        made(name, SPHERE, energy)
