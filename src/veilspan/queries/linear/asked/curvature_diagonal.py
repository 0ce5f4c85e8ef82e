r"""How much each feature bends the objective: the diagonal of its second derivative.

At theta the Hessian of a sum of losses is sum_i l''(u_i) x_i x_i^T, u_i = <x_i, theta>. Its
diagonal has p numbers, each a sum over all rows, and so stands far above the noise that hides the
p^2 of the matrix: what a row adds has the length of (x_1^2, ..., x_p^2), some 1 / sqrt(g) where the
row is g groups of features of equal length, and 1 for the matrix.

A clip C of gradients makes the loss a straight line where |x| |l'| > C: rows there bend nothing. A
count of them would jump; a row fades out between 0.9 C and 1.1 C instead, a continuous function of
its score, so that rounding cannot turn it on or off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan._scales import check_derived_scale
from veilspan.curator.query import RowQuery
from veilspan.curator.rows import Block, row_lengths, scores_of
from veilspan.curator.sparse_rows import sparse_squares
from veilspan.losses.linear import LinearLoss
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace, VectorSpace
from veilspan.queries.linear.slope_gradient import FEW, targets, unit_factors

#: Largest change of l'' / L with the score: of the logistic loss 4 / (6 sqrt(3)), of parabolas 0.
STEEP = {"logistic": 0.385, "weighted logistic": 0.385, "squared": 0.0}
#: Part of the clip over which rows fade out, to either side.
FADE = 0.1


@dataclass(frozen=True)
class BentRows:
    """Squares of the rows' entries, the lengths of these, and how much each row bends."""

    squares: Any
    lengths: np.ndarray
    bends: np.ndarray


class CurvatureDiagonal(RowQuery):
    r"""Sum of c_i (x'_1^2, ..., x'_p^2), each clipped to a bound B; theta is the point.

    x' = x / max(1, |x|) is the row inside the unit ball, L the largest curvature of the loss and

        c = l''(<x', theta>, y) / L  times  min(1, max(0, (1.1 C - |x'| |l'|) / 0.2 C))  in [0, 1].

    Sensitivity. No entry is negative, and |(x_1^2, ..., x_p^2)| <= |x|^2 <= 1, so B is at most 1.
    *add-remove*: B. *replace-one*: two such contributions a, b have a non-negative inner product,
    so |a - b|^2 <= |a|^2 + |b|^2: sqrt(2) B, met by rows along different axes.

    Parameters
    ----------
    loss : LinearLoss
        Of one score: logistic or squared.
    bound : float
        B.
    clip : float
        C; infinite where nothing is clipped.
    """

    def __init__(self, loss: LinearLoss, bound: float, clip: float = math.inf) -> None:
        if loss.name not in STEEP:
            raise ValueError(f"the curvature of the {loss.name} loss may jump with the score.")
        self.loss = loss
        self.bound = min(1.0, check_derived_scale(bound, "bound"))
        self.clip = clip if clip < loss.slope_bound else math.inf

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """Vectors with one entry a feature."""
        return VectorSpace((n_features,))

    def prepare(self, block: Block, point: Any) -> BentRows:
        """Squares of all rows' entries, and how much each row bends."""
        factors, lengths = unit_factors(block)
        y, u = targets(self.loss, block), scores_of(block.x, point, factors)
        bends = share_of_curvature(self.loss, u, y, lengths, self.clip)
        squares = _unit_squares(block, factors)
        if block.is_sparse:
            return BentRows(squares, np.sqrt(sparse_squares(squares)), bends)
        return BentRows(squares, row_lengths(squares), bends)

    def norms(self, block: BentRows, point: Any) -> np.ndarray:
        """C |(x'_1^2, ..., x'_p^2)| of each row."""
        return np.asarray(block.lengths * block.bends)

    def weighted_sum(self, block: BentRows, weights: np.ndarray, point: Any) -> np.ndarray:
        """Weighted sum of the squares."""
        return np.asarray(block.squares.T @ (weights * block.bends))

    def sensitivity(self, neighbors: Neighbors) -> float:
        """sqrt(2) B or B, see above."""
        return math.sqrt(2) * self.bound if neighbors == "replace-one" else self.bound

    def row_floats(self, n_features: int, point: Any) -> int:
        """The row, its squares, score, slope and curvature."""
        return 2 * n_features + 12

    def roundoff(self, n_features: int, point: Any) -> float:
        """Errors of the row's length, and of the score as far as c follows it."""
        length = float(np.linalg.norm(point))
        slope = self.loss.slope_bound
        if not math.isfinite(slope):  # a residual u - y, with |y| <= 1
            slope = self.loss.smoothness * (1.0 + length)
        fading = 1.0 / (2 * FADE * self.clip)  # 0 without a clip
        follows = STEEP[self.loss.name] + fading * self.loss.smoothness
        score = (1.5 * n_features + FEW) * length
        own = FEW + fading * (FEW + n_features) * slope
        return 2 * n_features + FEW + (own + follows * score) / self.bound


def _unit_squares(block: Block, factors: np.ndarray) -> Any:
    """Squares of the entries of rows in the unit ball: squares of others could overflow."""
    if not block.is_sparse:
        return np.square(block.x * factors[:, None])
    x = block.x
    data = np.square(x.data * np.repeat(factors, np.diff(x.indptr)))
    return type(x)((data, x.indices, x.indptr), shape=x.shape)


def share_of_curvature(
    loss: LinearLoss, u: np.ndarray, y: np.ndarray, lengths: np.ndarray, clip: float
) -> np.ndarray:
    """Share c of the loss's largest curvature that each row has at its score."""
    share = np.clip(loss.curvature(u, y) / loss.smoothness, 0.0, 1.0)
    if math.isinf(clip):
        return np.asarray(share)
    pull = np.abs(loss.slope(u, y)) * lengths
    return np.asarray(share * np.clip((1 + FADE - pull / clip) / (2 * FADE), 0.0, 1.0))
