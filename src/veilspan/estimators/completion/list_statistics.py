r"""Coverage and popularity bias of lists, from released numbers alone.

What lists *of people* cover is a statement about their histories, which nobody has paid for: it may
not leave the curator. What lists of **simulated** users cover is post-processing of the release and
costs nothing. A simulated user has ``ITEMS_HELD`` items. The first is drawn by the released
popularity; the others, without return, by popularity times exp(standardised score of the first),
so that histories hang together as far as the release says that tastes do. The draw has a seed of
its own: the same release gives the same figures, on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veilspan.estimators.completion.local_ranker import LocalRanker
from veilspan.estimators.completion.own_history import check_length

#: Items in a simulated history, and how many of these are simulated.
ITEMS_HELD, SIMULATED_USERS = 10, 1000
#: Histories are drawn from so many of the most popular items: further down noise decides.
POOL = 2000
#: Share of the catalogue that counts as its head.
HEAD = 0.01


@dataclass(frozen=True)
class ListStatistics:
    """What lists of simulated users look like.

    Attributes
    ----------
    k, users : int
        Length and number of the lists.
    coverage : float
        Share of all items that are in at least one of the lists.
    reachable : float
        Share of all items that have weights, so that a history can bring them up.
    head_share : float
        Share of the lists' places that the most popular hundredth of all items takes.
    head_share_of_histories : float
        The same of the simulated histories: what lists add to popularity is the difference.
    mean_popularity_rank : float
        Mean rank of a listed item by popularity over the number of items; 0 is the most popular.
    """

    k: int
    users: int
    coverage: float
    reachable: float
    head_share: float
    head_share_of_histories: float
    mean_popularity_rank: float


def list_statistics(
    ranker: LocalRanker, k: int = 20, users: int = SIMULATED_USERS
) -> ListStatistics:
    """Simulate histories by a release, make their lists, and say what these cover."""
    check_length(k)
    k = min(k, ranker.n_items)
    histories = simulate_histories(ranker, users)
    held = histories.shape[1]
    starts = np.arange(users + 1) * held
    liked = 1.0 if ranker.rating_range is None else ranker.rating_range[1]
    listed = ranker.list_rows(starts, histories.ravel(), np.full(histories.size, liked), k)
    shown = listed[listed >= 0]
    rank = np.empty(ranker.n_items, dtype=np.int64)
    rank[np.argsort(-ranker.popularity, kind="stable")] = np.arange(ranker.n_items)
    head = max(1, round(HEAD * ranker.n_items))
    return ListStatistics(
        k=k,
        users=users,
        coverage=len(np.unique(shown)) / ranker.n_items,
        reachable=len(ranker.top_items) / ranker.n_items,
        head_share=float(np.mean(rank[shown] < head)) if len(shown) else 0.0,
        head_share_of_histories=float(np.mean(rank[histories] < head)),
        mean_popularity_rank=float(np.mean(rank[shown])) / ranker.n_items if len(shown) else 0.0,
    )


def simulate_histories(ranker: LocalRanker, users: int, seed: int = 0) -> np.ndarray:
    """Items of simulated users, sorted, a row each."""
    rng = np.random.default_rng(seed)
    pool = np.argsort(-ranker.popularity, kind="stable")[:POOL]
    weight = np.maximum(ranker.popularity[pool], 0.0)
    weight = weight / weight.sum() if weight.any() else np.full(len(pool), 1 / len(pool))
    held = min(ITEMS_HELD, max(1, int((weight > 0).sum()) // 2))
    first = rng.choice(len(pool), users, p=weight)
    with np.errstate(divide="ignore"):
        keys = np.log(weight) + rng.gumbel(size=(users, len(pool)))
    place = np.full(ranker.n_items, -1)
    place[ranker.top_items] = np.arange(len(ranker.top_items))
    column, row = place[pool], place[pool[first]]
    tasted, with_taste = np.flatnonzero(column >= 0), np.flatnonzero(row >= 0)
    if len(tasted) and len(with_taste):
        scores = ranker.weights[row[with_taste]]
        spread = np.maximum(scores.std(axis=1, keepdims=True), 1e-12)
        keys[np.ix_(with_taste, tasted)] += (scores / spread)[:, column[tasted]]
    keys[np.arange(users), first] = np.inf
    chosen = np.argpartition(-keys, held - 1, axis=1)[:, :held]
    return np.sort(pool[chosen], axis=1)
