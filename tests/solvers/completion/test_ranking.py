"""Lists: what is asked, what is decided by the first answer, and what becomes of the second."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvers.completion.cases import asked, shares
from veilspan.privacy.budget import Budget
from veilspan.solvers.completion.list_weights import (
    autoencoder,
    clean_moment,
    floor_popularity,
    list_weights,
)
from veilspan.solvers.completion.ranking import (
    POPULARITY,
    SECOND,
    RankingCompletion,
    RankingProblem,
    average_lists,
    choose_share,
    choose_width,
    stand_out,
)

BUDGET = Budget(1.0, 1e-6)


def prepare(n_users, neighbors="replace-one", n_items=500, solver=None, budget=BUDGET):
    problem = RankingProblem(n_users, n_items, (1.0, 5.0))
    return (solver or RankingCompletion()).prepare(problem, budget, neighbors)


def test_two_releases_share_the_budget():
    prepared = prepare(6000)
    assert asked(prepared) == [(POPULARITY, 1), (SECOND, 1)]
    assert shares(prepared)[0] == pytest.approx(prepared.solver.popularity_share)
    spent = math.sqrt(sum(1 / event.noise_multiplier**2 for event in prepared.events))
    assert spent == pytest.approx(BUDGET.mu)


def test_few_users_get_popularity_alone():
    assert asked(prepare(200)) == [(POPULARITY, 1)]
    assert asked(prepare(6000, n_items=1)) == [(POPULARITY, 1)]


def test_a_private_number_of_users_is_counted_first():
    prepared = prepare(None, "add-remove")
    assert asked(prepared) == [("count", 1), (POPULARITY, 1), (SECOND, 1)]
    assert shares(prepared)[0] == pytest.approx(0.02)
    alone = prepare(None, "add-remove", solver=RankingCompletion(popularity_share=1.0))
    assert asked(alone) == [(POPULARITY, 1)]


@given(st.floats(0, 1e9), st.integers(1, 2**20))
def test_the_share_of_the_popularity_stays_in_its_range(nu, items):
    assert 0.1 <= choose_share(nu, items) <= 1
    assert choose_share(nu, items) <= choose_share(nu, 10 * items)


def test_the_popularity_decides_how_many_items_are_asked_for_tastes():
    steep = 3000.0 * np.arange(1, 2001) ** -0.5
    assert choose_width(steep, 10.0, 10_000, 2500.0) == 300  # 6 sqrt(nu)
    assert choose_width(steep, 500.0, 10_000, 2500.0) == 0  # too few stand out
    # Ten times the users with the same popularity: most of them have none of these items.
    thin = choose_width(steep / 50, 0.2, 10_000, 2500.0)
    assert 50 <= thin < 200
    assert choose_width(np.full(6, 40.0), 1.0, 100, 90.0) == 6


@pytest.mark.parametrize(
    "settings", [{"popularity_share": 0.0}, {"popularity_share": 1.5}, {"width": 1}, {"ridge": -1}]
)
def test_settings_that_mean_nothing_are_refused(settings):
    with pytest.raises(ValueError, match="must"):
        RankingCompletion(**settings)


def test_pure_noise_does_not_stand_out():
    rng = np.random.default_rng(0)
    found = [stand_out(rng.standard_normal(5000), 1.0, 200) for _ in range(50)]
    assert np.median(found) <= 20
    clear = np.concatenate([np.full(30, 50.0), np.zeros(5000)]) + rng.standard_normal(5030)
    assert 30 <= stand_out(clear, 1.0, 200) <= 60
    assert stand_out(clear, 0.0, 30) == 30


def test_an_average_of_popularities_has_the_noise_of_the_whole_budget():
    rng = np.random.default_rng(1)
    one, two = 3.0 * rng.standard_normal(20_000), 1.0 * rng.standard_normal(20_000)
    both = average_lists(one, 3.0, two, 1.0)
    assert both.popularity_noise == pytest.approx((1 / 9 + 1) ** -0.5)
    # Six standard deviations of a sample's standard deviation.
    assert both.popularity.std() == pytest.approx(both.popularity_noise, rel=6 / math.sqrt(40_000))
    assert len(both.top_items) == 0


# Post-processing.


def two_groups(n=4000, width=20, seed=0):
    """Users who have items of one half, in the main; rows of length 1 without popularity."""
    rng = np.random.default_rng(seed)
    half = (np.arange(width) < width // 2) == (rng.random(n) < 0.5)[:, None]
    x = (rng.random((n, width)) < np.where(half, 0.5, 0.1)).astype(float)
    popularity = x.sum(axis=0)
    c = popularity / np.linalg.norm(popularity)
    y = x - (x @ c)[:, None] * c
    y /= np.maximum(np.linalg.norm(y, axis=1), 1e-9)[:, None]
    return y.T @ y, popularity, c


def test_cleaning_finds_the_factor_and_drops_noise():
    moment, popularity, _ = two_groups()
    rng = np.random.default_rng(1)
    noise = 30.0
    a = rng.standard_normal(moment.shape)
    noisy = moment + noise * (a + a.T) / 2
    clean, kept = clean_moment(noisy, popularity, noise)
    assert kept == 1
    off = ~np.eye(len(moment), dtype=bool)
    assert np.linalg.norm((clean - moment)[off]) < 0.6 * np.linalg.norm((noisy - moment)[off])
    nothing, kept = clean_moment(noise * (a + a.T) / 2, popularity, noise)
    assert kept == 0
    assert not nothing[off].any()
    same, kept = clean_moment(moment, popularity, 0.0)
    assert same is moment


def test_the_autoencoder_is_the_ridge_regression_of_each_item_on_the_others():
    moment, _, _ = two_groups()
    ridge = 0.7
    weights = autoencoder(moment, ridge)
    assert not np.diag(weights).any()
    penalty = ridge * np.trace(moment) / len(moment)
    for item in (0, 13):
        others = np.delete(np.arange(len(moment)), item)
        left = moment[np.ix_(others, others)] + penalty * np.eye(len(others))
        assert weights[others, item] == pytest.approx(np.linalg.solve(left, moment[others, item]))


def test_one_matrix_holds_popularity_and_tastes():
    moment, _, c = two_groups()
    b = autoencoder(moment, 1.0)
    x = np.random.default_rng(2).random(len(c))
    y = x - (x @ c) * c
    assert x @ list_weights(b, c) == pytest.approx((x @ c) * c + y @ b)


def test_popularities_below_zero_are_lifted():
    assert floor_popularity(np.array([10.0, -3.0])) == pytest.approx([10.0, 0.2])
    assert (floor_popularity(np.array([-1.0, -3.0])) > 0).all()
