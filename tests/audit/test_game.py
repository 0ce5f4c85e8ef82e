"""The distinguishing game: correct estimators keep their mu, broken noise shows, scores are fair.

At mu = 3 the games of this file have a false-alarm probability of 14 x 5e-8 = 7e-7 together. What
each could see is stated by ``visible_factor``: 1000 runs on each table show noise 1.3 times too
small, 500 runs 1.5 times, 300 runs 1.9 times, on a pair that uses the whole sensitivity.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from veilspan import (
    PCA,
    RGD,
    RSGD,
    FrechetMean,
    LinearRegression,
    LogisticRegression,
    MatrixCompletion,
    RobustPCA,
    SubspaceTracker,
)
from veilspan.audit import game
from veilspan.audit.api import make_seeded_fit
from veilspan.audit.bounds import choose_test
from veilspan.audit.game import log_likelihood_ratio, play, score_runs
from veilspan.audit.inputs import pairs_for
from veilspan.audit.replay import replay
from veilspan.audit.verdict import Claim, planned_mu, visible_factor
from veilspan.curator.curator import Curator
from veilspan.curator.tape import Question, RecordedAnswer, Tape
from veilspan.geometry import Ball, Euclidean
from veilspan.privacy import gdp
from veilspan.privacy.grid import add_noise
from veilspan.solvers.linear.gradient_descent import GradientDescent
from veilspan.solvers.subspace.reaper import ReaperDescent

ALPHA = 5e-8
MU = 3.0
EPSILON = gdp.epsilon_of(MU, 1e-6)
BALL = Ball.from_norm(Euclidean(2), 1.0)
LINEAR = {"row_norm": 1.0, "epsilon": EPSILON}
BOUNDED = {"row_norm": 1.0, "center": "origin"}

# name: (estimator at mu = 3, runs on each table)
FULL_BATCH = {
    "PCA": (PCA(1, epsilon=EPSILON, **BOUNDED), 1000),
    "PCA, add-remove": (PCA(1, epsilon=EPSILON, neighbors="add-remove", **BOUNDED), 500),
    "RobustPCA": (RobustPCA(1, epsilon=EPSILON, solver=ReaperDescent(steps=3)), 300),
    "FrechetMean": (
        FrechetMean(BALL.manifold, ball=BALL, epsilon=EPSILON, solver=RGD(steps=2)),
        300,
    ),
    "MatrixCompletion": (
        MatrixCompletion(rating_range=(1, 5), max_ratings_per_user=4, epsilon=EPSILON),
        500,
    ),
    "SubspaceTracker": (SubspaceTracker(1, epsilon=EPSILON, block_size=5), 500),
    "LinearRegression": (
        LinearRegression(target_range=(-1, 1), solver=GradientDescent(3), **LINEAR),
        500,
    ),
    "LogisticRegression": (
        LogisticRegression(classes=[0, 1], solver=GradientDescent(3), **LINEAR),
        500,
    ),
}


def noise_times(factor):
    def add(self, exact, scale):
        return add_noise(exact, replace(scale, std=factor * scale.std), self._source)

    return add


def worst_pair(fit, pairs, seed=0):
    """The pair that a replay finds farthest apart, and what it found."""
    replays = [(pair, replay(lambda table: fit(table, seed), pair.one, pair.two)) for pair in pairs]
    return max(replays, key=lambda found: found[1].realised_mu)


def played(estimator, runs, seed=0, *, sound=True):
    """Worst of the small pairs, and a game on it; replay must agree on whether it is sound."""
    fit = make_seeded_fit(estimator)
    with game.no_simulation_warnings():
        pair, report = worst_pair(fit, pairs_for(estimator, sizes=(5,)))
        assert report.ok is sound, report.findings
        plan = fit(pair.one, 0).plan_
    found = play(fit, pair.one, pair.two, runs=runs, seed=seed)
    return found, plan, report


@pytest.mark.parametrize("name", FULL_BATCH)
def test_an_estimator_keeps_its_promise(name):
    estimator, runs = FULL_BATCH[name]
    found, plan, report = played(estimator, runs)
    rates = found.rates(ALPHA)
    assert planned_mu(plan) == pytest.approx(MU, rel=1e-3)
    assert not Claim.of_plan(plan).refuted_by(rates)
    assert rates.runs == 2 * runs
    # The game has power: it comes near to how far apart the pair is.
    assert rates.mu > 0.55 * min(report.realised_mu, 2.6)


@pytest.mark.parametrize(("factor", "runs"), [(0.5, 300), (0.75, 1500)])
def test_too_little_noise_shows(factor, runs, monkeypatch):
    monkeypatch.setattr(Curator, "_add_noise", noise_times(factor))
    found, plan, _ = played(PCA(1, epsilon=EPSILON, **BOUNDED), runs, sound=False)
    assert Claim.of_plan(plan).refuted_by(found.rates(ALPHA))


def test_missing_noise_shows(monkeypatch):
    monkeypatch.setattr(Curator, "_add_noise", lambda self, exact, scale: exact)
    found, _, _ = played(PCA(1, epsilon=EPSILON, **BOUNDED), 100, sound=False)
    assert np.all(found.first < 0)
    assert np.all(found.second > 0)
    assert Claim.of_mu(1.5).refuted_by(found.rates(ALPHA))


def test_what_a_game_can_see():
    """The figures at the head of this file."""
    assert visible_factor(MU, MU, 1000, ALPHA) <= 1.3
    assert visible_factor(MU, MU, 500, ALPHA) <= 1.5
    assert visible_factor(MU, MU, 300, ALPHA) <= 1.9
    assert math.isinf(visible_factor(MU, MU, 50, ALPHA))


# ---------------------------------------------------------------- sampled rows


def test_a_sampled_fit_keeps_its_curve_and_its_score_does_not_see_the_coins():
    """With the coins in view this game would find far more than the plan promises."""
    solver = RSGD(steps=2, batch_rate=0.3)
    estimator = FrechetMean(BALL.manifold, ball=BALL, epsilon=4.0, solver=solver)
    found, plan, report = played(estimator, 40)
    claim = Claim.of_plan(plan)
    assert claim.mu is None
    assert not claim.refuted_by(found.rates(ALPHA))
    gap = found.second.mean() - found.first.mean()
    spread = math.sqrt((found.first.var() + found.second.var()) / 2)
    assert 0 < gap / spread < 0.7 * report.realised_mu


# ---------------------------------------------------------------- scores


def entry(exact, given, std=2.0, query="RowSum", rate=1.0):
    question = Question(query, ("q", 1.0, rate), 1.0, 1.0, std, 2, "")
    return RecordedAnswer(question, np.array(exact, float), np.array(given, float))


def test_the_score_is_the_ratio_of_gaussian_densities():
    from scipy.stats import norm

    home = Tape(entries=[entry([0, 1], [0.3, 2.0]), entry([5, 5], [4.0, 4.0], std=0.5)])
    away = Tape(entries=[entry([1, 1], [0.3, 2.0]), entry([5, 4], [4.0, 4.0], std=0.5)])
    expected = sum(
        norm.logpdf(a.given, b.exact, a.question.std).sum()
        - norm.logpdf(a.given, a.exact, a.question.std).sum()
        for a, b in zip(home.entries, away.entries)
    )
    assert log_likelihood_ratio(home, away) == pytest.approx(expected, rel=1e-12)


def test_a_tilt_is_scored_as_noise_around_zero():
    home = Tape(entries=[entry([1.0, 0.0], [9.0, 9.0], query="minimum of logistic")])
    away = Tape(entries=[entry([3.0, 0.0], [9.0, 9.0], query="minimum of logistic")])
    assert log_likelihood_ratio(home, away) == pytest.approx((1.0 - 9.0) / (2 * 2.0**2))


def test_answers_without_noise_give_the_table_away():
    home, away = (Tape(entries=[entry([x, 0], [0, 0], std=0.0)]) for x in (0, 1))
    assert log_likelihood_ratio(home, away) == -math.inf
    assert log_likelihood_ratio(home, home) == 0


def test_any_mechanism_can_be_scored():
    """Randomised response on one bit, told the truth with probability 0.9."""

    def answer(bit, rng):
        return float(bit if rng.random() < 0.9 else 1 - bit)

    scores = [score_runs(answer, bit, 2000, seed=bit) for bit in (0, 1)]
    from veilspan.audit.bounds import epsilon_lower_bound

    assert 1.5 < epsilon_lower_bound(*scores, 0.0, ALPHA) < math.log(9)
    assert choose_test(*scores, ALPHA).mu > 1.7


def test_too_few_runs_are_refused():
    with pytest.raises(ValueError, match="two or more runs"):
        play(make_seeded_fit(PCA(1)), (np.eye(2),), (np.eye(2),), runs=1)
