import numpy as np
import pytest

from veilspan.datasets import make_haystack


def test_inliers_lie_in_the_subspace_and_rows_on_the_sphere():
    data = make_haystack(400, 8, 3, inlier_share=0.25, random_state=1)
    assert data.is_inlier.sum() == 100
    np.testing.assert_allclose(np.linalg.norm(data.rows, axis=1), 1.0)
    inliers = data.rows[data.is_inlier]
    np.testing.assert_allclose(
        inliers @ data.subspace.T @ data.subspace, inliers, rtol=0, atol=1e-12
    )
    outliers = data.rows[~data.is_inlier]
    # |projection|^2 is Beta(3/2, 5/2): mean length 0.582, standard deviation 0.19; six errors.
    shares = np.linalg.norm(outliers @ data.subspace.T, axis=1)
    assert shares.mean() == pytest.approx(0.582, abs=6 * 0.19 / np.sqrt(300))


def test_noise_is_relative_to_the_signal():
    data = make_haystack(20_000, 50, 5, inlier_share=1.0, noise=0.1, on_sphere=False)
    residual = data.rows - data.rows @ data.subspace.T @ data.subspace
    # Chi-square with 900,000 degrees of freedom: its root has a relative deviation of 7.5e-4.
    assert np.sqrt(np.mean(np.sum(residual**2, 1))) == pytest.approx(
        0.1 * np.sqrt(45 / 50), rel=5 * 7.5e-4
    )


def test_seeds_repeat():
    a, b = make_haystack(10, 3, 1, random_state=4), make_haystack(10, 3, 1, random_state=4)
    np.testing.assert_array_equal(a.rows, b.rows)


@pytest.mark.parametrize("bad", [{"n_components": 0}, {"n_components": 9}, {"inlier_share": 2}])
def test_nonsense_is_refused(bad):
    with pytest.raises(ValueError):
        make_haystack(10, **{"n_features": 5, "n_components": 2, **bad})


KINDS = ["isotropic", "line", "subspace", "cone"]
FIRST_ROW = [-0.4459805005657803, -0.864940758219675, -0.2301714097916374]


@pytest.mark.parametrize("kind", KINDS)
def test_inliers_do_not_depend_on_the_kind_of_outliers(kind):
    data = make_haystack(500, 10, 2, inlier_share=0.4, outliers=kind, random_state=2)
    assert data.is_inlier.sum() == 200
    inliers = data.rows[data.is_inlier]
    np.testing.assert_allclose(
        inliers @ data.subspace.T @ data.subspace, inliers, rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(np.linalg.norm(data.rows, axis=1), 1.0)


def outlier_shares(kind, n_features=30, n_components=2):
    """Shares of the outliers' energy by direction, largest first, and the directions.

    The tests below put each within five standard deviations of its mean (6e-7): squares of normals
    have variance 2. Directions of the isotropic half share its energy up to the factor
    (1 + sqrt(30 / 1000))^2 = 1.38 of its largest eigenvalue.
    """
    data = make_haystack(4000, n_features, n_components, outliers=kind, on_sphere=False)
    outliers = data.rows[~data.is_inlier]
    values, vectors = np.linalg.eigh(outliers.T @ outliers)
    return (values / values.sum())[::-1], vectors[:, ::-1].T, data


def test_a_line_holds_half_of_the_outliers_off_the_subspace():
    shares, vectors, data = outlier_shares("line")
    assert shares[0] == pytest.approx((1 + 1.01 / 30) / 2.01, abs=5 * 0.0108)
    assert shares[1] < 0.025  # 1.38 x 1.01 / 30 / 2.01 = 0.023
    # The noise of 2,000 rows turns the line by 0.0012 in each direction of the subspace.
    assert np.linalg.norm(data.subspace @ vectors[0]) < 5.3 * 0.0012


def test_a_second_subspace_holds_most_of_the_energy():
    shares, _, _ = outlier_shares("subspace")
    # Rows in the r-dimensional subspace have length sqrt(r), the isotropic half has length 1.
    assert shares[:2].sum() == pytest.approx((2 + 2.02 / 30) / 3.01, abs=5 * 0.0066)
    assert shares[2] < 0.018  # 1.38 x 1.01 / 30 / 3.01 = 0.0154


def test_a_cone_is_one_sided():
    shares, vectors, data = outlier_shares("cone")
    assert shares[0] == pytest.approx((1 + 0.25 / 30) / 1.25, abs=5 * 0.0011)
    along = data.rows[~data.is_inlier] @ vectors[0]
    assert np.all(along > 0) or np.all(along < 0)


@pytest.mark.parametrize("condition", [1.0, 4.0, 20.0])
def test_condition_number_of_the_inliers(condition):
    """Ratios of singular values of 60,000 rows deviate by 0.0041, so that 2 % is five of them.

    Mean squared lengths deviate by 0.003 to 0.0055; of this seed they are off by 0.006 at most.
    """
    data = make_haystack(60_000, 6, 3, inlier_share=1.0, condition=condition, on_sphere=False)
    spread = np.linalg.svd(data.rows @ data.subspace.T, compute_uv=False)
    assert spread[0] / spread[-1] == pytest.approx(condition, rel=0.02)
    assert spread[0] / spread[1] == pytest.approx(np.sqrt(condition), rel=0.02)
    assert np.mean(np.sum(data.rows**2, 1)) == pytest.approx(1, rel=0.01)


def test_published_rows_stay_as_they_are():
    """Figures were made with these rows: seeds must keep their meaning."""
    data = make_haystack(6, 3, 1, noise=0.1, random_state=5)
    np.testing.assert_allclose(data.rows[0], FIRST_ROW, rtol=1e-12)
    structured = make_haystack(6, 3, 1, noise=0.1, outliers="line", random_state=5)
    np.testing.assert_array_equal(structured.subspace, data.subspace)


@pytest.mark.parametrize(
    "bad",
    [
        {"outliers": "square"},
        {"condition": 0.5},
        {"condition": np.inf},
        {"outliers": "line", "n_components": 5},
    ],
)
def test_impossible_outliers_are_refused(bad):
    with pytest.raises(ValueError):
        make_haystack(10, **{"n_features": 5, "n_components": 2, **bad})
