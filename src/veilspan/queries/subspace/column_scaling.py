"""Columns moved and scaled by public or released numbers, one row at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block


@dataclass(frozen=True, eq=False)
class ColumnScaling:
    """Rows (x - middle) * factor, entry by entry: neighbouring tables stay neighbouring.

    Parameters
    ----------
    middle, factor : array of shape (D,)
        What is subtracted from each column, and what it is then multiplied by; 0 leaves it out.
    """

    middle: np.ndarray
    factor: np.ndarray

    @row_map
    def __call__(self, block: Block) -> Block:
        """The scaled rows, dense; targets stay."""
        return Block((block.dense() - self.middle) * self.factor, block.y)
