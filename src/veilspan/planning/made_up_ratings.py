"""Made-up ratings and lists of what users have, for recommendations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.datasets import make_histories, make_ratings
from veilspan.planning.trials import Case

#: How far items and tastes differ, over how far single ratings scatter.
STRENGTHS = {"weak": 0.5, "medium": 1.0, "strong": 2.0}
#: Lists: how much more often the most popular item is had than the r-th, as a power of r.
POPULARITY = {"weak": 0.4, "medium": 0.8, "strong": 1.6}
#: Scatter of single ratings, in quarters of the range.
SCATTER = 0.5
#: Ratings of a user; the list of a user that is judged is as long as that of ``score``.
RATINGS, LIST = 20, 20


def check(case: Case) -> None:
    """Everything that fits can be judged."""


def _makes_lists(case: Case) -> bool:
    return getattr(case.estimator, "task", None) == "rank"


def say_measure(case: Case) -> str:
    """What is compared, in words."""
    if _makes_lists(case):
        return f"held-out items found in a list of {LIST}, beyond a list by lot"
    return "squared error of held-out ratings, below that of each user's own mean"


def say_strength(case: Case, strength: str) -> str:
    """What a strength means, in words."""
    if _makes_lists(case):
        return f"items are had in proportion to their rank to the power -{POPULARITY[strength]:g}"
    return f"items and tastes differ {STRENGTHS[strength]:g} times as much as ratings scatter"


@dataclass(frozen=True)
class RatingsTrial:
    """Ratings to fit, and held-out ones of the same users."""

    case: Case
    train: Any
    test: Any
    chance: float
    changes: dict[str, Any]

    def learn(self, epsilon: float, seed: int, share: float) -> float:
        """Explained part of held-out ratings, or hits of lists beyond chance."""
        model = self.case.make_model(epsilon, seed, share, **self.changes).fit(self.train)
        score = float(model.score(self.train, self.test))
        if _makes_lists(self.case):
            return (score - self.chance) / max(1 - self.chance, 1e-12)
        return 1 - score**2 / max(self.chance, 1e-300)


def make_trial(case: Case, strength: str, rows: int, seed: int) -> RatingsTrial:
    """Ratings of low rank with biases; or histories with popular items and tastes."""
    items, changes = case.n_features, _leave_schema(case)
    own: Any
    if _makes_lists(case):
        popular = POPULARITY[strength]
        own = make_histories(rows, items, popularity=popular, random_state=seed)
        return RatingsTrial(case, own.train, own.test, min(1.0, LIST / items), changes)
    bounds = changes.get("rating_range", case.estimator.rating_range)
    each = SCATTER * STRENGTHS[strength] / np.sqrt(2)
    own = make_ratings(
        rows,
        items,
        ratings_per_user=min(RATINGS, items),
        rating_range=(float(bounds[0]), float(bounds[1])),
        bias=each,
        taste=each,
        noise=SCATTER,
        random_state=seed,
    )
    return RatingsTrial(case, own.train, own.test, _error_of_means(own), changes)


def _leave_schema(case: Case) -> dict[str, Any]:
    """Parameters that stand for the schema: made-up ratings are a matrix."""
    if case.schema is None:
        return {}
    changes: dict[str, Any] = {"schema": None, "neighbors": case.schema.neighbors}
    rating = case.schema.column_of_role("rating")
    return changes if rating is None else {**changes, "rating_range": rating.range}


def _error_of_means(own: Any) -> float:
    """Mean squared error of held-out ratings by each user's own mean, or that of all."""
    train, test = own.train.tocsr(), own.test.tocsr()
    counts, sums = np.diff(train.indptr), np.asarray(train.sum(axis=1)).ravel()
    overall = float(train.data.mean()) if train.nnz else float(np.mean(own.rating_range))
    means = np.where(counts > 0, sums / np.maximum(counts, 1), overall)
    if not test.nnz:
        return 0.0
    users = np.repeat(np.arange(test.shape[0]), np.diff(test.indptr))
    return float(np.mean((test.data - means[users]) ** 2))
