"""The second moment of rows without popularity: exact, bounded, the same in any company."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veilspan.curator.rows import Block
from veilspan.queries.completion.integer_gram import dense_integer_gram
from veilspan.queries.completion.taste_gram import (
    DIRECTION_STEPS,
    GRAM_STEPS,
    TasteGram,
    TastePoint,
)
from veilspan.queries.completion.taste_rows import TasteRule

QUERY = TasteGram(TasteRule(None))


def histories(rng, users, items, share=0.3):
    return (rng.random((users, items)) < share).astype(float)


def point(popularity):
    order = np.argsort(-popularity, kind="stable")
    return TastePoint.at(order, popularity[order])


def test_rows_are_free_of_popularity_and_of_length_one():
    rng = np.random.default_rng(0)
    own = histories(rng, 200, 12)
    here = point(own.sum(axis=0))
    rows = QUERY.prepare(Block(own), here).astype(float) / GRAM_STEPS
    direction = here.direction / np.linalg.norm(here.direction)
    assert np.abs(rows @ direction).max() < 0.01  # but for rounding to steps
    lengths = np.linalg.norm(rows, axis=1)
    assert lengths.max() <= 1
    assert np.median(lengths) > 0.99


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.sampled_from([0.0, 1.0, 5.0]))
def test_no_contribution_is_longer_than_one(seed, items, steepness):
    rng = np.random.default_rng(seed)
    here = point(np.exp(steepness * rng.standard_normal(items)))
    assert here.direction @ here.direction <= DIRECTION_STEPS**2
    rows = QUERY.prepare(Block(histories(rng, 30, items, rng.random())), here)
    assert QUERY.norms(rows, here).max() <= 1
    whole = rows.astype(float)
    assert np.array_equal(whole, np.rint(whole))


def test_who_has_nothing_but_popularity_contributes_nothing():
    own = np.array([[1.0, 1, 1, 1], [0, 0, 0, 0], [1, 0, 0, 0]])
    here = TastePoint.at(np.arange(4), np.ones(4))
    rows = QUERY.prepare(Block(own), here)
    assert not rows[:2].any()
    assert rows[2].any()


def test_items_outside_the_point_play_no_part():
    rng = np.random.default_rng(1)
    own = histories(rng, 50, 9)
    here = TastePoint.at(np.array([7, 2, 4]), np.array([3.0, 2, 1]))
    other = own.copy()
    inside = own[:, [7, 2, 4]].any(axis=1)
    other[:, 0] = 1 - other[:, 0]
    one, two = (QUERY.prepare(Block(x), here) for x in (own, other))
    assert np.abs(one - two).max() <= 1  # the length of the whole row is taken off again
    assert np.array_equal(one.any(axis=1) & ~inside, np.zeros(50, bool))


@pytest.mark.parametrize("scale", [1, 40])
def test_sums_of_products_are_exact(scale):
    """In float32 where they fit, in float64 where they do not; the same whole numbers."""
    rng = np.random.default_rng(2)
    rows = np.rint(scale * 20 * rng.standard_normal((1500, 7))).astype(np.float32)
    whole = rows.astype(np.int64)
    assert np.array_equal(dense_integer_gram(rows), (whole.T @ whole).astype(float))


def test_absent_rows_and_shortened_ones():
    rng = np.random.default_rng(3)
    own = histories(rng, 40, 6)
    here = point(own.sum(axis=0) + 1)
    rows = QUERY.prepare(Block(own), here)
    some = (np.arange(40) % 2).astype(float)
    whole = QUERY.weighted_sum(rows[some == 1], np.ones(20), here)
    assert np.array_equal(QUERY.weighted_sum(rows, some, here), whole)
    half = QUERY.weighted_sum(rows, 0.5 * some, here)
    assert half == pytest.approx(whole / 2, abs=1e-12)


def test_sensitivities_are_met():
    here = TastePoint.at(np.arange(4), np.array([1.0, 0, 0, 0]))
    rows = QUERY.prepare(Block(np.array([[0.0, 1, 0, 0], [0, 0, 1, 0]])), here)
    one, two = (QUERY.weighted_sum(rows[[i]], np.ones(1), here) for i in (0, 1))
    reached = np.linalg.norm(one - two)
    assert 0.99 * np.sqrt(2) < reached <= QUERY.sensitivity("replace-one")
    assert 0.99 < np.linalg.norm(one) <= QUERY.sensitivity("add-remove")
