"""Differences of randomly paired rows, for methods that need no centre."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from veilspan.curator.rows import Block, Rows, as_float


class PairedRows(Rows):
    """Differences x_i - x_j over a random perfect matching of the rows (one left out if odd)."""

    def __init__(self, rows: Rows, coins: np.random.Generator) -> None:
        self._hold(rows._x, None)
        half = rows.n_rows // 2
        self.n_rows, self.is_sparse = half, False  # pairs, whose differences are dense
        order = coins.permutation(rows.n_rows)
        self._first, self._second = order[:half], order[half : 2 * half]
        if rows._present is not None:  # a pair takes part if both of its rows do
            self._present = rows._present[self._first] & rows._present[self._second]

    def blocks(self, rows_per_block: int) -> Iterator[Block]:
        """Yield differences as dense float64 blocks."""
        for start in range(0, self.n_rows, rows_per_block):
            part = slice(start, start + rows_per_block)
            first, second = (
                Block(as_float(self._x[index[part]])).dense()
                for index in (self._first, self._second)
            )
            present = None if self._present is None else self._present[part]
            yield Block(first - second, present=present)
