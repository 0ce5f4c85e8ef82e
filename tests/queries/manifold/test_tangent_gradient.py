"""Queries in tangent spaces: the same sums, written plainly; clipping; and rounding."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curator.slack_of_sums import rounding_slack
from geometry.cases import WITH_LOG, rng, tangent
from privacy.affordable import budget_for
from veilspan import Budget, FrechetLoss, LeadingSubspace, Loss, check_query, minimize
from veilspan.audit.replay import replay
from veilspan.curator.curator import Curator
from veilspan.curator.rows import Block, Rows, clipped_block_sum
from veilspan.geometry import SPD, Euclidean, Grassmann, Lorentz, Sphere
from veilspan.privacy.events import GaussianEvent
from veilspan.privacy.noise import SeededNoise
from veilspan.privacy.plan import Plan
from veilspan.privacy.spaces import TangentSpace
from veilspan.queries.manifold.tangent_gradient import (
    EnergyGradient,
    GradientDifference,
    TangentGradient,
)
from veilspan.queries.own_gradient import RowGradient
from veilspan.solvers.manifold.rgd import RGD

CURVED = {"sphere": Sphere(6), "grassmann": Grassmann(6, 2)}


def flat_block(rows):
    return Block(rows.reshape(len(rows), -1))


def clipped_by_hand(m, point, vectors, bound):
    """In coordinates, where sums stay."""
    lengths = m.norm(point, vectors)
    weights = np.minimum(1, bound / np.maximum(lengths, 1e-300))
    return np.tensordot(weights, m.to_coordinates(point, vectors), axes=1)


@pytest.mark.parametrize("bound", [0.05, 0.3, 10.0])
@pytest.mark.parametrize("name", WITH_LOG)
def test_gradients_are_clipped_in_the_riemannian_norm(name, bound):
    m = WITH_LOG[name]
    point = m.random_point(rng(100))
    base = np.broadcast_to(point, (6, *point.shape))
    lengths = np.array([0.01, 0.1, 0.2, 0.4, 0.4, 0.5]).reshape(-1, *[1] * point.ndim)
    rows = m.exp(base, lengths * tangent(m, base, 1, 1.0))
    total = clipped_block_sum(TangentGradient(FrechetLoss(m), bound), flat_block(rows), point)
    expected = clipped_by_hand(m, point, -m.log(point, rows), bound)
    np.testing.assert_allclose(total, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", CURVED)
@pytest.mark.parametrize("bound", [0.1, 100.0])
def test_the_energy_query_is_the_gradient_query_of_its_loss(name, bound):
    m = CURVED[name]
    loss, point = LeadingSubspace(m), m.random_point(rng(100))
    block = Block(rng(1).standard_normal((30, 6)))
    fast, plain = EnergyGradient(m, bound), TangentGradient(loss, bound)
    assert type(loss.query(bound)) is EnergyGradient
    for query in (fast, plain):
        check_query(query, 6, points=(point,))
    np.testing.assert_allclose(
        fast.norms(fast.prepare(block, point), point),
        plain.norms(plain.prepare(block, point), point),
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        clipped_block_sum(fast, block, point),
        clipped_block_sum(plain, block, point),
        rtol=0,
        atol=1e-12,
    )


@pytest.mark.parametrize("name", WITH_LOG)
def test_differences_are_exactly_zero_at_the_anchor(name):
    m = WITH_LOG[name]
    point, rows = m.random_point(rng(100)), m.random_point(rng(1), 7)
    query = GradientDifference(FrechetLoss(m), 0.3)
    total = clipped_block_sum(query, flat_block(rows), (point, point.copy()))
    assert not total.any()


@pytest.mark.parametrize("bound", [0.02, 10.0])
@pytest.mark.parametrize("name", WITH_LOG)
def test_differences_are_clipped_as_stated(name, bound):
    m = WITH_LOG[name]
    anchor = m.random_point(rng(100))
    here = m.exp(anchor, tangent(m, anchor, 5, 0.2))
    base = np.broadcast_to(anchor, (6, *anchor.shape))
    rows = m.exp(base, tangent(m, base, 1, 0.4))
    plain = -m.log(here, rows) + m.transport(anchor, here, m.log(anchor, rows))
    query = GradientDifference(FrechetLoss(m), bound)
    total = clipped_block_sum(query, flat_block(rows), (here, anchor))
    np.testing.assert_allclose(total, clipped_by_hand(m, here, plain, bound), rtol=0, atol=1e-9)
    # Shorter than the gradients themselves: that is what the method lives on.
    assert np.median(m.norm(here, plain)) < np.median(m.norm(here, m.log(here, rows)))


def test_rows_without_a_finite_gradient_contribute_nothing():
    loss = Loss(Euclidean(2), gradient=lambda z, w: np.where(z > 5, np.nan, z))
    block = Block(np.array([[9.0, 1.0], [1.0, 2.0], [3.0, 8.0]]))
    point = (np.ones(2), np.zeros(2))
    np.testing.assert_array_equal(
        clipped_block_sum(TangentGradient(loss, 10.0), block, point[0]), [1.0, 2.0]
    )
    assert np.isfinite(clipped_block_sum(GradientDifference(loss, 10.0), block, point)).all()


@given(
    st.integers(0, 2**32 - 1),
    st.floats(1e-12, 1e12),
    st.floats(1e-12, 1e12),
    st.floats(0, 1),
)
def test_no_contribution_is_longer_than_the_bound(seed, size, bound, aligned):
    """For rows of any length, also along the point, where the gradient is all rounding."""
    m = Sphere(6)
    here, anchor = m.random_point(rng(seed), 2)
    row = size * (aligned * here + (1 - aligned) * rng(seed + 1).standard_normal(6))
    for query, point in (
        (EnergyGradient(m, bound), here),
        (TangentGradient(LeadingSubspace(m), bound), here),
        (GradientDifference(LeadingSubspace(m), bound), (here, anchor)),
    ):
        total = clipped_block_sum(query, Block(row[None]), point)
        assert np.linalg.norm(total) <= bound * (1 + 1e-12)


def test_rows_of_ordinary_length_are_clipped_at_their_norm_alone():
    """The guard against rounding leaves every row with |z|^2 <= 1000 C as it is."""
    m = Sphere(6)
    point = m.random_point(rng(100))
    rows = point + 1e-7 * rng(1).standard_normal((20, 6))
    total = clipped_block_sum(EnergyGradient(m, 1 / 512), Block(rows), point)
    expected = LeadingSubspace(m).gradients(rows, point).sum(axis=0)
    np.testing.assert_allclose(total, expected, rtol=0, atol=1e-13)


def worst_use_of_long_rows():
    """Add a row to long rows along the public start; the largest change over the sensitivity."""
    generator, worst, width = rng(1), 0.0, 8
    start = Sphere(width).random_point(generator)
    for n in range(2, 40):
        rows = 1e9 * generator.uniform(0.5, 1, (n, 1)) * start
        extra = start + Sphere(width).project(start, generator.standard_normal(width))

        def fit(table):
            loss, solver = LeadingSubspace(Sphere(width)), RGD(steps=1, step=0.1)
            budget = Budget(1.0, 1e-6)
            return minimize(loss, table, budget=budget, solver=solver, start=start,
                            neighbors="add-remove", random_state=0).point  # fmt: skip

        worst = max(worst, replay(fit, rows, np.vstack([rows, extra])).largest_use)
    return worst


def test_rounding_is_not_clipped_into_a_contribution():
    """Rows along the start have no gradient but rounding, which depends on a row's place."""
    assert worst_use_of_long_rows() <= 1 + 1e-9


