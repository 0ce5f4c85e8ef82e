import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from veilspan.curator.rows import KEPT_BYTES, Block, Rows
from veilspan.estimators.linear.feature_scaling import FeatureBounds, checked_ranges

#: Ends and entries; ranges of a width that float64 cannot divide by are refused, see below.
numbers = st.floats(-1e6, 1e6).map(lambda value: value if abs(value) > 1e-60 else 0.0)


def bounds(low, high, row_norm=None, center=None, constant=0.5):
    return FeatureBounds((np.asarray(low), np.asarray(high)), row_norm, center, constant or None)


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 5), st.booleans(), st.sampled_from([None, 0.7, 40.0]))
def test_every_row_lands_in_the_unit_ball(data, d, sparse_rows, row_norm):
    ends = data.draw(st.lists(st.tuples(numbers, numbers), min_size=d, max_size=d))
    low, high = np.sort(np.array(ends), axis=1).T
    high = np.where(high - low < 1e-6, low, high)
    x = np.array(data.draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=1)))
    constant = data.draw(st.sampled_from([0.0, 0.5, 2.0]))
    row_map = bounds(low, high, row_norm, None, constant).map_for(d, sparse_rows)
    block = Block(sparse.csr_array(x) if sparse_rows else x)
    mapped = row_map(block).dense()
    assert mapped.shape == (len(x), d + (constant > 0))
    assert (np.linalg.norm(mapped, axis=1) <= 1 + 1e-12).all()
    # One row at a time gives the same: the map looks at no other row.
    alone = np.vstack([row_map(Block(block.x[i : i + 1])).dense() for i in range(len(x))])
    np.testing.assert_array_equal(alone, mapped)


@pytest.mark.parametrize("make", [np.ascontiguousarray, sparse.csr_array])
@pytest.mark.parametrize("d", [1, 3, 8, 31, 100, 301])
def test_a_row_is_rounded_alike_wherever_it_stands(make, d):
    """Bit for bit: under add-remove all later rows move by one place in their block."""
    x = np.random.default_rng(d).normal(size=(40, d))
    x[np.abs(x) < 0.4] = 0.0
    row_map = bounds([-1] * d, [1] * d, 0.5).map_for(d, make is not np.ascontiguousarray)
    whole = row_map(Block(make(x))).dense()
    for start in range(1, 9):
        np.testing.assert_array_equal(row_map(Block(make(x[start:]))).dense(), whole[start:])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([0.0, 0.5]), st.integers(1, 3))
def test_coefficients_in_the_users_units_give_the_same_scores(seed, zero, constant, k):
    rng = np.random.default_rng(seed)
    low = rng.normal(size=4)
    high = low + rng.uniform(0.1, 3.0, 4)
    high[2] = low[2]
    x = rng.uniform(low, high, (7, 4))
    row_map = bounds(low, high, None, "zero" if zero else None, constant).map_for(4, False)
    theta = rng.normal(size=(4 + (constant > 0), k))
    coefficients, intercept = row_map.user_coefficients(theta)
    scores = row_map(Block(x)).x @ theta
    np.testing.assert_allclose(x @ coefficients + intercept, scores, atol=1e-9)


def test_a_range_of_one_point_gets_no_coefficient():
    row_map = bounds([0.0, 3.0], [2.0, 3.0]).map_for(2, False)
    assert (row_map(Block(np.array([[1.0, 3.0], [0.0, 99.0]]))).x[:, 1] == 0).all()
    coefficients, _ = row_map.user_coefficients(np.ones(3))
    assert coefficients[1] == 0
    assert coefficients[0] > 0


def test_features_are_clipped_before_they_are_scaled():
    row_map = bounds([0.0, 0.0], [2.0, 2.0]).map_for(2, False)
    one, two = row_map(Block(np.array([[1e9, 0.5], [2.0, 0.5]]))).x
    np.testing.assert_array_equal(one, two)


