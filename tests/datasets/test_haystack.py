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


KINDS = ["isotropic", "line", "subspace", "cone"]
FIRST_ROW = [-0.4459805005657803, -0.864940758219675, -0.2301714097916374]


@pytest.mark.parametrize("kind", KINDS)
def test_inliers_do_not_depend_on_the_kind_of_outliers(kind):
    data = make_haystack(500, 10, 2, inlier_share=0.4, outliers=kind, random_state=2)
    assert data.is_inlier.sum() == 200
    inliers = data.rows[data.is_inlier]
    np.testing.assert_allclose(inliers @ data.subspace.T @ data.subspace, inliers, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(data.rows, axis=1), 1.0)


def outlier_shares(kind, n_features=30, n_components=2):
    """Shares of the outliers' energy by direction, largest first, and the directions."""
    data = make_haystack(4000, n_features, n_components, outliers=kind, on_sphere=False)
    outliers = data.rows[~data.is_inlier]
    values, vectors = np.linalg.eigh(outliers.T @ outliers)
    return (values / values.sum())[::-1], vectors[:, ::-1].T, data


def test_a_line_holds_half_of_the_outliers_off_the_subspace():
    shares, vectors, data = outlier_shares("line")
    assert shares[0] == pytest.approx(0.5, abs=0.05)
    assert shares[1] < 0.03
    assert np.linalg.norm(data.subspace @ vectors[0]) < 0.05


def test_a_second_subspace_holds_most_of_the_energy():
    shares, _, _ = outlier_shares("subspace")
    # Rows in the r-dimensional subspace have length sqrt(r), the isotropic half has length 1.
    assert shares[:2].sum() == pytest.approx(2 / 3, abs=0.05)
    assert shares[2] < 0.03


def test_a_cone_is_one_sided():
    shares, vectors, data = outlier_shares("cone")
    assert shares[0] == pytest.approx(1 / 1.25, abs=0.03)
    along = data.rows[~data.is_inlier] @ vectors[0]
    assert np.all(along > 0) or np.all(along < 0)


@pytest.mark.parametrize("condition", [1.0, 4.0, 20.0])
def test_condition_number_of_the_inliers(condition):
    data = make_haystack(60_000, 6, 3, inlier_share=1.0, condition=condition, on_sphere=False)
    spread = np.linalg.svd(data.rows @ data.subspace.T, compute_uv=False)
    assert spread[0] / spread[-1] == pytest.approx(condition, rel=0.02)
    assert spread[0] / spread[1] == pytest.approx(np.sqrt(condition), rel=0.02)
    assert np.mean(np.sum(data.rows**2, 1)) == pytest.approx(1, rel=0.02)


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
