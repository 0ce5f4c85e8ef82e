"""Absent rows: they count as rows, contribute zero to every answer, and move no other row."""

import numpy as np
import pytest
from scipy import sparse

from contracts.rounding_cells import CELLS
from veilspan.curator.objective_door import objective_event
from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block, MappedRows, Rows, clipped_block_sum
from veilspan.curator.tilted_objective import TiltedObjective
from veilspan.losses.linear import Logistic, Multinomial
from veilspan.queries.linear.row_scaling import RowScaling
from veilspan.queries.moments import RowCount


def with_absent(block, absent):
    """The block with some rows emptied and marked as absent."""
    present = np.ones(block.n_rows, dtype=bool)
    present[absent] = False
    if block.is_sparse:
        x = sparse.csr_array(sparse.diags_array(present.astype(float)) @ block.x)
        x.sort_indices()
    else:
        x = np.where(present.reshape(-1, *[1] * (block.x.ndim - 1)), block.x, 0.0)
    return Block(x, block.y, present)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", CELLS)
def test_absent_rows_add_nothing_to_any_query(name, relation):
    cell = CELLS[name]
    query = cell.query(relation)
    crowd = cell.crowd(np.random.default_rng(3), 40)
    absent = np.array([0, 7, 8, 39])
    marked = with_absent(crowd, absent)
    kept = crowd.take(marked.present)
    space = query.space(cell.width, cell.point)
    whole, expected = (
        space.embed(clipped_block_sum(query, block, cell.point)) for block in (marked, kept)
    )
    # The same rows in blocks of 40 and of 36: both are off by what the query declares, at most.
    error = 2 * 40 * query.roundoff(cell.width, cell.point) * 2.0**-53 * query.bound
    assert np.linalg.norm(whole - expected) <= error


def test_the_count_leaves_absent_rows_out():
    block = Block(np.ones((5, 2)), present=np.array([True, False, True, True, False]))
    assert clipped_block_sum(RowCount(), block, None) == [3.0]


@pytest.mark.parametrize("loss", [Logistic(), Multinomial(3)])
def test_absent_rows_have_no_slope_and_no_curvature_in_a_tilted_objective(loss):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((30, 4)) / 4
    y = rng.integers(3, size=30).astype(float) if loss.n_outputs > 1 else np.sign(x[:, 0])
    present = rng.random(30) < 0.6
    event = objective_event(loss, lam=0.5)
    both = [
        TiltedObjective(lambda part, b=block: part(b), loss, event, 4)
        for block in (Block(x, y, present), Block(x, y).take(present))
    ]
    theta = rng.standard_normal(both[0].shape)
    gradients = [objective.row_gradient(theta) for objective in both]
    steps = [objective.solve(theta, gradients[1]) for objective in both]
    # Rounding of 30 terms of size below 1.
    np.testing.assert_allclose(*gradients, rtol=0, atol=1e-13)
    np.testing.assert_allclose(*steps, rtol=0, atol=1e-12)


def test_maps_samples_and_pairs_carry_absence():
    rng = np.random.default_rng(1)
    x, present = rng.standard_normal((20, 3)), rng.random(20) < 0.5
    rows = Rows(x, None, present)
    mapped = MappedRows(rows, RowScaling(intercept=0.3), 4)
    assert [b.present.tolist() for b in mapped.blocks(20)] == [present.tolist()]
    (block,) = rows.map_now(RowScaling(intercept=0.3)).blocks(20)
    assert block.present.tolist() == present.tolist()
    assert block.take(np.arange(20) < 5).present.tolist() == present[:5].tolist()
    pairs = rows.paired(np.random.default_rng(2))
    order = np.random.default_rng(2).permutation(20)
    both = present[order[:10]] & present[order[10:]]
    assert np.concatenate([b.present for b in pairs.blocks(4)]).tolist() == both.tolist()


def test_a_map_cannot_lose_who_is_absent():
    @row_map
    def forgetful(block):
        return Block(block.x, block.y)

    rows = Rows(np.ones((4, 2)), None, np.array([True, False, True, False]))
    (block,) = MappedRows(rows, forgetful, 2).blocks(10)
    assert block.present.tolist() == [True, False, True, False]
