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
from veilspan.curator.rows import Block, clipped_block_sum
from veilspan.losses.linear import Multinomial, Squared
from veilspan.queries.linear.slope_gradient import SlopeGradient, RowMetric, MetricGradient

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
        MetricGradient(loss, 0.1, RowMetric(A), 50), WIDTH, points=points,
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


def test_lengths_are_kept_for_one_matrix_alone():
    loss, rng = Multinomial(3), np.random.default_rng(0)
    x, y = rng.standard_normal((40, WIDTH)), rng.integers(3, size=40)
    block = Block(x, y)
    for matrix in (A, 2 * A, A):
        query = MetricGradient(loss, 0.1, RowMetric(matrix))
        found = clipped_block_sum(query, block, theta_of(loss))
        fresh = clipped_block_sum(query, Block(x, y), theta_of(loss))
        np.testing.assert_array_equal(found, fresh)


def test_slopes_without_a_bound_are_refused():
    with pytest.raises(ValueError, match="without a bound"):
        MetricGradient(Squared(), 0.1, RowMetric(A))
