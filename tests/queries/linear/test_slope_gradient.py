import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from veilspan import check_query
from veilspan.curator.check_query import adversarial_rows
from veilspan.curator.clipping import clip_weights
from veilspan.curator.rows import Block, clipped_block_sum
from veilspan.losses.linear import (
    Huber,
    Logistic,
    Multinomial,
    Quantile,
    SmoothedHinge,
    Squared,
)
from veilspan.losses.nonconvex import Biweight
from veilspan.privacy.grid import UNIT_ROUNDOFF
from veilspan.queries.linear.slope_gradient import (
    GradientChange,
    SlopeGradient,
    length_of,
    needed_factors,
    unit_factors,
)

LOSSES = {
    "logistic": Logistic(),
    "hinge": SmoothedHinge(0.5),
    "squared": Squared(),
    "huber": Huber(0.3),
    "quantile": Quantile(0.8, 0.1),
    "multinomial": Multinomial(3),
    "biweight": Biweight(2.0),
}
WIDTH = 4
KINDS = ("dense", "sparse")


def theta_of(loss, seed=0, size=1.0):
    shape = (WIDTH,) if loss.n_outputs == 1 else (WIDTH, loss.n_outputs)
    return size * np.random.default_rng(seed).standard_normal(shape)


def rows_for(loss, kind="dense", shortest=0.0):
    """Rows of many lengths, opposite, zero and huge ones, with targets of all kinds."""

    def make_rows(rng, count):
        x = adversarial_rows(rng, WIDTH).x
        x = x[(np.linalg.norm(x, axis=1) >= shortest) | ~x.any(axis=1)]
        x = np.concatenate([x, x])
        half = len(x) // 2
        if loss.n_outputs > 1:
            y = rng.integers(loss.n_outputs, size=len(x)).astype(float)
            y[half:] = (y[:half] + 1) % loss.n_outputs
        else:
            y = np.where(np.arange(len(x)) < half, 1.0, -1.0)
        return Block(sparse.csr_array(x) if kind == "sparse" else x, y)

    return make_rows


def slow_gradient(loss):
    def contribution(row, theta):
        x = row.dense()[0]
        x = x / max(1.0, np.linalg.norm(x))
        scores = np.array([sum(a * b for a, b in zip(x, column)) for column in theta.T.reshape(
            loss.n_outputs, WIDTH)])  # fmt: skip
        slope = loss.slope(scores[None] if loss.n_outputs > 1 else scores, row.y)
        return np.outer(x, slope).reshape(theta.shape)

    return contribution


def slow_change(loss):
    one = slow_gradient(loss)
    return lambda row, point: one(row, point[0]) - one(row, point[1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LOSSES)
def test_gradients_keep_their_contract(name, kind):
    loss = LOSSES[name]
    points = (0 * theta_of(loss), theta_of(loss), theta_of(loss, 1, 5.0))
    report = check_query(
        SlopeGradient(loss, 0.1), WIDTH, points=points, reference=slow_gradient(loss),
        make_rows=rows_for(loss, kind), tolerance=1e-9,
    )  # fmt: skip
    assert report.add_remove > 0.99
    assert report.replace_one > 0.99  # the same row with slopes of either sign


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LOSSES)
def test_changes_keep_their_contract(name, kind):
    loss = LOSSES[name]
    points = ((theta_of(loss), 0 * theta_of(loss)), (theta_of(loss, 1), theta_of(loss, 2, 3.0)))
    # Slopes of tiny rows hardly change: their difference has an error relative to the slopes.
    report = check_query(
        GradientChange(loss, 0.02), WIDTH, points=points, reference=slow_change(loss),
        make_rows=rows_for(loss, kind, shortest=1e-3), tolerance=1e-9,
    )  # fmt: skip
    assert report.add_remove > 0.99
    assert report.replace_one > 0.9


