import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA as PlainPCA

from veilspan import PCA, LoudNoiseWarning, NotPrivateWarning
from veilspan.datasets import make_haystack

simulated = pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.NotPrivateWarning")


def error(truth, found):
    return math.sqrt(max(0.0, 1 - float(np.sum((truth @ found.T) ** 2)) / len(truth)))


@settings(max_examples=20)
@given(st.integers(0, 1000), st.integers(2, 8), st.integers(5, 60))
def test_without_noise_it_is_scikit_learns_pca(seed, d, n):
    x = np.random.default_rng(seed).standard_normal((n, d)) * np.arange(1, d + 1)
    ours = PCA(epsilon=math.inf, row_norm=1e6, center=x.mean(axis=0)).fit(x)
    plain = PlainPCA().fit(x)
    k = min(len(plain.components_), n - 1)
    signs = np.sign(np.sum(ours.components_[:k] * plain.components_[:k], axis=1))
    np.testing.assert_allclose(
        signs[:, None] * ours.components_[:k], plain.components_[:k], atol=1e-8
    )
    np.testing.assert_allclose(
        ours.explained_variance_[:k] * n / (n - 1), plain.explained_variance_[:k], rtol=1e-8
    )
    np.testing.assert_allclose(
        ours.explained_variance_ratio_[:k], plain.explained_variance_ratio_[:k], atol=1e-9
    )


def test_the_private_centre_without_noise_is_the_mean():
    x = np.random.default_rng(0).standard_normal((500, 4)) + 2
    ours = PCA(epsilon=math.inf, row_norm=1e6, center="private").fit(x)
    np.testing.assert_allclose(ours.mean_, x.mean(axis=0), rtol=1e-12)


@simulated
@pytest.mark.parametrize("settings", [{}, {"row_norm": 1.0, "center": "origin"}])
def test_accuracy_on_the_haystack(settings):
    """Mean error of 20 fits at (2000, 20, 2), epsilon 0.8: 0.042 in benchmarks/pca.py.

    0.0414 of these seeds with the bound given, with a standard error near 0.0015; 0.0385 without.
    """
    errors = []
    for seed in range(20):
        data = make_haystack(2000, 20, 2, random_state=seed)
        fitted = PCA(2, epsilon=0.8, delta=1e-5, random_state=seed, **settings).fit(data.rows)
        errors.append(error(data.subspace, fitted.components_))
    assert 0.032 < np.mean(errors) < 0.048


@simulated
@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
def test_noise_of_the_right_size_reaches_the_variances(neighbors):
    """On a table of zeros the largest eigenvalue is that of the noise: about its edge.

    Tracy and Widom: 0.97 of the edge in the mean, standard deviation 0.03; here 1.004 and 0.968.
    """
    x = np.zeros((1000, 100))
    fitted = PCA(
        1, epsilon=1.0, neighbors=neighbors, random_state=0, row_norm=1.0, center="origin"
    ).fit(x)
    assert 0.85 < fitted.explained_variance_[0] / fitted.noise_edge_ < 1.1


def test_rows_above_the_bound_are_scaled_down():
    x = np.vstack([np.eye(3), 1e9 * np.eye(3)[:1]])
    fitted = PCA(epsilon=math.inf, row_norm=1.0, center="origin").fit(x)
    np.testing.assert_allclose(fitted.explained_variance_, [0.5, 0.25, 0.25])


def test_extreme_values_are_harmless():
    x = np.array([[1e139, 0], [0, -1e139], [1e-300, 0], [0, 0]])
    fitted = PCA(epsilon=math.inf).fit(x)
    assert np.isfinite(fitted.components_).all()
    assert np.isfinite(PCA().fit(x).explained_variance_).all()


def test_transform_and_back():
    data = make_haystack(300, 6, 2)
    fitted = PCA(epsilon=math.inf, center="private").fit(data.rows)
    np.testing.assert_allclose(fitted.inverse_transform(fitted.transform(data.rows)), data.rows)


def test_components_are_orthonormal():
    fitted = PCA(5).fit(np.random.default_rng(0).standard_normal((100, 8)))
    np.testing.assert_allclose(fitted.components_ @ fitted.components_.T, np.eye(5), atol=1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_components": 0}, "n_components"),
        ({"n_components": 5}, "between 1 and 4"),
        ({"n_components": 2.0}, "whole number"),
        ({"n_components": True}, "whole number"),
        ({"row_norm": 0.0}, "row_norm"),
        ({"row_norm": math.inf}, "row_norm"),
        ({"row_norm": "1"}, "row_norm"),
        ({"center": "mean"}, "center"),
        ({"center": np.zeros(3)}, "center must hold 4"),
        ({"center": [0, 0, 0, math.nan]}, "center"),
    ],
)
def test_bad_parameters(changes, message):
    with pytest.raises((ValueError, TypeError), match=message):
        PCA(**changes).fit(np.eye(4))


def test_too_many_columns_for_a_matrix_is_said_before_it_is_tried():
    with pytest.raises(ValueError, match="public projection"):
        PCA(2).plan(100, 50_000)


def test_plans_need_the_public_number_of_rows():
    with pytest.raises(ValueError, match="number of rows"):
        PCA(2).plan(None, 4)
    assert PCA(2, neighbors="add-remove").plan(None, 4).n_rows is None


def test_the_budget_is_split_as_said():
    plan = PCA(2, center="private", row_norm=1.0, neighbors="add-remove").plan(None, 4)
    shares = {event.name: event.mu**2 / plan.budget.mu**2 for event in plan.events}
    assert shares == pytest.approx({"count": 0.02, "mean": 0.1, "second moment": 0.88}, rel=1e-6)


def test_the_seed_warning_is_one_class():
    with pytest.warns(NotPrivateWarning) as caught:
        PCA(1, random_state=0).fit(np.eye(3))
    assert [w.category for w in caught].count(NotPrivateWarning) == 1


@pytest.mark.filterwarnings("ignore:random_state is an int")
def test_a_centre_that_noise_has_moved_is_said():
    rng = np.random.default_rng(0)
    rows = 2000.0 + rng.standard_normal((4000, 6)) * [5, 2, 2, 2, 1, 1]
    with pytest.warns(LoudNoiseWarning, match="Give center= a public vector"):
        PCA(1, epsilon=1.0, delta=1e-6, random_state=0).fit(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LoudNoiseWarning)
        public = np.full(6, 2000.0)
        PCA(1, epsilon=1.0, delta=1e-6, random_state=0, center=public).fit(rows)


@pytest.mark.filterwarnings("ignore")
def test_columns_that_a_private_scale_cannot_tell_are_named():
    rng = np.random.default_rng(0)
    rare, narrow = np.zeros(4000), 100 + 0.01 * rng.standard_normal(4000)
    rare[:4] = 1.0
    rows = np.column_stack([rng.standard_normal((4000, 2)), rare, narrow])
    notes = " ".join(
        PCA(2, scale="private", epsilon=1.0, delta=1e-6, random_state=0).fit(rows).notes_
    )
    assert "column 2 showed no range" in notes
    assert "noise hides the spread of column 3" in notes
    assert not PCA(2, scale="private", epsilon=math.inf).fit(rows[:, :2]).notes_
