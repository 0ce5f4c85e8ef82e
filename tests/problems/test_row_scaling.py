"""Rows inside the unit ball, before the curator or inside a question."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from veilspan import Budget, GaussianEvent, Plan, check_query
from veilspan.curator.curator import Curator
from veilspan.curator.rows import Block, Rows
from veilspan.privacy.noise import SeededNoise
from veilspan.problems.moments import RowSum, SecondMoment
from veilspan.problems.row_scaling import RowScaling, ScaledQuery, scaled_view

RANGES = np.array([-1.0, 0.0, 10.0]), np.array([1.0, 5.0, 30.0])


@given(
    rows=arrays(np.float64, (5, 3), elements=st.floats(-1e140, 1e140)),
    intercept=st.sampled_from([0.0, 0.5, 2.0]),
    scale=st.sampled_from([1e-100, 0.1, np.array([1.0, 1e9, 1e-9])]),
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
    limit=st.sampled_from([np.inf, 1.0]),
)
def test_sparse_rows_are_scaled_like_dense_ones_and_stay_sparse(rows, intercept, limit):
    scaling = RowScaling.from_ranges(*RANGES, intercept=intercept, keep_zeros=True, limit=limit)
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
    scaling = RowScaling.from_ranges(*RANGES, intercept=1.0)
    corners = np.array([RANGES[0], RANGES[1], np.mean(RANGES, axis=0)])
    done = scaling(Block(corners)).x
    np.testing.assert_allclose(done * scaling.row_norm, [[-1, -1, -1, 1], [1] * 4, [0, 0, 0, 1]])


def test_a_wild_entry_is_cut_instead_of_shortening_its_row():
    scaling = RowScaling.from_ranges(*RANGES, intercept=1.0, limit=1.0)
    done = scaling(Block(np.array([[1e9, 2.5, 10.0]]))).x
    np.testing.assert_allclose(done * scaling.row_norm, [[1, 0, -1, 1]])


@pytest.mark.parametrize("shape", [(4,), (4, 2)])
def test_coefficients_for_raw_rows_give_the_same_scores(shape):
    rng = np.random.default_rng(0)
    theta = rng.standard_normal(shape)
    scaling = RowScaling.from_ranges(*RANGES, intercept=0.7)
    rows = rng.uniform(*RANGES, size=(6, 3))
    coefficients, constant = scaling.user_coefficients(theta)
    np.testing.assert_allclose(rows @ coefficients + constant, scaling(Block(rows)).x @ theta)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"scale": 0.0}, "scale must be positive"),
        ({"scale": np.array([1.0, np.inf])}, "scale must be positive"),
        ({"row_norm": 0.0}, "row_norm must be positive"),
        ({"intercept": -1.0}, "intercept must be finite"),
        ({"limit": 0.0}, "limit must be"),
        ({"center": np.array([np.nan])}, "center must hold"),
    ],
)
def test_nonsense_is_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        RowScaling(**settings)


def test_ranges_and_sparse_centres_are_refused_in_words():
    with pytest.raises(ValueError, match="low < high"):
        RowScaling.from_ranges(RANGES[1], RANGES[0])
    with pytest.raises(ValueError, match="equal shapes"):
        RowScaling.from_ranges(RANGES[0], RANGES[1][:2])
    with pytest.raises(ValueError, match="center=None"):
        RowScaling(np.ones(3))(Block(sparse.csr_array(np.eye(3))))


def test_a_scaled_query_keeps_the_contract_of_queries():
    scaling = RowScaling(np.arange(4.0), np.array([1.0, 2.0, 0.5, 1.0]), 1.2, 0.3)

    def slow(row, point):
        v = np.append((row.x[0] - scaling.center) / scaling.scale, 0.3)
        v = v / max(np.linalg.norm(v), 1.2)
        return np.outer(v, v)

    report = check_query(ScaledQuery(SecondMoment(0.9), scaling), 4, reference=slow)
    assert report.add_remove > 0.98
    assert report.replace_one > 0.9


def test_a_view_asks_the_curator_about_scaled_rows():
    rows = np.random.default_rng(1).standard_normal((30, 3))
    scaling = RowScaling.from_ranges(*RANGES, intercept=1.0)
    plan = Plan(
        method="test",
        budget=Budget(np.inf, 1e-6),
        neighbors="replace-one",
        n_rows=30,
        n_features=3,
        events=(GaussianEvent("sum", 0.0),),
    )
    view = scaled_view(Curator(Rows(rows), plan, SeededNoise(0)), scaling)
    assert (view.n_rows, view.n_features, view.plan) == (30, 4, plan)
    answer = view.answer(RowSum(1.0), event="sum").value
    np.testing.assert_allclose(answer, scaling(Block(rows)).x.sum(axis=0))