def unguarded_norms(self, block, point):
    outside, inside = (np.linalg.norm(part, axis=1) for part in block)
    return outside * inside


def test_without_the_guard_against_rounding_it_would_be(monkeypatch):
    """BLAS must round by place for this to show; where it does not there is nothing to guard."""
    rows, w = rng(0).standard_normal((8, 50)), rng(1).standard_normal((50, 1))
    if all(np.array_equal(rows[:k] @ w, (rows @ w)[:k]) for k in range(1, 8)):
        pytest.skip("this BLAS rounds alike at every place")
    monkeypatch.setattr(EnergyGradient, "norms", unguarded_norms)
    assert worst_use_of_long_rows() > 1 + 1e-6


class RoundTrip(TangentGradient):
    """Makes a tangent vector of the sum before its noise, and coordinates of that, as it was."""

    def weighted_sum(self, block, weights, point):
        m, total = self.loss.manifold, super().weighted_sum(block, weights, point)
        return m.to_coordinates(point, m.from_coordinates(point, total))


def lorentz_overshoot(kind, relation, r=32.0, n=4000):
    """Distance of two neighbours' sums, less their true distance, over the slack."""
    m = Lorentz(4)
    direction = np.array([0.6, 0.64, 0.48]) / np.linalg.norm([0.6, 0.64, 0.48])
    center = np.concatenate([[np.cosh(r)], np.sinh(r) * direction])
    seen = np.array([1.0, 0.2, -0.3]) + 0.1 * rng(1).standard_normal((n, 3))
    seen *= 0.9 / np.linalg.norm(seen, axis=1, keepdims=True)
    rows = m.exp_coordinates(center, seen)
    query = kind(FrechetLoss(m), 1.0)
    space, worst = query.space(4, center), 0.0
    for other in (-seen[0], seen[0][::-1], np.array([0.0, 0.9, 0.0])):
        row = m.exp_coordinates(center, other)
        if relation == "replace-one":
            changed, gone = np.concatenate([row[None], rows[1:]]), rows[:1]
        else:
            changed, gone = np.concatenate([row[None], rows]), rows[:0]
        sums = [Rows(x).clipped_sum(query, center, space) for x in (changed, rows)]
        clipped = [FrechetLoss(m).coordinates(x, center) for x in (row[None], gone)]
        clipped = [c / np.maximum(1, np.linalg.norm(c, axis=1, keepdims=True)) for c in clipped]
        moved = clipped[0].sum(axis=0) - clipped[1].sum(axis=0)
        slack = rounding_slack(Rows(rows), query, center, relation)
        worst = max(worst, np.linalg.norm(sums[0] - sums[1] - moved) / slack)
    return worst


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_far_out_on_the_hyperboloid_a_row_moves_the_sum_by_itself_alone(relation):
    assert lorentz_overshoot(TangentGradient, relation) <= 1


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_sum_that_leaves_coordinates_before_its_noise_is_caught(relation):
    assert lorentz_overshoot(RoundTrip, relation) > 100


