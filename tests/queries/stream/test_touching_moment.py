"""What a private stream asks, and how it completes rows with gaps."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from veilspan import check_query
from veilspan.queries.stream.touching_moment import TouchingMoment, complete_rows

FRAME = np.linalg.qr(np.random.default_rng(5).standard_normal((5, 3)))[0]


def slow_touch(row, point):
    basis, scale = point
    inside = basis.T @ row.x[0]
    outside = (row.x[0] - basis @ inside) / scale
    return np.outer(inside, inside), np.outer(outside, inside), np.array([outside @ outside])


def test_the_touching_moment_keeps_the_contract_of_queries():
    points = ((FRAME[:, :2], 1.0), (FRAME[:, :2], 0.2), (FRAME[:, :1], 0.01))
    report = check_query(TouchingMoment(1.3), 5, points=points, reference=slow_touch)
    # What the search, whose seed is fixed, reaches of the declared bounds: 1 and 0.9998.
    assert report.add_remove > 0.999
    assert report.replace_one > 0.999


@given(
    rows=arrays(np.float64, (4, 5), elements=st.one_of(st.just(np.nan), st.floats(-1e150, 1e150))),
    ridge=st.floats(1e-6, 1.0),
)
def test_complete_rows_are_finite_and_each_by_itself(rows, ridge):
    done = complete_rows(rows, FRAME[:, :2], 1.5, ridge)
    assert np.isfinite(done).all()
    observed = np.where(np.isnan(rows), 0.0, done)
    assert (np.linalg.norm(observed, axis=1) <= 1.5 * (1 + 1e-12)).all()
    other = rows.copy()
    other[0] = 1.0
    again = complete_rows(other, FRAME[:, :2], 1.5, ridge)
    assert done[1:].tobytes() == again[1:].tobytes()


def test_a_row_of_the_subspace_is_completed_to_itself():
    row = FRAME[:, :2] @ np.array([0.3, -0.5])
    gaps = row.copy()
    gaps[[1, 4]] = np.nan
    done = complete_rows(gaps[None], FRAME[:, :2], 1.0, 1e-12)
    np.testing.assert_allclose(done[0], row, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(complete_rows(gaps[None], None, 1.0, 1.0)[0], np.nan_to_num(gaps))