@pytest.mark.parametrize("name", LOSSES)
def test_the_sum_is_the_gradient_of_the_mean_loss(name):
    loss, rng, h = LOSSES[name], np.random.default_rng(3), 1e-6
    x = rng.uniform(-0.5, 0.5, (60, WIDTH))
    y = rows_for(loss)(rng, 60).y[:60]
    theta = theta_of(loss)
    found = clipped_block_sum(SlopeGradient(loss, 100.0), Block(x, y), theta)
    assert found.shape == theta.shape
    for index in np.ndindex(theta.shape):
        step = np.zeros(theta.shape)
        step[index] = h
        ahead, behind = (loss.value(x @ (theta + s), y.astype(int) if loss.n_outputs > 1 else y)
                         for s in (step, -step))  # fmt: skip
        assert found[index] == pytest.approx((ahead - behind).sum() / (2 * h), abs=1e-5)


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "multinomial"])
@given(seed=st.integers(0, 10**6), clip=st.floats(0.01, 2.0))
def test_clipping_one_score_caps_the_slope(name, seed, clip):
    """What is summed is the gradient of the loss whose slope is kept to +-C / |x|."""
    loss, rng = LOSSES[name], np.random.default_rng(seed)
    x = rng.standard_normal((6, WIDTH))
    x /= np.maximum(1, np.linalg.norm(x, axis=1, keepdims=True))
    y, theta = rng.choice([-1.0, 1.0], 6), theta_of(loss, seed, 3.0)
    cap = clip / np.linalg.norm(x, axis=1)
    capped = np.clip(loss.slope(x @ theta, y), -cap, cap)
    found = clipped_block_sum(SlopeGradient(loss, clip), Block(x, y), theta)
    np.testing.assert_allclose(found, x.T @ capped, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("query", [SlopeGradient, GradientChange])
def test_a_row_counts_alike_wherever_it_stands(name, query):
    """Up to the declared rounding, also for rows of absurd length whose score is all rounding."""
    loss, rng, bound = LOSSES[name], np.random.default_rng(5), 0.05
    x = rng.standard_normal((40, WIDTH)) * 10.0 ** rng.uniform(-9, 140, (40, 1))
    y = rows_for(loss)(rng, 40).y[:40]
    theta = theta_of(loss, 1, 30.0)
    x -= np.outer(x @ theta.reshape(WIDTH, -1)[:, 0], theta.reshape(WIDTH, -1)[:, 0]) / np.sum(
        theta.reshape(WIDTH, -1)[:, 0] ** 2
    )
    point = theta if query is SlopeGradient else (theta, theta + 1e-3)
    asked = query(loss, bound)
    allowed = 2 * UNIT_ROUNDOFF * bound * asked.roundoff(WIDTH, point)
    for i in range(40):
        others = np.delete(np.arange(40), i)
        place = rng.integers(40)
        order = np.insert(others, place, i)
        prepared = asked.prepare(Block(x[order], y[order]), point)
        alone = clipped_block_sum(asked, Block(x[[i]], y[[i]]), point)
        norms = asked.norms(prepared, point)
        weights = np.where(np.arange(40) == place, clip_weights(norms, bound), 0.0)
        among = asked.weighted_sum(prepared, weights, point)
        assert np.linalg.norm(alone - among) <= allowed


@pytest.mark.parametrize("name", LOSSES)
def test_targets_out_of_range_are_kept_to_it(name):
    loss = LOSSES[name]
    x, theta = np.eye(WIDTH)[:2], theta_of(loss)
    top = loss.n_outputs - 1 if loss.n_outputs > 1 else 1.0
    bottom = 0.0 if loss.n_outputs > 1 else -1.0
    query = SlopeGradient(loss, 1.0)
    wild = clipped_block_sum(query, Block(x, np.array([1e140, -1e140])), theta)
    kept = clipped_block_sum(query, Block(x, np.array([top, bottom])), theta)
    np.testing.assert_array_equal(wild, kept)


def test_the_change_at_the_anchor_is_zero():
    block = rows_for(Logistic())(np.random.default_rng(0), 48)
    theta = theta_of(Logistic())
    change = clipped_block_sum(GradientChange(Logistic(), 0.1), block, (theta, theta))
    np.testing.assert_array_equal(change, 0)


def test_rounding_is_declared_larger_for_longer_coefficients():
    query = SlopeGradient(Logistic(), 0.3)
    assert query.roundoff(10, np.zeros(10)) < 300
    assert query.roundoff(10, np.full(10, 1e3)) > 1e4
    finer = SlopeGradient(Logistic(), 0.003)
    assert finer.roundoff(10, np.zeros(10)) > 1e4  # a slope near 1 has an error of 1 / C bounds


def test_a_slope_with_a_jump_is_refused():
    class Hinge(Logistic):
        smoothness = np.inf

    with pytest.raises(ValueError, match="jump in its slope"):
        SlopeGradient(Hinge(), 1.0)
    with pytest.raises(ValueError, match="need targets"):
        SlopeGradient(Logistic(), 1.0).prepare(Block(np.eye(3)), np.zeros(3))


def test_a_clip_that_is_skipped_is_found():
    class Careless(SlopeGradient):
        def norms(self, block, point):
            return 0.5 * super().norms(block, point)

    with pytest.raises(AssertionError, match="norms differ"):
        check_query(
            Careless(Logistic(), 0.1), WIDTH, points=(np.ones(WIDTH),),
            reference=slow_gradient(Logistic()), make_rows=rows_for(Logistic()),
        )  # fmt: skip


def test_entries_stored_in_parts_count_as_their_sum():
    """Two halves of an entry have a shorter norm than the entry: the clip would be exceeded."""
    stored = (np.full(4, 0.5), np.array([1, 1, 3, 0]), np.array([0, 2, 4]))
    parts = sparse.csr_array(stored, shape=(2, WIDTH))
    lengths = unit_factors(Block(parts, np.ones(2)))[1]
    np.testing.assert_allclose(lengths, [1.0, np.sqrt(0.5)])
    query, y = SlopeGradient(Logistic(), 0.1), np.ones(2)
    found = clipped_block_sum(query, Block(parts, y), np.ones(WIDTH))
    whole = clipped_block_sum(query, Block(parts.toarray(), y), np.ones(WIDTH))
    np.testing.assert_allclose(found, whole, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("entry", "length"), [(0.0, 0.0), (1.0, 3.0), (1e200, np.inf), (-np.inf, np.inf), (np.nan,) * 2]
)
def test_a_length_is_silent_whatever_was_set(entry, length):
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        found = length_of(np.full((3, 3), entry))
    np.testing.assert_equal(found, length)


def test_factors_are_left_out_where_all_of_them_are_one():
    """Products with them would be the same bits; one row outside of the ball needs them all."""
    inside = np.random.default_rng(0).standard_normal((40, WIDTH))
    inside /= np.linalg.norm(inside, axis=1)[:, None] * 1.5
    outside = np.vstack([inside, 3.0 * np.ones(WIDTH)])
    y, point = np.ones(41), np.arange(WIDTH) - 1.0
    assert needed_factors(Block(inside, y[:40]))[0] is None
    np.testing.assert_array_equal(
        needed_factors(Block(outside, y))[0], unit_factors(Block(outside, y))[0]
    )
    plain, other = SlopeGradient(Logistic(), 0.1), Block(inside, y[:40])
    other.__dict__["needed_factors"] = unit_factors(other)
    np.testing.assert_array_equal(
        clipped_block_sum(plain, Block(inside, y[:40]), point),
        clipped_block_sum(plain, other, point),
    )
