"""A private choice among candidates."""

import math

import numpy as np
import pytest

from solvers.linear.cases import BOTH, DELTA, fit, neighbor_pairs, problem_for, unit_rows
from veilspan import Budget
from veilspan.audit.replay import replay
from veilspan.losses.linear import Logistic, Squared
from veilspan.losses.penalties import L2
from veilspan.privacy.accounting import epsilon_spent
from veilspan.queries.linear.candidate_gains import gain_bound
from veilspan.solvers.linear import selection
from veilspan.solvers.linear.gradient_descent import GradientDescent, StochasticGradient
from veilspan.solvers.linear.newton import PrivateNewton
from veilspan.solvers.linear.objective_perturbation import ObjectivePerturbation
from veilspan.solvers.linear.selection import Candidate, PrivateSelection, pays_from
from veilspan.solvers.linear.sufficient_statistics import SufficientStatistics

GD = GradientDescent(steps=4)
PAIR = PrivateSelection((Candidate(GD), Candidate(GD, L2(50.0))))


def table(n=3_000, p=3, seed=0):
    rng = np.random.default_rng(seed)
    x = unit_rows(rng, n, p)
    return x, np.where(x @ np.linspace(-4, 6, p) + rng.logistic(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("epsilon", [math.inf, 5.0])
def test_the_better_candidate_is_chosen(order, epsilon):
    """At epsilon 5 the two differ by more than 500 predictions and the noise's std is below 15."""
    x, y = table()
    # The second one starts at zero and cannot leave it: all its margins are zero.
    pair = (Candidate(GradientDescent(steps=30)), Candidate(GradientDescent(steps=30), L2(1e6)))
    theta = fit(PrivateSelection(pair[::order]), Logistic(), x, y, epsilon=epsilon)
    assert np.mean((x @ theta) * y > 0) > 0.88  # 0.894; the other has no prediction at all


@pytest.mark.parametrize("neighbors", BOTH)
@pytest.mark.parametrize(
    "candidates",
    [
        (Candidate(GD), Candidate(PrivateNewton(3), L2(0.1)), Candidate(GD, L2(0.1))),
        (Candidate(StochasticGradient(1.0, 0.2)), Candidate(GD)),
    ],
    ids=["gaussian", "sampled"],
)
def test_the_joint_plan_keeps_the_budget(candidates, neighbors):
    problem = problem_for(table(400)[0], Logistic(), neighbors=neighbors)
    events = PrivateSelection(candidates).prepare(problem, Budget(1.0, DELTA), neighbors).events
    spent = epsilon_spent(events, DELTA, neighbors=neighbors)
    assert 0.98 < spent <= 1.0 + 1e-9
    assert len({event.name for event in events}) == len(events)


def test_objective_perturbation_may_be_a_candidate():
    x, y = table(800)
    pair = Candidate(ObjectivePerturbation(), L2(0.01)), Candidate(GD)
    theta = fit(PrivateSelection(pair), Logistic(), x, y, epsilon=4.0)
    assert np.isfinite(theta).all()


def test_a_regression_is_chosen_by_its_loss():
    x, y = table(600)
    pair = (
        Candidate(SufficientStatistics(), L2(1e5)),
        Candidate(SufficientStatistics(), L2(1e-4)),
    )
    theta = fit(PrivateSelection(pair), Squared(), x, y * 0.5)
    assert np.linalg.norm(theta) > 0.5  # 0.70; the other is 1e-5 long


@pytest.mark.parametrize("neighbors", BOTH)
def test_replay(neighbors):
    def run(data):
        return fit(PAIR, Logistic(), *data, epsilon=1.0, neighbors=neighbors)

    for one, two in neighbor_pairs(neighbors, [-1.0, 1.0]):
        report = replay(run, one, two)
        assert report.ok, report.findings
        assert report.questions == 2 * 4 + 1 + 2 * (neighbors == "add-remove")
        assert report.realised_mu <= Budget(1.0, DELTA).mu * (1 + 1e-6)


class PicksByRows(PrivateSelection):
    """Counts on the rows themselves which candidate is right more often."""

    def run(self, curator, problem):
        result = super().run(curator, problem)
        block = next(curator._rows.blocks(100))
        right = np.mean((block.x @ result.theta) * block.y > 0)
        return type(result)(result.theta * (1 if right > 0.5 else -1))


class TooLittleNoise(selection.CandidateGains):
    def sensitivity(self, neighbors):
        return super().sensitivity(neighbors) / 20


def test_broken_copies_are_caught(monkeypatch):
    def run(solver):
        return lambda data: fit(solver, Logistic(), *data, epsilon=1.0)

    pairs = list(neighbor_pairs("replace-one", [-1.0, 1.0]))
    assert not all(replay(run(PicksByRows(PAIR.candidates)), *pair).ok for pair in pairs)
    monkeypatch.setattr(selection, "CandidateGains", TooLittleNoise)
    assert not all(replay(run(PAIR), *pair).ok for pair in pairs)


def test_pays_from_is_its_formula():
    budget = Budget(1.0, DELTA)
    rows = pays_from(2, 30, budget, "replace-one")
    by_hand = gain_bound(2) * math.sqrt(2 * math.log(2) / 0.1)
    by_hand += 3 * math.sqrt(30) * (math.sqrt(2 / 0.9) - 1)
    assert rows == pytest.approx(2 * by_hand / (budget.mu * 0.01))
    assert f"{rows:,.0f} rows" in " ".join(PrivateSelection.__doc__.split())
    assert pays_from(2, 30, budget, "add-remove") == pytest.approx(rows / 2)


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="at least 2"):
        PrivateSelection((Candidate(GD),))
    with pytest.raises(ValueError, match="share"):
        PrivateSelection(PAIR.candidates, 0.0)
