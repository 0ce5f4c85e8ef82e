r"""What is left on average of a first fit's score where it is cut.

The last fit of classes sees the first one's score s as clip(s / r, -1, 1). A column that adds t to
s adds t to what is seen of rows with |s| < r, and nothing to that of others: on average k t, with

    k = cov(clip(s / r, -1, 1) r, s) / var(s),

the slope of the best line through the cut score. Curves of columns count a first fit with it. It is
taken over rows made up of released numbers, columns independent of each other
(:mod:`veilspan.solvers.linear.tables.made_up_rows`): post-processing, with public coins.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veilspan.queries.linear.table_features import TableFeatures
from veilspan.solvers.linear.base import LinearResult
from veilspan.solvers.linear.tables.made_up_rows import category_shares, made_up_rows

#: Rows that are made up, by public coins.
ROWS, SEED = 4_000, 4_712


def score_slope(row_map: Any, result: LinearResult) -> np.ndarray | None:
    """The slope k of each score; None without a first fit whose scores are cut.

    Parameters
    ----------
    row_map : TableFeatures or ResidualFeatures
        The map of rows.
    result : LinearResult
        Of the last fit: how frequent categories are is read off its released curvature; without one
        all of a column are as frequent.
    """
    if not isinstance(row_map, TableFeatures) or row_map.score_line is None:
        return None
    coins = np.random.default_rng(SEED)
    rows = made_up_rows(row_map, _shares(row_map, result), ROWS, coins)
    scores = row_map.score_line.scores(rows, np.asarray(row_map.score_theta))
    cut = np.clip(scores, -row_map.score_reach, row_map.score_reach)
    away = scores - scores.mean(axis=0)
    spread = np.sum(away**2, axis=0)
    kept = np.sum(away * (cut - cut.mean(axis=0)), axis=0)
    return np.asarray(np.where(spread > 0, kept / np.where(spread > 0, spread, 1.0), 1.0))


def _shares(features: TableFeatures, result: LinearResult) -> np.ndarray:
    if result.diagonal is not None:
        return category_shares(features, result.diagonal.value, result.diagonal.noise_std)
    owners = features.layout.flag_column
    return np.array([1.0 / np.sum(owners == owner) for owner in owners])
