r"""How the values of each column are distributed over public bins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.curator.query import RowQuery
from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace, VectorSpace


@dataclass(frozen=True)
class BinnedRows:
    """Cells (column, bin) that the rows vote in, and the row of each vote.

    A sparse row votes in the bin of zero in every column (``zero_cells``) and then takes its vote
    back (``away``) where its entry is stored.
    """

    n_rows: int
    cells: np.ndarray
    voters: np.ndarray
    zero_cells: np.ndarray | None = None
    away: np.ndarray | None = None


class ColumnHistograms(RowQuery):
    r"""Counts of each column's values in B bins, as a p x B matrix.

    The point is ``None`` or a public pair (center, scale) of p numbers each; binned is then
    (x - center) / scale, with the same edges for every column. Bin b holds
    edges[b - 1] <= value < edges[b]; the first and the last are open.

    Sensitivity. A row has one vote in each of p columns: a matrix of p ones, of norm sqrt(p).
    *add-remove*: sqrt(p). *replace-one*: two such matrices have a non-negative inner product, so
    sqrt(2 p), met by rows that agree on no bin. Nothing is ever clipped.

    Parameters
    ----------
    n_features : int
        p.
    edges : array of shape (B - 1,)
        Increasing.
    """

    def __init__(self, n_features: int, edges: np.ndarray) -> None:
        self.edges = np.asarray(edges, dtype=np.float64)
        if not (self.edges.ndim == 1 and self.edges.size and (np.diff(self.edges) > 0).all()):
            raise ValueError("edges must be a list of increasing numbers.")
        self.n_features = int(n_features)
        self.n_bins = self.edges.size + 1
        self.bound = math.sqrt(self.n_features)

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """Matrices of counts, columns by bins."""
        if n_features != self.n_features:
            raise ValueError(f"histograms of {self.n_features} columns, rows have {n_features}.")
        return VectorSpace((self.n_features, self.n_bins))

    def prepare(self, block: Block, point: Any) -> BinnedRows:
        """The bin of each entry."""
        columns = np.arange(self.n_features)
        if not block.is_sparse:
            cells = self._cells(block.x, columns, point)
            return BinnedRows(
                block.n_rows, cells, np.repeat(np.arange(block.n_rows), cells.shape[1])
            )
        x = block.x.copy()
        x.sum_duplicates()  # stored twice, an entry would vote twice
        zero_cells = self._cells(np.zeros(self.n_features), columns, point)
        cells = self._cells(x.data, x.indices, point)
        voters = np.repeat(np.arange(block.n_rows), np.diff(x.indptr))
        return BinnedRows(block.n_rows, cells, voters, zero_cells, zero_cells[x.indices])

    def norms(self, block: BinnedRows, point: Any) -> np.ndarray:
        """The square root of p for every row: one count in each column."""
        return np.full(block.n_rows, self.bound)

    def weighted_sum(self, block: BinnedRows, weights: np.ndarray, point: Any) -> np.ndarray:
        """Weighted votes in each cell."""
        size, votes = self.n_features * self.n_bins, weights[block.voters]
        # Without votes bincount forgets that weights are fractions.
        counts = np.bincount(block.cells.ravel(), votes, minlength=size).astype(np.float64)
        if block.zero_cells is not None and block.away is not None:
            counts[block.zero_cells] += weights.sum()
            counts -= np.bincount(block.away, votes, minlength=size)
        return counts.reshape(self.n_features, self.n_bins)

    def sensitivity(self, neighbors: Neighbors) -> float:
        """sqrt(2 p) or sqrt(p), see above."""
        return math.sqrt(2) * self.bound if neighbors == "replace-one" else self.bound

    def row_floats(self, n_features: int, point: Any) -> int:
        """Entry, cell, voter and vote."""
        return 5 * n_features

    @row_map
    def _cells(self, values: np.ndarray, columns: np.ndarray, point: Any) -> np.ndarray:
        if point is not None:
            center, scale = point
            values = (values - center[columns]) / scale[columns]
        return columns * self.n_bins + np.searchsorted(self.edges, values, side="right")
