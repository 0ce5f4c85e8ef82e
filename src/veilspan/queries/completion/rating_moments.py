"""Row queries over ratings: one row per user, one column per item, unrated items not stored.

Every query starts from the same row rule (see ``queries.completion.rating_rows``): clip to the
public range, keep at most xi ratings, subtract the user's own mean.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from veilspan._scales import check_derived_scale
from veilspan.curator.query import BLOCK_BYTES, RowQuery
from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace, ProductSpace, SymmetricSpace, VectorSpace
from veilspan.queries.completion.integer_gram import IntegerRows, integer_gram
from veilspan.queries.completion.rating_rows import (
    LEVELS,
    KeptRatings,
    RatingRule,
    row_sums,
)

#: Steps of the clipping norm in :class:`RatingCovariance`.
NORM_STEPS = 2**10
#: Rows per block: enough for the matrix product, few enough for the cache.
ROWS_PER_BLOCK = 4096
# The curator derives the length of blocks from the numbers kept per row; here rows are sparse, and
# adding up the answers costs as much per block as many rows do.
ROW_FLOATS = max(1, BLOCK_BYTES // (8 * ROWS_PER_BLOCK))


class ItemStatistics(RowQuery):
    r"""Per item, the sum and the number of centred ratings: two vectors in one release.

    A user contributes (y, w k): her kept, centred ratings y, scaled down to norm C, and the 0/1
    vector k of what she rated, at most xi ones, with the public weight w = C sqrt(h / xi). Counts
    only say how far to trust the sums, so they get the share h / (1 + h) of the squared norm, which
    is at most (1 + h) C^2: a quarter for h = 1/3, less where counts are known from before.

    Sensitivity. *add-remove*: sqrt(1 + h) C, met by a row of xi ratings and norm C. *replace-one*:
    two 0/1 vectors have no negative product, so |k - k'|^2 <= 2 xi, and 2 xi - 2 if they share an
    item. If they do not, y and y' are orthogonal and |y - y'|^2 <= 2 C^2; if they do, it is at most
    4 C^2. Hence, as h <= 1,

        |(y, w k) - (y', w k')|^2 <= max(2 + 2 h, 4 + (2 - 2/xi) h) C^2 = (4 + (2 - 2/xi) h) C^2,

    met by two users who share one item, with opposite ratings of norm C there. (The triangle
    inequality alone would give 4 (1 + h) C^2.)

    Parameters
    ----------
    rule : RatingRule
        What is kept of a row.
    row_norm : float
        C, in units of ratings.
    count_part : float
        h, in (0, 1].
    """

    def __init__(self, rule: RatingRule, row_norm: float, count_part: float = 1 / 3) -> None:
        if not 0 < count_part <= 1:
            raise ValueError(f"count_part must lie in (0, 1]; got {count_part}.")
        self.rule = rule
        self.row_norm = check_derived_scale(row_norm, "row_norm")
        self.count_part = count_part
        self.count_weight = self.row_norm * math.sqrt(count_part / rule.max_ratings)
        self.bound = math.sqrt(1 + count_part) * self.row_norm

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """A vector of sums and one of counts; the weight makes counts the smaller part."""
        vector = VectorSpace((n_features,))
        return ProductSpace((vector, vector), (1.0, self.count_weight))

    @row_map
    def prepare(self, block: Block, point: Any) -> Any:
        """Centred ratings, scaled to norm C."""
        kept = self.rule.keep(block)
        length = np.sqrt(row_sums(kept.steps**2, kept.starts)) * self.rule.step
        scale = self.rule.step * (self.row_norm / np.maximum(length, self.row_norm))
        return kept, kept.steps * np.repeat(scale, kept.counts)

    def norms(self, block: Any, point: Any) -> np.ndarray:
        """Length of sums and weighted counts together."""
        kept, ratings = block
        return np.sqrt(row_sums(ratings**2, kept.starts) + self.count_weight**2 * kept.counts)

    def weighted_sum(self, block: Any, weights: np.ndarray, point: Any) -> Any:
        """Add up ratings and ones, item by item."""
        kept, ratings = block
        each = np.repeat(weights, kept.counts)
        sums = np.bincount(kept.items, ratings * each, minlength=kept.n_items)
        return sums, np.bincount(kept.items, each, minlength=kept.n_items)

    def sensitivity(self, neighbors: Neighbors) -> float:
        """Sqrt(4 + (2 - 2/xi) h) C or sqrt(1 + h) C, see above."""
        if neighbors == "replace-one":
            apart = 2 - 2 / self.rule.max_ratings
            return math.sqrt(4 + apart * self.count_part) * self.row_norm
        return self.bound

    def row_floats(self, n_features: int, point: Any) -> int:
        """Blocks of a fixed number of rows: what is kept per row is sparse."""
        return ROW_FLOATS


class RatingCovariance(RowQuery):
    r"""Sum of e e^T over users, e the centred ratings minus a public item bias (the point).

    e is 0 where the user did not rate; it is scaled down to norm C and rounded towards zero.

    Exactness. With Q = ``NORM_STEPS``, a row is e = (C/Q) q with whole numbers q, and rounding
    towards zero keeps |q|^2 <= Q^2: before rounding |q| is at most Q up to a relative error of a
    few 2^-53, and |q|^2 is a whole number. The sum of q q^T over a block is then computed exactly,
    in whole numbers, whichever way is fastest (see ``queries.completion.integer_gram``), so float32
    products add no rounding error that the proof would have to pay for. A typical entry is a
    hundred steps or more, so that rounding costs no accuracy.

    Sensitivity. *add-remove*: C^2, met by any row of norm C. *replace-one*: for |e|, |f| <= C,
    |e e^T - f f^T|_F^2 = |e|^4 + |f|^4 - 2 (e.f)^2 <= 2 C^4, so sqrt(2) C^2, met by users of norm
    C without a common item.

    Parameters
    ----------
    rule : RatingRule
        What is kept of a row.
    row_norm : float
        C, in units of ratings.
    """

    def __init__(self, rule: RatingRule, row_norm: float) -> None:
        self.rule = rule
        self.row_norm = check_derived_scale(row_norm, "row_norm")
        self.bound = self.row_norm**2

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """Symmetric matrices of items by items."""
        return SymmetricSpace(n_features)

    @row_map
    def prepare(self, block: Block, point: Any) -> IntegerRows:
        """Subtract the bias, scale to norm C, and round to whole numbers q towards zero."""
        kept = self.rule.keep(block)
        return self._scale(kept, kept.steps if point is None else self._without(point, kept))

    def _without(self, bias: Any, kept: KeptRatings) -> np.ndarray:
        """Ratings less a bias, in whole steps."""
        steps = np.rint(np.asarray(bias, dtype=np.float64) / self.rule.step)
        return np.asarray(kept.steps - np.clip(steps, -LEVELS, LEVELS)[kept.items])

    def _scale(self, kept: KeptRatings, steps: np.ndarray) -> IntegerRows:
        """Rows of norm C at most, in whole numbers q."""
        length = np.sqrt(row_sums(steps**2, kept.starts))
        scale = NORM_STEPS / np.maximum(length, self.row_norm / self.rule.step)
        whole = np.trunc(steps * np.repeat(scale, kept.counts))
        return IntegerRows(kept.starts, kept.items, whole, kept.n_items)

    def norms(self, block: IntegerRows, point: Any) -> np.ndarray:
        """C^2 |q|^2 / Q^2: never above C^2, so that the curator's own clipping changes nothing."""
        return self.bound * (row_sums(block.values**2, block.starts) / NORM_STEPS**2)

    def weighted_sum(self, block: IntegerRows, weights: np.ndarray, point: Any) -> np.ndarray:
        """(C/Q)^2 times the sum of q q^T."""
        if not (weights == 1.0).all():
            dense = np.sqrt(weights)[:, None] * block.dense()
            return (dense.T @ dense) * (self.bound / NORM_STEPS**2)
        total = integer_gram(block)
        total *= self.bound / NORM_STEPS**2
        return total

    def sensitivity(self, neighbors: Neighbors) -> float:
        """Sqrt(2) C^2 or C^2, see above."""
        return math.sqrt(2) * self.bound if neighbors == "replace-one" else self.bound

    def row_floats(self, n_features: int, point: Any) -> int:
        """Blocks of a fixed number of rows: adding up the answers costs n^2 a block."""
        return ROW_FLOATS


