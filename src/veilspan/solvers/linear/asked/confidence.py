r"""How sure a classifier may be: the one factor that turns its scores into log-odds.

Steps with capped slopes find a direction well and its length badly: a walk is as long as public
numbers make it, and a row that is on the wrong side pulls back by no more than the cap. Where there
are few rows or much noise the model then says 98 % of people of whom 78 % come back. The length is
one number, which one more question tells cheaply: a noisy histogram of the scores of both classes
(:class:`~veilspan.queries.linear.class_votes.ScoreHistogram`, which derives its sensitivity for
both relations). The rest is post-processing.

If log-odds are e^t times the score, the votes at each knot hold a known share of the second class,
a mean over the scores that vote there; :mod:`veilspan.solvers.linear.rare_classes.odds_of_votes`
derives it and the likelihood of the noisy counts. With a normal prior of t around 0, the model's
own scores, the factor is e to the mean of t: counts that say nothing change nothing. Where a class
is so rare that noise hides it, the likelihood refuses a small t and is flat over all large ones; so
the prior is narrow above 0, where models seldom belong and too sure is the worse mistake.

The factor is positive, so no prediction of a class changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from veilspan.curator.curator import Curator
from veilspan.privacy.events import Event
from veilspan.queries.linear.class_votes import ScoreHistogram
from veilspan.queries.linear.slope_gradient import length_of
from veilspan.solvers.linear.base import LinearProblem, LinearResult
from veilspan.solvers.linear.rare_classes.odds_of_votes import (
    is_quiet,
    log_likelihood,
    scores_between,
    who_votes,
)

CONFIDENCE = "confidence"
#: Share of mu^2: noise elsewhere grows by 1 %. On made-up wards and generated tables of 2,000 to
#: 20,000 rows, epsilon 0.1 to 3, it brought the best further factor from 0.26-1.16 to 0.8-1.1; half
#: of it left single fits of 2,000 rows too sure.
CONFIDENCE_SHARE = 0.02
#: Knots of scores where noise is large and where it is small (``is_quiet``), the score from which
#: on they grow apart, and how far they reach at most: walks end at lengths of up to 30. The fewer
#: cells the less noise: of few, a knot is 2.5 times the last.
KNOTS, MANY_KNOTS, BEND, REACH = 13, 49, 0.25, 32.0
#: Logarithms of the factor that are looked at first, and stds of the prior below 0 and above. On
#: made-up scores of 2,000 to 20,000 rows, 1 % to half of them positive, factors 0.35 to 1.4 and
#: noise of epsilon 0.5 to 10, these erred least.
LOGARITHMS, PRIOR_BELOW, PRIOR_ABOVE = np.linspace(-4.0, 1.1, 35), 1.5, 0.3
#: Where in a closer look, stds on both sides of the mean that one reaches; they end where places
#: are half a std apart (a sum over such a grid is the integral of a normal to twenty digits), or
#: closer than anybody asks for.
PLACES, REACHES, FINE, FINEST = np.linspace(-1.0, 1.0, 25), 5.0, 0.5, 1e-4


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
        reach = min(REACH, length_of(result.theta)) or 1.0
        query = ScoreHistogram(problem.loss, KNOTS, bend=BEND)
        noise = self.events[0].noise_multiplier
        if is_quiet(noise * query.sensitivity(curator.plan.neighbors), problem.planned_rows):
            query = ScoreHistogram(problem.loss, MANY_KNOTS, bend=BEND)
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
    scores = scores_between(knots, BEND)
    votes = who_votes(counts.sum(axis=0), noise_std).T

    def posterior(logarithms: np.ndarray) -> tuple[float, float]:
        second = expit(np.exp(logarithms)[:, None] * scores) @ votes
        prior = np.where(logarithms < 0, PRIOR_BELOW, PRIOR_ABOVE)
        said = log_likelihood(counts, second, noise_std) - 0.5 * (logarithms / prior) ** 2
        weights = np.exp(said - said.max())
        weights /= weights.sum()
        mean = float(weights @ logarithms)
        return mean, float(np.sqrt(weights @ (logarithms - mean) ** 2))

    mean, std = posterior(LOGARITHMS)
    apart = LOGARITHMS[1] - LOGARITHMS[0]
    while True:
        near = max(REACHES * std, apart)
        apart = near * (PLACES[1] - PLACES[0])
        mean, std = posterior(mean + near * PLACES)
        if not apart > max(FINE * std, FINEST):
            break
    return math.exp(mean), std
