r"""Sufficient statistics of least squares: (X^T X, X^T y) as one answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.curator.query import RowQuery
from veilspan.curator.rows import Block
from veilspan.curator.weighted_gram import gram_block_rows, weighted_gram
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace, ProductSpace, SymmetricSpace, VectorSpace
from veilspan.queries.linear.slope_gradient import unit_factors


@dataclass(frozen=True)
class TargetedRows:
    """Rows, the factors that bring them into the unit ball, and targets in [-1, 1]."""

    x: Any
    factors: np.ndarray
    lengths: np.ndarray
    y: np.ndarray


class RegressionMoments(RowQuery):
    r"""Sums of x x^T and x y, in one release, over rows with |x| <= 1 and |y| <= 1.

    Longer rows are shortened to unit length and targets cut to [-1, 1] first, so the bounds below
    rest on nothing. The space is that of pairs (G, r) with |(G, r)|^2 = |G|_F^2 + 2 w^2 |r|^2: the
    symmetric matrix [[G, w r], [w r^T, .]] of the longer row (x, w y), its last corner (the sum of
    y^2, which least squares does not need) left out.

    Sensitivity. A row has |(x x^T, x y)|^2 = |x|^4 + 2 w^2 |x|^2 y^2 <= 1 + 2 w^2.

    *add-remove*: sqrt(1 + 2 w^2), met by |x| = |y| = 1. With the corner it would be 1 + w^2.

    *replace-one*: sqrt(2) (1 + w^2). Leaving a corner out shortens no difference, and whole
    matrices of rows a = (x, w y), b of squared length at most 1 + w^2 have
    |a a^T - b b^T|^2 = |a|^4 + |b|^4 - 2 <a, b>^2 <= 2 (1 + w^2)^2. Met, for w <= 1, by unit x, x'
    with <x, x'> = -w^2 and y = y' = 1: then <a, b> = 0 and the corner does not change. (For larger
    w it is not tight; the triangle inequality's 2 sqrt(1 + 2 w^2) is taken where it is less.)

    Sparse rows are multiplied as such where that is faster; the declared rounding covers both ways
    (see ``curator.weighted_gram``).

    **Weight.** Noise of std s has std s on the diagonal of G, s / sqrt(2) off it and
    s / (sqrt(2) w) on r. Where the normal equations G theta = r hold up to noise, its part in
    r - G theta has per-coordinate variance about s^2/2 (|theta|^2 + 1/w^2), and s is proportional
    to the sensitivity. Minimising over v = w^2, with t = |theta|:

        *replace-one*  (1 + v)^2 (t^2 + 1/v):  v = (sqrt(1 + 8 t^2) - 1) / (4 t^2),
        *add-remove*   (1 + 2 v) (t^2 + 1/v):  v = 1 / (sqrt(2) t).

    Parameters
    ----------
    weight : float
        w; see :func:`best_weight`.
    """

    def __init__(self, weight: float) -> None:
        if not (weight > 0 and math.isfinite(weight)):
            raise ValueError(f"weight must be positive and finite; got {weight}.")
        self.weight = float(weight)
        self.bound = math.sqrt(1 + 2 * self.weight**2)

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """Pairs of a symmetric matrix and a vector."""
        parts = SymmetricSpace(n_features), VectorSpace((n_features,))
        return ProductSpace(parts, (1.0, math.sqrt(2) * self.weight))

    def prepare(self, block: Block, point: Any) -> TargetedRows:
        """Rows of at most unit length, targets in [-1, 1]."""
        if block.y is None:
            raise ValueError("least squares needs targets.")
        factors, lengths = unit_factors(block)
        return TargetedRows(block.x, factors, lengths, np.clip(block.y, -1.0, 1.0))

    def norms(self, block: TargetedRows, point: Any) -> np.ndarray:
        """Root of |x|^4 + 2 w^2 |x|^2 y^2."""
        squares = block.lengths**2
        return np.sqrt(squares * (squares + 2 * self.weight**2 * block.y**2))

    def weighted_sum(
        self, block: TargetedRows, weights: np.ndarray, point: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """X^T diag(weights) X and X^T (weights y)."""
        roots = np.sqrt(weights) * block.factors
        targets = block.x.T @ (roots * np.sqrt(weights) * block.y)
        return weighted_gram(block.x, roots), np.asarray(targets)

    def sensitivity(self, neighbors: Neighbors) -> float:
        """The bound that the class derives for the relation."""
        if neighbors == "add-remove":
            return self.bound
        return min(math.sqrt(2) * (1 + self.weight**2), 2 * self.bound)

    def least_block_rows(self, n_features: int, point: Any, sparse: bool) -> int:
        """Many: the answer has columns^2 numbers."""
        return gram_block_rows(n_features, stays_sparse=sparse)


def best_weight(coefficient_norm: float, neighbors: Neighbors) -> float:
    """The weight of least noise for coefficients of this length (see :class:`RegressionMoments`).

    Half or twice the length costs at most 6 % in noise.
    """
    square = coefficient_norm**2
    if neighbors == "add-remove":
        return math.sqrt(1 / (math.sqrt(2) * coefficient_norm))
    return math.sqrt((math.sqrt(1 + 8 * square) - 1) / (4 * square))
