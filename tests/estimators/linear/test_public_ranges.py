"""Models by public ranges: predictions clip rows, and keep to the targets, as the fit does."""

import numpy as np
import pytest
from scipy import sparse

from veilspan import HuberRegressor, LinearRegression, LinearSVC, LogisticRegression, load

pytestmark = pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.NotPrivateWarning")

SAID = {"random_state": 0, "feature_range": (-3, 3)}


def far_rows():
    """5,000 rows of which 25 are a thousand times too long, as a wrong unit makes them."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((5000, 2))
    x[:25] *= 1000
    return x, np.clip(x[:, 0], -3, 3) + 0.1 * rng.standard_normal(5000)


@pytest.mark.parametrize("center", [None, "midpoint", "zero"])
def test_far_rows_do_not_run_away_with_predictions(center):
    x, y = far_rows()
    model = LinearRegression(target_range=(-4, 4), center=center, **SAID).fit(x, y)
    assert model.score(x, y) > 0.97
    np.testing.assert_array_equal(model.predict(x), model.predict(np.clip(x, -3, 3)))
    np.testing.assert_array_equal(model.predict_bars(x), model.predict_bars(np.clip(x, -3, 3)))
    inside = np.abs(x).max(axis=1) <= 3
    np.testing.assert_allclose(model.predict(x)[inside], x[inside] @ model.coef_ + model.intercept_)


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
@pytest.mark.parametrize("labels", [2, 3])
def test_scores_of_classes_are_those_of_clipped_rows(kind, labels):
    x, y = far_rows()
    model = kind(classes=range(labels), **SAID).fit(x, np.digitize(y, [-0.5, 0.5][: labels - 1]))
    inside = np.clip(x, -3, 3)
    np.testing.assert_array_equal(model.decision_function(x), model.decision_function(inside))
    if kind is LogisticRegression:
        np.testing.assert_array_equal(model.predict_proba(x), model.predict_proba(inside))


@pytest.mark.parametrize("kind", [LinearRegression, HuberRegressor])
@pytest.mark.parametrize("bound", [{"feature_range": (-3, 3)}, {"row_norm": 3.0}])
def test_predictions_keep_to_the_range_of_targets(kind, bound):
    """Also by a bound on lengths alone, which clips no row."""
    x, y = far_rows()
    model = kind(target_range=(-1, 0.5), random_state=0, **bound).fit(x, y)
    found = model.predict(x)
    assert (found.min(), found.max()) == (-1, 0.5)


def test_sparse_rows_are_clipped_as_dense_ones():
    """A range without zero: the entries that are not stored are clipped to it as well."""
    x, y = far_rows()
    x = np.where(x > 1, x, 0.0)
    said = {"target_range": (-4, 4), "random_state": 0, "feature_range": (0.5, 3)}
    dense, thin = (LinearRegression(**said).fit(table, y) for table in (x, sparse.csr_array(x)))
    for model, low in ((dense, 0.5), (thin, 0.0)):
        inside = np.clip(x, low, 3) @ model.coef_ + model.intercept_
        for own in (x, sparse.csr_array(x)):
            np.testing.assert_allclose(model.predict(own), np.clip(inside, -4, 4))


def test_a_release_keeps_to_its_ranges(tmp_path):
    x, y = far_rows()
    model = LinearRegression(target_range=(-4, 4), **SAID).fit(x, y)
    model.save(tmp_path / "release")
    again = load(tmp_path / "release")
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
    del again.clipped_to_  # as releases were written at first
    np.testing.assert_array_equal(again.predict(x), model.predict(x))


@pytest.mark.parametrize("ranges", [{"feature_range": (0, 10), "target_range": (0, 30)}, {}])
def test_without_an_intercept_the_plane_goes_through_the_origin(ranges):
    """Ranges far from centred at zero: public ones, and ones that are paid for."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, (20_000, 2))
    model = LinearRegression(fit_intercept=False, epsilon=3.0, random_state=0, **ranges)
    model.fit(x, x @ [1.0, 2.0])
    assert model.intercept_ == 0
    np.testing.assert_allclose(model.coef_, [1, 2], rtol=0.1)
    assert model.score(x, x @ [1.0, 2.0]) > 0.99
    labels = x[:, 0] > x[:, 1]
    ranges = {name: value for name, value in ranges.items() if name == "feature_range"}
    classes = LogisticRegression(
        fit_intercept=False, random_state=0, classes=[False, True], **ranges
    ).fit(x, labels)
    assert classes.intercept_.tolist() == [0]
    assert classes.score(x, labels) > 0.97


@pytest.mark.parametrize("ranges", [{"feature_range": (0, 10)}, {"bounds": "private"}])
def test_a_middle_that_is_no_origin_is_refused_without_an_intercept(ranges):
    model = LinearRegression(fit_intercept=False, center="midpoint", **ranges)
    with pytest.raises(ValueError, match='say center="zero"'):
        model.plan(100, 2)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_one_huge_entry_is_clipped_as_others_are(form):
    """1e150, too large to square: what it does is what 1e100 does."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, (2000, 2))
    y = x[:, 0].copy()
    fits = []
    for value in (1e150, 1e100):
        x[:2] = [[value, -value], [-value, 0.0]]
        table = form(x)
        fits.append(LinearRegression(target_range=(-4, 4), **SAID).fit(table, y))
        assert table[0, 0] == value  # the user's table is as it was
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
    assert fits[0].score(x, y) > 0.97
    for value in (np.inf, np.nan):
        x[0, 0] = value
        with pytest.raises(ValueError, match="contains"):
            LinearRegression(target_range=(-4, 4), **SAID).fit(form(x), y)


def test_an_entry_stored_in_two_huge_parts_is_their_sum():
    parts = np.array([1e150, -1e150, *np.linspace(-3, 3, 99)])
    at = np.concatenate([[0, 0], np.arange(1, 100)])
    x = sparse.csr_array((parts, np.zeros(101, int), np.concatenate([[0, 2], at[2:] + 2])))
    y = np.linspace(-3, 3, 100)
    whole = x.copy()
    whole.sum_duplicates()
    one, two = (LinearRegression(target_range=(-4, 4), **SAID).fit(t, y) for t in (x, whole))
    np.testing.assert_array_equal(one.coef_, two.coef_)


@pytest.mark.parametrize("bound", [{"row_norm": 3.0}, {}])
def test_a_huge_entry_is_refused_where_no_range_clips_it(bound):
    x, y = far_rows()
    x[0, 0] = 1e150
    with pytest.raises(ValueError, match="too large to square"):
        LinearRegression(target_range=(-4, 4), random_state=0, **bound).fit(x, y)
