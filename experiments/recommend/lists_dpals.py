r"""DPALS: Chien, Jain, Krichene, Rendle, Song, Thakurta & Zhang (2021), "Private alternating least
squares"; own implementation, for lists.

The loss is that of implicit feedback: sum over what was liked of (1 - u_i v_j)^2, plus WEIGHT times
the sum over all pairs of (u_i v_j)^2, plus ridges. A step solves every user's u_i from the items'
v_j, which needs no noise (she sees her own alone: joint privacy), cuts it to length 1, and solves
the items from noisy sums

    A_j = sum u_i u_i^T,   b_j = sum u_i   over users who liked j,     G = sum u_i u_i^T over all,

to which a user gives at most ``most`` items, the rarest of hers first by the noisy popularity (the
paper's adaptive sampling). Added to or removed from the users, one moves A by sqrt(most), b by
sqrt(most), G by 1. Noisy A_j + WEIGHT G are projected on the positive semidefinite matrices. As in
the paper rare items are left out: `WIDTH` first ones by the noisy popularity are learnt.

**In its favour.** The promise is for users added or removed, as the paper's, half of the noise of
the replaced users of all others here; and the best of `GRID` by the held-out likes is shown.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import sparse

WIDTH = 300  # items that are learnt, as of DP-EASE
POPULARITY = 0.1  # share of mu^2 for the popularity
SHARES = (0.45, 0.45, 0.1)  # of the rest, for A, b and G of a step
WEIGHT = 0.1  # of what was not liked
USER_RIDGE = 1.0
STEPS = 2
#: Components, most items of a user, ridge of the items.
GRID = tuple(product((4, 16), (10, 40), (1.0, 10.0, 100.0, 1e3, 1e4)))


def liked_rows(data):
    """What each user liked, as ones: the upper quarter of the range, without one everything."""
    rows = data.train.astype(np.float64)
    if data.rating_range is not None:
        low, high = data.rating_range
        rows.data = (rows.data >= low + 0.75 * (high - low)).astype(np.float64)
        rows.eliminate_zeros()
    else:
        rows.data[:] = 1.0
    return rows


def keep_rarest(rows, most):
    """At most so many items of each user, the last columns first: columns fall in popularity."""
    rows.sort_indices()
    place = np.arange(rows.nnz) - np.repeat(rows.indptr[1:], np.diff(rows.indptr))
    kept = place >= -most
    starts = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
    return sparse.csr_array((rows.data[kept], rows.indices[kept], starts), shape=rows.shape)


def squares(vectors):
    """Outer products of rows with themselves, each as one row."""
    return np.einsum("ia,ib->iab", vectors, vectors).reshape(len(vectors), -1)


def solve_users(rows, items):
    """Each user's vector given the items', of length at most 1."""
    size = items.shape[1]
    ridge = WEIGHT * items.T @ items + USER_RIDGE * np.eye(size)
    found = np.empty((rows.shape[0], size))
    for first in range(0, len(found), 4096):
        some = rows[first : first + 4096]
        left = (some @ squares(items)).reshape(-1, size, size) + ridge
        found[first : first + 4096] = np.linalg.solve(left, (some @ items)[..., None])[..., 0]
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1.0)


def symmetric(rng, count, size):
    """Normal noise for symmetric matrices, a deviation of 1 for each entry and its twin."""
    upper = np.triu(rng.standard_normal((count, size, size)))
    return upper + np.triu(upper, 1).transpose(0, 2, 1)


def solve_items(rows, users, mu, most, ridge, rng):
    """Items' vectors from noisy sums; ``mu`` is the Gaussian privacy of this step."""
    size, width = users.shape[1], rows.shape[1]
    first, second, third = (mu * np.sqrt(share) for share in SHARES)
    own = (rows.T @ squares(users)).reshape(width, size, size)
    own = own + np.sqrt(most) / first * symmetric(rng, width, size)
    right = rows.T @ users + np.sqrt(most) / second * rng.standard_normal((width, size))
    shared = users.T @ users + symmetric(rng, 1, size)[0] / third
    values, vectors = np.linalg.eigh(own + WEIGHT * shared)
    left = (vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1)
    return np.linalg.solve(left + ridge * np.eye(size), right[..., None])[..., 0]


def fit_items(rows, mu, size, most, ridge, rng):
    """Items' vectors after all steps, from a random start."""
    few = keep_rarest(rows, most)
    items = rng.standard_normal((rows.shape[1], size)) / np.sqrt(size)
    for _ in range(STEPS):
        users = solve_users(rows, items)
        items = solve_items(few, users, mu / np.sqrt(STEPS), most, ridge, rng)
    return items


@dataclass(frozen=True, eq=False)
class Factors:
    """Lists by the product of a user's vector, solved from her own likes, with the items'."""

    data: object
    popularity: np.ndarray
    top_items: np.ndarray
    items: np.ndarray

    @property
    def n_items(self):
        return len(self.popularity)

    def list_rows(self, starts, items, values, k):
        """Places of the ``k`` first items of each user's list, without those that she has."""
        shape = (len(starts) - 1, self.n_items)
        own = sparse.csr_array((values, items, starts), shape=shape)
        liked = liked_rows(type(self.data)("", own, own, self.data.rating_range))
        users = solve_users(liked[:, self.top_items], self.items)
        listed = np.full((shape[0], k), -1)
        for first in range(0, shape[0], 1024):
            seen = (own[first : first + 1024][:, self.top_items] != 0).toarray()
            scores = np.where(seen, -np.inf, users[first : first + 1024] @ self.items.T)
            places = np.argsort(-scores, axis=1, kind="stable")[:, :k]
            found = self.top_items[places]
            found[np.take_along_axis(scores, places, axis=1) == -np.inf] = -1
            listed[first : first + 1024, : found.shape[1]] = found
        return listed
