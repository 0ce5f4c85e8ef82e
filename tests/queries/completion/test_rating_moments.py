import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from veilspan import check_query
from veilspan.curator.rows import Block
from veilspan.queries.completion import integer_gram as gram
from veilspan.queries.completion import rating_rows
from veilspan.queries.completion.integer_gram import IntegerRows, integer_gram
from veilspan.queries.completion.rating_moments import NORM_STEPS, ItemStatistics, RatingCovariance
from veilspan.queries.completion.rating_rows import LEVELS, RatingRule, row_sums

RULE = RatingRule(-1.0, 1.0, 3)
BIAS = np.linspace(-0.4, 0.5, 5)


def slow_steps(row, rule=RULE):
    """Item to centred grid steps, one rating at a time; for rows that are not too long."""
    x = row.x.toarray()[0] if row.is_sparse else row.x[0]
    stored = row.x.indices if row.is_sparse else range(len(x))
    share = LEVELS / (rule.high - rule.low)
    steps = {
        int(j): round((min(max(x[j], rule.low), rule.high) - rule.low) * share) for j in stored
    }
    if rule.center == "middle":
        return {j: value - LEVELS // 2 for j, value in steps.items()}
    mean = round(sum(steps.values()) / max(len(steps), 1))
    return {j: value - mean for j, value in steps.items()}


def slow_statistics(rule, row_norm, n_items):
    def contribution(row, point):
        steps = slow_steps(row, rule)
        sums, counts = np.zeros(n_items), np.zeros(n_items)
        length = rule.step * math.sqrt(sum(value**2 for value in steps.values()))
        for j, value in steps.items():
            sums[j] = value * rule.step * min(1.0, row_norm / (length or 1.0))
            counts[j] = 1.0
        return sums, counts

    return contribution


def slow_covariance(rule, row_norm, n_items):
    def contribution(row, bias):
        e = np.zeros(n_items)
        for j, value in slow_steps(row, rule).items():
            e[j] = value - (0 if bias is None else round(bias[j] / rule.step))
        longest = max(math.sqrt(float(e @ e)), row_norm / rule.step)
        q = np.trunc(e * (NORM_STEPS / longest)) * row_norm / NORM_STEPS
        return np.outer(q, q)

    return contribution


def sparse_rows(rng, count, n_items=5):
    """Rows with some ratings each, opposite ones, empty ones, stored zeros."""
    rated = rng.random((count, n_items)) < 0.4
    rated[0] = False
    ratings = np.where(
        rng.random(rated.shape) < 0.2, 0.0, rng.choice([-9, -1, -0.3, 0.6, 1, 9], rated.shape)
    )
    return Block(csr(rated, ratings))


def csr(rated, ratings):
    starts = np.concatenate([[0], np.cumsum(rated.sum(axis=1))])
    data = (ratings[rated].astype(float), np.nonzero(rated)[1], starts)
    return sparse.csr_array(data, shape=rated.shape)


@pytest.mark.parametrize("center", ["user", "middle"])
@pytest.mark.parametrize("make_rows", [None, sparse_rows], ids=["dense", "sparse"])
@pytest.mark.parametrize("norm", [0.3, 0.8])
def test_queries_keep_their_contract(center, make_rows, norm):
    rule = RatingRule(-1.0, 1.0, 5, center)
    statistics = check_query(
        ItemStatistics(rule, norm), 5, reference=slow_statistics(rule, norm, 5), make_rows=make_rows
    )
    covariance = check_query(
        RatingCovariance(rule, norm),
        5,
        points=(None, BIAS),
        reference=slow_covariance(rule, norm, 5),
        make_rows=make_rows,
    )
    # What the search, whose seed is fixed, reaches of the declared bounds: 0.94, 0.9996, 0.999.
    assert statistics.replace_one > 0.9
    assert covariance.add_remove > 0.998
    assert covariance.replace_one > 0.998


def test_the_sensitivity_of_the_statistics_is_met():
    """Two users with xi ratings each and one item in common, rated at opposite ends."""
    xi, norm = 4, 0.5
    rule = RatingRule(-1.0, 1.0, xi, "middle")
    rows = np.full((2, 2 * xi - 1), np.nan)
    rows[0, :xi], rows[1, xi - 1 :] = 0.0, 0.0
    rows[:, xi - 1] = 1.0, -1.0
    query = ItemStatistics(rule, norm)
    block = Block(csr(~np.isnan(rows), rows))
    prepared = query.prepare(block, None)
    first = query.weighted_sum(prepared, np.array([1.0, 0.0]), None)
    second = query.weighted_sum(prepared, np.array([0.0, 1.0]), None)
    space = query.space(rows.shape[1], None)
    distance = np.linalg.norm(space.embed(first) - space.embed(second))
    assert distance == pytest.approx(query.sensitivity("replace-one"), rel=1e-12)
    np.testing.assert_allclose(query.norms(prepared, None), query.bound)


def test_a_bound_that_is_too_small_is_found():
    class Careless(RatingCovariance):
        def sensitivity(self, neighbors):
            return self.bound

    with pytest.raises(AssertionError, match="declared sensitivity"):
        check_query(Careless(RatingRule(-1.0, 1.0, 5), 0.5), 5)


@given(st.integers(0, 10**6), st.integers(1, 12))
def test_a_row_means_the_same_wherever_it_stands(seed, limit):
    """The proof rounds each row by itself: its whole numbers must not depend on its place."""
    rng = np.random.default_rng(seed)
    rated = rng.random((40, 12)) < 0.6
    table = csr(rated, rng.uniform(-0.5, 5.5, rated.shape))
    rule = RatingRule(0.0, 5.0, limit, "user", salt=seed)
    query = RatingCovariance(rule, 2.0)
    bias = rng.normal(0, 0.3, 12)
    together = query.prepare(Block(table), bias).dense()
    order = rng.permutation(40)
    shuffled = query.prepare(Block(table[order]), bias).dense()
    alone = query.prepare(Block(table[[7]]), bias).dense()
    np.testing.assert_array_equal(shuffled, together[order])
    np.testing.assert_array_equal(alone[0], together[7])
    assert (row_sums(together.ravel() ** 2, np.arange(41) * 12) <= NORM_STEPS**2).all()
    np.testing.assert_array_equal(together, np.trunc(together))


def test_long_rows_keep_their_limit_evenly():
    """Each of 10 items is kept 4 times in 10; 6 sd of a binomial are a false alarm below 1e-7."""
    rng = np.random.default_rng(0)
    users = 4000
    table = sparse.csr_array(rng.integers(1, 6, (users, 10)).astype(float))
    kept = RatingRule(1.0, 5.0, 4, "user", salt=99).keep(Block(table))
    np.testing.assert_array_equal(kept.counts, np.full(users, 4))
    counts = np.bincount(kept.items, minlength=10)
    assert np.all(np.abs(counts - 0.4 * users) < 6 * np.sqrt(users * 0.4 * 0.6))
    pairs = np.zeros((users, 10))
    pairs[np.repeat(np.arange(users), 4), kept.items] = 1
    together = (pairs.T @ pairs)[~np.eye(10, dtype=bool)]
    rate = 4 * 3 / 90
    assert np.all(np.abs(together - rate * users) < 7 * np.sqrt(users * rate * (1 - rate)))
    other = RatingRule(1.0, 5.0, 4, "user", salt=100).keep(Block(table))
    assert not np.array_equal(kept.items, other.items)


def test_many_long_rows_are_chosen_from_like_few(monkeypatch):
    table = sparse.csr_array(np.random.default_rng(3).integers(1, 6, (50, 9)).astype(float))
    rule = RatingRule(1.0, 5.0, 4, "user", salt=7)
    together = rule.keep(Block(table)).items
    monkeypatch.setattr(rating_rows, "MOST_ROWS", 7)
    np.testing.assert_array_equal(rule.keep(Block(table)).items, together)


def test_the_kept_ratings_are_centred_by_their_own_mean():
    table = sparse.csr_array(np.array([[1.0, 2.0, 3.0, 9.0], [4.0, 4.0, 4.0, 4.0]]))
    kept = RatingRule(1.0, 5.0, 4).keep(Block(table))
    np.testing.assert_array_equal(kept.steps[:4] * 4 / LEVELS, [-1.75, -0.75, 0.25, 2.25])
    np.testing.assert_array_equal(kept.steps[4:], 0)


def test_stored_zeros_are_ratings_and_empty_rows_are_not():
    table = sparse.csr_array((np.array([0.0, 5.0]), np.array([1, 2]), [0, 0, 2]), shape=(2, 4))
    query = ItemStatistics(RatingRule(0.0, 5.0, 4), 10.0)
    sums, counts = query.weighted_sum(query.prepare(Block(table), None), np.ones(2), None)
    np.testing.assert_array_equal(counts, [0, 1, 1, 0])
    np.testing.assert_array_equal(sums, [0, -2.5, 2.5, 0])


@given(st.integers(0, 10**6), st.sampled_from([3, 40, 300]), st.sampled_from([0.01, 0.3, 1.0]))
def test_the_gram_matrix_is_exact(seed, n_items, density):
    rng = np.random.default_rng(seed)
    rated = rng.random((150, n_items)) < density
    whole = np.where(rated, rng.integers(-1024, 1025, rated.shape), 0)
    table = sparse.csr_array(whole.astype(float))
    rows = IntegerRows(table.indptr, table.indices, table.data, n_items)
    np.testing.assert_array_equal(integer_gram(rows), (whole.T @ whole).astype(float))


def test_the_check_before_float32_is_needed(monkeypatch):
    """1024 odd squares near 2^20 need more bits than a float32 has: unchecked, they round."""
    whole = np.full((1024, 300), 1023)
    whole[::3] = 1021
    table = sparse.csr_array(whole.astype(float))
    rows = IntegerRows(table.indptr, table.indices, table.data, 300)
    exact = (whole.T @ whole).astype(float)
    np.testing.assert_array_equal(integer_gram(rows), exact)
    monkeypatch.setattr(gram, "EXACT_FLOAT32", math.inf)
    assert not np.array_equal(integer_gram(rows), exact)


def test_rounding_costs_nothing_that_matters():
    rng = np.random.default_rng(0)
    table = sparse.csr_array(rng.uniform(0, 5, (500, 60)))
    rule = RatingRule(0.0, 5.0, 60)
    query = RatingCovariance(rule, 6.0)
    rounded = query.weighted_sum(query.prepare(Block(table), None), np.ones(500), None)
    x = table.toarray()
    x = x - x.mean(axis=1, keepdims=True)
    x *= np.minimum(1, 6.0 / np.linalg.norm(x, axis=1, keepdims=True))
    # Half a step of 6 / NORM_STEPS an entry, towards zero: 0.0066 here.
    assert np.linalg.norm(rounded - x.T @ x) < 0.01 * np.linalg.norm(x.T @ x)
