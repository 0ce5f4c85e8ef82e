r"""How long the gradients of a linear model's rows are, with their sign: counts in public bins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.curator.query import RowQuery
from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block, row_dots
from veilspan.losses.linear import LinearLoss
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace, VectorSpace
from veilspan.queries.linear.slope_gradient import targets, unit_factors


@dataclass(frozen=True)
class Votes:
    """The bin that each row votes in."""

    bins: np.ndarray


class ResidualHistogram(RowQuery):
    r"""Counts of |x'| l'(<x', theta>, y), a row's gradient with its sign, in B bins.

    x' = x / max(1, |x|) is the row inside the unit ball, y is kept to the range of targets, theta
    is the point. For least squares this is the residual times the row's length: what a clip of
    gradients cuts. Bin b holds edges[b - 1] <= value < edges[b]; the first and the last are open.

    Sensitivity. A row has one vote. *add-remove*: 1. *replace-one*: sqrt(2), met by rows in
    different bins. Nothing is ever clipped.

    **Rounding.** A vote jumps where a value crosses an edge, so that values must have the same bits
    wherever a row stands: scores are taken row by row, not by a product of matrices, and rounding
    is part of the map from rows to bins.

    Parameters
    ----------
    loss : LinearLoss
        Of one score.
    edges : array of shape (B - 1,)
        Increasing.
    """

    bound = 1.0

    def __init__(self, loss: LinearLoss, edges: np.ndarray) -> None:
        self.loss = loss
        self.edges = np.asarray(edges, dtype=np.float64)
        if not (self.edges.ndim == 1 and self.edges.size and (np.diff(self.edges) > 0).all()):
            raise ValueError("edges must be a list of increasing numbers.")
        if loss.n_outputs != 1:
            raise ValueError("residuals are those of one score.")
        self.n_bins = self.edges.size + 1

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """Vectors of counts, one a bin."""
        return VectorSpace((self.n_bins,))

    def prepare(self, block: Block, point: Any) -> Votes:
        """The bin that each row votes in."""
        return Votes(self._bins(block, np.asarray(point, dtype=np.float64)))

    def norms(self, block: Votes, point: Any) -> np.ndarray:
        """One for every row: a vote."""
        return np.ones(block.bins.shape[0])

    def weighted_sum(self, block: Votes, weights: np.ndarray, point: Any) -> np.ndarray:
        """Weighted votes in each bin."""
        # Without votes bincount forgets that weights are fractions.
        return np.bincount(block.bins, weights, minlength=self.n_bins).astype(np.float64)

    def sensitivity(self, neighbors: Neighbors) -> float:
        """sqrt(2) or 1, see above."""
        return math.sqrt(2) if neighbors == "replace-one" else 1.0

    def row_floats(self, n_features: int, point: Any) -> int:
        """The row, its score, slope, length and bin."""
        return n_features + 8

    @row_map
    def _bins(self, block: Block, theta: np.ndarray) -> np.ndarray:
        factors, lengths = unit_factors(block)
        if block.is_sparse:  # entry after entry of each row
            products = np.asarray(block.x @ theta)
        else:
            products = row_dots(block.x, np.broadcast_to(theta, block.x.shape))
        slopes = self.loss.slope(products * factors, targets(self.loss, block))
        return np.searchsorted(self.edges, slopes * lengths, side="right")
