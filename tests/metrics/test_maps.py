import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import procrustes

from veilspan.metrics import procrustes_correlation


@given(st.integers(0, 2**32), st.floats(0, 3))
def test_it_is_scipys_procrustes(seed, noise):
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((30, 2))
    turn = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    points = 7 * truth @ turn + 100 + noise * rng.standard_normal((30, 2))
    disparity = procrustes(truth, points)[2]
    found = procrustes_correlation(points, truth)
    # Taking off a shift of 100 costs 100 roundings.
    assert found == pytest.approx(np.sqrt(max(0, 1 - disparity)), abs=1e-12)
    assert found <= 1 + 1e-12


def test_unrelated_pictures_score_low():
    rng = np.random.default_rng(0)
    # The nuclear norm of a 2 x 2 matrix of normals over 2 sqrt(n) is at most sqrt(chi-square of 4
    # / 2 n): above 0.065 with probability 1e-6.
    assert procrustes_correlation(rng.normal(size=(4000, 2)), rng.normal(size=(4000, 2))) < 0.065


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.ones((3, 2)), np.eye(3)),
        (np.ones((3, 2)), np.ones((4, 2))),
        (np.array([[np.nan, 0], [1, 2]]), np.eye(2)),
    ],
)
def test_nonsense_is_refused(a, b):
    with pytest.raises(ValueError):
        procrustes_correlation(a, b)
