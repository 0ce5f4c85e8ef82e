"""Rows inside the unit ball."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from veilspan.curator.rows import Block
from veilspan.curator.sparse_rows import with_constant
from veilspan.queries.linear.row_scaling import RowScaling

LOW, HIGH = np.array([-1.0, 0.0, 10.0]), np.array([1.0, 5.0, 30.0])


def onto_cube(intercept):
    """Ranges onto [-1, 1], and rows inside them never shortened."""
    return RowScaling((LOW + HIGH) / 2, (HIGH - LOW) / 2, np.sqrt(3 + intercept**2), intercept)


@given(
    rows=arrays(np.float64, (5, 3), elements=st.floats(-1e140, 1e140)),
    intercept=st.sampled_from([0.0, 0.5, 2.0]),
    scale=st.sampled_from([1e-60, 0.1, np.array([1.0, 1e9, 1e-9])]),
)
def test_scaled_rows_lie_in_the_unit_ball_each_by_itself(rows, intercept, scale):
    scaling = RowScaling(np.arange(3.0), scale, 1.5, intercept)
    done = scaling(Block(rows)).x
    assert done.shape == (5, scaling.width(3))
    assert np.isfinite(done).all()
    assert (np.linalg.norm(done, axis=1) <= 1 + 1e-12).all()
    other = rows.copy()
    other[0] = 7.0
    assert done[1:].tobytes() == scaling(Block(other)).x[1:].tobytes()


@given(
    rows=arrays(np.float64, (4, 3), elements=st.sampled_from([0.0, 1.0, -2.5, 1e3])),
    intercept=st.sampled_from([0.0, 1.0]),
)
def test_sparse_rows_are_scaled_like_dense_ones_and_stay_sparse(rows, intercept):
    scaling = RowScaling(None, HIGH, np.sqrt(3 + intercept**2), intercept)
    targets = np.arange(4.0)
    dense = scaling(Block(rows, targets))
    thin = scaling(Block(sparse.csr_array(rows), targets))
    assert thin.is_sparse
    assert thin.x.nnz == np.count_nonzero(rows) + 4 * (intercept > 0)
    np.testing.assert_allclose(thin.dense(), dense.x, rtol=1e-14)
    np.testing.assert_array_equal(thin.y, targets)


def test_the_input_is_not_written_to():
    rows = sparse.csr_array(np.eye(3))
    before = rows.data.copy()
    RowScaling(scale=3.0)(Block(rows))
    np.testing.assert_array_equal(rows.data, before)


def test_rows_inside_their_ranges_are_never_shortened():
    scaling = onto_cube(1.0)
    corners = np.array([LOW, HIGH, (LOW + HIGH) / 2])
    done = scaling(Block(corners)).x
    np.testing.assert_allclose(done * scaling.row_norm, [[-1, -1, -1, 1], [1] * 4, [0, 0, 0, 1]])


@pytest.mark.parametrize("shape", [(4,), (4, 2)])
def test_coefficients_for_raw_rows_give_the_same_scores(shape):
    rng = np.random.default_rng(0)
    theta = rng.standard_normal(shape)
    scaling = onto_cube(0.7)
    rows = rng.uniform(LOW, HIGH, size=(6, 3))
    coefficients, constant = scaling.user_coefficients(theta)
    np.testing.assert_allclose(rows @ coefficients + constant, scaling(Block(rows)).x @ theta)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"scale": 0.0}, "scale must be positive"),
        ({"scale": np.array([1.0, np.inf])}, "scale must be positive"),
        ({"row_norm": 0.0}, "row_norm must be positive"),
        ({"intercept": -1.0}, "intercept must be positive"),
        ({"center": np.array([np.nan])}, "center must hold"),
    ],
)
def test_nonsense_is_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        RowScaling(**settings)


def test_a_centre_for_sparse_rows_is_refused_in_words():
    with pytest.raises(ValueError, match="center=None"):
        RowScaling(np.ones(3))(Block(sparse.csr_array(np.eye(3))))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_no_row_raises_where_every_flag_is_an_error(make):
    rows = make(np.array([[5e-324, 1e-310, 1e-300], [0.0, 0.0, 0.0], [1e140, -1e140, 1e-160]]))
    with np.errstate(all="raise"):
        done = RowScaling(None, HIGH, 1.5, 0.5)(Block(rows))
    assert np.isfinite(done.dense()).all()


def test_wide_rows_are_scaled_alike_in_a_block_of_any_size():
    rows = np.random.default_rng(0).standard_normal((3, 9000))
    scaling = RowScaling(None, 1.0, 1.5, 0.5)
    whole = scaling(Block(rows)).x
    for i in range(3):
        assert scaling(Block(rows[i : i + 1])).x.tobytes() == whole[i : i + 1].tobytes()


@pytest.mark.parametrize("rows", [[[0, 0, 0], [1, 0, 2]], [[0, 0, 0]], [[0, 3, 0], [0, 0, 0]]])
def test_a_constant_joins_sparse_rows_as_their_last_entry(rows):
    x = sparse.csr_array(np.array(rows, dtype=float))
    wider = with_constant(x, 0.5)
    expected = np.hstack([x.toarray(), np.full((len(rows), 1), 0.5)])
    np.testing.assert_array_equal(wider.toarray(), expected)
    again = sparse.csr_array((wider.data, wider.indices, wider.indptr), shape=wider.shape)
    assert wider.has_canonical_format
    assert again.has_canonical_format
    assert wider.nnz == x.nnz + len(rows)
