import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvers.completion.cases import problem
from veilspan.solvers.completion.ridge_choice import (
    EXPECTED,
    GAIN_UNIT,
    STEP_UNIT,
    STEPS,
    choose_ridge,
    weigh_gains,
)

USERS = 500


class Curator:
    """Answers with gains that somebody has made up, in squared typical deviations."""

    def __init__(self, gains, noise):
        units = np.array([GAIN_UNIT, STEP_UNIT, STEP_UNIT])
        self.value, self.noise = USERS * np.array(gains) / units, USERS * noise

    def answer(self, query, point, *, event):
        self.query, self.event = query, event
        return type("Answer", (), {"value": self.value, "noise_std": self.noise})


def choice(gains, noise, guess=0.4):
    curator = Curator(gains, noise)
    point = (np.zeros(50), np.zeros((50, 2)))
    found = choose_ridge(curator, problem(), point, guess, USERS, "gains").ridge
    assert curator.event == "gains"
    assert curator.query.ridges == tuple(step * guess for step in STEPS)
    return found


def test_a_silent_answer_leaves_the_guess():
    assert choice((-0.3, 0.3, 0.3), 1e3) == pytest.approx(0.4)
    np.testing.assert_allclose(weigh_gains(np.ones(3), np.full(3, 1e6)), EXPECTED, atol=1e-9)


@pytest.mark.parametrize(
    ("gains", "step"),
    [
        ((0.1, 0.05, 0.02), 1),  # half of the ridge is best
        ((0.05, -0.01, -0.02), 0),  # the guess
        ((0.01, -0.2, 0.05), 2),  # four times
        ((-0.01, -0.2, 0.05), 2),  # worth it by four times the ridge alone
        ((-0.1, -0.2, 0.05), None),  # no factors
    ],
)
def test_a_clear_answer_decides_alone(gains, step):
    for noise in (0.0, 1e-5):
        ridge = choice(gains, noise)
        assert ridge == (None if step is None else pytest.approx(0.4 * STEPS[step]))


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=3), st.floats(0, 10))
def test_weighed_gains_lie_between_what_was_expected_and_what_was_measured(gains, noise):
    after = weigh_gains(np.array(gains), np.full(3, noise))
    low, high = np.minimum(gains, EXPECTED), np.maximum(gains, EXPECTED)
    assert (after >= low - 1e-12).all()
    assert (after <= high + 1e-12).all()


def test_the_guess_is_what_others_are_held_against():
    assert STEPS[0] == 1.0
    assert (EXPECTED[1:] < 0).all()