@pytest.mark.parametrize(("kind", "fits"), [(TangentGradient, True), (RoundTrip, False)])
def test_at_a_matrix_of_condition_1e13(kind, fits):
    """The same for SPD matrices, whose entries cancel in whitened coordinates."""
    m = SPD(3)
    turn = np.linalg.qr(rng(3).standard_normal((3, 3)))[0]
    point = (turn * np.geomspace(1, 1e13, 3)) @ turn.T / 3e6
    point = (point + point.T) / 2
    seen = np.diag([0.5, 0.3, 0.2]) + 0.1 * rng(1).standard_normal((4000, 3, 3))
    seen = (seen + seen.swapaxes(1, 2)) / 2
    rows = m.nearest_point(m.exp_coordinates(point, seen)).reshape(4000, 9)
    query = kind(FrechetLoss(m), 1.0)
    changed = rows.copy()
    changed[0] = rows[1]
    tables = [Rows(x) for x in (rows, changed)]
    sums = [e.clipped_sum(query, point, query.space(9, point)) for e in tables]
    single = FrechetLoss(m).coordinates(rows[:2].reshape(2, 3, 3), point)
    single /= np.maximum(1, np.linalg.norm(single, axis=1, keepdims=True))
    off = np.linalg.norm(sums[1] - sums[0] - (single[1] - single[0]))
    assert (off <= rounding_slack(tables[0], query, point, "replace-one")) == fits


def test_gradients_of_your_own_go_to_coordinates_row_by_row():
    m = Lorentz(4)
    point, rows = m.random_point(rng(1)), m.random_point(rng(2), 6)
    query = RowGradient(
        lambda block, w: -m.log(w, block.x), 0.7, space=lambda w: TangentSpace(m, w)
    )
    total = clipped_block_sum(query, Block(rows), point)
    expected = clipped_block_sum(TangentGradient(FrechetLoss(m), 0.7), Block(rows), point)
    np.testing.assert_allclose(total, expected, rtol=0, atol=1e-12)
    report = check_query(
        query, 4, points=(point,), make_rows=lambda g, k: Block(m.random_point(g, k))
    )
    assert report.add_remove > 0.99
    with pytest.raises(ValueError, match="given in coordinates, 3 numbers"):
        TangentSpace(m, point).embed(np.zeros(4))


def test_answers_are_tangent_and_their_noise_has_the_metric():
    """On a far SPD point: E |answer|^2 = std^2 dim (a sum of squares within 6 standard errors)."""
    m = SPD(2)
    point = np.diag([1e3, 1e-2])
    steps = 1000
    event = GaussianEvent("q", 2.0, steps)
    plan = Plan(
        method="test",
        budget=budget_for((event,)),
        neighbors="replace-one",
        n_rows=3,
        n_features=4,
        events=(event,),
    )
    curator = Curator(Rows(np.tile(point.ravel(), (3, 1))), plan, SeededNoise(0))
    query = TangentGradient(FrechetLoss(m), 0.5)
    answers = [curator.answer(query, point, event="q") for _ in range(steps)]
    values = np.stack([answer.value for answer in answers])
    assert m.is_tangent(point, values).all()
    squares = np.sum(m.norm(point, values) ** 2) / answers[0].noise_std ** 2
    freedom = steps * m.dim
    # A chi-square variable: false alarm below 1e-8.
    assert abs(squares - freedom) < 6 * np.sqrt(2 * freedom)
    assert answers[0].noise_std == pytest.approx(2.0 * 2 * 0.5, rel=2e-3)
