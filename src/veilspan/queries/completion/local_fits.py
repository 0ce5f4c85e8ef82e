r"""A user's own fit: her level and her tastes, from her ratings and published item factors.

    (m, u) = argmin  sum_j (y_j - m - <u, v_j>)^2 + k m^2 + ridge |u|^2

over the items j that she rated, y being her ratings less the middle of the range and the item bias.
Both the predictor on her phone and the question of what a ridge is worth (``holdout_gains``) call
this one function, so that what is measured is what is used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veilspan.queries.completion.small_systems import solve_each

#: Penalty k on the distance of a user's level m from the middle of the range: a tenth of a rating.
LEVEL_RIDGE = 0.1


def fit_users(
    starts: np.ndarray,
    items: np.ndarray,
    target: np.ndarray,
    factors: np.ndarray,
    ridges: Sequence[float],
) -> list[np.ndarray]:
    """Level and tastes of every user, once for each ridge; each depends on her row alone.

    Normal equations of all users come from two sparse products, row by row, and each system is
    solved by itself (``small_systems``): a user's numbers are the same bits in every block.

    Parameters
    ----------
    starts, items, target : arrays
        y of all users in CSR form.
    factors : array of shape (n_items, r)
        V.
    ridges : sequence of float
        Penalties, each of which gets a fit of its own.

    Returns
    -------
    list of arrays of shape (users, 1 + r)
        (m, u), in the order of the ridges.
    """
    from scipy import sparse

    n_items = len(factors)
    design = with_level(factors)
    width = design.shape[1]
    shape = (len(starts) - 1, n_items)
    pairs = (design[:, :, None] * design[:, None, :]).reshape(n_items, -1)
    seen = sparse.csr_array((np.ones(len(items)), items, starts), shape=shape)
    left = np.asarray(seen @ pairs).reshape(-1, width, width)
    right = np.asarray(sparse.csr_array((target, items, starts), shape=shape) @ design)
    return [
        # None of the systems stops the others.
        solve_each(left + np.diag([LEVEL_RIDGE, *[ridge] * (width - 1)]), right, n_items)
        for ridge in ridges
    ]


def with_level(factors: np.ndarray) -> np.ndarray:
    """The columns of a local fit: one of ones, and the factors."""
    return np.column_stack([np.ones(len(factors)), factors])
