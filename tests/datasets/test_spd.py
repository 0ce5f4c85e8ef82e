import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veilspan.datasets import make_spd
from veilspan.geometry import SPDAffineInvariant

EPS = np.finfo(float).eps


@given(
    st.integers(1, 6), st.floats(0, 1.5), st.floats(1, 1e4), st.sampled_from([0.0, 0.3]),
    st.integers(0, 2**32 - 1),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_points_are_exactly_symmetric_and_definite(k, spread, condition, outliers, seed):
    data = make_spd(
        10, k, spread=spread, condition=condition, outlier_share=outliers, random_state=seed
    )
    for matrices in (data.points, data.center):
        np.testing.assert_array_equal(matrices, np.swapaxes(matrices, -1, -2))
        assert SPDAffineInvariant(k).contains(matrices).all()
    assert data.points.shape == (10, k, k)
    assert data.is_outlier.sum() == round(10 * outliers)


@pytest.mark.parametrize("condition", [1.0, 7.0, 1e4])
def test_the_centre_has_the_condition_asked_for(condition):
    values = np.linalg.eigvalsh(make_spd(1, 4, condition=condition).center)
    assert values[-1] / values[0] == pytest.approx(condition)
    assert np.prod(values) == pytest.approx(1)
    np.testing.assert_allclose(values[1:] / values[:-1], condition ** (1 / 3))


def test_condition_one_is_the_identity():
    np.testing.assert_allclose(make_spd(1, 3, condition=1).center, np.eye(3), rtol=0, atol=8 * EPS)


def gradient(data):
    """Mean of the logarithms at the centre, as coordinates: half the Fréchet gradient."""
    manifold = SPDAffineInvariant(len(data.center))
    logs = manifold.log(data.center, data.points[~data.is_outlier])
    return manifold.to_coordinates(data.center, logs)


def test_pairs_make_the_centre_the_mean_of_the_sample():
    data = make_spd(50, 4, spread=0.8, paired=True, random_state=3)
    assert np.linalg.norm(gradient(data).mean(axis=0)) < 1e-12
    assert np.linalg.norm(gradient(data), axis=(1, 2)).min() > 0.1


def test_tangents_at_the_centre_are_standard_gaussian():
    """Coordinates are s times sym(Z): six normals per matrix, tested together.

    n |mean|^2 / s^2 and the sum of |S|^2 / s^2 are chi-square with 6 and 6 n degrees of freedom,
    the diagonals' part with 3 n. Tails of 3e-7 in all for each: an exact sampler fails any of the
    three with a probability below 1e-6.
    """
    from scipy.stats import chi2

    n, spread = 5000, 0.4
    data = make_spd(n, 3, spread=spread, condition=50, random_state=1)
    found = gradient(data) / spread
    assert n * np.sum(found.mean(axis=0) ** 2) < chi2.isf(3e-7, 6)
    assert chi2.isf(1 - 1.5e-7, 6 * n) < np.sum(found**2) < chi2.isf(1.5e-7, 6 * n)
    diagonal = found[:, range(3), range(3)]
    assert chi2.isf(1 - 1.5e-7, 3 * n) < np.sum(diagonal**2) < chi2.isf(1.5e-7, 3 * n)
    assert data.spread == spread


def test_outliers_share_one_far_place():
    data = make_spd(
        40, 3, spread=0.0, outlier_share=0.25, outlier_distance=6.0, condition=5, random_state=2
    )
    distances = SPDAffineInvariant(3).dist(data.center, data.points)
    np.testing.assert_allclose(distances[data.is_outlier], 6.0)
    np.testing.assert_allclose(distances[~data.is_outlier], 0.0, atol=1e-12)
    far = data.points[data.is_outlier]
    np.testing.assert_allclose(far, np.broadcast_to(far[0], far.shape))
    assert not np.array_equal(np.flatnonzero(data.is_outlier), np.arange(30, 40))


def test_seeds_repeat():
    first, second, other = (make_spd(5, 3, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.points, second.points)
    assert not np.allclose(first.points, other.points)


@pytest.mark.parametrize(
    "bad",
    [
        {"n_samples": 0},
        {"n_features": 0},
        {"spread": -1},
        {"spread": np.nan},
        {"condition": 0.5},
        {"condition": np.inf},
        {"outlier_share": 1.5},
        {"outlier_distance": -1},
        {"outlier_distance": np.inf},
        {"paired": True, "n_samples": 5},
    ],
)
def test_nonsense_is_refused(bad):
    with pytest.raises(ValueError, match=r"must|need"):
        make_spd(**{"n_samples": 10, **bad})