def test_zeros_stay_zero_and_entries_stored_twice_are_added_first():
    stored = sparse.csr_array(
        (np.array([3.0, -2.0, 1.0]), np.array([0, 0, 2]), np.array([0, 2, 3])), shape=(2, 4)
    )
    row_map = bounds([0, 0, 0, 0], [2, 2, 2, 2], None, None, 0.0).map_for(4, True)
    mapped = row_map(Block(stored)).x
    assert mapped.nnz == 2
    np.testing.assert_allclose(mapped.toarray(), np.array([[1, 0, 0, 0], [0, 0, 1, 0]]) / 2 / 2)
    assert stored.nnz == 3  # the user's table is as it was


def test_the_constant_column_has_the_size_that_was_said():
    row_map = FeatureBounds(None, 3.0, None, 0.5).map_for(2, False)
    mapped = row_map(Block(np.array([[3.0, 0.0], [0.0, 0.0], [300.0, 0.0]]))).x
    full = math.sqrt(1.25)
    np.testing.assert_allclose(mapped[0], [1 / full, 0, 0.5 / full])
    np.testing.assert_allclose(mapped[1], [0, 0, 0.5 / full])
    assert np.linalg.norm(mapped[2]) == pytest.approx(1.0)


def test_a_midpoint_would_fill_a_sparse_table():
    with pytest.raises(ValueError, match='center="zero"'):
        bounds([0.0], [1.0], center="midpoint").map_for(1, True)
    with pytest.raises(ValueError, match="feature_range"):
        FeatureBounds(None, 1.0, "midpoint", 0.5).check(3)


@pytest.mark.parametrize(
    ("given_range", "message"),
    [
        ((1.0, 0.0), "low end above"),
        ((0.0, math.nan), "finite"),
        ((-math.inf, 0.0), "finite"),
        ((0.0, 1e200), "finite"),
        ((0.0, 1e-300), "too small"),
        (5.0, "feature_range must be"),
        ((0.0, 1.0, 2.0), "feature_range must be"),
        ((np.zeros(2), np.ones(2)), "3 features"),
        ((np.zeros((1, 3)), np.ones((1, 3))), "3 features"),
        (("a", "b"), "feature_range must be"),
    ],
    ids=str,
)
def test_bad_ranges(given_range, message):
    with pytest.raises(ValueError, match=message):
        checked_ranges(given_range, 3)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_rows_are_mapped_once_if_small_and_block_by_block_if_not(make, monkeypatch):
    x = np.random.default_rng(0).normal(size=(9000, 3))
    row_map = bounds([-1] * 3, [1] * 3, None, "zero").map_for(3, make is not np.asarray)
    seen = []

    def counted(block):
        seen.append(block.n_rows)
        return row_map(block)

    whole = Rows(make(x), np.arange(9000.0)).mapped(counted, 4)
    assert not seen
    for _ in range(2):
        list(whole.blocks(500))
    assert sum(seen) == 9000
    monkeypatch.setattr("veilspan.curator.rows.KEPT_BYTES", 0)
    lazy = Rows(make(x), np.arange(9000.0)).mapped(counted, 4)
    for _ in range(2):
        list(lazy.blocks(500))
    assert sum(seen) == 3 * 9000
    assert 8 * x.size < KEPT_BYTES
    for one, two in zip(whole.blocks(500), lazy.blocks(500), strict=True):
        np.testing.assert_array_equal(one.dense(), two.dense())
        np.testing.assert_array_equal(one.y, two.y)
    assert (whole.n_rows, whole.n_features) == (lazy.n_rows, lazy.n_features) == (9000, 4)
    with pytest.raises(TypeError, match="paired"):
        lazy.paired(np.random.default_rng(0))


def test_what_private_bounds_make_together_is_refused_before_a_row_is_read():
    told = FeatureBounds(None, 1e59, None, 1e59, "private")
    with pytest.raises(ValueError, match="must lie between"):
        told.check(3)
    assert FeatureBounds(None, 2.0, None, 0.5, "private").check(3) is None
