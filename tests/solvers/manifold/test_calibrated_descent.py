"""The default on manifolds: where it clips, how far it steps, when it stays, what it asks for."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from solvers.manifold.runs import run
from veilspan import (
    Budget,
    CalibratedDescent,
    FrechetLoss,
    LeadingSubspace,
    Loss,
    NotPrivateWarning,
    minimize,
)
from veilspan.datasets import make_spd
from veilspan.geometry import SPD, Ball, Euclidean, PoincareBall, Sphere
from veilspan.solvers.manifold.base import ManifoldProblem
from veilspan.solvers.manifold.calibrated_descent import choose_growth, estimate_trust
from veilspan.solvers.manifold.gradient_lengths import (
    GradientLengths,
    choose_clip,
    estimate_curvature,
    project_on_simplex,
)

KNOTS = 2.0 ** np.arange(-4, 1)
pytestmark = pytest.mark.filterwarnings(f"ignore::{NotPrivateWarning.__module__}.NotPrivateWarning")


def planned(solver, loss, n, epsilon=1.0, neighbors="replace-one"):
    """Names of the events, and what each spends (mu^2) relative to all but the histograms."""
    problem = ManifoldProblem(loss, 1.0, loss.manifold.reference_point, n)
    events = solver.prepare(problem, Budget(epsilon, 1e-6), neighbors).events
    spent = {event.name: event.noise_multiplier**-2 for event in events}
    steps = math.fsum(spent[name] for name in spent if not name.endswith("scale"))
    return list(spent), [each / steps for each in spent.values()]


def solved(loss, rows, epsilon, seed, **options):
    return minimize(loss, rows, budget=Budget(epsilon, 1e-6), random_state=seed, **options)


# ---------------------------------------------------------------- reading a histogram


@given(arrays(float, st.integers(1, 12), elements=st.floats(-5, 5)))
def test_shares_are_the_nearest_that_can_be(values):
    found = project_on_simplex(values)
    assert np.all(found >= 0)
    assert math.isclose(found.sum(), 1.0, abs_tol=1e-12)
    # The nearest point of a convex set: no vertex lies on the far side of the tangent plane.
    residual = values - found
    assert np.max(residual) <= residual @ found + 1e-9


def test_the_clip_is_a_quantile_that_noise_cannot_invent():
    counts = np.array([0.0, 50.0, 40.0, 9.0, 1.0])
    assert choose_clip(KNOTS, counts, 0.0, 100, beyond=0.5) == KNOTS[2]
    assert choose_clip(KNOTS, counts, 0.0, 100, beyond=0.05) == KNOTS[3]
    assert choose_clip(KNOTS, counts, 0.0, 100, beyond=0.001) == KNOTS[4]
    assert choose_clip(KNOTS, counts, 5.0, 100, beyond=0.001) == KNOTS[2]  # 9 + 1 < 2 sqrt(2) 5
    assert choose_clip(KNOTS, counts, 1e3, 100, beyond=0.5) == KNOTS[4]  # nothing can be read


def test_a_step_makes_up_for_clipping():
    """Rows all at distance 1 in one direction, clipped to 1/4: the step is 4, and arrives."""
    loss = FrechetLoss(Euclidean(3))
    lengths = GradientLengths(KNOTS, np.eye(5)[-1], clip=0.25)
    assert math.isclose(
        estimate_curvature(loss, np.zeros(3), np.array([-0.25, 0, 0]), lengths), 0.25
    )


@pytest.mark.parametrize(("length", "expected"), [(10.0, 1.0), (0.0, 0.2 + 0.8 * 10)])
def test_rows_ahead_bend_by_one_and_rows_all_around_by_their_distance(length, expected):
    m = PoincareBall(5)
    lengths = GradientLengths(np.array([5.0, 10.0]), np.array([0.0, 1.0]), clip=10.0)
    direction = np.eye(5)[0]
    unit = direction / m.norm(m.reference_point, direction)
    found = estimate_curvature(FrechetLoss(m), m.reference_point, length * unit, lengths)
    assert math.isclose(found, expected, rel_tol=1e-3)


# ---------------------------------------------------------------- trust


def test_trust_is_the_share_of_signal():
    m, zero = Euclidean(8), np.zeros(8)
    gradient = np.full(8, 2.0)  # squared length 32
    assert estimate_trust(m, zero, gradient, 0.0, 2.0) == 1.0
    assert math.isclose(estimate_trust(m, zero, gradient, 1.0, 0.0), 1 - 8 / 32)
    assert math.isclose(estimate_trust(m, zero, gradient, 1.0, 2.0), 1 - 16 / 32)
    assert estimate_trust(m, zero, gradient, 2.1, 0.0) == 0.0
    assert estimate_trust(m, zero, zero, 0.0, 2.0) == 0.0


@given(st.floats(0, 1e3), st.floats(0, 1e3), st.floats(0, 5))
def test_trust_lies_between_nothing_and_all(length, noise, caution):
    found = estimate_trust(Euclidean(3), np.zeros(3), np.array([length, 0, 0]), noise, caution)
    assert 0 <= found <= 1


def test_pure_noise_is_not_followed():
    """Rows around the start, hopeless noise: in most runs the answer is the start itself.

    A gradient of noise in 10 dimensions is followed with probability P(chi2_10 > 16.7) = 0.081 a
    round, 0.224 in three. 24 or more of 40 runs move with probability below 1e-6 (binomial).
    """
    rows = np.random.default_rng(0).standard_normal((60, 10))
    moves = 0
    for seed in range(40):
        result, _, _ = run(
            CalibratedDescent(),
            FrechetLoss(Euclidean(10)),
            rows,
            np.zeros(10),
            noise=1e4,
            seed=seed,
        )
        moves += bool(np.any(result.point != 0))
    assert moves < 24


# ---------------------------------------------------------------- what is asked


def test_the_budget_of_steps_grows_and_histograms_share_a_little():
    names, shares = planned(CalibratedDescent(), FrechetLoss(Euclidean(2)), 10_000)
    assert names == [f"step {k}{end}" for k in (1, 2, 3) for end in (", scale", "")]
    assert math.isclose(sum(shares[1::2]), 1.0)
    assert math.isclose(sum(shares[::2]), 0.06)
    assert math.isclose(shares[5] / shares[3], 3.0)


def test_few_rows_get_a_larger_histogram_and_an_even_budget():
    mu = Budget(1.0, 1e-6).mu
    _, shares = planned(CalibratedDescent(), FrechetLoss(Euclidean(100)), round(60 / mu))
    assert math.isclose(shares[0], (1.5 / 6) ** 2, rel_tol=1e-2)  # noise on a count: n / 10
    assert math.isclose(shares[5], shares[3])


@given(st.floats(0, 2), st.floats(1, 5), st.integers(1, 6))
def test_budgets_grow_as_fast_as_the_first_step_allows(noise, largest, rounds):
    growth = choose_growth(noise, largest, rounds)
    assert 1 <= growth <= largest
    if growth > 1:
        assert noise**2 * sum(growth**k for k in range(rounds)) <= 0.25 + 1e-9


def test_losses_with_an_opening_begin_with_it():
    names, shares = planned(CalibratedDescent(), LeadingSubspace(Sphere(4)), 10_000)
    assert names[:2] == ["opening, scale", "opening"]
    assert len(names) == 6
    assert math.isclose(shares[1], 0.5)


def test_a_hopeless_opening_is_left_out():
    """Noise of spectral norm 2 sqrt(D) std over the largest moment, at half the budget."""
    loss, mu = LeadingSubspace(Sphere(100)), Budget(1.0, 1e-6).mu
    limit = 20 / (mu * math.sqrt(0.5))
    assert "opening" in planned(CalibratedDescent(), loss, math.ceil(limit))[0]
    assert "opening" not in planned(CalibratedDescent(), loss, math.floor(limit))[0]
    rows = np.full((30, 100), 0.05)
    found = solved(loss, rows, 0.1, 0, start=np.eye(100)[3])
    assert found.trace[0]["point"][3] == 1.0  # begins where it was told to


def test_a_histogram_that_noise_would_hide_is_not_asked_for():
    solver, loss = CalibratedDescent(), FrechetLoss(Euclidean(2))
    assert planned(solver, loss, 50, 0.1)[0] == ["step 1", "step 2", "step 3"]
    names, shares = planned(solver, loss, None, 0.1, "add-remove")  # n is not known
    assert (len(names), names[0]) == (7, "count")
    assert math.isclose(shares[0], 0.02)
    result = solved(loss, np.ones((50, 2)), 0.1, 0, clip=3.0)
    assert [entry["clip"] for entry in result.trace] == [1.5, 0.75, 0.375]


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
def test_all_of_the_plan_is_spent(neighbors):
    rows = np.random.default_rng(0).uniform(-0.4, 0.4, (3000, 4))
    for loss, clip in ((FrechetLoss(Euclidean(4)), 2.0), (LeadingSubspace(Sphere(4)), None)):
        found = solved(loss, rows, 1.0, 0, clip=clip, neighbors=neighbors)
        assert found.privacy.events == found.plan.events


@pytest.mark.parametrize(
    "options",
    [{"rounds": 0}, {"opened_rounds": 1.5}, {"growth": 0.0}, {"scale_share": 1.0},
     {"opening_share": 0.0}, {"caution": -1.0}],
)  # fmt: skip
def test_settings_that_make_no_plan_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        CalibratedDescent(**options)


def test_a_loss_without_curvature_is_refused_before_anything_is_asked():
    loss = Loss(Sphere(3), euclidean_gradient=lambda z, w: z)
    with pytest.raises(ValueError, match="no known curvature"):
        planned(CalibratedDescent(), loss, 100)


# ---------------------------------------------------------------- accuracy: facts of fixed seeds


def test_a_loose_bound_costs_little():
    """Medians of 7 runs: a ball 20 times as wide at most doubles the squared error.

    5e-5 and 4e-5 are measured.
    """
    rows = make_spd(4000, 3, random_state=0).points
    m, truth = SPD(3), None
    errors = []
    for high in (30.0, 1e30):
        ball = Ball.from_eigenvalues(m, 1 / high, high)
        exact = solved(FrechetLoss(m), rows, math.inf, 0, ball=ball, clip=ball.radius)
        truth = exact.point if truth is None else truth
        runs = [solved(FrechetLoss(m), rows, 1.0, s, ball=ball, clip=ball.radius) for s in range(7)]
        errors.append(np.median([m.dist(truth, found.point) ** 2 for found in runs]))
    assert errors[0] < 2e-4
    assert errors[1] < 2 * errors[0]


def test_it_finds_a_far_mean_in_hyperbolic_space():
    """A step of size 1 across rows at distance 5 would overshoot five times over."""
    m, generator = PoincareBall(4), np.random.default_rng(0)
    center = m.exp(m.reference_point, np.array([1.5, 0, 0, 0]))
    rows = m.exp(center, m.random_tangent(center, 0.7, generator, size=4000))
    ball = Ball.from_norm(m, 1 - 1e-5)
    truth = solved(FrechetLoss(m), rows, math.inf, 0, ball=ball, clip=ball.radius).point
    runs = [solved(FrechetLoss(m), rows, 1.0, s, ball=ball, clip=ball.radius) for s in range(7)]
    assert m.dist(m.reference_point, truth) > 2.5
    assert np.median([m.dist(truth, found.point) for found in runs]) < 0.03  # 0.009


def test_the_opening_needs_no_start():
    """e_2 is a stationary point, from which no gradient leads anywhere."""
    rows = np.random.default_rng(0).standard_normal((4000, 30)) * np.r_[0.3, np.full(29, 0.05)]
    start = np.eye(30)[1]
    found = [solved(LeadingSubspace(Sphere(30)), rows, 1.0, s, start=start).point for s in range(7)]
    assert np.median([abs(point[0]) for point in found]) > 0.998  # 0.9994
