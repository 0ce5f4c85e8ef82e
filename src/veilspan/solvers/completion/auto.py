r"""``solver="auto"``: what to ask and how to clip, decided by public numbers alone.

Everything here is a function of the problem (items m, users n if public, ratings kept per user xi,
the rating range), of the budget, or of noisy answers that were paid for. Two numbers decide:

* *Signal over edge.* With c ratings per item, a covariance of rows clipped to C has its leading
  eigenvalue near C^2 g c, g being the share of one factor in the variance of a rating, and noise of
  std s = a C^2 / mu (a = 1 for add-remove, sqrt(2) for replace-one) reaches s sqrt(2 m):

      rho = g c mu / (a sqrt(2 m)).

  C cancels. Below rho = 3/4 factors cost more than they tell and the bias gets the whole budget.
* *Noise of a bias.* Sums of rows clipped to a share k of a full row of typical deviations give a
  bias of an item with noise k h deviations, h = a' sqrt(xi) / (mu c), a' = 1 or 2. Clipping loses
  about (1 - k)^2 of it, so k falls as h grows.

Where the constants come from: g = 0.06 was read off covariances of Jester-1 and of the 400 most
rated films of MovieLens-1M (0.057 to 0.069 at epsilon 0.1 to 10); the threshold, the exponents and
the factors of the ridge were chosen by looking at these two and at MovieLens-100k.
``experiments/recommend`` shows what they do there and on sets that played no part in it.

The *number of ratings per item* is not public. The first release measures it (item counts), and the
second is then either a covariance or the item statistics once more. Which of them depends on a
noisy answer only, both have the noise multiplier that the plan names, and an adaptive choice of the
second Gaussian release is covered by the composition (Dong, Roth & Su 2022, Corollary 3.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.completion.rating_moments import RatingCovariance
from veilspan.solvers.base import Prepared
from veilspan.solvers.completion.base import (
    ITEM_STATISTICS,
    CompletionProblem,
    CompletionResult,
    draw_salt,
    prepare_releases,
    round_for_plan,
)
from veilspan.solvers.completion.covariance import (
    LARGEST_WIDTH,
    decompose_off_diagonal,
    keep_factors_above_noise,
)
from veilspan.solvers.completion.noisy_statistics import NoisyStatistics, ask_statistics
from veilspan.solvers.spectral import noise_edge

SECOND = "covariance or item statistics"
FACTOR_SHARE = 0.06  # g
THRESHOLD = 0.75  # of rho: above it a covariance is worth its budget
FILLED = 0.65  # public guess: a user has this share of the ratings that may be kept
MOST_FACTORS = 24
# Share of the first release: where a covariance follows, or may follow for all that is known; and
# where it may still follow, though it is not expected to.
SMALL_SHARE, EVEN_SHARE = 0.15, 0.5
# The guess of the ratings per item may be off by a third or so, not by this factor.
HOPE = 4
# A row of the item statistics is clipped to k of a full row: k = 1 / (4 sqrt(h)) between two ends,
# or, where h is not known, one in between.
BIAS_NORM, LEAST_BIAS_NORM, MOST_BIAS_NORM, BLIND_BIAS_NORM = 0.25, 0.4, 1.2, 0.6
# A row of the covariance is clipped to 0.3 rho^(1/4) of a full row between two ends.
COVARIANCE_NORM, LEAST_COVARIANCE_NORM, MOST_COVARIANCE_NORM = 0.3, 0.35, 1.0
# Factors of the local penalty, see ``local_ridge``.
RIDGE_FACTOR, RIDGE_OF_NOISE = 1.5, 2.0
# Rounds of refilling the diagonal. With many items it holds little of the fit and rounds are slow.
REFILLS, REFILLS_OF_MANY, MANY_ITEMS = 8, 2, 600


@dataclass(frozen=True)
class AutoCompletion:
    """Item statistics, then a covariance if it will rise above its noise, else statistics again.

    Parameters
    ----------
    first_share : float, optional
        Share of the budget (of mu^2) for the first release. By default 0.15 where a covariance is
        expected to follow or nothing is known, 0.5 where it is not.
    factor_share : float
        g, a public guess. Where tastes are known to be simpler than in films and jokes (a few
        factors explain most of a rating) a larger one lets fewer users get factors.
    """

    name: ClassVar[str] = "AutoCompletion"

    first_share: float | None = None
    factor_share: float = FACTOR_SHARE

    def prepare(
        self, problem: CompletionProblem, budget: Budget, neighbors: Neighbors
    ) -> Prepared[CompletionProblem, CompletionResult]:
        """Plan two releases, or one where a covariance is out of the question."""
        if not 0 < self.factor_share <= 1:
            raise ValueError(f"factor_share must lie in (0, 1]; got {self.factor_share}.")
        share = self._choose_first_share(problem, budget, neighbors)
        rho = self._expect_rho(problem, budget, neighbors)
        releases = {GaussianEvent(ITEM_STATISTICS): share}
        if share < 1:
            releases[GaussianEvent(SECOND)] = 1 - share
        mu = budget.mu * math.sqrt(share)
        norm = bias_row_norm(problem, neighbors, mu, expected_ratings(problem))
        decisions = {
            "share for the first release": share,
            "row norm of the bias": round_for_plan(norm),
            "guessed share of a factor": self.factor_share,
            "expected signal over edge": None if rho is None else round_for_plan(rho),
            "largest number of factors": problem.limit_factors(MOST_FACTORS),
        }
        chosen = replace(self, first_share=share)
        return prepare_releases(chosen, problem, budget, neighbors, releases, decisions)

    def _choose_first_share(
        self, problem: CompletionProblem, budget: Budget, neighbors: Neighbors
    ) -> float:
        """The share that was given, or that ``prepare`` has settled."""
        if self.first_share is not None:
            if not 0 < self.first_share <= 1:
                raise ValueError(f"first_share must lie in (0, 1]; got {self.first_share}.")
            return self.first_share
        if problem.n_items > LARGEST_WIDTH:
            return 1.0
        rho = self._expect_rho(problem, budget, neighbors)
        if rho is None or rho >= THRESHOLD:
            return SMALL_SHARE
        return EVEN_SHARE if rho >= THRESHOLD / HOPE else 1.0

    def _expect_rho(
        self, problem: CompletionProblem, budget: Budget, neighbors: Neighbors
    ) -> float | None:
        """Rho of a covariance with the whole budget; ``None`` where users are not public."""
        ratings = expected_ratings(problem)
        if ratings is None:
            return None
        return signal_over_edge(problem, neighbors, budget.mu, ratings, self.factor_share)

    def run(self, curator: Curator, problem: CompletionProblem) -> CompletionResult:
        """Ask, decide from the answer, ask again."""
        problem = draw_salt(curator, problem)
        budget, neighbors = curator.plan.budget, curator.plan.neighbors
        share = self._choose_first_share(problem, budget, neighbors)
        mu = budget.mu * math.sqrt(share)
        norm = bias_row_norm(problem, neighbors, mu, expected_ratings(problem))
        first = ask_statistics(curator, problem, norm, ITEM_STATISTICS)
        if share == 1:
            return publish_bias(problem, first)
        ratings = first.ratings_per_item()
        left = budget.mu * math.sqrt(1 - share)
        rho = signal_over_edge(problem, neighbors, left, ratings, self.factor_share)
        if problem.n_items > LARGEST_WIDTH or rho < THRESHOLD:
            norm = bias_row_norm(problem, neighbors, budget.mu, ratings)
            again = ask_statistics(curator, problem, norm, SECOND)
            return publish_bias(problem, first.average_with(again))
        return release_factors(curator, problem, first, rho)


def expected_ratings(problem: CompletionProblem) -> float | None:
    """Public guess of the ratings per item; ``None`` where the number of users is private."""
    if problem.n_users is None:
        return None
    return FILLED * problem.n_users * problem.kept_ratings / problem.n_items


def signal_over_edge(
    problem: CompletionProblem,
    neighbors: Neighbors,
    mu: float,
    ratings: float,
    factor_share: float = FACTOR_SHARE,
) -> float:
    """Rho for a covariance released with ``mu``; see the top of this module."""
    factor = math.sqrt(2) if neighbors == "replace-one" else 1.0
    if math.isinf(mu):  # without noise even no rating at all is above it
        return math.inf
    return factor_share * ratings * mu / (factor * math.sqrt(2 * problem.n_items))


def bias_row_norm(
    problem: CompletionProblem, neighbors: Neighbors, mu: float, ratings: float | None
) -> float:
    """Clipping norm of the item statistics: k = 1 / (4 sqrt(h)), between 0.4 and 1.2."""
    if ratings is None:
        return BLIND_BIAS_NORM * problem.full_row
    factor = 2.0 if neighbors == "replace-one" else 1.0
    known = mu * ratings / (factor * math.sqrt(problem.kept_ratings))  # 1 / h
    share = max(BIAS_NORM * math.sqrt(known), LEAST_BIAS_NORM)
    return min(share, MOST_BIAS_NORM) * problem.full_row


def covariance_row_norm(problem: CompletionProblem, rho: float) -> float:
    """Clipping norm of the covariance: 0.3 rho^(1/4) of a full row, between 0.35 and 1.

    Rho does not depend on it; but long rows hold more pairs, and clipping makes all rows count
    alike. That helps against noise and costs a little where there is none.
    """
    share = max(COVARIANCE_NORM * rho**0.25, LEAST_COVARIANCE_NORM)
    return min(share, MOST_COVARIANCE_NORM) * problem.full_row


def local_ridge(shares: np.ndarray, risen: float) -> float:
    """Penalty of the local fits, for factors whose largest has mean square 1.

    The posterior mean of u ~ N(0, g_1) under residual variance 1 - sum g asks for their ratio. The
    factors are themselves noisy: 1.5 (1 + 2 / risen) times that, ``risen`` being the measured
    signal over edge.
    """
    residual = max(1.0 - float(shares.sum()), 1e-3)
    return RIDGE_FACTOR * (1 + RIDGE_OF_NOISE / risen) * residual / float(shares[0])


def publish_bias(problem: CompletionProblem, found: NoisyStatistics) -> CompletionResult:
    """Make a model of a bias alone, without factors."""
    nothing = np.zeros((problem.n_items, 0))
    trace = ({"released": "item statistics", "ratings per item": found.ratings_per_item()},)
    return CompletionResult(found.estimate_bias(problem), nothing, 1.0, trace=trace)


def release_factors(
    curator: Curator, problem: CompletionProblem, found: NoisyStatistics, rho: float
) -> CompletionResult:
    """Release the covariance and take its factors above noise."""
    bias = found.estimate_bias(problem)
    query = RatingCovariance(problem.rule, covariance_row_norm(problem, rho))
    answer = curator.answer(query, bias, event=SECOND)
    refills = REFILLS if problem.n_items <= MANY_ITEMS else REFILLS_OF_MANY
    values, vectors = decompose_off_diagonal(
        answer.value, problem.limit_factors(MOST_FACTORS), refills
    )
    edge = noise_edge(answer.noise_std, problem.n_items)
    shares = factor_shares(problem, found, float(np.trace(answer.value)), values, edge)
    trace = ({"released": "covariance", "rho": rho, "eigenvalues": values, "edge": edge},)
    if not len(shares):
        return CompletionResult(bias, np.zeros((problem.n_items, 0)), 1.0, trace=trace)
    factors = keep_factors_above_noise(values, vectors, answer.noise_std)
    clean = undo_inflation(values[:1], edge)[0]
    ridge = local_ridge(shares, clean / edge if edge > 0 else math.inf)
    return CompletionResult(bias, factors, ridge, trace=trace)


def undo_inflation(values: np.ndarray, edge: float) -> np.ndarray:
    """Take off eigenvalues what noise added to them: l' = (l + sqrt(l^2 - edge^2)) / 2."""
    return (values + np.sqrt(np.maximum(values**2 - edge**2, 0.0))) / 2


def factor_shares(
    problem: CompletionProblem,
    found: NoisyStatistics,
    power: float,
    values: np.ndarray,
    edge: float,
) -> np.ndarray:
    """Shares g_k of the factors above the edge in the variance of a rating.

    The diagonal sums to the variance of all ratings; an off-diagonal entry exists only where both
    items are rated, which a factor's eigenvalue feels by the share c / n of users who rate an item.
    A private n is guessed from the noisy number of ratings.
    """
    total = max(float(found.counts.sum()), 1.0)
    users = problem.n_users or total / (FILLED * problem.kept_ratings)
    rated = min(found.ratings_per_item() / users, 1.0)
    above = undo_inflation(values[values > max(edge, 1e-12 * abs(float(values[0])))], edge)
    if power <= 0 or rated <= 0 or not len(above):
        return np.zeros(0)
    return above / (power * rated)
