"""How sure a classifier may be: one factor from a noisy histogram, and a twin that is caught."""

import numpy as np
import pytest
from scipy.special import expit

from veilspan import LogisticRegression
from veilspan.audit.replay import replay
from veilspan.losses.linear import Logistic
from veilspan.queries.linear.class_votes import ScoreHistogram
from veilspan.solvers.linear.asked import confidence
from veilspan.solvers.linear.asked.confidence import BEND, KNOTS, find_confidence

REACH = 16.0
QUERY = ScoreHistogram(Logistic(), KNOTS, bend=BEND)


def make_counts(factor, rows=20_000, noise=0.0, seed=0):
    """Counts at the knots of people whose log-odds are the factor times their score."""
    rng = np.random.default_rng(seed)
    knots = QUERY.knots(REACH)
    scores = np.clip(rng.normal(0, 3, rows), -REACH, REACH)
    sides = (rng.random(rows) < expit(factor * scores)).astype(int)
    place = np.interp(scores, knots, np.arange(KNOTS))
    counts = np.zeros((2, KNOTS))
    for side, at in ((0, place[sides == 0]), (1, place[sides == 1])):
        below = np.minimum(at.astype(int), KNOTS - 2)
        np.add.at(counts[side], below, 1 - (at - below))
        np.add.at(counts[side], below + 1, at - below)
    return knots, counts + noise * rng.standard_normal((2, KNOTS))


@pytest.mark.parametrize("factor", [0.1, 0.3, 1.0, 1.5])
def test_the_factor_of_the_truth_is_found(factor):
    knots, counts = make_counts(factor)
    found, std = find_confidence(knots, counts, 1.0)
    assert found == pytest.approx(factor, rel=0.12)
    assert 0 < std < 0.1


@pytest.mark.parametrize("factor", [0.1, 0.5])
def test_noise_widens_what_is_found(factor):
    found = [find_confidence(*make_counts(factor, 4000, 40.0, s), 40.0)[0] for s in range(40)]
    assert np.median(found) == pytest.approx(factor, rel=0.5)


def test_counts_that_say_nothing_change_little():
    found = [find_confidence(*make_counts(1.0, 0, 50.0, seed), 50.0)[0] for seed in range(40)]
    assert 0.3 < np.median(found) < 1.5


def test_no_rows_and_no_noise_are_no_answer():
    assert np.isfinite(find_confidence(QUERY.knots(REACH), np.zeros((2, KNOTS)), 0.0)).all()


def make_table(rows=4000, columns=5, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (rows, columns))
    return x, (x[:, 0] - x[:, 1] > rng.logistic(size=rows) / 4).astype(int)


def fit(says_odds, monkeypatch, epsilon=0.5, **more):
    monkeypatch.setattr(LogisticRegression, "_says_odds", says_odds)
    x, y = make_table()
    model = LogisticRegression(
        epsilon=epsilon, feature_range=(-1, 1), classes=[0, 1], random_state=0, **more
    )
    return model.fit(x, y)


@pytest.mark.filterwarnings("ignore::veilspan.NotPrivateWarning")
def test_probabilities_are_nearer_to_the_truth(monkeypatch):
    x, y = make_table(20_000, seed=1)
    miss = {}
    for says_odds in (False, True):
        said = fit(says_odds, monkeypatch).predict_log_proba(x)
        miss[says_odds] = -said[np.arange(len(y)), y].mean()
    assert miss[True] < miss[False] - 0.02


@pytest.mark.filterwarnings("ignore::veilspan.NotPrivateWarning")
@pytest.mark.parametrize(
    ("asked", "settings"),
    [
        (True, {}),
        (False, {"threshold": "f1"}),  # which has a line of its own
        (False, {"class_weight": "balanced"}),
        (False, {"epsilon": np.inf}),
    ],
)
def test_who_pays_for_it(monkeypatch, asked, settings):
    model = fit(True, monkeypatch, **settings)
    assert (confidence.CONFIDENCE in {event.name for event in model.plan_.events}) is asked


class HalfNoise(ScoreHistogram):
    """A broken copy: half of the votes that an exchange moves."""

    def sensitivity(self, neighbors):
        return super().sensitivity(neighbors) / 2


@pytest.mark.filterwarnings("ignore::veilspan.NotPrivateWarning")
@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
@pytest.mark.parametrize("broken", [False, True])
def test_replay(monkeypatch, neighbors, broken):
    if broken:
        monkeypatch.setattr(confidence, "ScoreHistogram", HalfNoise)
    x, y = make_table(60, 3)
    y[-1] = 0

    def fit(table):
        return LogisticRegression(
            epsilon=3.0, feature_range=(-1, 1), classes=[0, 1], neighbors=neighbors,
            expected_rows=60 if neighbors == "add-remove" else None, random_state=0,
        ).fit(*table)  # fmt: skip

    if neighbors == "add-remove":
        other = x[:-1], y[:-1]
    else:
        other = np.vstack([x[:-1], np.ones(3)]), np.append(y[:-1], 1)
    assert replay(fit, (x, y), other).ok is not broken
