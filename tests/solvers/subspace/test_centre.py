"""The centre that a robust PCA finds: its verdicts, its stage, its budget."""

import math

import numpy as np
import pytest

from veilspan import Budget, RobustPCA
from veilspan.curator.curator import Curator
from veilspan.curator.rows import Block, Rows
from veilspan.privacy import gdp
from veilspan.privacy.errors import CenterWarning, PrivacyError
from veilspan.privacy.noise import SeededNoise
from veilspan.queries.subspace.directions import OutsideCap
from veilspan.solvers.subspace.centre import stage
from veilspan.solvers.subspace.centre.verdict import (
    CapLook,
    Look,
    MeanDirection,
    judge_caps,
    judge_mean,
)

simulated = pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.NotPrivateWarning")
D = 20


def mean(length, noise=0.005, n=10_000):
    """A released mean of just this length."""
    vector = np.zeros(D)
    vector[0] = math.sqrt(length**2 + D * noise**2)
    return MeanDirection(vector, noise, n)


def look(left, inside, ahead, noise=0.007, cosine=0.95):
    return Look((CapLook(cosine, mean(left, noise), inside),), ahead, noise)


# Verdicts


def test_a_mean_within_noise_is_none():
    assert mean(0.04).length == 0
    assert judge_mean(mean(0.04)).centre == "origin"
    assert mean(0.3, noise=0.2).length == 0  # loud noise
    assert mean(0.3, n=100).length == 0  # few rows
    assert mean(0.3).length == pytest.approx(0.3)


@pytest.mark.parametrize("columns", [1, 2, 4, 20])
def test_noise_alone_is_hardly_ever_a_mean(columns):
    """Once in 30,000, also in few columns; by Chernoff more than 31 of 200,000 are 6e-12."""
    draws = 0.05 * np.random.default_rng(3).standard_normal((200_000, columns))
    power = (draws**2).sum(axis=1) - columns * 0.05**2
    least = MeanDirection(draws[0], 0.05, 1e9).least
    assert (power > least**2).sum() <= 31


def test_noise_longer_than_any_mean_tells_nothing():
    """A noisy number of rows near zero made a mean "97 of 1", and a refusal for rows at 0."""
    assert mean(97.15, noise=50.0, n=1).length == 0
    assert judge_mean(mean(97.15, noise=20.0, n=1)).centre == "origin"


def test_a_long_mean_is_an_offset_and_a_middling_one_asks_on():
    assert judge_mean(mean(0.7)).centre == "pairs"
    assert "0.70" in judge_mean(mean(0.7)).reason
    assert judge_mean(mean(0.3)) is None


@pytest.mark.parametrize(
    ("left", "inside", "ahead", "centre"),
    [
        (0.02, 0.30, 0.65, "cap"),  # a cluster of 30 % in balanced rows
        (0.02, 0.30, 0.95, "pairs"),  # the cap holds the rows that lean most, all others lean too
        (0.28, 0.03, 0.90, "pairs"),  # an offset of a third of a length
        (0.28, 0.05, 0.66, "origin"),  # a third of the rows in a wide cone
    ],
)
def test_what_a_cap_tells(left, inside, ahead, centre):
    assert judge_caps(mean(0.3), look(left, inside, ahead)).centre == centre


def test_many_rows_that_lean_a_little_are_an_offset():
    """A lean of 40 % of the rows with a mean of 0.09: a minority would make one of 0.3 and more."""
    assert judge_caps(mean(0.09), look(0.09, 0.01, 0.70)).centre == "pairs"


def test_doubt_is_said_near_the_edges_alone():
    assert judge_caps(mean(0.4), look(0.38, 0.02, 0.748)).doubt is not None
    assert "75 %" in judge_caps(mean(0.4), look(0.38, 0.02, 0.748)).doubt
    assert judge_caps(mean(0.4), look(0.38, 0.02, 0.95)).doubt is None
    assert judge_caps(mean(0.4), look(0.38, 0.02, 0.68)).doubt is None


def test_of_nested_caps_the_one_that_leaves_least_is_cut_out():
    narrow, middle, wide = (
        CapLook(cosine, mean(left), inside)
        for cosine, left, inside in ((0.95, 0.29, 0.02), (0.8, 0.12, 0.2), (0.5, 0.02, 0.3))
    )
    told = judge_caps(mean(0.3), Look((narrow, middle, wide), 0.66, 0.007))
    assert (told.centre, told.cosine) == ("cap", 0.5)
    equal = CapLook(0.6, mean(0.01), 0.3)  # as short as noise tells, and narrower
    assert judge_caps(mean(0.3), Look((narrow, equal, wide), 0.66, 0.007)).cosine == 0.6


def test_caps_begin_wider_with_the_error_of_their_direction():
    angles = np.arccos(mean(0.3).caps()[1])
    np.testing.assert_allclose(angles, [0.3, 0.65, 1.0])
    loud = mean(0.3, noise=0.02)
    assert math.acos(loud.caps()[1][0]) == pytest.approx(0.15 + 2 * 0.02 * math.sqrt(D) / 0.3)
    np.testing.assert_allclose(np.arccos(mean(0.3, noise=0.065).caps()[1]), [1.0])


# Rows and views


