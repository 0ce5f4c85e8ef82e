import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from veilspan.curator import weighted_gram as module
from veilspan.curator.clipping import find_block_rows
from veilspan.curator.rows import Rows
from veilspan.curator.weighted_gram import SPARSE_BLOCK_ROWS, is_thin, weighted_gram
from veilspan.queries.linear.regression_moments import RegressionMoments
from veilspan.queries.moments import RowSum, SecondMoment
from veilspan.queries.subspace.sphered import SphericalMoment


def table(n, d, density, seed=0):
    rng = np.random.default_rng(seed)
    return sparse.random_array((n, d), density=density, format="csr", rng=rng, dtype=np.float64)


@pytest.mark.parametrize("density", [0.0, 0.01, 0.2, 1.0])
@pytest.mark.parametrize("clipped", [True, False])
def test_sparse_and_dense_rows_have_the_same_sum(density, clipped, monkeypatch):
    monkeypatch.setattr(module, "PIECE_BYTES", 8 * 40 * 7)  # several pieces, the last one shorter
    x = table(60, 40, density)
    roots = np.random.default_rng(1).random(60) if clipped else np.ones(60)
    assert is_thin(x) == (density < 0.05)
    expected = (roots[:, None] * x.toarray()).T @ (roots[:, None] * x.toarray())
    np.testing.assert_allclose(weighted_gram(x, roots), expected, rtol=0, atol=60 * 2**-53 * 60)
    np.testing.assert_allclose(weighted_gram(x.toarray(), roots), expected, rtol=1e-13)


def test_no_rows_have_no_sum():
    empty = sparse.csr_array((0, 3))
    np.testing.assert_array_equal(weighted_gram(empty, np.zeros(0)), np.zeros((3, 3)))


def test_one_long_row_does_not_count_as_many():
    """A density would call this table thin; its long rows make the work."""
    x = sparse.vstack([np.ones((20, 400)), table(980, 400, 0.001)]).tocsr()
    assert x.nnz < 0.05 * 1000 * 400
    assert not is_thin(sparse.csr_array(x))


@pytest.mark.parametrize("query", [SecondMoment(1.0), SphericalMoment(), RegressionMoments(1.0)])
@pytest.mark.parametrize("density", [0.01, 0.3])
def test_memory_does_not_hold_the_dense_table(query, density):
    """Beyond the table: a few answers, the entries of a block, a piece of rows."""
    n, d = 12_000, 400
    x = table(n, d, density)
    held = Rows(x, np.ones(n))
    space = query.space(d, None)
    held.clipped_sum(query, None, space)
    tracemalloc.start()
    try:
        held.clipped_sum(query, None, space)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    entries = 8 * density * d * SPARSE_BLOCK_ROWS
    assert peak < 5 * 8 * d * d + 3 * entries + 2 * module.PIECE_BYTES < 8 * n * d


def test_blocks_of_a_sparse_table_are_a_public_number():
    """The same whatever is stored, since the noise depends on it."""
    query = SecondMoment(1.0)
    sizes = {
        density: find_block_rows(query, Rows(table(50, 2000, density)), None)
        for density in (0.0, 0.01, 1.0)
    }
    assert set(sizes.values()) == {SPARSE_BLOCK_ROWS}


def block_rows(query, point, columns, sparse):
    return query.public_facts("add-remove", columns, point, sparse=sparse).block_rows


@pytest.mark.parametrize(("columns", "rows"), [(100, 2500), (500, 500), (2000, 500)])
def test_blocks_of_wide_tables_are_as_long_as_a_quarter_of_their_width(columns, rows):
    """4 MB of 2,000 columns are 125 rows, and adding up the products takes as long as they do."""
    assert block_rows(SecondMoment(1.0), None, columns, sparse=False) == rows


def test_queries_that_write_rows_out_keep_small_blocks():
    center = np.zeros(2000)
    for query, point in ((SecondMoment(1.0), center), (SphericalMoment(center), None)):
        dense, thin = (block_rows(query, point, 2000, sparse=sparse) for sparse in (False, True))
        assert dense == thin == 500
    assert block_rows(RowSum(1.0), None, 2000, sparse=True) == 125


def test_pairs_of_sparse_rows_are_dense():
    rows = Rows(table(50, 20, 0.1))
    assert rows.is_sparse
    assert not rows.paired(np.random.default_rng(0)).is_sparse
