import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from veilspan import check_query
from veilspan.curator.check_query import QueryCheckError
from veilspan.curator.rows import Block
from veilspan.queries.completion.rating_moments import NORM_STEPS
from veilspan.queries.completion.rating_rows import LEVELS, RatingRule
from veilspan.queries.completion.residual_moment import (
    History,
    ResidualMoment,
    follow,
    keep_ratings,
    ridge_solutions,
    step_size,
)
from veilspan.queries.completion.small_systems import LEAST_SHARE

ITEMS = 5
RULE = RatingRule(-1.0, 1.0, ITEMS, "middle")
STEPS = ("classic", "line-search", "refit")
START = History.start(np.zeros(ITEMS))
DIRECTIONS = np.linalg.qr(np.random.default_rng(3).standard_normal((ITEMS, 2)))[0].T
LATER = History(np.linspace(-0.2, 0.3, ITEMS), DIRECTIONS, np.array([1.5, 2.5]))


def slow_ratings(row, rule=RULE):
    """Items and centred ratings of one row, for rules that keep all."""
    x = row.x.toarray()[0] if row.is_sparse else row.x[0]
    items = row.x.indices if row.is_sparse else np.arange(len(x))
    share = LEVELS / (rule.high - rule.low)
    steps = [round((min(max(x[j], rule.low), rule.high) - rule.low) * share) for j in items]
    middle = LEVELS // 2 if rule.center == "middle" else round(sum(steps) / max(len(steps), 1))
    return list(items), [(step - middle) * rule.step for step in steps]


def slow_residual(items, y, history, row_norm, local, ridge):
    """One user, one round at a time, in plain Python."""
    y = np.array([value - history.bias[j] for j, value in zip(items, y)])
    fitted = np.zeros(len(items))
    if local == "refit":
        size = math.sqrt(len(history.bias))
        v = size * history.directions[:, items].T
        u = np.linalg.solve(v.T @ v + ridge * np.eye(v.shape[1]), v.T @ y)
        return y - v @ u
    for s, (direction, gain) in enumerate(zip(history.directions, history.gains)):
        residual = y - fitted
        length = math.sqrt(sum(residual**2))
        clipped = residual * min(1.0, row_norm / length) if length else residual
        target = gain * sum(clipped * direction[items]) * direction[items]
        step = 2 / (s + 2)
        if local == "line-search":
            move = target - fitted
            step = sum(residual * move) / sum(move**2) if any(move) else 0.0
            step = min(max(step, 0.0), 1.0)
        fitted = (1 - step) * fitted + step * target
    return y - fitted


def reference(row_norm, local, ridge, rule=RULE):
    def contribution(row, point):
        items, y = slow_ratings(row, rule)
        left = slow_residual(items, y, History(*point), row_norm, local, ridge)
        longest = max(math.sqrt(sum(left**2)), row_norm)
        whole = np.zeros(ITEMS)
        whole[items] = np.trunc(left * (NORM_STEPS / longest))
        return np.outer(whole, whole) * row_norm**2 / NORM_STEPS**2

    return contribution


def sparse_rows(rng, count):
    rated = rng.random((count, ITEMS)) < 0.5
    rated[0] = False
    starts = np.concatenate([[0], np.cumsum(rated.sum(axis=1))])
    ratings = rng.choice([-9.0, -1.0, -0.37, 0.0, 0.61, 1.0], starts[-1])
    return Block(sparse.csr_array((ratings, np.nonzero(rated)[1], starts), shape=rated.shape))


@pytest.mark.parametrize("local", STEPS)
@pytest.mark.parametrize("center", ["middle", "user"])
@pytest.mark.parametrize("make_rows", [None, sparse_rows], ids=["dense", "sparse"])
def test_the_query_keeps_its_contract(local, center, make_rows):
    rule = RatingRule(-1.0, 1.0, ITEMS, center)
    report = check_query(
        ResidualMoment(rule, 0.37, local, 2.0),
        ITEMS,
        points=(tuple(START), tuple(LATER)),
        reference=reference(0.37, local, 2.0, rule),
        make_rows=make_rows,
        steps=50,
    )
    # Whole steps leave a row a little shorter than its norm.
    assert report.add_remove > 0.98
    assert report.replace_one > 0.9


