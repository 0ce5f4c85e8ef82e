import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvers.completion.cases import problem
from veilspan.solvers.completion.ridge_choice import EXPECTED, STEPS, choose_ridge, weigh_gains


class Curator:
    """Answers with a sum of gains that somebody has made up."""

    def __init__(self, gains, noise, users):
        self.gains, self.noise, self.users = np.array(gains), noise, users

    def answer(self, query, point, *, event):
        self.query = query
        return type("Answer", (), {
            "value": self.users * self.gains, "noise_std": self.users * self.noise
        })  # fmt: skip


def choice(gains, noise):
    curator = Curator(gains, noise, 500)
    point = (np.zeros(50), np.zeros((50, 2)))
    return choose_ridge(curator, problem(), point, 12.0, 500, "gains").ridge


def test_a_silent_answer_leaves_the_guess():
    assert choice((-0.3, -0.3, -0.3), 1e3) == pytest.approx(12.0)
    np.testing.assert_allclose(weigh_gains(np.ones(3), 1e6), EXPECTED, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("gains", "ridge"),
    [
        ((0.1, 0.05, 0.02), 12 * STEPS[0]),
        ((0.02, 0.05, 0.04), 12.0),
        ((-0.2, 0.01, 0.05), 12 * STEPS[2]),
        ((-0.2, -0.1, -0.01), None),
    ],
)
def test_a_clear_answer_decides_alone(gains, ridge):
    for noise in (0.0, 1e-4):
        assert choice(gains, noise) == (None if ridge is None else pytest.approx(ridge))


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=3), st.floats(0, 10))
def test_weighed_gains_move_towards_what_was_measured(gains, noise):
    measured = np.array(gains)
    after = weigh_gains(measured, noise) - EXPECTED
    # The mean of the three moves by a share of what surprised, between nothing and all of it.
    surprise = float(np.mean(measured - EXPECTED))
    moved = float(np.mean(after))
    assert abs(moved) <= abs(surprise) + 1e-9
    assert moved * surprise >= -1e-12


def test_the_middle_ridge_is_the_guess():
    assert STEPS[1] == 1.0
    assert STEPS[0] < 1 < STEPS[2]
