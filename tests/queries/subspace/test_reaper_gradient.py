import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veilspan import check_query
from veilspan.curator.rows import Block
from veilspan.queries.subspace.reaper_gradient import ReaperGradient


def relaxed_projector(n_features, values, seed=0):
    """Symmetric with these eigenvalues, to the last bit."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((n_features, n_features)))[0]
    matrix = (turn * np.asarray(values)) @ turn.T
    return (matrix + matrix.T) / 2


def one_row(guard):
    def contribution(row, point):
        x = row.x[0] / max(np.abs(row.x[0]).max(), 1e-300)
        x = x / (np.linalg.norm(x) or 1.0)
        z = (np.eye(len(x)) - point) @ x
        z = z / max(np.linalg.norm(z), guard)
        return -np.array([[(a * d + b * c) / 2 for d, c in zip(x, z)] for a, b in zip(z, x)])

    return contribution


def total(query, rows, point):
    return query.weighted_sum(query.prepare(Block(rows), point), np.ones(len(rows)), point)


def mean_distance(rows, point):
    return np.linalg.norm(rows - rows @ point, axis=1).mean()


@pytest.mark.parametrize("guard", [1e-6, 0.3])
@pytest.mark.parametrize("values", [(1, 1, 0, 0), (0.9, 0.6, 0.4, 0.1), (0.5, 0.5, 0.5, 0.5)])
def test_it_is_what_it_says_and_moves_as_little_as_it_says(values, guard):
    query, point = ReaperGradient(guard), relaxed_projector(4, values)
    report = check_query(query, 4, points=(point,), reference=one_row(guard))
    assert report.add_remove > 0.99
    assert report.replace_one > 0.9
    assert query.sensitivity("add-remove") == 1.0
    assert query.sensitivity("replace-one") == np.sqrt(2)


unit_interval = st.floats(0, 1)
entries = st.lists(st.floats(-1, 1), min_size=3, max_size=3)


@given(st.tuples(*[unit_interval] * 3), entries, entries, st.sampled_from([1e-6, 0.05, 0.5]))
def test_no_two_rows_are_further_apart_than_sqrt_2(values, x, y, guard):
    query, point = ReaperGradient(guard), relaxed_projector(3, values)
    first, second = (total(query, np.array([row]), point) for row in (x, y))
    assert np.linalg.norm(first - second) <= np.sqrt(2) * (1 + 1e-9)


def test_eigenvectors_meet_both_sensitivities():
    point = np.diag([0.9, 0.2, 0.0])
    first, second = (total(ReaperGradient(), row[None], point) for row in np.eye(3)[:2])
    assert np.linalg.norm(first) == pytest.approx(1.0)
    assert np.linalg.norm(first - second) == pytest.approx(np.sqrt(2))


def test_norms_are_exact():
    """(1 + c^2)/2 with c the cosine between a row and its residual."""
    rows, point = np.random.default_rng(2).standard_normal((30, 5)), relaxed_projector(5, [0.5] * 5)
    point[0, 0] = 0.1
    query = ReaperGradient()
    norms = query.norms(query.prepare(Block(rows), point), point)
    singles = [np.linalg.norm(total(query, row[None], point)) for row in rows]
    assert np.allclose(norms, singles, rtol=1e-13)
    assert norms.max() <= 1.0


def test_it_is_the_gradient_of_the_mean_distance():
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((60, 6))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    point = relaxed_projector(6, [0.9, 0.7, 0.5, 0.3, 0.2, 0.1])
    gradient = total(ReaperGradient(), rows, point) / len(rows)
    for _ in range(5):
        direction = rng.standard_normal((6, 6))
        direction += direction.T
        h = 1e-5  # differences err by h^2 and by EPS / h: 1e-10 and 2e-11, times |direction|^3
        slope = mean_distance(rows, point + h * direction) - mean_distance(
            rows, point - h * direction
        )
        assert slope / (2 * h) == pytest.approx(np.sum(gradient * direction), abs=1e-8)


def test_it_is_a_subgradient_at_a_projector():
    """The loss is convex and has kinks where rows lie in the range of P."""
    rng = np.random.default_rng(4)
    rows = np.concatenate([rng.standard_normal((20, 5)) * [1, 1, 0, 0, 0], np.eye(5)])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    point = np.diag([1.0, 1, 0, 0, 0])
    gradient = total(ReaperGradient(), rows, point) / len(rows)
    for seed in range(50):
        other = relaxed_projector(5, rng.random(5), seed)
        linear = mean_distance(rows, point) + np.sum(gradient * (other - point))
        assert mean_distance(rows, other) >= linear - 1e-12


def test_rows_that_p_keeps_and_zero_rows_contribute_nothing():
    rows = np.array([[1.0, 2, 0], [0, 0, 0]])
    assert not total(ReaperGradient(), rows, np.diag([1.0, 1, 0])).any()


def test_a_point_must_be_symmetric():
    with pytest.raises(ValueError, match="must be a symmetric matrix"):
        ReaperGradient().space(2, np.array([[1.0, 0.1], [0.0, 1.0]]))
    with pytest.raises(ValueError, match="must be a symmetric matrix"):
        ReaperGradient().space(3, np.eye(2))
    with pytest.raises(ValueError, match="guard must lie strictly between 0 and 1"):
        ReaperGradient(0.0)
