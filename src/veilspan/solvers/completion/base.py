"""What all completion solvers share: the problem, the result, the private item bias."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from veilspan._scales import check_scale
from veilspan.curator.curator import Curator
from veilspan.privacy.budget import Budget
from veilspan.privacy.calibration import calibrate_noise
from veilspan.privacy.events import GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.completion.rating_moments import ItemStatistics
from veilspan.queries.completion.rating_rows import RatingRule
from veilspan.solvers.base import Prepared, Result, Solver

ITEM_STATISTICS = "item statistics"
#: Rows are clipped to this share of a full row of typical deviations, unless a user says otherwise.
#: Clipping most rows costs little, because the directions of rows carry the structure, while the
#: noise of a covariance falls as the square of the norm.
ROW_SHARE = 0.5
#: Guess of the variance of an item's bias, over that of a rating about its user's mean.
BIAS_VARIANCE = 0.1
#: Noisy counts below this share of their mean are taken for it: noise may make them negative.
LEAST_COUNT = 0.1


@dataclass(frozen=True)
class CompletionProblem:
    """What is public about a table of ratings, and what is wanted of it.

    Attributes
    ----------
    n_users : int or None
        Number of users; ``None`` under add-remove, where it is private.
    n_items : int
        Number of items n.
    rule : RatingRule
        Rating range, ratings kept per user, centring.
    n_components : int or None
        Largest number of factors; ``None`` for the solver's own choice.
    """

    n_users: int | None
    n_items: int
    rule: RatingRule
    n_components: int | None = None

    @property
    def n_rows(self) -> int | None:
        """Rows of the table: users."""
        return self.n_users

    @property
    def typical_deviation(self) -> float:
        """A public guess of how far a rating lies from its user's mean: a quarter of the range.

        One star of five, two and a half points of ten; the true figure differs by a third or so.
        """
        return (self.rule.high - self.rule.low) / 4

    @property
    def kept_ratings(self) -> int:
        """Most ratings of one user that enter an answer."""
        return min(self.rule.max_ratings, self.n_items)

    @property
    def full_row(self) -> float:
        """Norm of a row with as many ratings as are kept, all of them typical deviations."""
        return self.typical_deviation * math.sqrt(self.kept_ratings)

    def limit_factors(self, most: int) -> int:
        """How many factors to look for: what was asked for, or ``most``; never more than items."""
        return min(self.n_components or most, self.n_items)


@dataclass(frozen=True)
class CompletionResult(Result):
    """The global half of a model: differentially private, may be published.

    Attributes
    ----------
    item_bias : array of shape (n_items,)
        How much better than a user's own mean an item is rated.
    item_factors : array of shape (n_items, r)
        Columns V; a user's centred ratings are about bias + V u. r may be 0.
    ridge : float
        Penalty |u|^2 that every user's local fit is to use with these factors.
    kept : float or None
        Share of a guessed bias that is left after what is known of noise, mean over items; ``None``
        where no bias was released.
    angle : float or None
        Degrees by which noise may have turned the span of the factors, with 95 %, where one
        released matrix tells it.
    """

    item_bias: np.ndarray
    item_factors: np.ndarray
    ridge: float
    kept: float | None = field(default=None, kw_only=True)
    angle: float | None = field(default=None, kw_only=True)


#: From a curator to the global half of a model.
CompletionSolver = Solver[CompletionProblem, CompletionResult]


def prepare_releases(
    solver: CompletionSolver,
    problem: CompletionProblem,
    budget: Budget,
    neighbors: Neighbors,
    releases: Mapping[GaussianEvent, float],
    decisions: Mapping[str, Any],
) -> Prepared[CompletionProblem, CompletionResult]:
    """Set the noise of a solver's releases, by their shares of the budget.

    No solver divides by the number of users, so none is counted where it is private.
    """
    events = calibrate_noise(
        budget, tuple(releases), neighbors=neighbors, weights=tuple(releases.values())
    )
    return Prepared(solver, problem, budget, events, decisions)


def draw_salt(curator: Curator, problem: CompletionProblem) -> CompletionProblem:
    """The problem of one run: which ratings of a long row are kept is decided by a fresh salt.

    Every run begins with it, and all of its questions have the same rule.
    """
    salt = int(curator.coins("ratings kept").integers(2**63))
    return replace(problem, rule=replace(problem.rule, salt=salt))


def choose_row_norm(
    problem: CompletionProblem, given: float | None = None, name: str = "row_norm"
) -> float:
    """The public clipping norm that was given, or half of a full row of typical deviations."""
    return ROW_SHARE * problem.full_row if given is None else check_scale(given, name)


def round_for_plan(value: float) -> float:
    """Four digits, as plans show numbers that were computed."""
    return float(f"{value:.4g}")


@dataclass(frozen=True)
class ItemBias:
    """Released statistics of the items and the bias estimated from them.

    Attributes
    ----------
    bias : array of shape (n_items,)
        Shrunken mean of the centred ratings.
    counts : array of shape (n_items,)
        Noisy numbers of (kept) ratings, not below a floor of a tenth of their mean.
    kept : float or None
        As in :class:`CompletionResult`.
    """

    bias: np.ndarray
    counts: np.ndarray
    kept: float | None = None


def believed_share(
    prior: float, residual: float, counts: np.ndarray, count_noise: float, noise_std: float
) -> float:
    """(t c^2 + v c) / (t c^2 + v c + s^2) at the mean count c: 1 without noise, near 0 in it.

    0 where not even the number of all ratings stands out of its noise.
    """
    mean = float(counts.mean())
    if mean <= 2 * count_noise / math.sqrt(len(counts)):
        return 0.0
    signal = prior * mean**2 + residual * mean
    return float(signal / (signal + noise_std**2))


def release_item_bias(curator: Curator, problem: CompletionProblem, row_norm: float) -> ItemBias:
    r"""Release sums S_j and counts c_j per item, and shrink the means for what is known of noise.

    With prior b_j ~ N(0, t), residual variance v and noise of std s on S_j, the posterior mean is

        b_j = t c_j S_j / (t c_j^2 + v c_j + s^2).

    t and v are public guesses in units of the range: v = (a typical deviation)^2, t = v / 10.
    """
    query = ItemStatistics(problem.rule, row_norm)
    answer = curator.answer(query, event=ITEM_STATISTICS)
    sums, counts = answer.value
    seen = counts
    # A tenth of a rating at least: without noise, no item at all may have been rated.
    counts = np.maximum(counts, max(LEAST_COUNT * float(counts.mean()), 0.1))
    residual = problem.typical_deviation**2
    prior = BIAS_VARIANCE * residual
    bias = prior * counts * sums / (prior * counts**2 + residual * counts + answer.noise_std**2)
    width = problem.rule.high - problem.rule.low
    count_noise = answer.noise_std / query.count_weight
    kept = believed_share(prior, residual, seen, count_noise, answer.noise_std)
    return ItemBias(np.clip(bias, -width, width), counts, kept)
