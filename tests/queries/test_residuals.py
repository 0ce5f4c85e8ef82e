"""Sums of short residuals: what float64 adds to a sensitivity stays below the declared slack."""

import math

import numpy as np
import pytest

from curator.slack_of_sums import rounding_slack
from veilspan.curator.rows import Block, Rows
from veilspan.geometry import Grassmann, Sphere
from veilspan.losses.manifold import LeadingSubspace
from veilspan.queries.manifold.tangent_gradient import EnergyGradient, GradientScale
from veilspan.queries.stream.touching_moment import TouchingMoment
from veilspan.queries.subspace.geodesic_gradient import GeodesicGradient
from veilspan.queries.subspace.reaper_gradient import ReaperGradient
from veilspan.queries.subspace.whitened_blocks import ResidualDifference, TylerBlock, WhitenedBlocks

UNIT_ROUNDOFF = 2.0**-53


class WhitenedSum(WhitenedBlocks):
    """Sums whole rows and takes their part along V off at the end, as it was."""

    def weighted_sum(self, block, weights, point):
        basis, scale = point
        weighted = (weights * block.inverse)[:, None] * block.inside
        first, _ = super().weighted_sum(block, weights, point)
        second = (block.outside + block.inside @ basis.T).T @ weighted
        return first, (second - basis @ (basis.T @ second)) / scale


class TouchingSum(TouchingMoment):
    """The same flaw."""

    def weighted_sum(self, block, weights, point):
        basis, scale = point
        first, _, third = super().weighted_sum(block, weights, point)
        rows = block.outside + block.inside @ basis.T
        second = rows.T @ (weights[:, None] * block.inside)
        return first, (second - basis @ (basis.T @ second)) / scale, third


def near_a_subspace(seed, n_rows, n_features, rank, scale):
    """Rows a hair off V, all on one side of it, and a pair that moves the sum as far as can be."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((n_features, rank)))[0]
    along = basis @ np.linalg.qr(rng.standard_normal((rank, rank)))[0][0]
    across = rng.standard_normal((n_rows, n_features))
    for _ in range(2):
        across -= across @ basis @ basis.T
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    rows = 0.9 * (along + 0.3 * scale * across)
    return basis, rows, along, across[0]


def overshoot(query, point, rows, pair, half):
    """How far beyond the sensitivity two neighbours' sums are, over the slack."""
    sums = []
    for row in pair:
        rows[0] = half * row
        table = Rows(rows.copy())
        sums.append(table.clipped_sum(query, point, query.space(rows.shape[1], point)))
    slack = rounding_slack(table, query, point, "replace-one")
    return (np.linalg.norm(sums[0] - sums[1]) - query.sensitivity("replace-one")) / slack


def worst_overshoot(query, half, n_features, rank, scale=1e-6):
    worst = -math.inf
    for seed in range(6):
        n_rows = 140_000 // n_features
        basis, rows, along, across = near_a_subspace(seed, n_rows, n_features, rank, scale)
        pair = (along + scale * across, along - scale * across)
        worst = max(worst, overshoot(query, (basis, scale), rows, pair, half))
    return worst


@pytest.mark.parametrize(
    ("query", "half", "shape"),
    [
        (WhitenedBlocks("replace-one"), 1.0, (20, 2)),
        (TouchingMoment(1.0), math.sqrt(0.5), (8, 1)),
    ],
    ids=["whitened", "touching"],
)
def test_neighbours_stay_within_the_slack(query, half, shape):
    assert worst_overshoot(query, half, *shape) <= 1


@pytest.mark.parametrize(
    ("query", "half", "shape"),
    [(WhitenedSum("replace-one"), 1.0, (20, 2)), (TouchingSum(1.0), math.sqrt(0.5), (8, 1))],
    ids=["whitened", "touching"],
)
def test_projecting_the_sum_instead_is_caught(query, half, shape):
    assert worst_overshoot(query, half, *shape) > 1


# ------------------------------------------------------- one contribution, in long double


def long_residual(x, basis):
    x, basis = x.astype(np.longdouble), basis.astype(np.longdouble)
    inside = basis.T @ x
    return inside, x - basis @ inside


