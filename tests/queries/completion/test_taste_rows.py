"""Rows of length 1: what they are, in whole numbers, and how long they can be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from veilspan.curator.rows import Block
from veilspan.queries.completion.item_popularity import ItemPopularity
from veilspan.queries.completion.taste_rows import UNIT_STEPS, TasteRule

STARS = TasteRule((1.0, 5.0))


def row(*ratings):
    """One user's ratings of the first items; the others she did not rate."""
    values = (np.array(ratings), np.arange(len(ratings)), [0, len(ratings)])
    return Block(sparse.csr_array(values, shape=(1, 6)))


def test_ratings_tilt_what_a_user_has():
    taken = STARS.take(row(5.0, 3.0, 1.0))
    # Her mean is 3: half a range above it counts half as much again.
    assert taken.values / taken.values[1] == pytest.approx([1.5, 1, 0.5], abs=1e-5)
    assert np.linalg.norm(taken.values) == pytest.approx(UNIT_STEPS, rel=1e-6)


def test_without_ratings_items_count_alike_and_zeros_not_at_all():
    dense = TasteRule(None).take(Block(np.array([[0.0, 3.0, 0.0, -1.0]])))
    assert dense.values == pytest.approx(UNIT_STEPS * np.array([0, 1, 0, 1]) / np.sqrt(2), abs=1)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-20, 20), min_size=1, max_size=40), st.booleans())
def test_no_row_is_longer_than_one_or_negative(ratings, rated):
    rule = STARS if rated else TasteRule(None)
    taken = rule.take(Block(np.array([ratings])))
    assert (taken.values >= 0).all()
    assert np.sum(taken.values**2) <= UNIT_STEPS**2  # whole numbers below 2^53: exact
    assert np.array_equal(taken.values, np.floor(taken.values))
    if rated:  # some rating is not below the mean
        assert np.sum(taken.values**2) >= 0.99 * UNIT_STEPS**2


def test_whole_numbers_survive_the_longest_rows():
    """2^20 items with ratings at both ends: squares still sum exactly."""
    ratings = np.where(np.arange(2**20) % 2, 5.0, 1.0)[None]
    taken = STARS.take(Block(ratings))
    # 1/2 and 3/2 over a length of sqrt(5/4 2^20): 457.9 and 1,373.8 of 2^20 steps.
    assert set(np.unique(taken.values)) == {457.0, 1373.0}


def test_popularity_is_a_sum_of_rows():
    table = sparse.csr_array(np.array([[1.0, 1, 0], [0, 0, 2], [0, 0, 0]]))
    query = ItemPopularity(TasteRule(None))
    block = query.prepare(Block(table), None)
    total = query.weighted_sum(block, np.ones(3), None)
    assert total == pytest.approx([np.sqrt(0.5), np.sqrt(0.5), 1.0], abs=1e-5)
    assert query.norms(block, None) == pytest.approx([1, 1, 0], abs=1e-5)
    assert query.sensitivity("replace-one") == np.sqrt(2)
    assert query.sensitivity("add-remove") == 1
