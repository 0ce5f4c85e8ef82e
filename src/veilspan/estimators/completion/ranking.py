"""What ``MatrixCompletion(task="rank")`` does otherwise: its problem, what it keeps, its lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from veilspan.estimators.completion.local_ranker import LocalRanker
from veilspan.privacy.budget import Budget
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.completion.rating_rows import MOST_ITEMS
from veilspan.queries.completion.taste_gram import MOST_WIDTH
from veilspan.solvers.base import Prepared
from veilspan.solvers.completion.ranking import RankingCompletion, RankingProblem, RankingResult

TASKS = ("rate", "rank")
#: Length of the lists that ``score`` looks at.
SCORED = 20
#: Parameters that mean nothing for lists, and what they are when nobody sets them.
OF_RATINGS = {"max_ratings_per_user": 80, "n_components": None, "center": "user"}


def ranks(estimator: Any) -> bool:
    """Whether lists are wanted, not ratings; anything else than the two is refused."""
    if estimator.task not in TASKS:
        raise ValueError(f'task must be "rate" or "rank"; got {estimator.task!r}.')
    return bool(estimator.task == "rank")


def prepare_ranking(
    estimator: Any,
    span: tuple[float, float] | None,
    budget: Budget,
    neighbors: Neighbors,
    n_rows: int | None,
    n_features: int,
) -> Prepared[RankingProblem, RankingResult]:
    """Check the parameters of lists, and plan their releases."""
    for name, usual in OF_RATINGS.items():
        if getattr(estimator, name) != usual:
            raise ValueError(
                f'{name} is for ratings: with task="rank" leave it out (all that a user has '
                "counts, at the length of one row)."
            )
    if n_features > MOST_ITEMS:
        raise ValueError(f"at most {MOST_ITEMS:,} items are supported; got {n_features:,}.")
    solver = estimator.solver
    if isinstance(solver, str) and solver == "auto":
        solver = RankingCompletion()
    if not isinstance(solver, RankingCompletion):
        raise ValueError('with task="rank" the solver is "auto" or a RankingCompletion(...).')
    return solver.prepare(RankingProblem(n_rows, n_features, span), budget, neighbors)


def keep_ranking(estimator: Any, result: RankingResult) -> None:
    """Set the fitted attributes of lists."""
    estimator.popularity_ = result.popularity
    estimator.popularity_noise_ = result.popularity_noise
    estimator.top_items_ = result.top_items
    estimator.direction_ = result.direction
    estimator.weights_ = result.weights


def ranking_shapes(estimator: Any, n_features: int) -> dict[str, tuple[int, ...]]:
    """Shapes of what a fit learns; a ``ValueError`` where a saved release does not fit them."""
    top = np.asarray(estimator.top_items_)
    if top.ndim != 1 or top.dtype.kind != "i" or len(top) > min(n_features, MOST_WIDTH):
        raise ValueError("top_items_ is no list of items")
    if len(top) and not 0 <= int(top.min()) <= int(top.max()) < n_features:
        raise ValueError("top_items_ names items that it does not have")
    if len(np.unique(top)) < len(top):
        raise ValueError("top_items_ names an item twice")
    if not estimator.popularity_noise_ >= 0:
        raise ValueError("popularity_noise_ is negative or not a number")
    width = len(top)
    return {
        "popularity_": (n_features,),
        "popularity_noise_": (),
        "top_items_": (width,),
        "direction_": (width,),
        "weights_": (width, width),
    }


def make_ranker(estimator: Any, span: tuple[float, float] | None) -> LocalRanker:
    """What users get of a fitted model, in the digits that its file holds."""

    def short(array: Any) -> np.ndarray:
        return np.asarray(array, dtype=np.float32).astype(np.float64)

    return LocalRanker(
        popularity=short(estimator.popularity_),
        top_items=np.asarray(estimator.top_items_, dtype=np.int64),
        direction=short(estimator.direction_),
        weights=short(estimator.weights_),
        item_ids=estimator.item_ids_,
        rating_range=span,
        privacy=estimator.privacy_.to_dict(),
    )


def recall_of(ranker: LocalRanker, own: Any, held_out: Any, k: int = SCORED) -> float:
    """Mean over users of hits in the first ``k`` / min(k, held out), without dense scores."""
    if own.shape != held_out.shape or own.shape[1] != ranker.n_items:
        raise ValueError(
            "what users have and what was held out must be tables with a row for each user and a "
            f"column for each of the model's {ranker.n_items:,} items."
        )
    if ranker.rating_range is None:  # without ratings a zero says that she does not have it
        own, held_out = (without_zeros(table) for table in (own, held_out))
    hits, counts = find_hits(ranker, own, held_out, min(k, ranker.n_items))
    return float(np.mean(hits.sum(axis=1) / np.minimum(counts, hits.shape[1])))


def without_zeros(table: Any) -> Any:
    """A copy of a sparse table without entries that are stored and zero."""
    table = table.copy()
    table.eliminate_zeros()
    return table


def find_hits(
    ranker: LocalRanker, own: Any, held_out: Any, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Which places of users' lists hold what was held out, and how much that was; some was."""
    listed = ranker.list_rows(own.indptr, own.indices, own.data.astype(np.float64), k)
    counts = np.diff(held_out.indptr)
    if not counts.any():
        raise ValueError("there is no held-out item to compare with.")
    width = ranker.n_items
    users = np.repeat(np.arange(len(counts)), counts)
    kept = np.sort(users * width + held_out.indices)
    wanted = np.arange(len(counts))[:, None] * width + listed
    found = np.searchsorted(kept, wanted)
    hits = (kept[np.minimum(found, len(kept) - 1)] == wanted) & (listed >= 0)
    some = counts > 0
    return hits[some], counts[some]
