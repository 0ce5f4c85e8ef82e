"""The cap of residuals that a paid answer chooses."""

import math
import warnings

import numpy as np
import pytest

from solvers.linear.cases import BOTH, DELTA, neighbor_pairs
from veilspan import Budget, GaussianEvent, LinearRegression, Plan, calibrate_noise
from veilspan.audit.replay import replay
from veilspan.curator.curator import Answer, Curator
from veilspan.curator.rows import Block, Rows, clipped_block_sum
from veilspan.losses.linear import Huber, Squared
from veilspan.losses.penalties import NoPenalty
from veilspan.privacy.noise import SeededNoise
from veilspan.queries.linear.residual_histogram import ResidualHistogram
from veilspan.solvers.linear.asked.residual_cap import (
    EDGES,
    RESIDUALS,
    ResidualCap,
    best_cap,
)
from veilspan.solvers.linear.base import LinearProblem
from veilspan.solvers.linear.gradient_descent import GradientDescent
from veilspan.solvers.linear.newton import PrivateNewton


def histogram(residuals, std=0.0):
    counts = np.bincount(np.searchsorted(EDGES, residuals, side="right"), minlength=EDGES.size + 1)
    return Answer(counts.astype(float), std, GaussianEvent(RESIDUALS))


def test_the_cap_reaches_the_longest_residual_as_noise_vanishes():
    rng = np.random.default_rng(0)
    skewed = np.clip(0.1 * rng.exponential(size=20_000) ** 1.5, 0, 1.9)
    caps = [
        best_cap(histogram(skewed), noise, 20_000, 0.1) for noise in (1.0, 0.1, 0.01, 1e-3, 1e-5)
    ]
    assert caps == sorted(caps)
    assert caps[0] < 0.2
    assert caps[-1] >= skewed.max() / math.sqrt(2)


def test_a_cap_is_not_above_what_residuals_need():
    even = np.random.default_rng(0).uniform(-0.1, 0.1, 5000)
    assert best_cap(histogram(even), 1e-4, 5000, 0.4) <= 0.16
    assert best_cap(histogram(even, 2000.0), 1e-4, 5000, 0.4) == 0.4  # nothing is seen


def test_the_histogram_counts_residuals_times_lengths():
    x = np.array([[0.6, 0.0], [3.0, 4.0], [0.0, 0.0]])
    counts = clipped_block_sum(
        ResidualHistogram(Squared(), np.array([-0.5, 0.0, 0.5])),
        Block(x, np.array([1.0, -1.0, 5.0])),
        np.array([1.0, 0.0]),
    )
    # (0.6 - 1) 0.6; (0.6 + 1) 1; (0 - 1) 0.
    np.testing.assert_array_equal(counts, [0, 1, 1, 1])


@pytest.mark.parametrize(
    "solver", [GradientDescent(cap=ResidualCap()), PrivateNewton(cap=ResidualCap())]
)
@pytest.mark.parametrize("neighbors", BOTH)
def test_a_cap_has_its_share_and_leaves_noise_multipliers_alone(solver, neighbors):
    rows = 500 if neighbors == "replace-one" else None
    problem = LinearProblem(Squared(), NoPenalty(), 4, n_rows=rows, expected_rows=500)
    budget = Budget(1.0, DELTA)
    prepared = solver.prepare(problem, budget, neighbors)
    shares = {event.name: event.mu**2 / budget.mu**2 for event in prepared.events}
    left = 1.0 if neighbors == "replace-one" else 0.98  # a count
    assert shares["residuals"] == pytest.approx(0.02 * left, rel=1e-6)
    assert sum(shares.values()) == pytest.approx(1.0, rel=1e-6)
    free = solver.prepare(problem, Budget(math.inf, DELTA), neighbors)
    assert "residuals" not in [event.name for event in free.events]
    with pytest.raises(ValueError, match="cap=None"):
        solver.prepare(LinearProblem(Huber(), NoPenalty(), 4, n_rows=9), budget, "replace-one")
    assert solver.with_clip(0.2).cap is None


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_nonsense_is_refused(share):
    with pytest.raises(ValueError, match="share"):
        ResidualCap(share)
    with pytest.raises(ValueError, match="after"):
        ResidualCap(after=share)


