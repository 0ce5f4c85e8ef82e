r"""What goes together beyond popularity: the second moment of users' rows without its direction.

Rows are those of :mod:`veilspan.queries.completion.taste_rows`, cut to the items T of a public
point. What all users have in common, popularity, was released before and is known: its direction
c is taken out of every row, and what is left is brought to length 1,

    y = (x_T - (x_T.c) c / |c|^2) / |...|,    contribution  y y^T.

A user who has nothing of T, or nothing but popularity (what is left is shorter than 2^-10 of the
row), contributes 0.

Exactness. Q q = x and c are whole numbers, |q| <= 2^20 and |c| <= 2^14, so a = q.c, |q_T|^2, |c|^2
and the entries |c|^2 q_j - a c_j are exact in float64 (below 2^49), in any order. The squared
length |c|^2 (|c|^2 |q_T|^2 - a^2) loses by cancellation 20 of 52 bits at most, where the row is not
left out. The row y is then scaled to S = ``GRAM_STEPS`` - sqrt(K) / 2 - 1 and rounded to whole
numbers, which moves it by sqrt(K) / 2 at most: its length stays below ``GRAM_STEPS``. All of this
is a function of the row alone, bit for bit, and the sum of products is exact
(:mod:`veilspan.queries.completion.integer_gram`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from veilspan.curator.query import BLOCK_BYTES, RowQuery
from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace, SymmetricSpace
from veilspan.queries.completion.integer_gram import dense_integer_gram
from veilspan.queries.completion.taste_rows import TasteRule

#: Steps of the length 1 of a row whose products are summed.
GRAM_STEPS = 2**10
#: Steps of the length 1 of the direction of popularity.
DIRECTION_STEPS = 2**14
#: Squared share of a row that popularity must leave: less is rounding, not taste.
LEAST_LEFT = 2.0**-20
#: More items are refused: what is left of rounding a row to whole steps must stay most of it.
MOST_WIDTH = 20_000
#: Rows per block: enough for the matrix product, few enough for their dense rows.
ROWS_PER_BLOCK = 2048


class TastePoint(NamedTuple):
    """Public: the items that take part, and the direction of popularity in whole steps."""

    items: np.ndarray
    direction: np.ndarray

    @classmethod
    def at(cls, items: np.ndarray, popularity: np.ndarray) -> TastePoint:
        """Items, and the direction of their (released) popularity, rounded towards zero."""
        length = float(np.linalg.norm(popularity))
        steps = np.trunc(popularity * (DIRECTION_STEPS / length)) if length > 0 else 0 * popularity
        return cls(np.asarray(items, dtype=np.int64), np.asarray(steps, dtype=np.float64))


class TasteGram(RowQuery):
    r"""Sum of y y^T over users, y the row of length 1 that popularity leaves of hers.

    Sensitivity. |y| <= 1. *add-remove*: |y y^T|_F = |y|^2 <= 1, met by any user of whom something
    is left. *replace-one*: |y y^T - z z^T|_F^2 = |y|^4 + |z|^4 - 2 (y.z)^2 <= 2: sqrt(2), met by
    users with orthogonal rows.

    Parameters
    ----------
    rule : TasteRule
        What a row becomes before popularity is taken out.
    """

    bound = 1.0

    def __init__(self, rule: TasteRule) -> None:
        self.rule = rule

    def space(self, n_features: int, point: TastePoint) -> AnswerSpace:
        """Symmetric matrices of the point's items."""
        return SymmetricSpace(len(point.items))

    @row_map
    def prepare(self, block: Block, point: TastePoint) -> np.ndarray:
        """Rows without popularity in whole steps of 1 / ``GRAM_STEPS``, dense, as float32."""
        rows, direction = self.rule.take(block), point.direction
        width, users = len(direction), rows.n_rows
        place = np.full(rows.n_items, -1)
        place[point.items] = np.arange(width)
        column = place[rows.items]
        inside = column >= 0
        column, values = column[inside], rows.values[inside]
        user = np.repeat(np.arange(users), np.diff(rows.starts))[inside]
        along = np.bincount(user, values * direction[column], minlength=users)
        squares = np.bincount(user, values**2, minlength=users)
        common = float(direction @ direction)
        left = common * squares - along**2
        steps = GRAM_STEPS - math.sqrt(width) / 2 - 1
        taste = (common * squares > 0) & (left > LEAST_LEFT * common * squares)
        scale = np.where(taste, steps / np.sqrt(common * np.where(taste, left, 1.0)), 0.0)
        dense = (0.0 - along * scale)[:, None] * direction  # no -0: bits are compared
        dense[user, column] += values * (common * scale)[user]
        return np.rint(dense, out=dense).astype(np.float32)

    def norms(self, block: np.ndarray, point: TastePoint) -> np.ndarray:
        """Squared lengths: never above 1, so that the curator's own clipping changes nothing."""
        squares = np.einsum("ij,ij->i", block, block)  # whole numbers below 2^24: exact
        return squares.astype(np.float64) / GRAM_STEPS**2

    def weighted_sum(self, block: np.ndarray, weights: np.ndarray, point: TastePoint) -> np.ndarray:
        """The sum of products, exact where weights are 0 and 1."""
        if not ((weights == 1.0) | (weights == 0.0)).all():
            dense = np.sqrt(weights)[:, None] * block.astype(np.float64)
            return np.asarray(dense.T @ dense) / GRAM_STEPS**2
        total = dense_integer_gram(block if weights.all() else block[weights == 1.0])
        total /= GRAM_STEPS**2
        return total

    def sensitivity(self, neighbors: Neighbors) -> float:
        """Sqrt(2) or 1, see above."""
        return math.sqrt(2) if neighbors == "replace-one" else self.bound

    def row_floats(self, n_features: int, point: TastePoint) -> int:
        """Blocks of a fixed number of rows: adding up the answers costs K^2 a block."""
        return max(1, BLOCK_BYTES // (8 * ROWS_PER_BLOCK))
