r"""How long rows are, and where they lie: counts and sums of rows in shells around a point."""

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
from veilspan.queries.moments import squared_norms


@dataclass(frozen=True)
class ShelledRows:
    """Rows minus the centre, the shell of each, and 1/h: alone and times the row's length."""

    x: Any
    shells: np.ndarray
    factors: np.ndarray
    shares: np.ndarray


class ShellSums(RowQuery):
    r"""Number and sum of the rows in each of B shells around a centre, as a B x (1 + D) matrix.

    The point is a public centre m, or ``None`` for the origin. Shell b holds the rows with
    edges[b - 1] <= |x - m| < edges[b]; the last one is open. A row in shell b of outer radius
    h = edges[b] contributes, in the shell's line alone,

        (1, (x - m) / h),

    and in the open shell, which has no outer radius, (1, (x - m) / max(|x - m|, last edge)). So one
    answer holds the lengths of rows *and* their mean: the sum over the shells that a reader wants,
    each line times its h. Its noise, s h in every shell, adds up to s h / sqrt(1 - q^2) where
    radii grow by factors of 1/q, little more than that of the longest alone: nobody has to know
    how long rows are before their mean is asked.

    Sensitivity. A contribution has norm sqrt(1 + |x - m|^2/h^2) <= sqrt(2). *add-remove*: sqrt(2),
    met by a row of length h. *replace-one*: rows of different shells are in different lines, so
    they move the answer by at most sqrt(2 + 2) = 2; in one shell the counts cancel, and
    |x - y| / h <= 2, met by y - m = -(x - m). So 2 either way, 2^(1/2) times the bound.

    Rounding. The shell of a row follows from its length, which has the same bits in every block
    (``squared_norms``), so that no row changes its shell when others come and go.

    Parameters
    ----------
    edges : array of shape (B - 1,)
        Positive, increasing.
    """

    bound = math.sqrt(2)

    def __init__(self, edges: np.ndarray) -> None:
        self.edges = np.asarray(edges, dtype=np.float64)
        if not (self.edges.ndim == 1 and self.edges.size and (np.diff(self.edges) > 0).all()):
            raise ValueError("edges must be a list of increasing numbers.")
        if not self.edges[0] > 0:
            raise ValueError("edges must be positive: they are lengths.")
        self.n_shells = self.edges.size + 1
        #: What the sums of each shell's line are to be multiplied by: the outer radius.
        self.radii = np.append(self.edges, self.edges[-1])

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """Matrices: a line for each shell, with the count first."""
        return VectorSpace((self.n_shells, 1 + n_features))

    def prepare(self, block: Block, point: Any) -> ShelledRows:
        """Rows minus the centre, and their shells; sparse rows stay so without a centre.

        Dense rows are stored by rows: one that is stored by columns is added up in another order
        where it is alone in its block, and its last bit may decide in which shell it is.
        """
        if point is None and block.is_sparse:
            x = block.x
        else:
            dense = block.dense()
            x = np.ascontiguousarray(dense if point is None else dense - point)
        return ShelledRows(x, *self._place(np.sqrt(squared_norms(x))))

    def norms(self, block: ShelledRows, point: Any) -> np.ndarray:
        """Length of (1, (x - m) / h)."""
        return np.sqrt(1.0 + block.shares**2)

    def weighted_sum(self, block: ShelledRows, weights: np.ndarray, point: Any) -> np.ndarray:
        """Weighted counts and sums of each shell, by one product for the shells that are taken."""
        total = np.zeros((self.n_shells, 1 + block.x.shape[1]))
        total[:, 0] = np.bincount(block.shells, weights, minlength=self.n_shells)
        taken = np.flatnonzero(np.bincount(block.shells))
        votes = np.where(block.shells == taken[:, None], weights * block.factors, 0.0)
        total[taken, 1:] = np.asarray(block.x.T @ votes.T).T
        return total

    def sensitivity(self, neighbors: Neighbors) -> float:
        """Two, or sqrt(2), as the class derives."""
        return 2.0 if neighbors == "replace-one" else self.bound

    def row_floats(self, n_features: int, point: Any) -> int:
        """The row, centred, and its votes in a few shells."""
        return 2 * n_features + 24

    def least_block_rows(self, n_features: int, point: Any, sparse: bool) -> int:
        """Many: the answer is as large as a row for every shell."""
        return 4 * self.n_shells

    @row_map
    def _place(self, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Shell of each length, the factor 1/h, and the length times it."""
        shells = np.searchsorted(self.edges, lengths, side="right")
        outer = self.radii[shells]
        beyond = shells == self.edges.size
        if beyond.any():
            outer[beyond] = np.maximum(outer[beyond], lengths[beyond])
        factors = 1.0 / outer
        return shells, factors, lengths * factors
