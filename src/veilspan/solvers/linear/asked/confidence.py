r"""How sure a classifier may be: the one factor that turns its scores into log-odds.

Steps with capped slopes find a direction well and its length badly: a walk is as long as public
numbers make it, and a row that is on the wrong side pulls back by no more than the cap. Where there
are few rows or much noise the model then says 98 % of people of whom 78 % come back. The length is
one number, which one more question tells cheaply: a noisy histogram of the scores of both classes
(:class:`~veilspan.queries.linear.class_votes.ScoreHistogram`, which derives its sensitivity for
both relations). The rest is post-processing.

Let H_1, H_0 be the noisy counts at a knot u, each with noise of std s, and q = sigma(e^t u) the
probability there if log-odds are e^t times the score. Whatever the number R of rows at the knot,

    z = (q H_0 - (1 - q) H_1) / sqrt(w),   w = q^2 + (1 - q)^2,

has the mean 0, and the variance s^2 by noise and R q (1 - q) / w by who came: it is what is left of
the counts beside the best R. Knots without rows say the same of every t, however much noise they
have. With R by its noisy count and a normal prior of t around 0, the model's own scores, the factor
is e to the mean of t: counts that say nothing change nothing.

The factor is positive, so no prediction of a class changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from veilspan.curator.curator import Curator
from veilspan.privacy.events import Event
from veilspan.queries.linear.class_votes import ScoreHistogram
from veilspan.solvers.linear.base import LinearProblem, LinearResult

CONFIDENCE = "confidence"
#: Share of mu^2: noise elsewhere grows by 1 %. On made-up wards and generated tables of 2,000 to
#: 20,000 rows, epsilon 0.1 to 3, it brought the best further factor from 0.26-1.16 to 0.8-1.1; half
#: of it left single fits of 2,000 rows too sure.
CONFIDENCE_SHARE = 0.02
#: Knots of scores, the score from which on they grow apart, and how far they reach at most: walks
#: end at lengths of up to 30. The fewer cells the less noise: here a knot is 2.5 times the last.
KNOTS, BEND, REACH = 13, 0.25, 32.0
#: Logarithms of the factor that are looked at (too sure is the worse mistake, so at most twice),
#: and the std of the prior around 0.
LOGARITHMS, PRIOR_STD = np.linspace(-4.0, 0.7, 189), 1.5
#: Rows squared: without noise a knot without rows must not divide by nothing.
TINY = 1e-9


@dataclass(frozen=True)
class AskConfidence:
    """One question after the solver, at its theta.

    Attributes
    ----------
    events : tuple of events
        The one question that it asks, with its noise; none before that is set.
    """

    events: tuple[Event, ...] = ()

    event = CONFIDENCE
    share = CONFIDENCE_SHARE

    def ask(self, curator: Curator, problem: LinearProblem, result: LinearResult) -> LinearResult:
        """Ask for the histogram; the factor is kept beside theta."""
        # No row has a score beyond |theta|; one of 0 gives every row the score 0.
        reach = min(REACH, float(np.linalg.norm(result.theta))) or 1.0
        query = ScoreHistogram(problem.loss, KNOTS, bend=BEND)
        answer = curator.answer(query, (result.theta, reach), event=CONFIDENCE)
        found, std = find_confidence(query.knots(reach), answer.value, answer.noise_std)
        return replace(result, confidence=found, confidence_std=std)


def find_confidence(knots: np.ndarray, counts: np.ndarray, noise_std: float) -> tuple[float, float]:
    """Return the factor that makes log-odds of scores, and the std of its logarithm.

    Parameters
    ----------
    knots : array of shape (B,)
        Scores, increasing.
    counts : array of shape (2, B)
        Noisy counts of both classes.
    noise_std : float
        Standard deviation of each.
    """
    second = expit(np.exp(LOGARITHMS)[:, None] * knots)  # q, by logarithm and knot
    first = 1.0 - second
    weigh = second**2 + first**2
    rows = np.maximum(counts.sum(axis=0), 0.0)
    missed = (second * counts[0] - first * counts[1]) ** 2 / weigh
    spread = noise_std**2 + rows * second * first / weigh + TINY
    likelihood = -0.5 * np.sum(missed / spread + np.log(spread), axis=1)
    posterior = likelihood - 0.5 * (LOGARITHMS / PRIOR_STD) ** 2
    weights = np.exp(posterior - posterior.max())
    weights /= weights.sum()
    mean = float(weights @ LOGARITHMS)
    return float(np.exp(mean)), float(np.sqrt(weights @ (LOGARITHMS - mean) ** 2))