def test_an_unclipped_residual_is_caught():
    class Unclipped(ResidualMoment):
        def norms(self, block, point):
            return np.zeros(block.n_rows)

    class Unscaled(ResidualMoment):
        def prepare(self, block, point):
            self.row_norm *= 3
            rows = super().prepare(block, point)
            self.row_norm /= 3
            return type(rows)(rows.starts, rows.items, 3 * rows.values, rows.n_items)

        norms = Unclipped.norms

    with pytest.raises(QueryCheckError, match="norms differ"):
        check_query(Unclipped(RULE, 0.37), ITEMS, points=(tuple(LATER),))
    with pytest.raises(QueryCheckError):
        check_query(Unscaled(RULE, 0.37), ITEMS, points=(tuple(LATER),))


def test_a_sensitivity_without_the_root_of_two_is_caught():
    class AddRemoveOnly(ResidualMoment):
        def sensitivity(self, neighbors):
            return self.bound

    with pytest.raises(QueryCheckError, match="replace-one"):
        check_query(AddRemoveOnly(RULE, 0.37), ITEMS, points=(tuple(START),))


@pytest.mark.parametrize("local", STEPS)
def test_a_residual_does_not_depend_on_the_place_in_the_block(local):
    block = sparse_rows(np.random.default_rng(0), 40)
    turned = np.random.default_rng(1).permutation(40)
    query = ResidualMoment(RULE, 0.37, local)
    rows = query.prepare(block, tuple(LATER)).dense()
    other = query.prepare(Block(block.x[turned]), tuple(LATER)).dense()
    assert rows[turned].tobytes() == other.tobytes()


def random_history(rng, rounds):
    directions = rng.standard_normal((rounds, ITEMS))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return History(0.1 * rng.standard_normal(ITEMS), directions, rng.uniform(0, 4, rounds))


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(0, 5), st.sampled_from(STEPS))
def test_coefficients_and_residuals_agree(seed, rounds, local):
    rng = np.random.default_rng(seed)
    history = random_history(rng, rounds)
    ratings = keep_ratings(RULE, sparse_rows(rng, 12))
    state = follow(ratings, history, 0.7, local)
    assert state.coefficients.shape == (12, rounds)
    rows = np.repeat(np.arange(12), np.diff(ratings.indptr))
    fitted = (state.coefficients @ history.directions)[rows, ratings.indices]
    explained = ratings.data - history.bias[ratings.indices] - fitted
    np.testing.assert_allclose(state.residual.data, explained, rtol=0, atol=1e-12)


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_a_line_search_never_makes_a_user_worse(seed):
    rng = np.random.default_rng(seed)
    history = random_history(rng, 4)
    ratings = keep_ratings(RULE, sparse_rows(rng, 12))
    lengths = []
    for t in range(5):
        part = History(history.bias, history.directions[:t], history.gains[:t])
        left = follow(ratings, part, 0.7, "line-search").residual
        lengths.append(np.sqrt(left.multiply(left).sum(axis=1)))
    assert np.all(np.diff(np.array(lengths), axis=0) <= 1e-12)


def test_ridge_solutions_are_those_of_each_user():
    rng = np.random.default_rng(0)
    ratings = keep_ratings(RULE, sparse_rows(rng, 20))
    factors = rng.standard_normal((ITEMS, 3))
    found = ridge_solutions(ratings, factors, 0.8)
    for user, row in zip(found, ratings):
        v = factors[row.indices if row.nnz else []]
        y = row.data
        normal = v.T @ v + 0.8 * np.eye(3)
        # Each system has a penalty of its own of this share of its trace (and rounding, 1e-13).
        own = 1.01 * LEAST_SHARE * np.trace(normal) * np.linalg.norm(user)
        np.testing.assert_allclose(normal @ user, v.T @ y, rtol=0, atol=own + 1e-13)
    assert ridge_solutions(ratings, np.zeros((ITEMS, 0)), 1.0).shape == (20, 0)


def test_steps_and_histories():
    assert [step_size(s) for s in (1, 2, 3)] == [1.0, 2 / 3, 0.5]
    longer = START.then(DIRECTIONS[0], 1.5)
    assert longer.directions.shape == (1, ITEMS)
    assert longer.gains.tolist() == [1.5]
    assert START.gains.shape == (0,)
    with pytest.raises(ValueError, match="local must be one of"):
        ResidualMoment(RULE, 1.0, "greedy")
