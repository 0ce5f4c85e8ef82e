"""How much all users have of each item: the sum of their rows of length 1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from veilspan.curator.query import RowQuery
from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace, VectorSpace
from veilspan.queries.completion.integer_gram import IntegerRows
from veilspan.queries.completion.rating_moments import ROW_FLOATS
from veilspan.queries.completion.rating_rows import row_sums
from veilspan.queries.completion.taste_rows import UNIT_STEPS, TasteRule


class ItemPopularity(RowQuery):
    r"""Sum over users of x, the row of length 1 of what a user has and how she liked it.

    A row is q / Q with whole numbers q >= 0 and |q| <= Q = ``UNIT_STEPS``
    (:mod:`veilspan.queries.completion.taste_rows`), so sums of q are exact below 2^53, that is up
    to 2^33 users, and Q is a power of two: the sum has no rounding at all.

    Sensitivity. *add-remove*: |x| <= 1, met by any user who has something. *replace-one*: no entry
    is negative, so <x, x'> >= 0 and |x - x'|^2 = |x|^2 + |x'|^2 - 2 <x, x'> <= 2: sqrt(2), met by
    users without a common item.

    Parameters
    ----------
    rule : TasteRule
        What a row becomes.
    """

    bound = 1.0

    def __init__(self, rule: TasteRule) -> None:
        self.rule = rule

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """A number for each item."""
        return VectorSpace((n_features,))

    @row_map
    def prepare(self, block: Block, point: Any) -> IntegerRows:
        """Rows of length 1 in whole steps."""
        return self.rule.take(block)

    def norms(self, block: IntegerRows, point: Any) -> np.ndarray:
        """Lengths: never above 1, so that the curator's own clipping changes nothing."""
        return np.sqrt(row_sums(block.values**2, block.starts)) / UNIT_STEPS

    def weighted_sum(self, block: IntegerRows, weights: np.ndarray, point: Any) -> np.ndarray:
        """Add up what users have, item by item."""
        each = np.repeat(weights, np.diff(block.starts))
        total = np.bincount(block.items, block.values * each, minlength=block.n_items)
        return np.asarray(total / UNIT_STEPS)

    def sensitivity(self, neighbors: Neighbors) -> float:
        """Sqrt(2) or 1, see above."""
        return math.sqrt(2) if neighbors == "replace-one" else self.bound

    def row_floats(self, n_features: int, point: Any) -> int:
        """Blocks of a fixed number of rows: what is kept per row is sparse."""
        return ROW_FLOATS
