r"""``solver="auto"``: what to ask and how to clip, decided by public numbers alone.

Everything here is a function of the task (items m, users n if public, ratings kept per user xi, the
rating range, the budget) or of noisy answers that were paid for. Two numbers decide:

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
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.privacy.events import Event, GaussianEvent
from veilspan.queries.completion.rating_moments import ItemStatistics, RatingCovariance
from veilspan.solvers.completion.base import ITEM_STATISTICS, CompletionResult, CompletionTask
from veilspan.solvers.completion.covariance import (
    LARGEST_WIDTH,
    factors_above_noise,
    without_diagonal,
)
from veilspan.solvers.spectral import noise_edge

SECOND = "covariance or item statistics"
FACTOR_SHARE = 0.06  # g
THRESHOLD = 0.75  # of rho: above it a covariance is worth its budget
FILLED = 0.65  # public guess: a user has this share of the ratings that may be kept
PRIOR = 0.2  # variance of a bias, in squared typical deviations
MOST_FACTORS = 24
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

    first_share: float | None = None
    factor_share: float = FACTOR_SHARE

    def schedule(self, task: CompletionTask) -> tuple[tuple[Event, ...], tuple[float, ...]]:
        """Two releases, or one where a covariance is out of the question."""
        if not 0 < self.factor_share <= 1:
            raise ValueError(f"factor_share must lie in (0, 1]; got {self.factor_share}.")
        share = self._first_share(task)
        if share == 1:
            return (GaussianEvent(ITEM_STATISTICS),), (1.0,)
        events = (GaussianEvent(ITEM_STATISTICS), GaussianEvent(SECOND))
        return events, (share, 1 - share)

    def decisions(self, task: CompletionTask) -> Mapping[str, Any]:
        """What is settled before any answer."""
        share = self._first_share(task)
        mu = task.budget.mu * math.sqrt(share)
        return {
            "share for the first release": share,
            "row norm of the bias": _rounded(bias_row_norm(task, mu, expected_ratings(task))),
            "guessed share of a factor": self.factor_share,
            "expected signal over edge": _rounded(self._expected_rho(task)),
            "largest number of factors": most_factors(task),
        }

    def run(self, curator: Curator, task: CompletionTask) -> CompletionResult:
        """Ask, decide from the answer, ask again."""
        share = self._first_share(task)
        mu = task.budget.mu * math.sqrt(share)
        norm = bias_row_norm(task, mu, expected_ratings(task))
        first = ask_statistics(curator, task, norm, ITEM_STATISTICS)
        if share == 1:
            return bias_only(task, first)
        ratings = first.ratings_per_item()
        left = task.budget.mu * math.sqrt(1 - share)
        rho = signal_over_edge(task, left, ratings, self.factor_share)
        if task.n_items > LARGEST_WIDTH or rho < THRESHOLD:
            norm = bias_row_norm(task, task.budget.mu, ratings)
            return bias_only(task, first.joined(ask_statistics(curator, task, norm, SECOND)))
        return with_factors(curator, task, first, rho)

    def _first_share(self, task: CompletionTask) -> float:
        if self.first_share is not None:
            if not 0 < self.first_share <= 1:
                raise ValueError(f"first_share must lie in (0, 1]; got {self.first_share}.")
            return self.first_share
        if task.n_items > LARGEST_WIDTH:
            return 1.0
        rho = self._expected_rho(task)
        if rho is None or rho >= THRESHOLD:
            return 0.15
        # The guess of the ratings per item may be off by a third or so, not by four.
        return 0.5 if rho >= THRESHOLD / 4 else 1.0

    def _expected_rho(self, task: CompletionTask) -> float | None:
        ratings = expected_ratings(task)
        if ratings is None:
            return None
        return signal_over_edge(task, task.budget.mu, ratings, self.factor_share)


@dataclass(frozen=True)
class Statistics:
    """Noisy sums and counts per item, and the noise on each."""

    sums: np.ndarray
    counts: np.ndarray
    sum_noise: float
    count_noise: float

    def joined(self, other: Statistics) -> Statistics:
        """Average by precision of two releases."""
        a, b = self.sum_noise**-2, other.sum_noise**-2
        c, d = self.count_noise**-2, other.count_noise**-2
        return Statistics(
            (a * self.sums + b * other.sums) / (a + b),
            (c * self.counts + d * other.counts) / (c + d),
            (a + b) ** -0.5,
            (c + d) ** -0.5,
        )

    def smoothed_counts(self) -> np.ndarray:
        """Counts drawn to their mean by as much as noise explains their spread, and floored."""
        mean = max(float(self.counts.mean()), 1.0)
        spread = max(float(self.counts.var()) - self.count_noise**2, (0.1 * mean) ** 2)
        drawn = mean + (self.counts - mean) * spread / (spread + self.count_noise**2)
        return np.maximum(drawn, 0.1 * mean)

    def ratings_per_item(self) -> float:
        """Sum c_j^2 / sum c_j without the part of noise: ratings of an item that a rating sees."""
        total = float(self.counts.sum())
        squares = float((self.counts**2).sum()) - len(self.counts) * self.count_noise**2
        return max(total / len(self.counts), squares / total, 0.0) if total > 0 else 0.0

    def bias(self, task: CompletionTask) -> np.ndarray:
        """Posterior mean t c S / (t c^2 + v c + s^2), prior variance t, residual variance v."""
        counts = self.smoothed_counts()
        residual = task.typical_deviation**2
        prior = PRIOR * residual
        below = prior * counts**2 + residual * counts + self.sum_noise**2
        width = task.rule.high - task.rule.low
        return np.clip(prior * counts * self.sums / below, -width, width)


def expected_ratings(task: CompletionTask) -> float | None:
    """Public guess of the ratings per item; ``None`` where the number of users is private."""
    if task.n_users is None:
        return None
    return FILLED * task.n_users * kept_ratings(task) / task.n_items


def kept_ratings(task: CompletionTask) -> int:
    """Most ratings of one user that enter."""
    return min(task.rule.max_ratings, task.n_items)


def most_factors(task: CompletionTask) -> int:
    """Largest number of factors; noise decides how many of them stay."""
    return min(task.n_components or MOST_FACTORS, task.n_items)


def full_row(task: CompletionTask) -> float:
    """Norm of a full row of typical deviations."""
    return task.typical_deviation * math.sqrt(kept_ratings(task))


def signal_over_edge(
    task: CompletionTask, mu: float, ratings: float, factor_share: float = FACTOR_SHARE
) -> float:
    """Rho for a covariance released with ``mu``; see the top of this module."""
    factor = math.sqrt(2) if task.neighbors == "replace-one" else 1.0
    if math.isinf(mu):  # without noise even no rating at all is above it
        return math.inf
    return factor_share * ratings * mu / (factor * math.sqrt(2 * task.n_items))


def bias_row_norm(task: CompletionTask, mu: float, ratings: float | None) -> float:
    """Clipping norm of the item statistics: k = 1 / (4 sqrt(h)), between 0.4 and 1.2."""
    if ratings is None:
        return 0.6 * full_row(task)
    factor = 2.0 if task.neighbors == "replace-one" else 1.0
    known = mu * ratings / (factor * math.sqrt(kept_ratings(task)))  # 1 / h
    return min(max(0.25 * math.sqrt(known), 0.4), 1.2) * full_row(task)


def covariance_row_norm(task: CompletionTask, rho: float) -> float:
    """Clipping norm of the covariance: 0.3 rho^(1/4) of a full row, between 0.35 and 1.

    Rho does not depend on it; but long rows hold more pairs, and clipping makes all rows count
    alike. That helps against noise and costs a little where there is none.
    """
    return min(max(0.3 * rho**0.25, 0.35), 1.0) * full_row(task)


def local_ridge(shares: np.ndarray, risen: float) -> float:
    """Penalty of the local fits, for factors whose largest has mean square 1.

    The posterior mean of u ~ N(0, g_1) under residual variance 1 - sum g asks for their ratio. The
    factors are themselves noisy: 1.5 (1 + 2 / risen) times that, ``risen`` being the measured
    signal over edge.
    """
    residual = max(1.0 - float(shares.sum()), 1e-3)
    return 1.5 * (1 + 2 / risen) * residual / float(shares[0])


def ask_statistics(curator: Curator, task: CompletionTask, norm: float, event: str) -> Statistics:
    """Release sums and counts of rows clipped to ``norm``."""
    query = ItemStatistics(task.rule, norm)
    answer = curator.answer(query, event=event)
    sums, counts = answer.value
    return Statistics(sums, counts, answer.noise_std, answer.noise_std / query.count_weight)


def bias_only(task: CompletionTask, found: Statistics) -> CompletionResult:
    """A model without factors."""
    nothing = np.zeros((task.n_items, 0))
    trace = ({"released": "item statistics", "ratings per item": found.ratings_per_item()},)
    return CompletionResult(found.bias(task), nothing, 1.0, trace=trace)


def with_factors(
    curator: Curator, task: CompletionTask, found: Statistics, rho: float
) -> CompletionResult:
    """Release the covariance and take its factors above noise."""
    bias = found.bias(task)
    query = RatingCovariance(task.rule, covariance_row_norm(task, rho))
    answer = curator.answer(query, bias, event=SECOND)
    refills = REFILLS if task.n_items <= MANY_ITEMS else REFILLS_OF_MANY
    values, vectors = without_diagonal(answer.value, most_factors(task), refills)
    edge = noise_edge(answer.noise_std, task.n_items)
    shares = factor_shares(task, found, float(np.trace(answer.value)), values, edge)
    trace = ({"released": "covariance", "rho": rho, "eigenvalues": values, "edge": edge},)
    if not len(shares):
        return CompletionResult(bias, np.zeros((task.n_items, 0)), 1.0, trace=trace)
    factors = factors_above_noise(values, vectors, answer.noise_std)
    clean = shrunk(values[:1], edge)[0]
    ridge = local_ridge(shares, clean / edge if edge > 0 else math.inf)
    return CompletionResult(bias, factors, ridge, trace=trace)


def shrunk(values: np.ndarray, edge: float) -> np.ndarray:
    """Eigenvalues l' = (l + sqrt(l^2 - edge^2)) / 2 without what noise added to them."""
    return (values + np.sqrt(np.maximum(values**2 - edge**2, 0.0))) / 2


def factor_shares(
    task: CompletionTask, found: Statistics, power: float, values: np.ndarray, edge: float
) -> np.ndarray:
    """Shares g_k of the factors above the edge in the variance of a rating.

    The diagonal sums to the variance of all ratings; an off-diagonal entry exists only where both
    items are rated, which a factor's eigenvalue feels by the share c / n of users who rate an item.
    A private n is guessed from the noisy number of ratings.
    """
    total = max(float(found.counts.sum()), 1.0)
    users = task.n_users or total / (FILLED * kept_ratings(task))
    rated = min(found.ratings_per_item() / users, 1.0)
    above = shrunk(values[values > max(edge, 1e-12 * abs(float(values[0])))], edge)
    if power <= 0 or rated <= 0 or not len(above):
        return np.zeros(0)
    return above / (power * rated)


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
