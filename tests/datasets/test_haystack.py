import numpy as np
import pytest

from veilspan.datasets import make_haystack


def test_inliers_lie_in_the_subspace_and_rows_on_the_sphere():
    data = make_haystack(400, 8, 3, inlier_share=0.25, random_state=1)
    assert data.is_inlier.sum() == 100
    np.testing.assert_allclose(np.linalg.norm(data.rows, axis=1), 1.0)
    inliers = data.rows[data.is_inlier]
    np.testing.assert_allclose(inliers @ data.subspace.T @ data.subspace, inliers, atol=1e-12)
    outliers = data.rows[~data.is_inlier]
    assert np.linalg.norm(outliers @ data.subspace.T, axis=1).mean() < 0.8


def test_noise_is_relative_to_the_signal():
    data = make_haystack(20_000, 50, 5, inlier_share=1.0, noise=0.1, on_sphere=False)
    residual = data.rows - data.rows @ data.subspace.T @ data.subspace
    assert np.sqrt(np.mean(np.sum(residual**2, 1))) == pytest.approx(
        0.1 * np.sqrt(45 / 50), rel=0.02
    )


def test_seeds_repeat():
    a, b = make_haystack(10, 3, 1, random_state=4), make_haystack(10, 3, 1, random_state=4)
    np.testing.assert_array_equal(a.rows, b.rows)


@pytest.mark.parametrize("bad", [{"n_components": 0}, {"n_components": 9}, {"inlier_share": 2}])
def test_nonsense_is_refused(bad):
    with pytest.raises(ValueError):
        make_haystack(10, **{"n_features": 5, "n_components": 2, **bad})
