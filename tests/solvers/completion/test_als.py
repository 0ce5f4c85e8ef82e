import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nonprivate.completion_baselines import als_fit
from solvers.completion.cases import (
    RELATIONS,
    asked,
    errors,
    fitted,
    prepare,
    problem,
    replayed,
    shares,
)
from veilspan.datasets.ratings import make_ratings
from veilspan.privacy.budget import Budget
from veilspan.queries.completion.item_systems import ItemSystems
from veilspan.solvers.completion.als import ALSCompletion, estimate_factors, signal_strength

WEIGHTS = ("uniform", "tail", "adaptive")


def test_every_release_is_planned():
    """Counts and sums too, which the weights and the bias use."""
    prepared = prepare(ALSCompletion(rounds=3, bias_share=0.4), problem())
    assert asked(prepared) == [("item statistics", 1), ("item systems", 3)]
    assert shares(prepared) == pytest.approx([0.4, 0.6])
    five = prepare(ALSCompletion(), problem(n_components=5))
    assert five.decisions["number of factors"] == five.problem.n_components == 5


def test_rounds_and_factors_follow_from_public_numbers():
    """mu m sqrt(xi) / n; under add-remove as if there were 10,000 users."""
    weak, strong = Budget(0.1, 1e-6), Budget(5.0, 1e-6)
    known = signal_strength(problem(), weak)
    assert known == pytest.approx(weak.mu * 1000 * math.sqrt(20) / 50)
    assert signal_strength(problem(n_users=None), weak) == pytest.approx(10 * known)

    def chosen(budget, **facts):
        decisions = prepare(ALSCompletion(), problem(**facts), budget).decisions
        names = ("rounds", "number of factors", "share for the bias")
        return tuple(decisions[name] for name in names)

    assert chosen(weak) == (3, 4, 0.6)
    assert chosen(strong, n_users=2000) == (3, 8, 0.3)
    assert chosen(strong, n_users=10_000) == (4, 8, 0.3)
    assert chosen(Budget(math.inf, 1e-6)) == (6, 8, 0.3)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_structure_is_found(weights):
    solver = ALSCompletion(item_weights=weights, rounds=4)
    # Facts of fixed seeds: 0.69 to 0.71 without noise, 0.68 to 0.70 at epsilon 5.
    error, alone = errors(solver, n_components=4)
    assert error < 0.72 * alone
    error, alone = errors(solver, 5.0, n_components=4)
    assert error < 0.72 * alone


def test_without_noise_it_comes_near_plain_least_squares():
    data = make_ratings(3000, 40, 2, ratings_per_user=20)
    held = data.test.tocoo()
    twin = als_fit(data.train, 2, ridge=1.0).at(held.row, held.col)
    model = fitted(ALSCompletion(rounds=6), data.train, n_components=2)
    found = model.predict(data.train)[held.row, held.col]
    limits = [math.sqrt(np.mean((p - held.data) ** 2)) for p in (found, twin)]
    assert limits[0] < limits[1]  # 0.546 and 0.554


def test_thousands_of_items_in_little_memory():
    """n r^2 numbers are released, not n^2."""
    data = make_ratings(300, 3000, 1, ratings_per_user=30)
    query = ALSCompletion().step_query(problem(3000), "replace-one", 4)
    coordinates = query.space(3000, (None, np.zeros((3000, 4)), None)).coordinates
    assert coordinates == 3000 * (10 + 4)  # r (r + 1) / 2 and r
    with pytest.warns(UserWarning, match="transposed"):
        model = fitted("als", data.train, 1.0)
    assert model.item_factors_.shape == (3000, 4)


@given(
    st.floats(0.01, 100),
    st.floats(0.01, 10),
    st.floats(0.01, 10),
    st.floats(0, 10),
    st.floats(0.5, 2),
)
def test_the_estimate_is_the_best_linear_one(moment, prior, rating, noise, factor):
    """Error of the gain g: t (1 - g h)^2 + g^2 (q h + z^2); no other gain has less."""
    gain = estimate_factors(
        np.array([[[moment]]]),
        np.ones((1, 1)),
        prior=prior,
        rating_variance=rating,
        noise_variance=noise,
    )[0, 0]

    def error(g):
        return prior * (1 - g * moment) ** 2 + g**2 * (rating * moment + noise)

    assert error(gain) <= error(gain * factor) * (1 + 1e-12)


def test_negative_directions_of_a_noisy_moment_are_left_out():
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    moment = (turn * [4.0, 1.0, -2.0]) @ turn.T
    found = estimate_factors(
        moment[None], turn.sum(axis=1)[None], prior=1e12, rating_variance=1.0, noise_variance=0.0
    )[0]
    np.testing.assert_allclose(turn.T @ found, [0.25, 1.0, 0.0], atol=1e-9)
    none = estimate_factors(
        np.zeros((2, 3, 3)), np.ones((2, 3)), prior=1.0, rating_variance=1.0, noise_variance=0.0
    )
    assert not none.any()


@pytest.mark.filterwarnings("ignore:R has:UserWarning")
@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_nothing_but_the_answers_is_used(neighbors, weights):
    solver = ALSCompletion(item_weights=weights, weight_budget=2, rating_norm=1.0)
    reports, mu = replayed(solver, neighbors)
    assert [report.findings for report in reports if not report.ok] == []
    assert max(report.realised_mu for report in reports) <= mu


@pytest.mark.filterwarnings("ignore:R has:UserWarning")
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_broken_copies_are_caught(neighbors, monkeypatch):
    solver = ALSCompletion(rating_norm=0.2, factor_norm=0.05)
    honest = ItemSystems.sensitivity
    with monkeypatch.context() as patch:
        patch.setattr(
            ItemSystems, "sensitivity", lambda self, relation: 0.5 * honest(self, relation)
        )
        assert not all(report.ok for report in replayed(solver, neighbors)[0])
    # Weights that ignore the budget, and norms that say otherwise.
    norms = ItemSystems.norms
    monkeypatch.setattr(ItemSystems, "_weights", lambda self, y, importance: np.full(y.nnz, 5.0))
    monkeypatch.setattr(
        ItemSystems,
        "norms",
        lambda self, block, point: np.minimum(norms(self, block, point), self.bound),
    )
    assert not all(report.ok for report in replayed(solver, neighbors)[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [({"rounds": 0}, "rounds must be"), ({"bias_share": 0.0}, "bias_share must lie")],
)
def test_impossible_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ALSCompletion(**options)
