import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvers.completion.cases import shares
from veilspan.audit.replay import replay
from veilspan.datasets.ratings import make_ratings
from veilspan.estimators.completion.matrix_completion import MatrixCompletion
from veilspan.privacy.budget import Budget
from veilspan.queries.completion.rating_rows import RatingRule
from veilspan.solvers.base import COUNT
from veilspan.solvers.completion.auto import (
    GAINS,
    LOOK,
    REST,
    THRESHOLD,
    AutoCompletion,
    later_shares,
)
from veilspan.solvers.completion.base import ITEM_STATISTICS, CompletionProblem
from veilspan.solvers.completion.noisy_statistics import NoisyStatistics
from veilspan.solvers.completion.public_rules import (
    bias_row_norm,
    choose_width,
    covariance_row_norm,
    expected_ratings,
    signal_over_edge,
)

pytestmark = pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.NotPrivateWarning")


BUDGET = Budget(1.0, 1e-6)


def problem(n_users=None, n_items=400, kept=80):
    return CompletionProblem(n_users, n_items, RatingRule(1.0, 5.0, kept))


def model(epsilon, **changes):
    settings = {"rating_range": (1, 5), "max_ratings_per_user": 20, "random_state": 0}
    return MatrixCompletion(AutoCompletion(), epsilon=epsilon, **{**settings, **changes})


@given(st.floats(1e-3, 50), st.floats(0, 1e6), st.integers(1, 5000))
def test_signal_over_edge_follows_its_formula(mu, ratings, width):
    alone = signal_over_edge(width, "add-remove", mu, ratings, 0.06)
    replaced = signal_over_edge(width, "replace-one", mu, ratings, 0.06)
    assert alone == pytest.approx(0.06 * ratings * mu / math.sqrt(2 * width))
    assert replaced == pytest.approx(alone / math.sqrt(2))


@given(st.floats(1e-6, 1e3), st.floats(1.0, 4.0), st.floats(0, 1e6))
def test_more_budget_never_clips_harder(mu, more, ratings):
    facts = problem()
    low, high = (bias_row_norm(facts, "add-remove", mu * k, ratings) for k in (1.0, more))
    assert 0.4 * facts.full_row <= low <= high <= 1.2 * facts.full_row
    low, high = (covariance_row_norm(facts, mu * k) for k in (1.0, more))
    assert 0.35 * facts.full_row <= low <= high <= facts.full_row


def test_norms_are_in_units_of_the_ratings():
    small = problem()
    large = CompletionProblem(None, 400, RatingRule(0, 40, 80))
    assert large.full_row == pytest.approx(10 * small.full_row)
    assert covariance_row_norm(large, 3.0) == pytest.approx(10 * covariance_row_norm(small, 3.0))


def test_expected_ratings_need_a_public_number_of_users():
    assert expected_ratings(problem()) is None
    known = problem(n_users=1000, n_items=50, kept=60)
    assert expected_ratings(known) == pytest.approx(0.65 * 1000)  # at most all items are rated


@pytest.mark.parametrize(
    ("facts", "share"),
    [
        (problem(), 0.15),  # nothing known
        (problem(n_users=10**6), 0.15),  # a covariance will rise
        (problem(n_users=10_000), 0.15),  # perhaps
        (problem(n_users=300), 1.0),  # it cannot
    ],
)
def test_the_first_release_gets_what_the_others_cannot_use(facts, share):
    relation = "add-remove" if facts.n_users is None else "replace-one"
    prepared = AutoCompletion().prepare(facts, BUDGET, relation)
    spent = shares(prepared)
    names = [ITEM_STATISTICS] if share == 1 else [ITEM_STATISTICS, LOOK, REST, GAINS]
    counted = facts.n_users is None  # the number of users, for a hundredth
    assert [event.name for event in prepared.events] == [COUNT] * counted + names
    assert spent[counted] == pytest.approx(share / (1.01 if counted else 1.0))
    assert prepared.decisions["share for the first release"] == share
    # The choice is made once: what runs is told, and would not choose otherwise.
    assert prepared.solver == AutoCompletion(first_share=share)


@given(st.floats(0.01, 0.999))
def test_the_later_releases_share_what_the_first_leaves(share):
    later = later_shares(share)
    assert math.fsum(later.values()) == pytest.approx(1 - share)
    assert min(later.values()) > 0
    assert later[GAINS] / (1 - share) == pytest.approx(0.03 / 0.85)


def test_the_width_of_a_covariance_grows_with_what_is_known():
    facts = problem(n_items=5000)
    widths = [choose_width(facts, "add-remove", mu, 6000) for mu in (1e-3, 0.2, 1.0, 1e9, math.inf)]
    assert widths == sorted(widths)
    assert (widths[0], widths[-1]) == (60, 2000)
    assert choose_width(facts, "replace-one", 0.2, 6000) < widths[1]
    assert choose_width(problem(n_items=7), "add-remove", 1.0, 6000) == 7


@pytest.mark.parametrize("share", [0.0, -0.1, 1.5])
def test_bad_shares(share):
    with pytest.raises(ValueError, match="first_share must lie in"):
        AutoCompletion(first_share=share).prepare(problem(), BUDGET, "add-remove")


