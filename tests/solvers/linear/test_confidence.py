"""How sure a classifier may be: one factor from a noisy histogram, and a twin that is caught."""

import numpy as np
import pytest
from scipy.special import expit

from veilspan import LogisticRegression
from veilspan.audit.replay import replay
from veilspan.losses.linear import Logistic
from veilspan.queries.linear.class_votes import ScoreHistogram
from veilspan.solvers.linear.asked import confidence
from veilspan.solvers.linear.asked.confidence import BEND, KNOTS, MANY_KNOTS, find_confidence
from veilspan.solvers.linear.rare_classes import odds_of_votes

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


def exact_counts(mean, spread, factor, n_knots=KNOTS, rows=1e6):
    """Expected counts of normal log-odds that are the factor times the score; nothing is drawn."""
    knots = ScoreHistogram(Logistic(), n_knots, bend=BEND).knots(REACH)
    odds = mean + spread * np.linspace(-6, 6, 40_001)
    weights = np.exp(-0.5 * ((odds - mean) / spread) ** 2)
    weights *= rows / weights.sum()
    # Votes are divided on the scale of the knots.
    scores, scale = np.clip(odds / factor, -REACH, REACH), np.arcsinh(knots / BEND)
    place = np.interp(np.arcsinh(scores / BEND), scale, np.arange(n_knots))
    second = expit(odds)
    counts = np.zeros((2, n_knots))
    below = np.minimum(place.astype(int), n_knots - 2)
    for side, share in ((0, 1 - second), (1, second)):
        np.add.at(counts[side], below, weights * share * (1 - (place - below)))
        np.add.at(counts[side], below + 1, weights * share * (place - below))
    return knots, counts


SHAPES = [(0, 1), (0, 3), (-2, 1.5), (3, 2), (-4, 1), (-5.4, 1.8)]


@pytest.mark.parametrize(("n_knots", "near"), [(KNOTS, 0.015), (MANY_KNOTS, 0.002)])
@pytest.mark.parametrize(("mean", "spread"), SHAPES)
def test_without_noise_probabilities_that_are_right_stay(mean, spread, n_knots, near):
    """Many knots are what is asked for where there is hardly any noise."""
    found, _ = find_confidence(*exact_counts(mean, spread, 1.0, n_knots), 0.0)
    assert found == pytest.approx(1.0, abs=near)


@pytest.mark.parametrize(("mean", "spread"), SHAPES)
def test_without_noise_scores_that_are_too_large_or_small_are_put_right(mean, spread):
    half, _ = find_confidence(*exact_counts(mean, spread, 0.5), 0.0)
    assert half == pytest.approx(0.5, abs=0.03)
    twice, _ = find_confidence(*exact_counts(mean, spread, 2.0), 0.0)
    assert twice == pytest.approx(2.0, abs=0.06)


def test_rows_of_two_scores_only_need_many_knots():
    """Nothing is dense between the knots: few of them cannot tell, and many can."""
    rows, share = 1e6, expit(0.3)
    found = {}
    for n_knots in (KNOTS, MANY_KNOTS):
        knots = ScoreHistogram(Logistic(), n_knots, bend=BEND).knots(REACH)
        counts = np.zeros((2, n_knots))
        for score, second in ((-0.3, 1 - share), (0.3, share)):
            scale = np.arcsinh(knots / BEND)
            place = float(np.interp(np.arcsinh(score / BEND), scale, np.arange(n_knots)))
            votes = np.maximum(0.0, 1.0 - np.abs(np.arange(n_knots) - place))
            counts += rows / 2 * np.outer([1 - second, second], votes)
        found[n_knots] = find_confidence(knots, counts, 0.0)[0]
    assert found[MANY_KNOTS] == pytest.approx(1.0, abs=0.02)
    assert abs(found[KNOTS] - 1) > 0.03


def rows_on_knots(knots, counts, noise_std):
    """A broken copy: the likelihood of rows that stand on the knots, which it was before."""
    logarithms = np.linspace(-4.0, 0.7, 189)
    second = expit(np.exp(logarithms)[:, None] * knots)
    first = 1.0 - second
    weigh = second**2 + first**2
    rows = np.maximum(counts.sum(axis=0), 0.0)
    missed = (second * counts[0] - first * counts[1]) ** 2 / weigh
    spread = noise_std**2 + rows * second * first / weigh + 1e-9
    said = -0.5 * np.sum(missed / spread + np.log(spread), axis=1) - logarithms**2 / 4.5
    weights = np.exp(said - said.max())
    return float(np.exp(weights @ logarithms / weights.sum()))


