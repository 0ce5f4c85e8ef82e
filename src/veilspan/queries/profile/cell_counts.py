r"""How many people are in each public cell of each column: all histograms of a table at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.curator.query import RowQuery
from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace, VectorSpace
from veilspan.queries.profile.slots import share_weights, split_slots


@dataclass(frozen=True)
class Votes:
    """The cells that units vote in, and the weight of each vote."""

    cells: np.ndarray
    weights: np.ndarray


class CellCounts(RowQuery):
    r"""Counts of the cells of several columns and cross-tables, in one vector.

    A row holds a code for each of p columns; code j lies in 0 .. sizes[j] - 1 (anything else is
    moved to the nearest). A cross-table of columns a and b has the cells (code a, code b). So a row
    votes in q = p + (number of cross-tables) cells, once in each histogram. Units of several rows
    vote with the mean of their rows' votes (:mod:`veilspan.queries.profile.slots`).

    Sensitivity. A row's votes are q ones in different entries, of norm sqrt(q); a mean of such
    vectors is no longer. *add-remove*: sqrt(q), met by any row. *replace-one*: votes are never
    negative, so two contributions a, b have <a, b> >= 0 and |a - b|^2 <= |a|^2 + |b|^2 <= 2 q:
    sqrt(2 q), met by rows that agree in no cell. Nothing is ever clipped.

    Separate histograms would cost q answers. One joint answer costs its norm, sqrt(q): with noise
    of the same multiplier, and exactly as private, each cell has the noise that q separate Gaussian
    answers within the same budget would have, and far less than q Laplace ones.

    Parameters
    ----------
    sizes : sequence of int
        Cells of each column.
    crossed : sequence of pairs of int
        Places of the columns that are counted together.
    width : int, optional
        Numbers of an encoded row; the codes are the first p. By default p.
    slots : int
        Rows of one unit.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        crossed: Sequence[tuple[int, int]] = (),
        width: int | None = None,
        slots: int = 1,
    ) -> None:
        self.sizes = np.asarray(sizes, dtype=np.int64)
        if self.sizes.ndim != 1 or not len(self.sizes) or (self.sizes < 1).any():
            raise ValueError("sizes must be a list of whole numbers from 1 on.")
        self.first = np.array([a for a, _ in crossed], dtype=np.int64)
        self.second = np.array([b for _, b in crossed], dtype=np.int64)
        self.width = len(self.sizes) if width is None else int(width)
        self.slots = int(slots)
        all_sizes = np.concatenate([self.sizes, self.sizes[self.first] * self.sizes[self.second]])
        self.starts = np.concatenate([[0], np.cumsum(all_sizes)])
        self.votes = len(all_sizes)
        self.bound = math.sqrt(self.votes)

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """One vector of all counts."""
        if n_features != self.slots * self.width:
            raise ValueError(f"units of {self.slots} x {self.width}, rows have {n_features}.")
        return VectorSpace((int(self.starts[-1]),))

    @row_map
    def prepare(self, block: Block, point: Any) -> Votes:
        """The cell of each vote; one row of cells for each slot."""
        parts, taken = split_slots(block.dense(), self.slots)
        codes = np.rint(parts[:, :, : len(self.sizes)])
        codes = np.clip(codes, 0, self.sizes - 1).astype(np.int64)
        crossed = codes[:, :, self.first] * self.sizes[self.second] + codes[:, :, self.second]
        cells = np.concatenate([codes, crossed], axis=2) + self.starts[:-1]
        return Votes(cells, share_weights(taken))

    def norms(self, block: Votes, point: Any) -> np.ndarray:
        """The square root of q for one row; less for a unit whose rows vote in several cells."""
        taken = block.weights > 0
        rows = taken.sum(axis=1)
        together = (rows * self.votes).astype(np.float64)
        for s in range(1, self.slots):
            for t in range(s):
                both = taken[:, s] & taken[:, t]
                agree = (block.cells[:, s] == block.cells[:, t]).sum(axis=1)
                together += 2 * np.where(both, agree, 0)
        return np.sqrt(together) / np.maximum(rows, 1)

    def weighted_sum(self, block: Votes, weights: np.ndarray, point: Any) -> np.ndarray:
        """Weighted votes in each cell."""
        votes = block.weights * weights[:, None]
        spread = np.broadcast_to(votes[:, :, None], block.cells.shape)
        counts = np.bincount(
            block.cells.reshape(-1), spread.reshape(-1), minlength=int(self.starts[-1])
        )
        return counts.astype(np.float64)  # without rows bincount forgets that these are fractions

    def sensitivity(self, neighbors: Neighbors) -> float:
        """Sqrt(2 q) or sqrt(q), see above."""
        return math.sqrt(2) * self.bound if neighbors == "replace-one" else self.bound

    def row_floats(self, n_features: int, point: Any) -> int:
        """Numbers, codes, cells and votes."""
        return n_features + 4 * self.slots * self.votes
