r"""How well each of a few linear models does on the rows, beside the others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from veilspan.curator.query import RowQuery
from veilspan.curator.rows import Block
from veilspan.losses.linear import LinearLoss
from veilspan.privacy.spaces import AnswerSpace, VectorSpace
from veilspan.queries.linear.slope_gradient import FEW, scores, targets, unit_factors

WIDTH = 0.01  # of the ramp between a wrong prediction and a right one, in scores
LARGEST_LOSS = 0.5  # from which a regression has gained nothing; (y - 0)^2 / 2 for |y| = 1


class CandidateGains(RowQuery):
    r"""Sum of each candidate's gain less the mean gain of all; the point holds the K thetas.

    A row's gain g_k lies in [0, 1]. Classes: 1 if theta_k is right, 0 if wrong, and a steep ramp
    between, (1 + m / 0.01) / 2 cut to [0, 1] for a margin m (y u, or the score of the row's class
    less the best other), because a jump would turn the rounding of a score into a whole vote.
    Numbers: 1 - min(1, loss / 0.5). Only differences choose among candidates, so a row
    contributes g - mean(g).

    Sensitivity. |g - mean(g)|^2 is convex in g, so largest at a corner of the cube: with j ones it
    is j (K - j) / K, at most floor(K^2 / 4) / K. *add-remove*: the root of that, met by a row that
    half of the candidates get right. *replace-one*: twice as much, met by g and 1 - g.

    Parameters
    ----------
    loss : LinearLoss
        What the candidates minimise.
    count : int
        K, at least 2.
    """

    def __init__(self, loss: LinearLoss, count: int) -> None:
        if count < 2:
            raise ValueError(f"a choice needs at least 2 candidates; got {count}.")
        self.loss = loss
        self.count = int(count)
        self.bound = gain_bound(self.count)

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """A vector with one number for each candidate."""
        return VectorSpace((self.count,))

    def prepare(self, block: Block, point: Any) -> np.ndarray:
        """Gains, less their mean, of shape (rows, K)."""
        factors, _ = unit_factors(block)
        y = targets(self.loss, block)
        gains = np.column_stack([self._gain(scores(block, factors, theta), y) for theta in point])
        return np.asarray(gains - gains.mean(axis=1, keepdims=True))

    def norms(self, block: np.ndarray, point: Any) -> np.ndarray:
        """Length of the centred gains."""
        return np.asarray(np.linalg.norm(block, axis=1))

    def weighted_sum(self, block: np.ndarray, weights: np.ndarray, point: Any) -> np.ndarray:
        """Weighted sum of the centred gains."""
        return np.asarray(weights @ block)

    def row_floats(self, n_features: int, point: Any) -> int:
        """The row, its scores and gains."""
        return n_features + 4 * self.count + 6 * self.loss.n_outputs

    def roundoff(self, n_features: int, point: Any) -> float:
        """Rounding of the scores, times how steeply a gain depends on them."""
        steep = 1.0 / WIDTH if self.loss.margin else math.sqrt(2 / LARGEST_LOSS)
        longest = max(float(np.linalg.norm(theta)) for theta in point)
        error = (1.5 * n_features + FEW) * (1.0 + steep * longest)
        return math.sqrt(self.count) * error / self.bound

    def _gain(self, u: np.ndarray, y: np.ndarray) -> np.ndarray:
        if not self.loss.margin:
            return 1.0 - np.minimum(1.0, self.loss.value(u, y) / LARGEST_LOSS)
        return np.clip((1.0 + _margin(u, y) / WIDTH) / 2.0, 0.0, 1.0)


def gain_bound(count: int) -> float:
    """Largest length of K centred gains."""
    return math.sqrt((count**2 // 4) / count)


def _margin(u: np.ndarray, y: np.ndarray) -> np.ndarray:
    if u.ndim == 1:
        return np.asarray(y * u)
    rows = np.arange(len(u))
    own, others = u[rows, y], u.copy()
    others[rows, y] = -np.inf
    return np.asarray(own - others.max(axis=1))
