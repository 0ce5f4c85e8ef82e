"""One-run audits: valid on ideal Gaussian sums, powerful where noise is halved, honest on fits."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from veilspan import PCA, RSGD, FrechetMean, LogisticRegression, MatrixCompletion, SubspaceTracker
from veilspan.audit.canaries import Canaries, canaries_for
from veilspan.audit.one_run import audit_one_run, bound_mu, refute_mu
from veilspan.curator.curator import Curator
from veilspan.geometry import Ball, Euclidean
from veilspan.privacy import gdp
from veilspan.solvers.linear.gradient_descent import GradientDescent

MU = gdp.mu_of(8.0, 1e-6)


def ideal(mu, canaries, rng):
    """Scores of orthogonal canaries in a Gaussian sum: each is a game of its own."""
    coins = rng.random(canaries) < 0.5
    return mu * coins + rng.standard_normal(canaries), coins


@pytest.mark.parametrize("mu", [0.5, MU, 4.0])
def test_false_alarms_are_no_more_frequent_than_alpha(mu):
    """300 audits of a correct mechanism; this test fails by bad luck with probability 1e-6."""
    rng = np.random.default_rng(0)
    alarms = sum(bound_mu(*ideal(mu, 200, rng), 0.05) > mu for _ in range(300))
    assert alarms <= binom.isf(1e-6, 300, 0.05)


def test_the_bound_comes_near_where_all_guesses_are_right():
    """All of r guesses right have probability q^r at least for q = Phi(mu/2): little is lost."""
    from scipy.special import ndtri

    exact = 2 * ndtri(0.05 ** (1 / 100))
    assert 0.3 * exact < refute_mu(100, 100, 100, 0.05) <= exact


@pytest.mark.parametrize("seed", range(5))
def test_halved_noise_at_epsilon_8_is_flagged(seed):
    rng = np.random.default_rng(seed)
    assert bound_mu(*ideal(2 * MU, 1000, rng), 0.05) > MU


def test_correct_noise_gives_a_bound_worth_having():
    rng = np.random.default_rng(1)
    assert 0.4 * MU < bound_mu(*ideal(MU, 1000, rng), 0.05) < MU


def test_guessing_at_random_says_nothing():
    rng = np.random.default_rng(2)
    assert bound_mu(rng.standard_normal(1000), rng.random(1000) < 0.5, 1e-6) == 0
    assert refute_mu(1000, 400, 0, 0.05) == 0


def test_the_bound_grows_with_right_guesses():
    bounds = [refute_mu(500, 200, right, 0.05) for right in range(100, 201, 10)]
    assert bounds == sorted(bounds)
    assert bounds[-1] > bounds[0]


@pytest.mark.parametrize(
    ("scores", "coins", "alpha"),
    [
        (np.zeros(3), np.zeros(2, bool), 0.05),
        (np.zeros(1), np.zeros(1, bool), 0.05),
        (np.array([0, np.nan]), np.zeros(2, bool), 0.05),
        (np.zeros(2), np.zeros(2, bool), 0.0),
    ],
)
def test_input_that_cannot_be(scores, coins, alpha):
    with pytest.raises(ValueError, match="must"):
        bound_mu(scores, coins, alpha)


# ---------------------------------------------------------------- on fits


ROWS = 0.1 * np.random.default_rng(3).standard_normal((60, 30))
BALL = Ball.from_norm(Euclidean(30), 1.0)
#: A bound that canaries use in full.
BOUNDED = {"row_norm": 1.0, "center": "origin"}
RATINGS = np.where(ROWS[:, :12] > 0, 4.0, np.nan)


def test_too_few_canaries_say_so():
    report = audit_one_run(PCA(1, epsilon=8.0), ROWS, n_canaries=10)
    assert "largest possible bound is 0" in repr(report)


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
def test_a_correct_fit_passes_with_power(neighbors):
    report = audit_one_run(
        PCA(1, epsilon=8.0, neighbors=neighbors, **BOUNDED), ROWS, n_canaries=250
    )
    assert report.ok
    assert 1.5 < report.lower_bound < 8.0
    assert "no violation found; lower bound" in repr(report)


honest_noise = Curator._add_noise


def noise_times(factor):
    def noisy(self, exact, scale):
        return honest_noise(self, exact, replace(scale, std=scale.std * factor))

    return noisy


@pytest.mark.parametrize("seed", [0, 1])
def test_halved_noise_on_pca_at_epsilon_8_is_flagged(seed, monkeypatch):
    """700 canaries, 50 columns. Of ideal sums 95 % are flagged; with 1,225 all of 40 were."""
    table = 0.1 * np.random.default_rng(9).standard_normal((9, 50))
    honest = audit_one_run(PCA(1, epsilon=8.0, **BOUNDED), table, n_canaries=700, seed=seed)
    monkeypatch.setattr(Curator, "_add_noise", noise_times(0.5))
    halved = audit_one_run(PCA(1, epsilon=8.0, **BOUNDED), table, n_canaries=700, seed=seed)
    assert honest.ok
    assert honest.lower_bound > 3.0
    assert not halved.ok
    assert "violation: mu is at least" in halved.lines[0].verdict


def test_a_third_of_the_noise_is_flagged_under_add_remove(monkeypatch):
    """One row moves x x^T alone, and such canaries overlap: less power than under replace-one."""
    monkeypatch.setattr(Curator, "_add_noise", noise_times(1 / 3))
    model = PCA(1, epsilon=8.0, neighbors="add-remove", **BOUNDED)
    assert not audit_one_run(model, np.zeros((9, 50)), n_canaries=500).ok


def test_other_kinds_of_tables():
    labels = np.arange(60) % 2
    logistic = LogisticRegression(row_norm=1.0, solver=GradientDescent(3), epsilon=8.0)
    ratings = MatrixCompletion(rating_range=(1, 5), max_ratings_per_user=6, epsilon=8.0)
    for estimator, arguments in ((logistic, (ROWS, labels)), (ratings, (RATINGS,))):
        report = audit_one_run(estimator, *arguments, n_canaries=6)
        assert report.ok
        assert report.lines[0].runs == 1


def test_canaries_use_the_bound_in_full_and_their_places_are_at_a_right_angle():
    found = canaries_for(PCA(1, row_norm=3.0), ROWS, None, 20, np.random.default_rng(0))
    (inside,), (outside,) = found.inside, found.outside
    np.testing.assert_allclose(np.linalg.norm(inside, axis=1), 3.0)
    np.testing.assert_allclose(np.linalg.norm(outside, axis=1), 3.0)
    np.testing.assert_allclose(np.sum(inside * outside, axis=1), 0.0, atol=1e-12)


def test_canaries_of_a_table_shift_second_moments_by_orthogonal_matrices():
    """All d (d - 1) / 2 of one frame, each by the whole sensitivity: the best case of the bound."""
    found = canaries_for(PCA(1, row_norm=2.0), np.zeros((3, 8)), None, 28, np.random.default_rng(0))
    (one,), (two,) = found.inside, found.outside
    shifts = (np.einsum("ki,kj->kij", v, v).reshape(28, -1) for v in (one, two))
    shift = np.subtract(*shifts)
    np.testing.assert_allclose(shift @ shift.T, 2 * 2.0**4 * np.eye(28), atol=1e-12)


@pytest.mark.parametrize("count", [1 + 28, 100])
def test_more_canaries_than_one_frame_holds_take_another(count):
    found = canaries_for(PCA(1), np.zeros((3, 8)), None, count, np.random.default_rng(0))
    assert len(found) == count
    assert len(np.unique(np.round(found.inside[0], 9), axis=0)) == count


def test_canaries_with_targets_are_orthonormal_as_long_as_there_is_room():
    model = LogisticRegression(row_norm=1.0, epsilon=8.0)
    found = canaries_for(model, ROWS, np.arange(60) % 2, 30, np.random.default_rng(0))
    np.testing.assert_allclose(found.inside[0] @ found.inside[0].T, np.eye(30), atol=1e-12)
    assert set(found.inside[1]) | set(found.outside[1]) == {0, 1}


def test_a_table_of_one_column_has_canaries_as_well():
    found = canaries_for(PCA(1), np.zeros((3, 1)), None, 4, np.random.default_rng(0))
    assert np.abs(found.inside[0]).ravel().tolist() == [1.0] * 4
    assert not np.any(found.outside[0])


def test_points_are_opposite_ends_of_geodesics():
    mean = FrechetMean(BALL.manifold, ball=BALL)
    found = canaries_for(mean, ROWS, None, 5, np.random.default_rng(0))
    np.testing.assert_allclose(found.inside[0], -found.outside[0], atol=1e-12)


def test_coins_decide_who_is_in_the_table():
    base, inside, outside = np.zeros((2, 1)), np.ones((3, 1)), -np.ones((3, 1))
    coins = np.array([True, False, True])
    replaced = Canaries((base,), (inside,), (outside,)).table(coins)[0]
    added = Canaries((base,), (inside,), None).table(coins)[0]
    assert replaced.ravel().tolist() == [0, 0, 1, -1, 1]
    assert added.ravel().tolist() == [0, 0, 1, 1]


def test_plans_that_it_cannot_judge_are_refused():
    sampled = FrechetMean(BALL.manifold, ball=BALL, solver=RSGD(steps=2, batch_rate=0.3))
    with pytest.raises(ValueError, match="full-batch"):
        audit_one_run(sampled, ROWS, n_canaries=2)
    with pytest.raises(ValueError, match="stream"):
        audit_one_run(SubspaceTracker(1, epsilon=1.0), ROWS, n_canaries=2)
    with pytest.raises(ValueError, match="two or more canaries"):
        audit_one_run(PCA(1), ROWS, n_canaries=1)
    with pytest.raises(ValueError, match="nothing to refute"):
        audit_one_run(PCA(1, epsilon=np.inf), ROWS)
