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
from veilspan.solvers.base import Prepared, Result, calibrate_events, count_rows
from veilspan.solvers.completion.base import round_for_plan
from veilspan.solvers.completion.list_weights import (
    autoencoder,
    clean_moment,
    floor_popularity,
    list_weights,
)

POPULARITY = "popularity"
SECOND = "tastes or popularity"
# Share of the popularity: 4.5 / sqrt(nu), or 0.1 (items / nu)^(1/4) where there are many items,
# between two ends; nu = users times mu / a. Where the number of users is private, one in between.
SHARE_OF_USERS, SHARE_OF_ITEMS, LEAST_SHARE, MOST_SHARE, BLIND_SHARE = 4.5, 0.1, 0.1, 0.6, 0.15
#: With a smaller nu nothing but popularity is asked for.
LEAST_NU = 80.0
# Items whose tastes are asked for: 6 sqrt(nu) at most, and never more than the largest. With fewer
# than the least the popularity is not known well enough for anything else.
WIDTH_TIMES, LEAST_WIDTH, LARGEST_WIDTH = 6.0, 50, 1500


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
        known = problem.n_users
        nu = None if known is None else signal_of(known, budget, neighbors)
        share = self.popularity_share
        if share is None:
            share = choose_share(nu, problem.n_items) if problem.n_items > 1 else 1.0
        alone = share == 1
        names = (POPULARITY,) if alone else (POPULARITY, SECOND)
        shares = (1.0,) if alone else (share, 1 - share)
        # How many users there are plays a part in the second release alone.
        users = 1 if alone else problem.n_users
        asked = tuple(GaussianEvent(name) for name in names)
        events = calibrate_events(budget, neighbors, users, asked, shares)
        most = self.width
        if most is None:
            most = LARGEST_WIDTH if nu is None else widest(nu)
        decisions = {
            "share for the popularity": round_for_plan(share),
            "largest number of items with tastes": min(most, problem.n_items),
        }
        chosen = replace(self, popularity_share=share)
        return Prepared(chosen, problem, budget, events, decisions)

    def run(self, curator: Curator, problem: RankingProblem) -> RankingResult:
        """Ask for the popularity, decide by it, ask again."""
        rule = TasteRule(problem.span)
        users = count_rows(curator) if self.popularity_share != 1 else 0.0
        first = curator.answer(ItemPopularity(rule), event=POPULARITY)
        popularity, noise = first.value, first.noise_std
        if self.popularity_share == 1:
            return popular_list(popularity, noise)
        nu = signal_of(users, curator.plan.budget, curator.plan.neighbors)
        width = self.width
        if width is None:
            width = choose_width(popularity, noise, users, nu)
        if width < 2:
            again = curator.answer(ItemPopularity(rule), event=SECOND)
            return average_lists(popularity, noise, again.value, again.noise_std)
        width = min(width, problem.n_items)
        top = np.argsort(-popularity, kind="stable")[:width]
        shown = floor_popularity(popularity[top])
        point = TastePoint.at(top, shown)
        answer = curator.answer(TasteGram(rule), point, event=SECOND)
        clean, kept = clean_moment(answer.value, shown, answer.noise_std)
        direction = point.direction / np.linalg.norm(point.direction)
        weights = list_weights(autoencoder(clean, self.ridge), direction)
        trace = ({"released": "tastes", "items": width, "eigenvalues above noise": kept},)
        return RankingResult(popularity, noise, top, direction, weights, trace=trace)


def signal_of(users: float, budget: Budget, neighbors: Neighbors) -> float:
    """Nu: users times mu over the sensitivity."""
    return users * budget.mu / (math.sqrt(2) if neighbors == "replace-one" else 1.0)


def choose_share(nu: float | None, n_items: int) -> float:
    """Share of the popularity, by public numbers."""
    if nu is None:
        return BLIND_SHARE
    if nu < LEAST_NU:
        return 1.0
    share = max(SHARE_OF_USERS / math.sqrt(nu), SHARE_OF_ITEMS * (n_items / nu) ** 0.25)
    return min(max(share, LEAST_SHARE), MOST_SHARE)


def widest(nu: float) -> int:
    """Most items whose tastes are worth asking for."""
    if math.isinf(nu):
        return LARGEST_WIDTH
    return int(min(max(LEAST_WIDTH, WIDTH_TIMES * math.sqrt(nu)), LARGEST_WIDTH))


def choose_width(popularity: np.ndarray, noise_std: float, users: float, nu: float) -> int:
    """How many items are asked for their tastes, by the popularity; 0 for none.

    Those that stand out of the noise, at most 6 sqrt(nu). If the first k items hold less than one
    entry a user (``held``, of rows of length 1), most users have none of them, and one who has two
    is rare: nu counts held^2 times, and k stays below 6 sqrt(nu) held.
    """
    n_items = len(popularity)
    found = stand_out(popularity, noise_std, min(widest(nu), n_items))
    if found < min(LEAST_WIDTH, max(2, n_items // 2)):
        return 0
    first = np.sort(popularity)[::-1][:found]
    held = np.minimum(np.cumsum(first) / max(users, 1.0), 1.0)
    count = np.arange(1, found + 1)
    narrow = np.flatnonzero((count <= LEAST_WIDTH) | (count <= WIDTH_TIMES * math.sqrt(nu) * held))
    return int(narrow[-1]) + 1


def stand_out(popularity: np.ndarray, noise_std: float, most: int) -> int:
    """Items, of the ``most`` first, above what so many of all reach by noise alone."""
    count = np.arange(1, most + 1)
    first = np.sort(popularity)[::-1][:most]
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
