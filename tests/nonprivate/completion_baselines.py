"""Matrix completion without privacy: the twins that private solvers are compared with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

#: Rows of a table whose normal equations are solved together; memory grows with it, results do not.
ROWS_AT_ONCE = 16_384


@dataclass(frozen=True)
class CompletionFit:
    """Predictions mean_i + bias_j + <u_i, v_j>, learned without privacy.

    Attributes
    ----------
    user_means : array of shape (m,)
        Mean of each user's ratings; the mean of all ratings for users without any.
    item_bias : array of shape (n,)
        Mean deviation of an item's ratings from its users' means, shrunken.
    user_factors : array of shape (m, r)
        u, one row per user.
    item_factors : array of shape (n, r)
        v, one row per item.
    """

    user_means: np.ndarray
    item_bias: np.ndarray
    user_factors: np.ndarray
    item_factors: np.ndarray

    def at(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """Predictions for pairs of users and items."""
        inner = np.einsum("kr,kr->k", self.user_factors[users], self.item_factors[items])
        return np.asarray(self.user_means[users] + self.item_bias[items] + inner)


def user_mean_fit(ratings: Any) -> CompletionFit:
    """Predict every user's own mean; not private."""
    table = _table(ratings)
    return CompletionFit(
        _user_means(table),
        np.zeros(table.shape[1]),
        np.zeros((table.shape[0], 0)),
        np.zeros((table.shape[1], 0)),
    )


def item_bias_fit(ratings: Any, *, shrinkage: float = 10.0) -> CompletionFit:
    r"""Predict own mean plus item bias :math:`b_j = S_j / (c_j + s)`; not private.

    Parameters
    ----------
    ratings : CSR matrix of shape (m, n)
        Stored entries are ratings.
    shrinkage : float
        s, in ratings: how many would say that a bias is zero.
    """
    table = _table(ratings)
    plain = user_mean_fit(table)
    centred = table.data - plain.user_means[_users(table)]
    sums = np.bincount(table.indices, centred, minlength=table.shape[1])
    counts = np.bincount(table.indices, minlength=table.shape[1])
    bias = sums / np.maximum(counts + shrinkage, 1e-300)
    return CompletionFit(plain.user_means, bias, plain.user_factors, plain.item_factors)


def als_fit(
    ratings: Any,
    n_components: int,
    *,
    ridge: float = 8.0,
    rounds: int = 10,
    shrinkage: float = 10.0,
    seed: int = 0,
) -> CompletionFit:
    r"""Alternating least squares on what means and biases leave; not private.

    Minimises :math:`\sum (y_{ij} - \langle u_i, v_j \rangle)^2 + \lambda (\sum |u_i|^2 + \sum
    |v_j|^2)` by exact solves for all users, then all items. The objective never rises.

    Parameters
    ----------
    ratings : CSR matrix of shape (m, n)
        Stored entries are ratings.
    n_components : int
        Number r of factors.
    ridge : float
        Penalty.
    rounds : int
        Pairs of solves.
    shrinkage : float
        Of the item bias.
    seed : int
        Of the random start.
    """
    table, fit = _residuals(ratings, shrinkage)
    flipped = sparse.csr_array(table.T)
    items = 0.1 * np.random.default_rng(seed).standard_normal((table.shape[1], n_components))
    users = ridge_rows(table, items, ridge)
    for _ in range(rounds):
        items = ridge_rows(flipped, users, ridge)
        users = ridge_rows(table, items, ridge)
    return CompletionFit(fit.user_means, fit.item_bias, users, items)


def frank_wolfe_fit(
    ratings: Any,
    nuclear_norm: float,
    *,
    rounds: int = 20,
    shrinkage: float | None = None,
) -> CompletionFit:
    r"""Frank-Wolfe over matrices of nuclear norm at most k, steps 2/(t + 1); not private.

    Minimises :math:`\frac12 \sum (y_{ij} - Y_{ij})^2` over the rated entries; each round adds the
    leading singular pair of the residual (Jaggi 2013: within :math:`2 C_f / (t + 2)` of the
    optimum after t rounds).

    Parameters
    ----------
    ratings : CSR matrix of shape (m, n)
        Stored entries are ratings.
    nuclear_norm : float
        k.
    rounds : int
        Rounds.
    shrinkage : float, optional
        Of the item bias; ``None`` for no item bias, as in Jain, Thakkar & Thakurta (2018).
    """
    table, fit = _residuals(ratings, np.inf if shrinkage is None else shrinkage)
    owners = _users(table)
    users, items = np.zeros((table.shape[0], 0)), np.zeros((table.shape[1], 0))
    fitted = np.zeros(len(table.data))
    start = np.random.default_rng(0).standard_normal(min(table.shape))
    smallest = 1e-12 * np.linalg.norm(table.data)
    for t in range(1, rounds + 1):
        residual = sparse.csr_array((table.data - fitted, table.indices, table.indptr), table.shape)
        if np.linalg.norm(residual.data) <= smallest:
            break  # a direction of rounding errors would lead away again
        left, _, right = svds(residual, k=1, v0=start)
        step = 2 / (t + 1)
        users = np.hstack([(1 - step) * users, step * nuclear_norm * left])
        items = np.hstack([items, right.T])
        fitted = (1 - step) * fitted
        fitted += step * nuclear_norm * left[owners, 0] * right[0, table.indices]
    return CompletionFit(fit.user_means, fit.item_bias, users, items)


def ridge_rows(table: Any, factors: np.ndarray, ridge: float) -> np.ndarray:
    """Ridge solution of every row of a CSR table on the factors of its stored columns."""
    size = factors.shape[1]
    squares = (factors[:, :, None] * factors[:, None, :]).reshape(len(factors), -1)
    solved = [np.zeros((0, size))]
    for part in _parts(table):
        pattern = sparse.csr_array((np.ones(len(part.data)), part.indices, part.indptr), part.shape)
        normal = (pattern @ squares).reshape(-1, size, size) + ridge * np.eye(size)
        solved.append(np.linalg.solve(normal, (part @ factors)[:, :, None])[:, :, 0])
    return np.concatenate(solved)


def _parts(table: Any) -> Iterator[Any]:
    for first in range(0, table.shape[0], ROWS_AT_ONCE):
        yield table[first : first + ROWS_AT_ONCE]


def _table(ratings: Any) -> Any:
    table = sparse.csr_array(ratings, dtype=np.float64)
    if not table.has_canonical_format:
        raise ValueError(
            "an item is stored twice in a row, or items are not in order: keep one rating "
            "for each pair, then call sum_duplicates() on the table, which sorts as well."
        )
    if len(table.data) == 0:
        raise ValueError("there is no rating: every stored entry of the table is one.")
    return table


def _users(table: Any) -> np.ndarray:
    return np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))


def _user_means(table: Any) -> np.ndarray:
    counts = np.diff(table.indptr)
    sums = np.bincount(_users(table), table.data, minlength=table.shape[0])
    return np.where(counts > 0, sums / np.maximum(counts, 1), table.data.mean())


def _residuals(ratings: Any, shrinkage: float) -> tuple[Any, CompletionFit]:
    """Ratings less means and biases, and the fit of those."""
    table = _table(ratings)
    fit = item_bias_fit(table, shrinkage=shrinkage)
    values = table.data - fit.at(_users(table), table.indices)
    return sparse.csr_array((values, table.indices, table.indptr), shape=table.shape), fit