@pytest.mark.parametrize("share", [0.0, 1.1])
def test_bad_guesses(share):
    with pytest.raises(ValueError, match="factor_share must lie in"):
        AutoCompletion(factor_share=share).prepare(problem(), BUDGET, "add-remove")


def test_strong_tastes_are_found_by_looking():
    """A third of the variance, where a guess of 6 % would not have asked."""
    facts = problem(n_users=600, n_items=20, kept=20)
    guessed = AutoCompletion().prepare(facts, BUDGET, "replace-one")
    assert guessed.decisions["expected signal over edge"] < THRESHOLD
    found = model(BUDGET.epsilon).fit(make_ratings(600, 20).train)
    assert found.item_factors_.shape[1] > 0


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("epsilon", "factors"), [(0.08, False), (30.0, True)])
def test_a_covariance_is_asked_where_it_rises_above_noise(neighbors, epsilon, factors):
    data = make_ratings(3000, 30)
    fitted = model(epsilon, neighbors=neighbors).fit(data.train)
    assert (fitted.item_factors_.shape[1] > 0) == factors
    # All of the budget is spent, whichever second release was chosen.
    assert fitted.privacy_.events == fitted.plan_.events
    assert fitted.privacy_.epsilon == pytest.approx(epsilon, rel=1e-6)


def test_factors_are_learned_and_help():
    data = make_ratings(4000, 30, taste=0.8)
    bias, both = (
        MatrixCompletion(
            AutoCompletion(share), rating_range=(1, 5), epsilon=20.0, random_state=0
        ).fit(data.train)
        for share in (1.0, None)
    )
    assert bias.item_factors_.shape == (30, 0)
    # Tastes of 0.8 and noise of 0.5: knowing the tastes saves more than a quarter, 0.29 here.
    assert both.score(data.train, data.test) > 0.75 * bias.score(data.train, data.test)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("epsilon", [0.5, 30.0])
def test_the_choice_depends_on_released_numbers_only(neighbors, epsilon):
    table = make_ratings(400, 12).train
    # The neighbour differs by one user: another one in her place, or nobody.
    changed = table.copy()
    changed.data[: changed.indptr[1]] = 6 - changed.data[: changed.indptr[1]]
    neighbor = changed if neighbors == "replace-one" else table[1:]
    report = replay(lambda x: model(epsilon, neighbors=neighbors).fit(x), table, neighbor)
    assert report.ok, report.findings
    assert report.questions == (5 if neighbors == "add-remove" else 4)


def test_a_choice_by_the_true_number_of_ratings_would_be_caught(monkeypatch):
    table = make_ratings(400, 12).train
    exact = {"ratings": 0.0}

    def leak(self, items=None):
        return exact["ratings"]

    monkeypatch.setattr(NoisyStatistics, "ratings_per_item", leak)

    def fit(x):
        exact["ratings"] = 1e9 if x.shape[0] == 400 else 0.0  # as if it had counted the rows
        return model(5.0, neighbors="add-remove").fit(x)

    assert not replay(fit, table, table[1:]).ok


def test_two_releases_are_averaged_by_precision():
    first = NoisyStatistics(np.array([1.0]), np.array([10.0]), 1.0, 2.0)
    second = NoisyStatistics(np.array([4.0]), np.array([40.0]), 0.5, 1.0)
    both = first.average_with(second)
    np.testing.assert_allclose([both.sums[0], both.counts[0]], [3.4, 34.0])
    assert both.sum_noise == pytest.approx(5**-0.5)
    assert both.count_noise == pytest.approx(1.25**-0.5)


def test_counts_are_drawn_to_their_mean_by_their_noise():
    counts = np.array([50.0, 150.0, 100.0, 100.0])
    sums = np.zeros(4)
    np.testing.assert_array_equal(NoisyStatistics(sums, counts, 1, 0.0).smooth_counts(), counts)
    # Noise far above the spread leaves next to nothing of the differences.
    drawn = NoisyStatistics(sums, counts, 1, 1e3).smooth_counts()
    np.testing.assert_allclose(drawn, 100, rtol=0, atol=0.01)  # 0.005
    assert NoisyStatistics(sums, -counts, 1, 1.0).smooth_counts().min() > 0
    assert NoisyStatistics(sums, -counts, 1, 1.0).ratings_per_item() == 0


def test_ratings_per_item_without_noise_and_with():
    rng = np.random.default_rng(0)
    counts = rng.uniform(100, 900, 2000)
    truth = (counts**2).sum() / counts.sum()
    noisy = NoisyStatistics(np.zeros(2000), counts + 300 * rng.standard_normal(2000), 1, 300.0)
    exact = NoisyStatistics(np.zeros(2000), counts, 1, 0.0)
    assert exact.ratings_per_item() == pytest.approx(truth)
    # Std of the estimate about 2 %, so five of them (false alarm 6e-7); undebiased it is 30 % off.
    assert noisy.ratings_per_item() == pytest.approx(truth, rel=0.1)


def test_the_threshold_is_where_the_plan_says():
    ratings = THRESHOLD * math.sqrt(800) / 0.06
    assert signal_over_edge(400, "add-remove", 1.0, ratings, 0.06) == pytest.approx(THRESHOLD)