@pytest.mark.parametrize(("mean", "spread", "times"), [(-5.4, 1.8, 0.6), (0, 1.5, 1.05)])
def test_with_noise_it_errs_less_than_with_rows_on_knots(mean, spread, times):
    rng = np.random.default_rng(0)
    now, before = [], []
    for factor in (0.5, 1.0, 1.4):
        knots, counts = exact_counts(mean, spread, factor, rows=20_000)
        for _ in range(15):
            noisy = rng.poisson(counts) + 40.0 * rng.standard_normal(counts.shape)
            now.append(abs(np.log(find_confidence(knots, noisy, 40.0)[0] / factor)))
            before.append(abs(np.log(rows_on_knots(knots, noisy, 40.0) / factor)))
    assert np.mean(now) < times * np.mean(before)
    assert np.mean(now) < 0.1


def test_a_class_that_noise_hides_makes_nobody_surer():
    """No positive can be seen: every factor from some on is as likely, and 1 is among them."""
    knots, counts = exact_counts(-7, 1, 1.0, rows=3000)
    rng = np.random.default_rng(0)
    found = [
        find_confidence(knots, counts + 60 * rng.standard_normal(counts.shape), 60.0)[0]
        for _ in range(30)
    ]
    assert 0.7 < np.median(found) < 1.2


@pytest.mark.parametrize("factor", [0.1, 0.3, 1.0, 1.5])
def test_the_factor_of_the_truth_is_found(factor):
    knots, counts = make_counts(factor)
    found, std = find_confidence(knots, counts, 1.0)
    assert found == pytest.approx(factor, rel=0.12)
    assert 0 < std < 0.1


@pytest.mark.parametrize(
    ("rows", "noise"), [(500, 30.0), (20_000, 5.0), (10**6, 1.0), (10**8, 1.0)]
)
def test_few_looks_find_what_all_logarithms_tell(rows, noise):
    """A factor known to a fiftieth or a ten-thousandth: both are integrals over a posterior."""
    knots, counts = exact_counts(0.4, 2.0, 0.6, rows=rows)
    counts += noise * np.random.default_rng(0).standard_normal(counts.shape)
    found, std = find_confidence(knots, counts, noise)
    fine = np.log(found) + np.linspace(-12, 12, 20_001) * std
    scores = odds_of_votes.scores_between(knots, BEND)
    votes = odds_of_votes.who_votes(counts.sum(axis=0), noise).T
    said = odds_of_votes.log_likelihood(
        counts, expit(np.exp(fine)[:, None] * scores) @ votes, noise
    )
    said -= 0.5 * (fine / np.where(fine < 0, confidence.PRIOR_BELOW, confidence.PRIOR_ABOVE)) ** 2
    weights = np.exp(said - said.max())
    mean = weights @ fine / weights.sum()
    assert np.log(found) == pytest.approx(mean, abs=0.02 * std)
    assert std == pytest.approx(np.sqrt(weights @ (fine - mean) ** 2 / weights.sum()), rel=0.03)


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


@pytest.mark.long  # 200,000 rows, and a plan for a large epsilon
@pytest.mark.filterwarnings(
    "ignore::veilspan.NotPrivateWarning", "ignore::veilspan.RareClassWarning"
)
def test_a_rare_class_without_noise_is_that_of_the_fit_without_privacy():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60_000, 5)).clip(-4, 4)
    y = (rng.random(len(x)) < expit(1.5 * x[:, 0] - x[:, 1] - 5.4)).astype(int)
    noisy, exact = (
        LogisticRegression(
            epsilon=epsilon, classes=[0, 1], feature_range=(-4, 4), random_state=0
        ).fit(x, y)
        for epsilon in (1e5, np.inf)
    )
    assert noisy.predict_proba(x)[:, 1].mean() == pytest.approx(y.mean(), rel=0.02)
    np.testing.assert_allclose(noisy.coef_, exact.coef_, atol=0.03)
    assert np.array_equal(noisy.predict(x), (noisy.decision_function(x) > 0).astype(int))


@pytest.mark.filterwarnings("ignore::veilspan.NotPrivateWarning")
@pytest.mark.parametrize(("epsilon", "n_knots"), [(0.5, KNOTS), (100.0, MANY_KNOTS)])
def test_knots_are_chosen_by_public_noise(monkeypatch, epsilon, n_knots):
    asked = []

    class Told(ScoreHistogram):
        def __init__(self, loss, n_knots, bend=None):
            asked.append(n_knots)
            super().__init__(loss, n_knots, bend=bend)

    monkeypatch.setattr(confidence, "ScoreHistogram", Told)
    fit(True, monkeypatch, epsilon, solver="newton")
    assert asked[-1] == n_knots


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
