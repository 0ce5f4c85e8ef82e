"""A search is replayed and played against; broken copies of it are caught."""

import math
import warnings

import numpy as np
import pytest

from veilspan import PrivateSearch, Ridge
from veilspan.audit.bounds import clopper_pearson_upper
from veilspan.audit.replay import replay
from veilspan.curator.tape import recording
from veilspan.estimators.search import running, scored_fit
from veilspan.privacy.accounting import epsilon_spent
from veilspan.privacy.events import GaussianEvent, SearchEvent
from veilspan.privacy.noise import SeededNoise
from veilspan.privacy.random_search import draw_geometric

GRID = {"alpha": [0.1, 1.0, 10.0, 100.0, 1000.0]}


def make_tables(neighbors):
    """A table of (rows, targets), and a neighbour that differs in one loud row."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (60, 2))
    y = np.clip(x @ [0.6, -0.4], -1, 1)
    other = x.copy(), y.copy()
    if neighbors == "replace-one":
        other[0][0], other[1][0] = (50.0, -50.0), -9.0
    else:
        other = other[0][1:], other[1][1:]
    return (x, y), other


def search_with(neighbors, method="random", grid=GRID):
    def fit(table):
        model = Ridge(row_norm=1.5, target_range=(-1, 1), neighbors=neighbors, expected_rows=60)
        search = PrivateSearch(model, grid, epsilon=2.0, delta=1e-6, method=method, random_state=5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search.fit(*table)
        best = search.best_estimator_
        return {"coef": best.coef_, "intercept": best.intercept_, **search.best_params_}

    return fit


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
@pytest.mark.parametrize("method", ["random", "joint"])
def test_what_is_released_follows_from_the_answers_alone(neighbors, method):
    report = replay(search_with(neighbors, method), *make_tables(neighbors), neighbors=neighbors)
    assert report.ok, report.findings
    assert report.questions >= 2
    assert report.largest_use > 0.3


def test_a_score_that_is_not_charged_is_found(monkeypatch):
    """A twin whose score is read off the rows, without noise and without a charge."""
    asked = scored_fit.AskScore.ask

    def exact(self, curator, problem, result):
        told = asked(self, curator, problem, result)
        total = curator._rows.n_rows  # any exact fact of the rows serves
        first = next(iter(curator._rows.blocks(total)))
        self.told = float(first.x[0, 0])
        return told

    tables = make_tables("replace-one")
    grid = {"alpha": [0.1, 1000.0, 1e4, 1e5, 1e6]}
    scores = []

    def spy(self, curator, problem, result):
        told = exact(self, curator, problem, result)
        scores.append(self.told)
        return told

    monkeypatch.setattr(scored_fit.AskScore, "ask", spy)
    replay(search_with("replace-one", grid=grid), *tables)
    half = len(scores) // 2
    assert scores[:half] != scores[half:]  # the twin's scores tell the tables apart ...
    monkeypatch.setattr(scored_fit.AskScore, "ask", recorded := _recorder(asked))
    replay(search_with("replace-one", grid=grid), *tables)
    half = len(recorded.scores) // 2
    assert recorded.scores[:half] == recorded.scores[half:]  # ... and the true ones do not


def _recorder(asked):
    def ask(self, curator, problem, result):
        told = asked(self, curator, problem, result)
        ask.scores.append(self.told)
        return told

    ask.scores = []
    return ask


def noises(fit, table):
    """Noise of the first answer of each trial."""
    with recording() as tape:
        fit(table)
    first = tape.entries[0].question.query
    return [float((e.given - e.exact).flat[0]) for e in tape.entries if e.question.query == first]


def test_trials_that_share_their_noise_are_found(monkeypatch):
    """Averages of trials would take no noise off if they had the same, and best-of-K no chance."""
    fit, (table, _) = search_with("replace-one"), make_tables("replace-one")
    own = noises(fit, table)
    assert len(own) > 2
    assert len(set(own)) == len(own)
    monkeypatch.setattr(running, "make_source", lambda source, number: SeededNoise(source.seed))
    shared = noises(fit, table)
    assert len(set(shared)) < len(shared)


# A game on the choice itself: one trial releases N(0, z^2) or N(1, z^2), the largest wins.

MULTIPLIER, GAMMA, RUNS, ALPHA = 1.0, 1 / 9, 400_000, 1e-7


def best_of(rng, counts, shift):
    """Largest of so many normal outcomes, by the law of a maximum."""
    from scipy.special import ndtri

    return ndtri(rng.random(len(counts)) ** (1 / counts)) * MULTIPLIER + shift


def lower_bound(counts_of, delta):
    """Epsilon that an attacker shows by a threshold on the released score, sure to 1 - 2e-7."""
    rng = np.random.default_rng(8)
    found = 0.0
    low, high = (best_of(rng, counts_of(rng), shift) for shift in (0.0, 1.0))
    for threshold in np.linspace(-2, 5, 29):
        for above in (True, False):
            first, second = (int(((v > threshold) == above).sum()) for v in (low, high))
            for one, other in ((first, second), (second, first)):
                rate = clopper_pearson_upper(one, RUNS, ALPHA / 116)
                least = 1 - clopper_pearson_upper(RUNS - other, RUNS, ALPHA / 116)
                if least > delta:
                    found = max(found, math.log((least - delta) / rate))
    return found


def claimed(delta):
    trial = (GaussianEvent("score", MULTIPLIER),)
    event = SearchEvent(name="search", trials=(trial,), eta=1.0, gamma=GAMMA)
    return epsilon_spent([event], delta), epsilon_spent(trial, delta)


def geometric(rng):
    return np.array([draw_geometric(GAMMA, rng) for _ in range(4000)]).repeat(RUNS // 4000)


def test_no_attacker_beats_the_claim_and_a_fixed_number_counted_as_one_is_beaten():
    delta = 1e-5
    whole, alone = claimed(delta)
    assert lower_bound(lambda rng: rng.geometric(GAMMA, RUNS), delta) <= whole
    # The classical mistake: the best of nine, stated as if it were one fit.
    assert lower_bound(lambda rng: np.full(RUNS, 9), delta) > 1.0
    fixed = lower_bound(lambda rng: np.full(RUNS, 200), delta)
    assert fixed > alone


def test_the_number_of_trials_is_geometric():
    """What the search draws is what the game above assumes."""
    drawn = geometric(np.random.default_rng(2))
    # 5 standard errors of a mean over 4,000 draws
    assert abs(drawn.mean() - 9) < 5 * math.sqrt(72 / 4000)
