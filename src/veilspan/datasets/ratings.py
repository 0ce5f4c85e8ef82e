"""Simulated ratings with known truth: low rank, biases, noise, popular items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Ratings:
    """Ratings of users x items and what they were drawn from.

    Attributes
    ----------
    train, test : CSR array of shape (n_users, n_items)
        Observed and held-out ratings; every stored entry is a rating.
    truth : array of shape (n_users, n_items)
        Expected rating of every item by every user, clipped to the range.
    item_bias : array of shape (n_items,)
        Mean over users of how much better than the level an item is rated.
    item_factors : array of shape (n_items, n_components)
        Columns that span the users' tastes.
    rating_range : (float, float)
        Lowest and highest rating.
    """

    train: Any
    test: Any
    truth: np.ndarray
    item_bias: np.ndarray
    item_factors: np.ndarray
    rating_range: tuple[float, float]


def make_ratings(
    n_users: int = 2000,
    n_items: int = 50,
    n_components: int = 2,
    *,
    ratings_per_user: float = 20.0,
    rating_range: tuple[float, float] = (1.0, 5.0),
    bias: float = 0.4,
    taste: float = 0.6,
    level: float = 0.4,
    noise: float = 0.5,
    popularity: float = 0.5,
    test_share: float = 0.1,
    random_state: int | None = 0,
) -> Ratings:
    r"""Draw rating_ij = middle + level_i + bias_j + <u_i, v_j> + noise, clipped to the range.

    Parameters
    ----------
    n_users, n_items, n_components : int
        Size of the table and rank of the tastes.
    ratings_per_user : float
        Expected number of ratings per user (all items where it exceeds their number).
    rating_range : (float, float)
        Lowest and highest rating. The standard deviations below are in units of a quarter of it.
    bias, taste, level, noise : float
        Standard deviations of the item bias, of <u_i, v_j>, of the users' levels and of a rating
        around its expectation.
    popularity : float
        Item j is rated in proportion to (rank of j)^-popularity; 0 rates all items alike.
    test_share : float
        Share of the ratings that is held out.
    random_state : int or None
        Seed.

    Examples
    --------
    >>> data = make_ratings(100, 12, ratings_per_user=6)
    >>> data.train.shape
    (100, 12)
    """
    low, high = rating_range
    if not low < high:
        raise ValueError(f"rating_range must be increasing; got {low} and {high}.")
    if not 0 <= test_share < 1:
        raise ValueError(f"test_share must lie in [0, 1); got {test_share}.")
    rng = np.random.default_rng(random_state)
    unit = (high - low) / 4
    users = rng.standard_normal((n_users, n_components)) / np.sqrt(n_components)
    factors = taste * unit * rng.standard_normal((n_items, n_components))
    item_bias = bias * unit * rng.standard_normal(n_items)
    levels = (low + high) / 2 + level * unit * rng.standard_normal(n_users)
    expected = levels[:, None] + item_bias + users @ factors.T
    rated = rng.random((n_users, n_items)) < _rates(rng, n_items, ratings_per_user, popularity)
    ratings = np.clip(expected + noise * unit * rng.standard_normal(expected.shape), low, high)
    held = rated & (rng.random(rated.shape) < test_share)
    train, test = (_store(mask, ratings) for mask in (rated & ~held, held))
    return Ratings(train, test, np.clip(expected, low, high), item_bias, factors, (low, high))


def _rates(
    rng: np.random.Generator, n_items: int, per_user: float, popularity: float
) -> np.ndarray:
    """Probability that a user rates each item, summing to ``per_user`` where none exceeds 1."""
    weights = rng.permutation(np.arange(1, n_items + 1.0) ** -popularity)
    rates = np.zeros(n_items)
    for _ in range(20):  # what popular items cannot take goes to the others
        free = rates < 1
        left = min(per_user, n_items) - rates[~free].sum()
        if left <= 0 or not free.any():
            break
        rates[free] = np.minimum(1.0, weights[free] * left / weights[free].sum())
    return rates


def _store(mask: np.ndarray, ratings: np.ndarray) -> Any:
    from scipy import sparse

    starts = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
    return sparse.csr_array((ratings[mask], np.nonzero(mask)[1], starts), shape=mask.shape)
