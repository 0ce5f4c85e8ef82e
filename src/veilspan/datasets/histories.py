"""What people have, generated with known tastes: who has what depends on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

_USERS_AT_ONCE = 2048


@dataclass(frozen=True, eq=False)
class Histories:
    """Users x items of what users have, a part of it held out.

    Attributes
    ----------
    train, test : CSR arrays of shape (n_users, n_items)
        What is learned from, and what a list should find. Entries are ratings.
    item_factors : array of shape (n_items, n_components)
        True factors of the items.
    rating_range : (float, float)
        Lowest and highest rating.
    """

    train: Any
    test: Any
    item_factors: np.ndarray
    rating_range: tuple[float, float]


def make_histories(
    n_users: int = 2000,
    n_items: int = 200,
    n_components: int = 4,
    *,
    items_per_user: float = 20.0,
    popularity: float = 0.8,
    taste: float = 1.2,
    test_share: float = 0.2,
    random_state: int | None = 0,
) -> Histories:
    r"""Draw for every user items without return, item j in proportion to p_j exp(taste <u, v_j>).

    A rating is 3 + 1 times the user's standardised taste for the item and noise, from 1 to 5.

    Parameters
    ----------
    n_users, n_items, n_components : int
        Size of the table and number of tastes.
    items_per_user : float
        Mean number of items that a user has; they are spread as e^N(0, 1/2).
    popularity : float
        p_j is (rank of j)^-popularity; 0 makes all items alike.
    taste : float
        How strongly tastes decide; 0 leaves popularity alone.
    test_share : float
        Share of a user's items that is held out.
    random_state : int or None
        Seed.

    Examples
    --------
    >>> data = make_histories(100, 30, items_per_user=5)
    >>> data.train.shape
    (100, 30)
    """
    if not 0 <= test_share < 1:
        raise ValueError(f"test_share must lie in [0, 1); got {test_share}.")
    rng = np.random.default_rng(random_state)
    factors = rng.standard_normal((n_items, n_components))
    level = -popularity * np.log(rng.permutation(n_items) + 1.0)
    spread = np.exp(rng.normal(-0.25, np.sqrt(0.5), n_users))
    counts = np.clip(np.rint(items_per_user * spread), 1, n_items).astype(np.int64)
    parts = []
    for first in range(0, n_users, _USERS_AT_ONCE):
        size = min(_USERS_AT_ONCE, n_users - first)
        wanted = rng.standard_normal((size, n_components)) @ factors.T / np.sqrt(n_components)
        order = np.argsort(-(level + taste * wanted + rng.gumbel(size=wanted.shape)), axis=1)
        own = np.arange(n_items) < counts[first : first + size, None]
        user = np.nonzero(own)[0]
        item = order[own]
        rating = 3 + wanted[user, item] + 0.5 * rng.standard_normal(len(item))
        parts.append((user + first, item, np.clip(np.rint(rating), 1, 5)))
    user, item, rating = map(np.concatenate, zip(*parts))
    held = rng.random(len(user)) < test_share
    train, test = (
        _store(user[half], item[half], rating[half], (n_users, n_items)) for half in (~held, held)
    )
    return Histories(train, test, factors, (1.0, 5.0))


def _store(user: np.ndarray, item: np.ndarray, rating: np.ndarray, shape: tuple[int, int]) -> Any:
    from scipy import sparse

    order = np.lexsort((item, user))
    starts = np.concatenate([[0], np.cumsum(np.bincount(user, minlength=shape[0]))])
    table = sparse.csr_array((rating[order], item[order], starts), shape=shape)
    table.has_canonical_format = True
    return table
