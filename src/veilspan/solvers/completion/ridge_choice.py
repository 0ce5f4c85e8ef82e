r"""A paid answer chooses the ridge of local fits, or no factors at all.

What the items' posterior says of the ridge is a guess. Users know better: each hides a fifth of her
ratings and reports what factors at the guessed ridge gain her there over none, and what two other
ridges gain her over the guessed one
(:class:`~veilspan.queries.completion.holdout_gains.HoldoutGains`, sqrt(3) or 2 sqrt(3) of
sensitivity, charged like everything else). With 3 % of the budget the mean of n users has noise of
std s = a sqrt(3 / 0.03) / (n mu) units, a = 1 or 2: 0.002 for 20,000 users at mu = 1/4, and nothing
worth knowing for a hundred.

So the answer is weighed, not obeyed. Before it, each of the three is taken to be N(m, t^2): the
guess is worth something, the others a little less. After it they are

    m + t^2 / (t^2 + s^2) (y - m),

and the best ridge is taken, or no factors if it gains nothing. A silent answer leaves the guess as
it is; a clear one decides alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.queries.completion.holdout_gains import HoldoutGains
from veilspan.solvers.completion.base import CompletionProblem

#: Ridges that are compared, over the guessed one.
STEPS = (1.0, 0.5, 4.0)
#: What counts as 1 in a comparison with no factors and among ridges, in squared typical deviations.
GAIN_UNIT, STEP_UNIT = 1.0, 0.3
#: What the three are expected to be in squared typical deviations, and how far off.
EXPECTED, SPREAD = np.array([0.04, -0.002, -0.004]), np.array([0.05, 0.004, 0.01])


@dataclass(frozen=True)
class RidgeChoice:
    """The ridge that was chosen, ``None`` for no factors; and the gains that chose it."""

    ridge: float | None
    trace: dict[str, Any]


def choose_ridge(
    curator: Curator,
    problem: CompletionProblem,
    point: tuple[np.ndarray, np.ndarray],
    guess: float,
    users: float,
    event: str,
) -> RidgeChoice:
    """Ask users what factors gain them at three ridges, and choose.

    Parameters
    ----------
    curator, problem
        Who answers; the problem of this run.
    point : (bias, factors)
        The model that is judged.
    guess : float
        Ridge in the middle.
    users : float
        Their number, or a guess from released numbers: it only scales the answer.
    event : str
        What pays for it.
    """
    ridges = tuple(step * guess for step in STEPS)
    square = problem.typical_deviation**2
    query = HoldoutGains(problem.rule, ridges, GAIN_UNIT * square, STEP_UNIT * square)
    answer = curator.answer(query, point, event=event)
    units = np.array([GAIN_UNIT, STEP_UNIT, STEP_UNIT]) / users
    gains = weigh_gains(units * answer.value, units * answer.noise_std)
    trace = {"ridges": ridges, "gains": units * answer.value, "noise": units * answer.noise_std}
    best = int(np.argmax([0.0, *gains[1:]]))
    worth = gains[0] + (gains[best] if best else 0.0)
    return RidgeChoice(ridges[best] if worth > 0 else None, trace)


def weigh_gains(measured: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """What the three gains are after an answer, see the top of this module."""
    return np.asarray(EXPECTED + SPREAD**2 / (SPREAD**2 + noise**2) * (measured - EXPECTED))
