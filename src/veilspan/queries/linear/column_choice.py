"""Narrow tables to ask histograms of: some columns, the targets, the lengths of rows.

Each is a map of one row at a time at public numbers: neighbouring tables stay neighbouring, and it
costs nothing (:mod:`veilspan.curator.row_maps`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block


@dataclass(frozen=True, eq=False)
class ColumnChoice:
    """Rows with some of their columns.

    Parameters
    ----------
    columns : array of int
        Which, in increasing order.
    """

    columns: np.ndarray

    @row_map
    def __call__(self, block: Block) -> Block:
        """The chosen columns, dense or CSR as they came; targets stay."""
        return Block(block.x[:, self.columns], block.y)


class TargetColumn:
    """Rows whose only column is their target: what a histogram of targets is asked of."""

    @row_map
    def __call__(self, block: Block) -> Block:
        """The targets as a table of one column."""
        if block.y is None:
            raise ValueError("a range of targets needs targets.")
        return Block(np.asarray(block.y, dtype=np.float64)[:, None], block.y)


@dataclass(frozen=True)
class RowLengths:
    """Rows whose only column is the length that a map gives them.

    Parameters
    ----------
    row_map : callable
        A per-row map, from a block to a block.
    """

    row_map: Any

    @row_map
    def __call__(self, block: Block) -> Block:
        """The lengths of the mapped rows as a table of one column."""
        return Block(np.sqrt(self.row_map(block).squared_lengths)[:, None], block.y)
