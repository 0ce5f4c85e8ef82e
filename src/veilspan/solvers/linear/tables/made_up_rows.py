r"""Rows as the released answers have them: made up, one column at a time, at no cost.

A fit of curves knows where the numbers of each column lie (the released mass), and by a diagonal of
second moments how frequent each category is. Rows drawn from these, **columns independent of each
other**, are taken through the same map as the table's own. Their second moment S stands in for that
of the table, which is hidden by noise where it has many entries: it has the right correlations
within a column, and those by which all features hang together with the constant and with a first
fit's score. The released diagonal d then sets the sizes:

    M = D^(1/2) corr(S) D^(1/2),      D = d, or S where noise hides it.

What it does not know is which columns go together. Everything here is post-processing of answers,
and the coins are public.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from veilspan.queries.linear.table_features import TableFeatures
from veilspan.solvers.linear.tables.column_mass import ColumnMass
from veilspan.solvers.linear.tables.expected_length import GRID, see_numbers

#: Rows for each feature, and at least.
ROWS_PER_FEATURE, FEWEST_ROWS = 20, 2000
#: Coins are public: the same for everybody.
SEED = 4_711
#: How far the made-up diagonal is believed, relative to itself.
BELIEVED = 0.3
#: Stds of its noise below which an entry is taken for one less, and the part of a std that it is
#: taken to be at least: of categories that few rows or none have, bars should be long.
SURE, LEAST = 3.0, 0.05


def model_moment(
    features: TableFeatures,
    diagonal: np.ndarray,
    std: float,
    weigh: Callable[[np.ndarray, np.random.Generator], np.ndarray] | None = None,
) -> np.ndarray:
    """A stand-in for sum_i c_i x_i x_i^T over the mapped rows of the table.

    Parameters
    ----------
    features : TableFeatures
        The map of rows.
    diagonal, std : array of shape (p,), float
        Released diagonal of the sum, and the std of its noise.
    weigh : callable, optional
        From mapped rows and coins to c; by default 1.
    """
    coins = np.random.default_rng(SEED)
    count = max(FEWEST_ROWS, ROWS_PER_FEATURE * features.width)
    total, shares = _total_and_shares(features, diagonal, std)
    rows = features.rows_of(made_up_rows(features, shares, count, coins))
    weights = np.ones(count) if weigh is None else weigh(rows, coins)
    made = rows.T @ (rows * weights[:, None])
    made *= total / max(float(weights.sum()), 1e-300)
    own = np.diag(made)
    sizes = _blend(diagonal, std, own)
    flags = _flag_places(features)
    sizes[flags] = own[flags]  # their shares were read off the diagonal
    roots = np.sqrt(sizes / np.where(own > 0, own, 1.0))
    return np.asarray(roots[:, None] * made * roots)


def made_up_rows(
    features: TableFeatures, shares: np.ndarray, count: int, coins: np.random.Generator
) -> np.ndarray:
    """Encoded rows whose columns are independent, with the released masses and shares."""
    layout = features.layout
    rows = np.zeros((count, layout.width))
    weights = np.full((GRID, layout.n_numbers), 1.0 / GRID)
    if features.mass is not None and features.shown is not None and layout.n_numbers:
        weights = see_numbers(layout, ColumnMass(features.mass, features.shown)).weights
    for j in range(layout.n_numbers):
        below = np.cumsum(weights[:, j])
        t = np.searchsorted(below, coins.random(count) * below[-1]) / (GRID - 1.0)
        span = layout.high[j] - layout.low[j]
        rows[:, layout.numbers[j]] = layout.low[j] + np.minimum(t, 1.0) * span
    for owner in np.unique(layout.flag_column):
        own = np.flatnonzero(layout.flag_column == owner)
        likely = shares[own]
        if likely.sum() <= 1.0:  # one of them, or none
            drawn = np.searchsorted(np.cumsum(likely), coins.random(count), side="right")
            hit = np.flatnonzero(drawn < len(own))
            rows[hit, layout.flags[own[drawn[hit]]]] = 1.0
        else:  # several sets of one column, weekdays and months say
            rows[:, layout.flags[own]] = coins.random((count, len(own))) < likely
    return rows


def category_shares(features: TableFeatures, diagonal: np.ndarray, std: float) -> np.ndarray:
    """The share of rows that has each flag, by a released diagonal of second moments."""
    return _total_and_shares(features, diagonal, std)[1]


def _total_and_shares(
    features: TableFeatures, diagonal: np.ndarray, std: float
) -> tuple[float, np.ndarray]:
    """Sum of the weights c, and the share of rows that has each flag."""
    layout = features.layout
    votes = diagonal[_flag_places(features)]
    votes = np.maximum(np.where(votes < SURE * std, votes - std, votes), LEAST * std)
    votes = votes * features.row_norm**2
    if features.intercept > 0:
        total = float(diagonal[-1]) * (features.row_norm / features.intercept) ** 2
    else:
        total = float(diagonal.sum()) * features.row_norm**2 / layout.groups
    total = max(total, float(std), 1e-300)
    shares = np.clip(votes / total, 0.0, 1.0)
    for owner in np.unique(layout.flag_column):  # rounding and noise of a set that is complete
        own = layout.flag_column == owner
        if 1.0 < shares[own].sum() < 1.2:
            shares[own] /= shares[own].sum()
    return total, shares


def _flag_places(features: TableFeatures) -> slice:
    """Where the categories are among the features."""
    each = features.waves + features.bins + (features.line_weight > 0)
    first = features.layout.n_numbers * each
    return slice(first, first + features.layout.n_flags)


def _blend(diagonal: np.ndarray, std: float, made: np.ndarray) -> np.ndarray:
    """The released diagonal, drawn towards the made-up one as far as noise hides it."""
    doubt = (BELIEVED * made) ** 2
    share = doubt / np.maximum(doubt + std**2, 1e-300)
    return np.maximum(share * diagonal + (1.0 - share) * made, 1e-12 * made.max())
