"""Counts of columns in public bins."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from veilspan import check_query
from veilspan.curator.check_query import QueryCheckError
from veilspan.curator.rows import Block, clipped_block_sum
from veilspan.queries.linear.column_histograms import ColumnHistograms
from veilspan.solvers.linear.asked.log_grid import LOG_EDGES

EDGES = np.array([-2.0, 0.0, 1.0, 5.0])
POINT = np.array([0.0, 1.0, -2.0]), np.array([1.0, 3.0, 0.5])


def slow(row, point):
    center, scale = (np.zeros(3), np.ones(3)) if point is None else point
    votes = np.zeros((3, 5))
    for j, value in enumerate((row.x[0] - center) / scale):
        votes[j, sum(edge <= value for edge in EDGES)] = 1.0
    return votes


def test_the_contract_of_queries():
    report = check_query(ColumnHistograms(3, EDGES), 3, points=(None, POINT), reference=slow)
    assert report.add_remove == pytest.approx(1.0)
    assert report.replace_one == pytest.approx(1.0)


class OneVote(ColumnHistograms):
    """Counts p votes of a row as if they were one."""

    def sensitivity(self, neighbors):
        return math.sqrt(2) if neighbors == "replace-one" else 1.0


def test_a_broken_copy_is_caught():
    with pytest.raises(QueryCheckError, match="sensitivity"):
        check_query(OneVote(3, EDGES), 3)


@given(
    rows=arrays(np.float64, (6, 3), elements=st.sampled_from([0.0, 0.0, 1.0, -2.0, 1e140, 1e-12])),
    point=st.sampled_from([None, POINT]),
)
def test_sparse_rows_vote_like_dense_ones(rows, point):
    query = ColumnHistograms(3, LOG_EDGES)
    dense, thin = (
        clipped_block_sum(query, Block(x), point) for x in (rows, sparse.csr_array(rows))
    )
    np.testing.assert_array_equal(dense, thin)
    np.testing.assert_array_equal(dense.sum(axis=1), 6)


def test_an_entry_stored_twice_votes_once():
    doubled = sparse.csr_array((np.ones(2), np.zeros(2, int), np.array([0, 2])), shape=(1, 2))
    counts = clipped_block_sum(ColumnHistograms(2, EDGES), Block(doubled), None)
    np.testing.assert_array_equal(counts, [[0, 0, 0, 1, 0], [0, 0, 1, 0, 0]])


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="increasing"):
        ColumnHistograms(3, EDGES[::-1])
    with pytest.raises(ValueError, match="columns"):
        ColumnHistograms(3, EDGES).space(4, None)
