import numpy as np
import pytest

from veilspan.geometry._linalg import gram


@pytest.mark.parametrize("n", [1, 2, 3, 5, 11, 20, 50, 64])
@pytest.mark.parametrize("batch", [(), (1,), (7,), (2, 3)])
def test_gram_matrices_are_exactly_symmetric(n, batch):
    """They rely on NumPy taking the triangular product for M M^T, whatever the layout of M."""
    rng = np.random.default_rng(n)
    for m in (
        rng.standard_normal((*batch, n, n + 2)),
        rng.standard_normal((*batch, n, n)).swapaxes(-1, -2),
    ):
        out = gram(m)
        np.testing.assert_array_equal(out, out.swapaxes(-1, -2))
        np.testing.assert_allclose(out, np.einsum("...ij,...kj->...ik", m, m), rtol=0, atol=1e-12)
