import numpy as np
import pytest

from veilspan import check_query
from veilspan.curator.rows import Block
from veilspan.geometry import Grassmann
from veilspan.queries.subspace.geodesic_gradient import GeodesicGradient


def frame(n_features, rank, seed=0):
    rng = np.random.default_rng(77 + seed)
    return np.linalg.qr(rng.standard_normal((n_features, rank)))[0]


def one_row(guard):
    """Contribution of a row, by its definition."""

    def contribution(row, basis):
        x = row.x[0]
        length = np.sqrt(sum(a * a for a in x / max(np.abs(x).max(), 1e-300)))
        x = x / max(np.abs(x).max(), 1e-300) / (length or 1.0)
        residual = (np.eye(len(x)) - basis @ basis.T) @ x
        return -np.outer(residual, basis.T @ x) / max(np.linalg.norm(residual), guard)

    return contribution


def total(query, rows, basis):
    return query.weighted_sum(query.prepare(Block(rows), basis), np.ones(len(rows)), basis)


def mean_distance(rows, basis):
    return np.linalg.norm(rows - rows @ basis @ basis.T, axis=1).mean()


@pytest.mark.parametrize("guard", [1e-12, 1e-6, 0.3])
@pytest.mark.parametrize(("n_features", "rank"), [(4, 3), (4, 2), (3, 1), (5, 5)])
def test_it_is_what_it_says_and_moves_as_little_as_it_says(n_features, rank, guard):
    points = (frame(n_features, rank), frame(n_features, rank, 1))
    if rank == n_features:  # nothing is left of any row: rounding is all there is
        rows = np.random.default_rng(0).standard_normal((20, n_features))
        assert np.abs(total(GeodesicGradient(guard), rows, points[0])).max() <= 1e-14 / guard
        return
    query = GeodesicGradient(guard)
    report = check_query(query, n_features, points=points, reference=one_row(guard))
    assert report.add_remove > 0.9
    assert query.sensitivity("add-remove") == 1.0
    assert query.sensitivity("replace-one") == 2.0


def test_the_sensitivities_are_met_in_the_limit():
    """Mirror images of each other in the subspace, just off it."""
    basis = frame(5, 2)
    off = frame(5, 5)[:, 4]
    off -= basis @ (basis.T @ off)
    off /= np.linalg.norm(off)
    query = GeodesicGradient(1e-6)
    for angle in (0.1, 1e-3, 1e-5):
        pair = np.stack([np.cos(angle) * basis[:, 0] + s * np.sin(angle) * off for s in (1, -1)])
        first, second = (total(query, row[None], basis) for row in pair)
        assert np.linalg.norm(first) == pytest.approx(np.cos(angle), rel=1e-9)
        assert np.linalg.norm(first - second) == pytest.approx(2 * np.cos(angle), rel=1e-9)


def test_it_is_the_gradient_of_the_mean_distance():
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((60, 7))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    manifold, basis = Grassmann(7, 3), frame(7, 3)
    gradient = total(GeodesicGradient(), rows, basis) / len(rows)
    assert manifold.is_tangent(basis, gradient)
    for direction in manifold.random_tangent(basis, 1.0, rng, size=5):
        h = 1e-5  # differences err by h^2 and by EPS / h: 1e-10 and 2e-11, times a few
        ahead, behind = (mean_distance(rows, manifold.exp(basis, s * direction)) for s in (h, -h))
        slope = float(manifold.inner(basis, gradient, direction))
        assert (ahead - behind) / (2 * h) == pytest.approx(slope, abs=2e-9)


def test_the_printed_sign_climbs():
    """Eq. (2.1) as printed is + Q_V x x^T V / |Q_V x|; descending along it raises the loss."""
    rows = np.random.default_rng(4).standard_normal((200, 6))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    manifold, basis = Grassmann(6, 2), frame(6, 2)
    ours = total(GeodesicGradient(), rows, basis) / len(rows)
    here = mean_distance(rows, basis)
    assert mean_distance(rows, manifold.exp(basis, -0.3 * ours)) < here
    assert mean_distance(rows, manifold.exp(basis, 0.3 * ours)) > here


def test_rows_in_the_subspace_zero_rows_and_tiny_residuals_are_safe():
    basis = np.eye(4)[:, :2]
    query = GeodesicGradient(1e-6)
    rows = np.array([[1.0, 2, 0, 0], [0, 0, 0, 0], [0, 0, 3, 0], [1e-200, 0, 0, 0]])
    assert np.array_equal(total(query, rows, basis), np.zeros((4, 2)))
    for size in (1e-3, 1e-7, 1e-12, 1e-200):  # as 1 - |w|^2 all of these would be lost
        value = total(query, np.array([[1.0, 0, 0, size]]), basis)
        expected = -size / max(size, 1e-6) / np.hypot(1, size)
        assert value[3, 0] == pytest.approx(expected, rel=1e-9, abs=0)
        assert np.count_nonzero(value) == 1


def test_a_public_centre_is_subtracted_first():
    rows, center = np.random.default_rng(5).standard_normal((9, 4)), np.arange(4.0)
    moved = total(GeodesicGradient(center=center), rows + center, frame(4, 2))
    assert np.allclose(moved, total(GeodesicGradient(), rows, frame(4, 2)), atol=1e-13)


@pytest.mark.parametrize("guard", [0.0, -1.0, 1.0, np.nan])
def test_a_guard_is_a_small_positive_number(guard):
    with pytest.raises(ValueError, match="guard must lie strictly between 0 and 1"):
        GeodesicGradient(guard)
