import pickle

import numpy as np
import pytest
from scipy import sparse

from veilspan.curator.rows import LARGEST_VALUE, Block, Rows
from veilspan.losses.linear import Logistic
from veilspan.queries.linear.regression_moments import RegressionMoments
from veilspan.queries.linear.slope_gradient import SlopeGradient
from veilspan.queries.moments import RowSum, SecondMoment


def test_blocks_cover_the_table_in_order_without_copying():
    x = np.arange(20.0).reshape(10, 2)
    blocks = list(Rows(x).blocks(4))
    assert [block.n_rows for block in blocks] == [4, 4, 2]
    np.testing.assert_array_equal(np.concatenate([block.x for block in blocks]), x)
    assert np.shares_memory(blocks[0].x, x)
    with pytest.raises(ValueError, match="read-only"):
        blocks[0].x[0, 0] = 1.0
    x[0, 0] = 5.0  # the user's own array stays writable


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint16, bool, np.float64])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_blocks_are_float64_whatever_comes_in(dtype, make):
    x = np.array([[0, 1], [1, 1], [0, 0]], dtype=dtype)
    block = next(Rows(make(x)).blocks(10))
    assert block.x.dtype == np.float64
    np.testing.assert_array_equal(block.dense(), x.astype(float))


def test_targets_go_with_their_rows():
    rows = Rows(np.eye(3), np.array([1, 2, 3]))
    block = next(rows.blocks(5)).take(np.array([True, False, True]))
    np.testing.assert_array_equal(block.y, [1.0, 3.0])
    assert isinstance(block, Block)


SECRET = 1234.56789


@pytest.mark.parametrize(
    "bad",
    [
        np.full((3, 2), SECRET)[0],
        np.full((1, 2), SECRET),
        np.full((3, 0), SECRET),
        np.full((3, 2, 2), SECRET),
        np.array([[SECRET, np.nan], [0, 0]]),
        np.array([[SECRET, np.inf], [0, 0]]),
        np.array([[SECRET, -1e200], [0, 0]]),
        np.array([[SECRET, 1j], [0, 0]]),
        np.array([["1234.56789", "b"], ["c", "d"]]),
        sparse.csr_array(np.array([[SECRET, np.nan], [0, 0]])),
    ],
)
def test_bad_tables_are_refused_without_printing_them(bad):
    with pytest.raises((ValueError, TypeError)) as caught:
        Rows(bad)
    assert "1234" not in str(caught.value)


@pytest.mark.parametrize("bad", [np.ones(2), np.ones((3, 1, 1)), [1, np.nan, 2], ["a", "b", "c"]])
def test_bad_targets_are_refused(bad):
    with pytest.raises((ValueError, TypeError), match="y "):
        Rows(np.eye(3), bad)


def test_dask_is_not_loaded_silently():
    class Lazy:
        def __dask_graph__(self):
            return {}

    with pytest.raises(TypeError, match="Dask"):
        Rows(Lazy())


def test_rows_are_never_pickled():
    with pytest.raises(TypeError, match="never pickled"):
        pickle.dumps(Rows(np.eye(3)))


@pytest.mark.parametrize("order", "CF")
def test_lengths_of_wide_rows_have_the_same_bits_alone(order):
    x = np.asarray(np.random.default_rng(0).standard_normal((5, 9000)), order=order)
    whole = Block(x).squared_lengths
    for i in range(5):
        assert Block(x[i : i + 1]).squared_lengths[0] == whole[i]


def test_an_entry_in_two_parts_changes_no_other_row():
    """Its table is no longer in canonical form, which must not choose another formula for all."""
    whole = sparse.random(50, 2000, density=0.3, format="csr", random_state=0)
    halves = np.repeat(whole.data[:1] / 2, 2)
    split = sparse.csr_array(
        (
            np.concatenate([halves, whole.data[1:]]),
            np.concatenate([whole.indices[:1], whole.indices]),
            np.concatenate([[0], whole.indptr[1:] + 1]),
        ),
        shape=whole.shape,
    )
    assert not split.has_canonical_format
    one, two = (Block(sparse.csr_array(x)).squared_lengths for x in (whole, split))
    np.testing.assert_array_equal(one, two)


QUERIES = {
    "row sum": (RowSum(1.0), None),
    "second moment": (SecondMoment(1.0), None),
    "slope gradient": (SlopeGradient(Logistic(), 1.0), np.zeros(1)),
    "regression moments": (RegressionMoments(1.0), None),
}


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_an_entry_in_two_parts_does_not_undo_other_rows(name, dtype):
    """1e30 and -1e30 are a zero; added one after the other they swallow every row before."""
    query, point = QUERIES[name]
    space = query.space(1, point)

    def clipped_sum(last):
        data = np.concatenate([np.full(50, 0.5), last]).astype(dtype)
        starts = np.append(np.arange(51), len(data))
        x = sparse.csr_array((data, np.zeros(len(data), dtype=np.int32), starts), shape=(51, 1))
        return Rows(x, np.ones(51)).clipped_sum(query, point, space)

    np.testing.assert_array_equal(clipped_sum([1e30, -1e30]), clipped_sum([0.0]))


def test_parts_of_whole_numbers_are_joined_beyond_their_type():
    parts = np.array([100, 100, 1], dtype=np.int8)
    x = sparse.csr_array((parts, [0, 0, 0], [0, 2, 3]), shape=(2, 1))
    np.testing.assert_array_equal(next(Rows(x).blocks(5)).dense(), [[200.0], [1.0]])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_table_is_too_large_from_one_entry_on(order, dtype):
    """However many there are: a sum of squares may tell that none is, not that one is."""
    largest = LARGEST_VALUE if dtype == np.float64 else np.finfo(np.float32).max
    table = np.full((300, 4), largest, dtype=dtype, order=order)
    Rows(table)
    for odd in (np.nan, np.inf, -np.inf, *((-2e140,) if dtype == np.float64 else ())):
        changed = table.copy(order="K")
        changed[17, 2] = odd
        with pytest.raises(ValueError, match="too large to square"):
            Rows(changed)
