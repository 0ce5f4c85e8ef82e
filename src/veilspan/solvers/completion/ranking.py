r"""``task="rank"``: popularity first, then what goes together beyond it, decided by public numbers.

Two Gaussian releases, each of rows of length 1 (``queries.completion.item_popularity`` and
``taste_gram``), so both have sensitivity a = sqrt(2) (replace-one) or 1 (add-remove).

1. *Popularity*, p = sum of x + noise, with a share q of the budget (of mu^2).
2. *Tastes*, G = sum of y y^T + noise over the K most popular items by p, with the rest of it; or
   the popularity once more, where p says that tastes would drown in noise. The average of two
   popularities, each weighted by its precision, has exactly the noise of one that had the whole
   budget: whoever falls back on popularity has lost nothing.

Both kinds of the second release have the noise multiplier that the plan names, and which of them is
asked depends on the first answer alone, as do K and the direction of popularity: an adaptive
composition of two Gaussian mechanisms with multipliers fixed beforehand (Dong, Roth & Su 2022,
Corollary 3.3). Everything else is post-processing (``solvers.completion.list_weights``), and a
user's list is made of the release and of her own row: joint differential privacy by the billboard
lemma (Hsu et al. 2016).
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
from veilspan.queries.completion.item_popularity import ItemPopularity
from veilspan.queries.completion.residual_moment import check_ridge
from veilspan.queries.completion.taste_gram import MOST_WIDTH, TasteGram, TastePoint
from veilspan.queries.completion.taste_rows import TasteRule
from veilspan.solvers.base import Prepared, Result
from veilspan.solvers.completion.base import prepare_releases, round_for_plan
from veilspan.solvers.completion.list_weights import (
    autoencoder,
    clean_moment,
    floor_popularity,
    list_weights,
)

POPULARITY = "popularity"
SECOND = "tastes or popularity"
# Share of the popularity: 60 / nu between two ends, nu = users times mu / a; where the number of
# users is private, one in between.
SHARE_TIMES, LEAST_SHARE, MOST_SHARE, BLIND_SHARE = 60.0, 0.1, 0.6, 0.15
#: With a smaller nu nothing but popularity is asked for.
LEAST_NU = 80.0
# Items whose tastes are asked for: 8 sqrt(nu) between two ends.
WIDTH_TIMES, LEAST_WIDTH, LARGEST_WIDTH = 8.0, 50, 1500


@dataclass(frozen=True)
class RankingProblem:
    """What is public about a table of what users have or rated.

    Attributes
    ----------
    n_users : int or None
        Number of users; ``None`` under add-remove, where it is private.
    n_items : int
        Number of items.
    span : (float, float) or None
        Lowest and highest rating; ``None`` where there are no ratings.
    """

    n_users: int | None
    n_items: int
    span: tuple[float, float] | None

    @property
    def n_rows(self) -> int | None:
        """Rows of the table: users."""
        return self.n_users


@dataclass(frozen=True)
class RankingResult(Result):
    """The global half of lists: differentially private, may be published.

    Attributes
    ----------
    popularity : array of shape (n_items,)
        Noisy sum of users' rows of length 1.
    popularity_noise : float
        Standard deviation of its noise.
    top_items : array of shape (K,)
        Items whose tastes are known, by falling popularity; K may be 0.
    direction : array of shape (K,)
        Unit direction of their popularity.
    weights : array of shape (K, K)
        W: a user's row times it are the scores of these items.
    """

    popularity: np.ndarray
    popularity_noise: float
    top_items: np.ndarray
    direction: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class RankingCompletion:
    """Popularity, then the second moment of tastes where it will rise above its noise.

    Parameters
    ----------
    popularity_share : float, optional
        Share of the budget (of mu^2) for the popularity; 1 asks for nothing else. By default by the
        number of users and the budget.
    width : int, optional
        Items whose tastes are asked for, whatever the popularity says.
    ridge : float
        Penalty of the autoencoder, in units of the mean of the diagonal.
    """

    name: ClassVar[str] = "RankingCompletion"

    popularity_share: float | None = None
    width: int | None = None
    ridge: float = 1.0

    def __post_init__(self) -> None:
        check_ridge(self.ridge)
        if self.popularity_share is not None and not 0 < self.popularity_share <= 1:
            raise ValueError(f"popularity_share must lie in (0, 1]; got {self.popularity_share}.")
        if self.width is not None and not 2 <= self.width <= MOST_WIDTH:
            raise ValueError(f"width must lie between 2 and {MOST_WIDTH:,}; got {self.width}.")

    def prepare(
        self, problem: RankingProblem, budget: Budget, neighbors: Neighbors
    ) -> Prepared[RankingProblem, RankingResult]:
        """Plan two releases, or the popularity alone where users are few for the budget."""
        nu = signal_of(problem, budget, neighbors)
        share = self.popularity_share
        if share is None:
            share = choose_share(nu) if problem.n_items > 1 else 1.0
        releases = {GaussianEvent(POPULARITY): share}
        if share < 1:
            releases[GaussianEvent(SECOND)] = 1 - share
        decisions = {
            "share for the popularity": round_for_plan(share),
            "largest number of items with tastes": self._most_items(problem, nu),
        }
        chosen = replace(self, popularity_share=share)
        return prepare_releases(chosen, problem, budget, neighbors, releases, decisions)

    def run(self, curator: Curator, problem: RankingProblem) -> RankingResult:
        """Ask for the popularity, decide by it, ask again."""
        rule = TasteRule(problem.span)
        first = curator.answer(ItemPopularity(rule), event=POPULARITY)
        popularity, noise = first.value, first.noise_std
        if self.popularity_share == 1:
            return popular_list(popularity, noise)
        nu = signal_of(problem, curator.plan.budget, curator.plan.neighbors)
        wanted = self._most_items(problem, nu)
        width = wanted if self.width is not None else stand_out(popularity, noise, wanted)
        if width < 2:
            again = curator.answer(ItemPopularity(rule), event=SECOND)
            return average_lists(popularity, noise, again.value, again.noise_std)
        top = np.argsort(-popularity, kind="stable")[:width]
        shown = floor_popularity(popularity[top])
        point = TastePoint.at(top, shown)
        answer = curator.answer(TasteGram(rule), point, event=SECOND)
        clean, kept = clean_moment(answer.value, shown, answer.noise_std)
        direction = point.direction / np.linalg.norm(point.direction)
        weights = list_weights(autoencoder(clean, self.ridge), direction)
        trace = ({"released": "tastes", "items": width, "eigenvalues above noise": kept},)
        return RankingResult(popularity, noise, top, direction, weights, trace=trace)

    def _most_items(self, problem: RankingProblem, nu: float | None) -> int:
        width = self.width
        if width is None:
            guess = LARGEST_WIDTH if nu is None or math.isinf(nu) else WIDTH_TIMES * math.sqrt(nu)
            width = int(min(max(LEAST_WIDTH, guess), LARGEST_WIDTH))
        return min(width, problem.n_items)


def signal_of(problem: RankingProblem, budget: Budget, neighbors: Neighbors) -> float | None:
    """Users times mu over the sensitivity; ``None`` where the number of users is private."""
    if problem.n_users is None:
        return None
    return problem.n_users * budget.mu / (math.sqrt(2) if neighbors == "replace-one" else 1.0)


def choose_share(nu: float | None) -> float:
    """Share of the popularity, by public numbers."""
    if nu is None:
        return BLIND_SHARE
    if nu < LEAST_NU:
        return 1.0
    return min(max(SHARE_TIMES / nu, LEAST_SHARE), MOST_SHARE)


def stand_out(popularity: np.ndarray, noise_std: float, most: int) -> int:
    """Items, of the ``most`` first, above what so many of all reach by noise alone."""
    count = np.arange(1, min(most, len(popularity)) + 1)
    first = np.sort(popularity)[::-1][: len(count)]
    return int(np.sum(first > noise_std * np.sqrt(2 * np.log(len(popularity) / count))))


def popular_list(popularity: np.ndarray, noise_std: float) -> RankingResult:
    """A release of popularity alone."""
    nothing = np.zeros(0)
    trace = ({"released": "popularity"},)
    none = np.zeros(0, dtype=np.int64)
    return RankingResult(popularity, noise_std, none, nothing, np.zeros((0, 0)), trace=trace)


def average_lists(
    one: np.ndarray, noise_one: float, two: np.ndarray, noise_two: float
) -> RankingResult:
    """The average of two popularities, each weighted by its precision."""
    if noise_one == 0 or noise_two == 0:
        return popular_list(two if noise_two == 0 else one, 0.0)
    a, b = noise_one**-2, noise_two**-2
    return popular_list((a * one + b * two) / (a + b), (a + b) ** -0.5)
