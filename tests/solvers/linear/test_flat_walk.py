"""Least squares where a Gram matrix would be noise."""

import math
import warnings

import numpy as np
import pytest

from solvers.linear.cases import BOTH, DELTA, neighbor_pairs
from veilspan import Budget, GaussianEvent, LinearRegression, Plan
from veilspan.audit.replay import replay
from veilspan.curator.curator import Answer, Curator
from veilspan.curator.rows import Rows
from veilspan.losses.linear import Huber, Squared
from veilspan.losses.penalties import NoPenalty
from veilspan.privacy.noise import SeededNoise
from veilspan.queries.linear.residual_histogram import ResidualHistogram
from veilspan.solvers.linear import flat_walk
from veilspan.solvers.linear.base import LinearProblem
from veilspan.solvers.linear.flat_walk import BORDERS, SPREAD, FlatWalk, spread_of
from veilspan.solvers.linear.newton import PrivateNewton


def problem_of(rows, neighbors, columns=3, loss=None):
    public = rows if neighbors == "replace-one" else None
    return LinearProblem(
        loss or Squared(), NoPenalty(), columns, n_rows=public, expected_rows=rows, intercept=False
    )


def histogram(targets, std=0.0, add=0.0):
    counts = np.bincount(np.searchsorted(BORDERS, targets, side="right"), minlength=5)
    return Answer(counts + add, std, GaussianEvent(SPREAD))


@pytest.mark.parametrize("neighbors", BOTH)
def test_the_spread_has_its_share_and_leaves_noise_multipliers_alone(neighbors):
    budget = Budget(0.5, DELTA)
    events = FlatWalk().prepare(problem_of(500, neighbors), budget, neighbors).events
    shares = {event.name: event.mu**2 / budget.mu**2 for event in events}
    left = 1.0 if neighbors == "replace-one" else 0.98  # a count
    assert shares[SPREAD] == pytest.approx(0.05 * left, rel=1e-6)
    assert sum(shares.values()) == pytest.approx(1.0, rel=1e-6)
    with pytest.raises(ValueError, match="squared"):
        FlatWalk().prepare(problem_of(9, neighbors, loss=Huber()), budget, neighbors)


def test_the_spread_is_that_of_the_targets_less_its_noise():
    wide, narrow = np.repeat([-1.0, 1.0], 500), np.full(1000, -0.2)
    assert spread_of(histogram(wide), 1000) == 1.0
    assert spread_of(histogram(narrow), 1000) == 0.0
    # Noise that all cells share is not taken for rows.
    assert spread_of(histogram(wide, add=-90.0), 1000) == pytest.approx(1.0)
    assert spread_of(histogram(wide, std=100.0), 1000) == pytest.approx(1 - 0.2 * math.sqrt(0.875))
    assert spread_of(histogram(wide, std=1000.0), None) == 0.0


def curator_for(data, neighbors):
    x, y = data
    problem, budget = problem_of(len(x), neighbors, x.shape[1]), Budget(1.0, DELTA)
    plan = Plan(
        method="test", budget=budget, neighbors=neighbors, n_rows=problem.n_rows,
        n_features=x.shape[1], events=FlatWalk().prepare(problem, budget, neighbors).events,
    )  # fmt: skip
    return Curator(Rows(x, y), plan, SeededNoise(0)), problem


def reports(neighbors):
    """Of neighbouring tables; the guess of their number of rows is public, so it is one."""

    def run(data):
        curator, problem = curator_for(data, neighbors)
        return FlatWalk().run(curator, problem).theta

    return [replay(run, one, two) for one, two in neighbor_pairs(neighbors, [-1.0, 1.0])]


def test_replay():
    for report in reports("replace-one"):
        assert report.ok, report.findings
        assert report.realised_mu <= Budget(1.0, DELTA).mu * (1 + 1e-6)


def test_broken_copies_are_caught(monkeypatch):
    """A histogram that calls its votes smaller than they are; a length by the rows themselves."""
    with monkeypatch.context() as patch:
        patch.setattr(ResidualHistogram, "sensitivity", lambda self, neighbors: 0.5)
        assert not all(report.ok for report in reports("replace-one"))

    exact = FlatWalk.run

    def peeks(self, curator, problem):
        block = next(iter(curator._rows.blocks(10**6)))
        found = min(float(np.var(np.clip(block.y, -1, 1)) + abs(block.x[0, 0]) / 1e7), 1.0)
        with monkeypatch.context() as patch:
            patch.setattr(flat_walk, "spread_of", lambda answer, rows: found)
            return exact(self, curator, problem)

    with monkeypatch.context() as patch:
        patch.setattr(FlatWalk, "run", peeks)
        assert not all(report.ok for report in reports("replace-one"))


def coded_table(spread, n=2_000, seed=0):
    """Thirty columns of ten categories as flags; three of them tell the target."""
    rng = np.random.default_rng(seed)
    codes = np.minimum(rng.geometric(0.5, (n, 30)) - 1, 9)
    x = (codes[:, :, None] == np.arange(10)).reshape(n, -1).astype(float)
    told = np.where((codes[:, :3] == 0).sum(axis=1) >= 2, 0.9, -0.9)
    return x, spread * told


@pytest.mark.parametrize("spread", [1.0, 0.2])
def test_it_learns_where_newton_finds_noise_and_no_walk_is_worse_than_the_mean(spread):
    """Three seeded fits at epsilon 0.2, 301 columns: simulations, which repeat."""
    x, y = coded_table(spread)
    settings = {"feature_range": (0, 1), "center": "zero", "row_norm": math.sqrt(30)}
    settings |= {"target_range": (-1, 1), "epsilon": 0.2, "delta": DELTA}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen, newton = (
            np.mean([
                LinearRegression(**settings, random_state=seed, solver=solver).fit(x, y).score(x, y)
                for seed in range(3)
            ])
            for solver in ("auto", PrivateNewton(clip=0.1))
        )  # fmt: skip
    assert chosen > (newton + 0.1 if spread == 1.0 else 0.0)
