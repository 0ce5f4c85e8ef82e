import numpy as np
import pytest

from veilspan.solvers import spectral
from veilspan.solvers.spectral import leading_eigenvectors


def noisy_matrix(size, signal, seed=0):
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((size, size))
    directions = np.linalg.qr(rng.standard_normal((size, 3)))[0]
    return (noise + noise.T) / 2 + signal * directions @ directions.T * np.sqrt(2 * size)


@pytest.mark.parametrize("signal", [0.0, 3.0])
@pytest.mark.parametrize("count", [1, 8])
def test_both_ways_find_the_same_vectors(signal, count):
    """Also where there is nothing but noise, whose largest eigenvalues are close."""
    matrix = noisy_matrix(spectral.LARGE, signal)
    expected, same = (leading_eigenvectors(matrix, count, noisy=noisy) for noisy in (False, True))
    np.testing.assert_allclose(same[0], expected[0], rtol=1e-12)
    np.testing.assert_allclose(same[1], expected[1], atol=1e-9)
    again = leading_eigenvectors(matrix, count, noisy=True)
    np.testing.assert_array_equal(again[1], same[1])


def test_what_does_not_settle_is_decomposed(monkeypatch):
    from scipy.sparse import linalg

    def fail(*args, **kwargs):
        raise linalg.ArpackNoConvergence("", np.zeros(0), np.zeros((0, 0)))

    monkeypatch.setattr(linalg, "eigsh", fail)
    matrix = noisy_matrix(spectral.LARGE, 3.0)
    found, expected = (leading_eigenvectors(matrix, 2, noisy=noisy) for noisy in (True, False))
    np.testing.assert_array_equal(found[1], expected[1])


def test_small_matrices_and_many_vectors_are_decomposed(monkeypatch):
    monkeypatch.setattr(spectral, "_lanczos", None)
    leading_eigenvectors(noisy_matrix(50, 3.0), 1, noisy=True)
    leading_eigenvectors(noisy_matrix(spectral.LARGE, 3.0), spectral.LARGE, noisy=True)
    leading_eigenvectors(np.eye(spectral.LARGE), 2)
