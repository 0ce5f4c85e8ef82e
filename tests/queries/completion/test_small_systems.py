"""Every system has its answer, whatever stands beside it."""

import numpy as np
import pytest

from veilspan.queries.completion.small_systems import solve_each


def systems(n, size, seed=0, penalty=0.0, rated=30):
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((n, rated, size))
    targets = rng.standard_normal((n, rated))
    left = np.einsum("nka,nkb->nab", factors, factors) + penalty * np.eye(size)
    return left, np.einsum("nka,nk->na", factors, targets)


@pytest.mark.parametrize("size", [1, 3, 12])
def test_regular_systems_are_solved(size):
    left, right = systems(50, size, penalty=2.0)
    found = solve_each(left.copy(), right, 30)
    expected = np.linalg.solve(left, right[..., None])[..., 0]
    # |change| <= h / (least eigenvalue) |u| <= 1e-11 tr(A) / 2 |u|, and tr(A) <= 1000, |u| <= 10.
    np.testing.assert_allclose(found, expected, rtol=0, atol=5e-8)


@pytest.mark.parametrize("scale", [1e-200, 1e-160, 1e-80, 1.0, 1e80])
def test_singular_systems_get_the_shortest_solution_or_nothing(scale):
    left, right = systems(40, 6, rated=3)
    found = solve_each(left * scale, right * scale, 3)
    expected = np.stack([np.linalg.pinv(a, rcond=1e-9) @ b for a, b in zip(left, right)])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3 * np.abs(expected).max())
    assert np.isfinite(found).all()


def test_adversarial_systems():
    one = np.ones((4, 4))
    tiny = np.full((4, 4), 5e-324)
    near = one + np.diag([0, 1e-16, 1e-15, 1e-14])
    below = one - np.diag([0.0, 1e-16, 0.0, 0.0])  # rounding has left it indefinite
    left = np.stack([np.zeros((4, 4)), tiny, one, near, below, 1e300 * one])
    with np.errstate(all="ignore"):
        found = solve_each(left, np.array([np.zeros(4), *[np.ones(4)] * 4, 1e300 * np.ones(4)]), 4)
    assert np.isfinite(found).all()
    assert not found[0].any()
    np.testing.assert_allclose(found[2], 0.25, atol=1e-6)


@pytest.mark.parametrize("size", [2, 5, 17])
def test_an_answer_does_not_depend_on_its_neighbours(size):
    left, right = systems(70, size, rated=size)
    left[3] = 0.0
    together = solve_each(left.copy(), right, size)
    for cut in (slice(0, 1), slice(3, 4), slice(2, 5), slice(40, 70)):
        np.testing.assert_array_equal(solve_each(left[cut].copy(), right[cut], size), together[cut])