def test_a_cap_leaves_other_rows_as_they_are():
    cap = OutsideCap(np.array([1.0, 0, 0]), 0.9)
    x = np.array([[5.0, 0.1, 0], [-5, 0, 0], [0, 0, 0], [1, 1, 1], [1e-200, 0, 0]])
    kept = cap(Block(x)).x
    np.testing.assert_array_equal(kept, np.where([[True], [False], [False], [False], [True]], 0, x))


def plan(model, n, d=D):
    return model.plan(n, d)


def test_pairs_are_a_view_of_the_same_door():
    model = RobustPCA(2, epsilon=3.0)
    curator = Curator(
        Rows(np.random.default_rng(0).standard_normal((101, 5))), model.plan(101, 5), SeededNoise(0)
    )
    view = curator.paired()
    assert (view.n_rows, curator.n_rows) == (50, 101)
    view.answer(stage.DirectionSum(), event=stage.DIRECTION)
    assert [event.name for event in curator.spent] == [stage.DIRECTION]


def test_pairs_of_a_private_number_of_rows_are_refused():
    model = RobustPCA(2, epsilon=3.0, neighbors="add-remove")
    curator = Curator(Rows(np.eye(5)), model.plan(None, 5), SeededNoise(0))
    with pytest.raises(PrivacyError, match="replace-one"):
        curator.paired()


# The plan and what is spent


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
def test_three_and_two_percent_are_planned(neighbors):
    made = RobustPCA(2, epsilon=1.0, neighbors=neighbors).plan(1000, D)
    mu = Budget(1.0, 1e-6).mu
    first, second, *_ = made.events
    assert (first.name, second.name) == (stage.DIRECTION, stage.CAP)
    assert first.mu**2 == pytest.approx(0.03 * mu**2)
    assert second.mu**2 == pytest.approx(0.02 * mu**2)
    assert "centre" in made.decisions


@pytest.mark.parametrize("solver", ["ggd", "reaper-gd"])
def test_a_fixed_plan_fits_the_budget_exactly(solver):
    made = RobustPCA(2, epsilon=1.0, solver=solver).plan(1000, D)
    spent = gdp.total_mu([e.mu for e in made.events])
    mu = Budget(1.0, 1e-6).mu
    assert 0.9999 * mu < spent <= mu


def rows(kind, n=4000, seed=0):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((10, 2)))[0].T
    x = rng.standard_normal((n, 2)) @ basis + 0.02 * rng.standard_normal((n, 10))
    if kind == "cap":
        x[: n // 4] = 20.0 * np.linalg.qr(rng.standard_normal((10, 1)))[0].T
    if kind == "pairs":
        x += 2.0
    return basis, x


@simulated
@pytest.mark.parametrize("solver", ["auto", "ggd"])
@pytest.mark.parametrize("kind", ["origin", "cap", "pairs"])
def test_each_centre_is_found_paid_for_and_said(kind, solver):
    from veilspan.metrics import log10_squared_angle_distance

    basis, x = rows(kind)
    model = RobustPCA(2, epsilon=4.0, solver=solver, random_state=0).fit(x)
    assert model.center_used_ == kind
    assert any(character.isdigit() for character in model.center_reason_)
    assert model.privacy_.verify()
    assert log10_squared_angle_distance(basis, model.components_) < -4
    spent = gdp.total_mu([e.mu for e in model.privacy_.events])
    assert spent <= Budget(4.0, 1e-6).mu * (1 + 1e-9)
    names = [event.name for event in model.privacy_.events]
    assert stage.DIRECTION in names
    assert (stage.CAP in names) == (kind == "cap" or solver == "ggd")  # a fixed plan asks both


@simulated
def test_add_remove_refuses_what_needs_pairs_and_says_what_to_do():
    with pytest.raises(ValueError, match="replace-one") as told:
        RobustPCA(2, epsilon=4.0, neighbors="add-remove", random_state=0).fit(rows("pairs")[1])
    assert 'center="origin"' in str(told.value)
    assert "stays charged" in str(told.value)


@simulated
def test_numbers_that_decide_nothing_are_said(monkeypatch):
    doubtful = judge_caps(mean(0.4), look(0.38, 0.02, 0.748))
    monkeypatch.setattr(stage, "judge_caps", lambda *_: doubtful)
    with pytest.warns(CenterWarning, match='say center="pairs" or center="origin"'):
        RobustPCA(2, epsilon=4.0, random_state=0).fit(rows("cap")[1])


@pytest.mark.parametrize("solver", ["auto", "ggd"])
def test_a_table_of_zeros_has_the_origin(solver):
    model = RobustPCA(1, epsilon=math.inf, solver=solver).fit(np.zeros((50, 3)))
    assert model.center_used_ == "origin"


@pytest.mark.parametrize(
    ("center", "used"),
    [("origin", "origin"), (None, "origin"), (np.ones(10), "public"), ("private", "private"),
     ("pairs", "pairs")],
)  # fmt: skip
def test_what_was_asked_for_is_used(center, used):
    model = RobustPCA(2, epsilon=5.0, center=center, row_norm=3.0).fit(rows("origin")[1])
    assert model.center_used_ == used
    assert "as asked" in model.center_reason_
    assert stage.DIRECTION not in [event.name for event in model.privacy_.events]