def exact_contribution(name, x, point):
    """A row's clipped contribution in coordinates, by its definition, in 64 bits or more."""
    x = x.astype(np.longdouble)
    unit = x / np.sqrt(x @ x)
    if name == "whitened":
        basis, scale = point
        w, z = long_residual(unit, basis)
        y = np.concatenate([w, z / scale])
        y /= np.sqrt(y @ y)
        outer = np.outer(y, y)[:, : len(w)]
        return np.concatenate([outer[: len(w)].ravel(), math.sqrt(2) * outer[len(w) :].ravel()])
    if name == "touching":
        basis, scale = point
        w, z = long_residual(x, basis)
        y = np.concatenate([w, z / scale])
        y *= min(1, 1 / np.sqrt(y @ y))
        outer, rest = np.outer(y, y)[:, : len(w)], y[len(w) :]
        parts = outer[: len(w)].ravel(), np.sqrt(np.longdouble(2)) * outer[len(w) :].ravel()
        return np.concatenate([*parts, [rest @ rest]])
    if name == "tyler":
        directions, whitening, outside = point
        w, z = long_residual(unit, directions)
        a = whitening.T.astype(np.longdouble) @ w
        return np.outer(a, a).ravel() / (a @ a + z @ z / outside)
    if name == "geodesic":
        w, z = long_residual(unit, point)
        return -np.outer(z, w).ravel() / max(np.sqrt(z @ z), 1e-6)
    if name == "reaper":
        z = unit - point.astype(np.longdouble) @ unit
        z /= max(np.sqrt(z @ z), 1e-6)
        return -(np.outer(z, unit) + np.outer(unit, z)).ravel() / 2
    if name == "residuals":
        lengths = [np.sqrt(np.sum(long_residual(unit, basis)[1] ** 2)) for basis in point]
        return np.array([lengths[0] - lengths[1]])
    w, z = long_residual(x, point)
    length = max(np.sqrt(w @ w) * np.sqrt(z @ z), (x @ x) / 1000)
    return -np.outer(z, w).ravel() * min(1, 1 / length)


def frame(seed, n_features, rank):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((n_features, rank)))[0]


BASIS = frame(0, 40, 3)
PROJECTOR = (BASIS @ BASIS.T + (BASIS @ BASIS.T).T) / 2
SPREAD = np.diag([1.0, 30.0, 1e3])
CONTRIBUTIONS = {
    "whitened": (WhitenedBlocks("replace-one"), (BASIS, 1e-6)),
    "touching": (TouchingMoment(1.0), (BASIS, 1e-6)),
    "tyler": (TylerBlock(), (BASIS, SPREAD, 1e-8)),
    "geodesic": (GeodesicGradient(), BASIS),
    "reaper": (ReaperGradient(), PROJECTOR),
    "residuals": (ResidualDifference(), (BASIS, frame(1, 40, 3))),
    "energy": (EnergyGradient(Grassmann(40, 3), 1.0), BASIS),
}


@pytest.mark.parametrize("name", CONTRIBUTIONS)
def test_one_contribution_is_known_as_well_as_declared(name):
    """Rows at all angles to V and of all lengths; each computed alone, each within `roundoff`."""
    query, point = CONTRIBUTIONS[name]
    rng = np.random.default_rng(2)
    space = query.space(40, point)
    allowed = UNIT_ROUNDOFF * query.bound * query.roundoff(40, point)
    worst = 0.0
    for angle in (0.0, 1e-12, 1e-8, 1e-6, 1e-3, 1.0, 1e3):
        for size in (1e-9, 0.7, 1.0, 1e3, 1e9):
            row = size * (BASIS @ rng.standard_normal(3) + angle * rng.standard_normal(40))
            found = Rows(np.stack([row, 0 * row])).clipped_sum(query, point, space)
            exact = exact_contribution(name, row, point)
            worst = max(worst, float(np.sqrt(np.sum((found - exact) ** 2))) / allowed)
    assert worst <= 1


def test_a_wide_energy_sum_is_not_projected_before_its_noise():
    """Projecting rounds relative to the whole sum, by more than the slack of a wide table."""
    basis = frame(3, 600, 2)
    query = EnergyGradient(Grassmann(600, 2), 1.0)
    rows = np.random.default_rng(1).standard_normal((50, 600))
    prepared = query.prepare(Block(rows), basis)
    total = query.weighted_sum(prepared, np.ones(50), basis)
    np.testing.assert_array_equal(total, -(prepared[0].T @ prepared[1]))


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_row_of_odd_length_leaves_the_others_alone(order):
    """Rows are rescaled by themselves, also in a table that lies column by column in memory."""
    plain = np.random.default_rng(0).standard_normal((50, 30))
    tables = [np.array(plain, order=order) for _ in range(2)]
    tables[1][7] *= 1e130
    prepared = [GeodesicGradient().prepare(Block(table), frame(1, 30, 3)) for table in tables]
    others = np.arange(50) != 7
    for part in ("along", "residual", "norms", "factors"):
        first, second = (getattr(each, part)[others] for each in prepared)
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("size", [1.0, 1e3, 1e7, 1e9])
def test_the_scale_of_long_rows_does_not_depend_on_their_place(size):
    """Rows along the point have a gradient that is all rounding, which BLAS does by place."""
    m = Sphere(50)
    point = m.random_point(np.random.default_rng(0))
    query = GradientScale(LeadingSubspace(m), 0.5)
    rows = size * np.random.default_rng(1).uniform(0.5, 1, (41, 1)) * point
    space = query.space(50, point)

    def counted(table):
        return Rows(table).clipped_sum(query, point, space)

    alone = sum(counted(np.stack([row, 0 * row])) - counted(np.zeros((2, 50))) / 2 for row in rows)
    together = counted(rows)
    allowed = 2 * 41 * UNIT_ROUNDOFF * query.bound * (query.roundoff(50, point) + 1000)
    assert np.linalg.norm(together - alone) <= allowed
