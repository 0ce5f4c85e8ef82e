"""How good predictions and recommendations are on held-out ratings.

Predictions and held-out ratings are users x items; held-out ratings are sparse, each stored entry
one rating, zeros included. Evaluating on people's held-out ratings is not private: it is for data
that is yours to look at.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def rmse(predictions: np.ndarray, held_out: Any) -> float:
    r"""Root mean squared error over the held-out ratings.

    Parameters
    ----------
    predictions : array of shape (n_users, n_items)
        Predicted ratings.
    held_out : sparse matrix of the same shape
        True ratings.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> rmse(np.full((2, 2), 3.0), csr_array([[4.0, 0], [0, 2.0]]))
    1.0
    """
    users, items, ratings = _entries(held_out, np.shape(predictions))
    if len(ratings) == 0:
        raise ValueError("there is no held-out rating to compare with.")
    errors = np.asarray(predictions)[users, items] - ratings
    return float(np.sqrt(np.mean(errors**2)))


def top_items(predictions: np.ndarray, k: int, seen: Any = None) -> np.ndarray:
    """Columns of the ``k`` highest predictions of each user, best first; ties by column number.

    Items stored in ``seen`` come last and are marked -1.
    """
    scores = np.array(predictions, dtype=np.float64)
    if not 1 <= k <= scores.shape[1]:
        raise ValueError(f"k must lie between 1 and {scores.shape[1]}; got {k}.")
    if seen is not None:
        users, items, _ = _entries(seen, scores.shape)
        scores[users, items] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    left = np.take_along_axis(scores, order, axis=1) > -np.inf
    return np.where(left, order, -1)


def recall_at_k(predictions: np.ndarray, held_out: Any, k: int, *, seen: Any = None) -> float:
    r"""Mean over users of |top k and relevant| / min(k, |relevant|).

    Parameters
    ----------
    predictions : array of shape (n_users, n_items)
        Scores; higher is better.
    held_out : sparse matrix
        Every stored entry is a relevant item. Filter it first (say, to four stars and more) if only
        liked items count. Users without any are left out.
    k : int
        Length of the lists.
    seen : sparse matrix, optional
        Items that are not recommended.
    """
    hits, relevant = _hits(predictions, held_out, k, seen)
    return float(np.mean(hits.sum(axis=1) / np.minimum(relevant, k)))


def ndcg_at_k(predictions: np.ndarray, held_out: Any, k: int, *, seen: Any = None) -> float:
    r"""Mean over users of DCG@k / ideal DCG@k with binary gains (Järvelin & Kekäläinen 2002).

    DCG@k = sum over hits at rank p = 1..k of 1 / log2(p + 1). Parameters as in
    :func:`recall_at_k`.
    """
    hits, relevant = _hits(predictions, held_out, k, seen)
    discount = 1 / np.log2(np.arange(2, k + 2))
    ideal = np.cumsum(discount)[np.minimum(relevant, k) - 1]
    return float(np.mean(hits @ discount / ideal))


def coverage(predictions: np.ndarray, k: int, *, seen: Any = None) -> float:
    """Share of the items that are in at least one user's top ``k``."""
    listed = top_items(predictions, k, seen)
    return len(np.unique(listed[listed >= 0])) / np.shape(predictions)[1]


def _hits(
    predictions: np.ndarray, held_out: Any, k: int, seen: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Whether each place of the lists holds a relevant item, for users who have one."""
    users, items, _ = _entries(held_out, np.shape(predictions))
    relevant = np.zeros(np.shape(predictions), dtype=bool)
    relevant[users, items] = True
    counts = relevant.sum(axis=1)
    if not counts.any():
        raise ValueError("there is no relevant item: held_out stores no entry.")
    listed = top_items(predictions, k, seen)
    hits = np.take_along_axis(relevant, np.maximum(listed, 0), axis=1) & (listed >= 0)
    return hits[counts > 0], counts[counts > 0]


def _entries(table: Any, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    from scipy import sparse

    if not sparse.issparse(table):
        raise TypeError("ratings must be a sparse matrix: each stored entry is a rating.")
    if table.shape != shape:
        raise ValueError(f"shapes differ: predictions {shape}, ratings {table.shape}.")
    entries = table.tocoo()
    return entries.row, entries.col, np.asarray(entries.data, dtype=np.float64)
