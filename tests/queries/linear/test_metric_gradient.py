import numpy as np
import pytest

from queries.linear.test_slope_gradient import (
    KINDS,
    LOSSES,
    WIDTH,
    rows_for,
    slow_gradient,
    theta_of,
)
from veilspan import check_query
from veilspan.curator import rows as rows_module
from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block, Rows, clipped_block_sum
from veilspan.losses.linear import Multinomial, Squared
from veilspan.queries.linear.slope_gradient import MetricGradient, RowMetric, SlopeGradient

BOUNDED = [name for name in LOSSES if np.isfinite(LOSSES[name].slope_bound)]
A = np.random.default_rng(3).standard_normal((WIDTH, WIDTH)) * [3.0, 1.0, 0.5, 0.1]


def slow_metric(loss):
    one = slow_gradient(loss)
    return lambda row, theta: A @ one(row, theta)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", BOUNDED)
def test_metric_gradients_keep_their_contract(name, kind):
    loss = LOSSES[name]
    points = (0 * theta_of(loss), theta_of(loss), theta_of(loss, 1, 5.0))
    report = check_query(
        MetricGradient(loss, 0.1, RowMetric(A)), WIDTH, points=points,
        reference=slow_metric(loss), make_rows=rows_for(loss, kind), tolerance=1e-9,
    )  # fmt: skip
    assert report.add_remove > 0.99
    assert report.replace_one > 0.99


def test_it_is_the_gradient_of_stretched_rows():
    """At theta = A^T phi, rows short enough that neither is brought into the unit ball."""
    loss, rng = Multinomial(3), np.random.default_rng(0)
    x, y, phi = 0.05 * rng.standard_normal((40, WIDTH)), rng.integers(3, size=40), theta_of(loss)
    plain = clipped_block_sum(SlopeGradient(loss, 0.1), Block(x @ A.T, y), phi)
    stretched = MetricGradient(loss, 0.1, RowMetric(A))
    np.testing.assert_allclose(clipped_block_sum(stretched, Block(x, y), A.T @ phi), plain)


@pytest.mark.parametrize("mapped", [False, True])
def test_lengths_are_kept_for_one_matrix_alone(mapped, monkeypatch):
    """Also where blocks do not last: those of mapped rows are made in every walk."""
    loss, rng = Multinomial(3), np.random.default_rng(0)
    monkeypatch.setattr(rows_module, "KEPT_BYTES", 0)
    table = Rows(rng.standard_normal((40, WIDTH)), rng.integers(3, size=40).astype(float))
    rows = table.mapped(halved, WIDTH) if mapped else table
    space = MetricGradient(loss, 0.1, RowMetric(A)).space(WIDTH, theta_of(loss))
    for matrix in (A, 2 * A, A):
        metric, found = Counting(matrix), []
        query = MetricGradient(loss, 0.1, metric)
        for point in (theta_of(loss), theta_of(loss, 1), theta_of(loss)):
            found.append(rows.clipped_sum(query, point, space, rows_per_block=16))
        assert metric.looks == 3 * 3 + 3  # blocks and walks, and blocks in the first walk
        block = Block(next(rows.blocks(40)).x, table._y)
        fresh = clipped_block_sum(query, block, theta_of(loss))
        np.testing.assert_array_equal(found[0], found[2])
        np.testing.assert_allclose(found[0], space.embed(fresh))


class Counting(RowMetric):
    """Counts how often its matrix is read."""

    def __init__(self, matrix):
        vars(self).update(_matrix=matrix, looks=0)

    @property
    def matrix(self):
        vars(self)["looks"] += 1
        return self._matrix


@row_map
def halved(block):
    return Block(block.x / 2, block.y)


def test_walks_of_two_strides_keep_to_their_own_lengths():
    """A walk of another stride may begin before the first one ends."""
    table = Rows(np.random.default_rng(0).standard_normal((40, WIDTH)))
    seen = []

    def part(block):
        seen.append(block.__dict__["notes"])
        if len(seen) == 1:
            table.total(lambda inner: inner.__dict__["notes"].update(of="others") or 0.0, 24, 8)
        return 0.0

    table.total(part, 16, 8)
    assert all("of" not in notes for notes in seen)


def test_roundings_before_the_matrix_enter_once_where_a_row_is_replaced():
    query = MetricGradient(Multinomial(3), 0.1, RowMetric(A))
    point = theta_of(Multinomial(3))
    once, each = (
        query.public_facts(neighbors, WIDTH, point, sparse=False)
        for neighbors in ("replace-one", "add-remove")
    )
    rows, slope = once.block_rows, query.loss.slope_bound / query.bound
    assert once.roundoff > query.metric.size * slope * rows * (rows + WIDTH)
    assert each.roundoff > query.metric.size * slope * (rows + WIDTH)


@pytest.mark.parametrize("matrix", [np.ones((2, 3)), np.zeros((2, 2)), np.full((2, 2), 1e200)])
def test_a_metric_is_a_square_matrix_of_a_usable_size(matrix):
    with pytest.raises(ValueError, match="metric"):
        RowMetric(matrix)


def test_slopes_without_a_bound_are_refused():
    with pytest.raises(ValueError, match="without a bound"):
        MetricGradient(Squared(), 0.1, RowMetric(A))