class SomeItemsCovariance(RatingCovariance):
    r"""The same sum over some of the items: the point is (bias, their numbers), both public.

    Entries of e of all other items are left out before e is scaled down to norm C; what is left is
    a row like any other, of fewer items.

    Sensitivity, as of :class:`RatingCovariance`. *add-remove*: |e e^T|_F = |e|^2 <= C^2, met by any
    user whose row has norm C on these items. *replace-one*: |e e^T - f f^T|_F^2 = |e|^4 + |f|^4 -
    2 (e.f)^2 <= 2 C^4, so sqrt(2) C^2, met by two such users without a common item.

    Parameters
    ----------
    rule : RatingRule
        What is kept of a row.
    row_norm : float
        C, in units of ratings.
    """

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """Symmetric matrices of the chosen items by themselves."""
        return SymmetricSpace(len(point[1]))

    @row_map
    def prepare(self, block: Block, point: Any) -> IntegerRows:
        """Subtract the bias, leave out other items, scale to norm C and round towards zero."""
        bias, items = point
        kept = self.rule.keep(block)
        steps = self._without(bias, kept)
        place = np.full(kept.n_items, -1)
        place[items] = np.arange(len(items))
        inside = place[kept.items] >= 0
        starts = np.concatenate([[0], np.cumsum(inside)])[kept.starts]
        steps = steps[inside]
        some = KeptRatings(starts, place[kept.items[inside]], steps, len(items))
        return self._scale(some, steps)
