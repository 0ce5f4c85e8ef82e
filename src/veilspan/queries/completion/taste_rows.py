r"""The row rule of lists: what a user has, tilted by how she liked it, as a row of length 1.

    x_j = 1 + (r_j - own mean) / (high - low)    for every item j that she rated, 0 else,

scaled to length 1: that she has it counts most, and how she liked it tilts it by a half or so.
Twice the tilt, or none, made worse lists of MovieLens-1M. Without ratings (clicks, purchases:
``span=None``) x_j is 1 for what she has, an entry other than 0, and 0 else.

Exactness. On the grid of :class:`~veilspan.queries.completion.rating_rows.RatingRule` a rating less
the user's mean is a whole number s of steps, 2^16 of them to the range, so t = 2^16 + s is 2^16 x
in whole numbers, none negative. Their squares sum to less than 2^53: a user's s average to a half
at most and lie within a range of 2^16, so s^2 averages to 2^30 and t^2 to 5/4 of 2^32, and a bit,
over at most 2^20 items. So the length is that of the row alone, whatever is summed in which order,
and

    q = floor(Q t / |t|),    Q = ``UNIT_STEPS``,

is a row of whole numbers that depends on that row alone, bit for bit. Before the floor |q| is at
most Q up to a relative error of a few 2^-53, and |q|^2 is a whole number: |q|^2 <= Q^2 = 2^40.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block
from veilspan.queries.completion.integer_gram import IntegerRows
from veilspan.queries.completion.rating_rows import LEVELS, MOST_ITEMS, RatingRule, row_sums

#: Steps of the length 1 of a row.
UNIT_STEPS = 2**20


@dataclass(frozen=True)
class TasteRule:
    """From a user's row to her row of length 1, in whole steps of 1 / ``UNIT_STEPS``.

    Parameters
    ----------
    span : (float, float) or None
        Public lowest and highest rating; ``None`` where there are no ratings.
    """

    span: tuple[float, float] | None

    @row_map
    def take(self, block: Block) -> IntegerRows:
        """Rows q of whole numbers, none negative, of length at most ``UNIT_STEPS``."""
        starts, items, tilts = self._tilt(block)
        counts = np.diff(starts)
        lengths = np.sqrt(row_sums(tilts**2, starts))
        scale = UNIT_STEPS / np.maximum(lengths, 1.0)  # whoever has anything: 1 or longer
        whole = np.floor(tilts * np.repeat(scale, counts))
        return IntegerRows(starts, items, whole, int(block.x.shape[1]))

    def take_arrays(
        self, starts: np.ndarray, items: np.ndarray, values: np.ndarray, n_items: int
    ) -> IntegerRows:
        """The same for rows in CSR form, where a user's own history is."""
        from scipy import sparse

        shape = (len(starts) - 1, n_items)
        table = sparse.csr_array((values, items, starts), shape=shape)
        taken: IntegerRows = self.take(Block(table))
        return taken

    def _tilt(self, block: Block) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Starts, items and whole numbers t of a block's rows."""
        rule = RatingRule(*(self.span or (0.0, 1.0)), MOST_ITEMS, "user")
        if self.span is not None:
            kept = rule.keep(block)
            return kept.starts, kept.items, np.maximum(LEVELS + kept.steps, 0.0)
        if block.is_sparse:
            return block.x.indptr, block.x.indices, (block.x.data != 0).astype(np.float64)
        users, n_items = block.x.shape
        starts = np.arange(users + 1) * n_items
        return starts, np.tile(np.arange(n_items), users), (block.x != 0).ravel().astype(np.float64)