def curator_for(data, solver, neighbors):
    x, y = data
    rows = len(x) if neighbors == "replace-one" else None
    problem = LinearProblem(Squared(), NoPenalty(), x.shape[1], n_rows=rows, intercept=False)
    budget = Budget(1.0, DELTA)
    events = solver.prepare(problem, budget, neighbors).events
    plan = Plan(
        method="test", budget=budget, neighbors=neighbors, n_rows=rows, n_features=x.shape[1],
        events=events,
    )  # fmt: skip
    return Curator(Rows(x, y), plan, SeededNoise(0)), problem


SOLVERS = [GradientDescent(steps=4, cap=ResidualCap()), PrivateNewton(steps=4, cap=ResidualCap())]


def reports(solver, neighbors):
    def run(data):
        curator, problem = curator_for(data, solver, neighbors)
        return solver.run(curator, problem).theta

    pairs = neighbor_pairs(neighbors, [-1.0, 1.0])
    return [replay(run, one, two) for one, two in pairs]


@pytest.mark.parametrize("solver", SOLVERS, ids=["gd", "newton"])
@pytest.mark.parametrize("neighbors", BOTH)
def test_replay(solver, neighbors):
    for report in reports(solver, neighbors):
        assert report.ok, report.findings
        assert report.realised_mu <= Budget(1.0, DELTA).mu * (1 + 1e-6)


def test_broken_copies_are_caught(monkeypatch):
    """A histogram that calls its votes smaller than they are; a cap by the rows themselves."""
    with monkeypatch.context() as patch:
        patch.setattr(ResidualHistogram, "sensitivity", lambda self, neighbors: 0.5)
        assert not all(report.ok for report in reports(SOLVERS[0], "replace-one"))

    def peeks(self, curator, loss, theta, noise, rows, before):
        block = next(iter(curator._rows.blocks(10**6)))
        return float(0.1 + np.abs(loss.slope(block.x @ theta, block.y)).max())

    with monkeypatch.context() as patch:
        patch.setattr(ResidualCap, "choose", peeks)
        assert not all(report.ok for report in reports(SOLVERS[0], "replace-one"))


def test_a_plan_without_the_histogram_refuses_it():
    """The meter pays for what was planned alone."""
    data = np.eye(4), np.ones(4)
    curator, problem = curator_for(data, GradientDescent(steps=4), "replace-one")
    with pytest.raises(Exception, match="residuals"):
        SOLVERS[0].run(curator, problem)


def skewed_table(n=30_000, seed=0):
    """A tenth of the targets is far above the others, by chance and a little by a column."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 5))
    far = rng.random(n) < 0.1 + 0.05 * x[:, 0]
    return x, np.clip(0.3 * x[:, 1] + 1.5 * far - 0.9 + 0.05 * rng.standard_normal(n), -1, 1)


def test_skewed_residuals_are_met_as_noise_vanishes():
    """Four seeded fits at epsilon 30: the fixed cap of 0.4 misses a third of what there is to get.

    A simulation, which repeats; least squares without noise has the R^2 that is wanted.
    """
    x, y = skewed_table()
    settings = {"feature_range": (-1, 1), "target_range": (-1, 1)}
    best = LinearRegression(**settings, epsilon=math.inf).fit(x, y).score(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen, fixed = (
            np.mean([
                LinearRegression(**settings, epsilon=30.0, random_state=seed, clip=clip)
                .fit(x, y).score(x, y)
                for seed in range(4)
            ])
            for clip in (None, 0.4)
        )  # fmt: skip
    assert chosen > best - 0.002
    assert fixed < best - 0.02


def test_calibrated_events_add_up():
    budget = Budget(1.0, DELTA)
    (event,) = calibrate_noise(budget, (ResidualCap().event,), neighbors="replace-one")
    assert event.mu == pytest.approx(budget.mu, rel=1e-6)
