r"""How well linear models do on the rows: a few beside each other, or one by itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from veilspan.curator.query import RowQuery
from veilspan.curator.rows import Block, scores_of
from veilspan.losses.linear import LinearLoss
from veilspan.privacy.spaces import AnswerSpace, VectorSpace
from veilspan.queries.linear.slope_gradient import FEW, length_of, targets, unit_factors

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
        gains = np.column_stack(
            [self._gain(scores_of(block.x, theta, factors), y) for theta in point]
        )
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
        return np.clip((1.0 + margins(u, y) / WIDTH) / 2.0, 0.0, 1.0)


class ModelGain(RowQuery):
    r"""Sum over rows of g - 1/2, where g in [0, 1] is what theta gains on a row.

    Classes: 1 if the row is told right, 0 if wrong, with the steep ramp of :class:`CandidateGains`
    between. Numbers: 1 - min(1, (u - y)^2) for targets in [-1, 1], whatever loss the model
    minimises, so that models of different losses are compared by one measure. The sum over all rows
    is the number of right predictions (or what the squared errors leave) less half the number of
    rows, which is the same for every model.

    Sensitivity. |g - 1/2| <= 1/2. *add-remove*: 1/2, met by a row that is told right.
    *replace-one*: 1, met by one that is right and one that is wrong.

    Parameters
    ----------
    loss : LinearLoss
        What the model minimises; it says what targets are.
    """

    bound = 0.5

    def __init__(self, loss: LinearLoss) -> None:
        self.loss = loss

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """One number: a sum of gains."""
        return VectorSpace((1,))

    def prepare(self, block: Block, point: Any) -> np.ndarray:
        """Gains less a half, one for each row."""
        factors, _ = unit_factors(block)
        u, y = scores_of(block.x, point, factors), targets(self.loss, block)
        if self.loss.margin:
            return np.asarray(np.clip((1.0 + margins(u, y) / WIDTH) / 2.0, 0.0, 1.0) - 0.5)
        return np.asarray(0.5 - np.minimum(1.0, np.abs(u - y)) ** 2)

    def norms(self, block: np.ndarray, point: Any) -> np.ndarray:
        """Size of the gain less a half."""
        return np.abs(block)

    def weighted_sum(self, block: np.ndarray, weights: np.ndarray, point: Any) -> np.ndarray:
        """Weighted sum of the gains."""
        return np.array([weights @ block])

    def row_floats(self, n_features: int, point: Any) -> int:
        """The row, its scores and its gain."""
        return n_features + 4 + 6 * self.loss.n_outputs

    def roundoff(self, n_features: int, point: Any) -> float:
        """Rounding of the scores, times how steeply a gain depends on them."""
        steep = 1.0 / WIDTH if self.loss.margin else 2.0
        error = (1.5 * n_features + FEW) * (1.0 + steep * length_of(point))
        return error / self.bound


def gain_bound(count: int) -> float:
    """Largest length of K centred gains."""
    return math.sqrt((count**2 // 4) / count)


def margins(u: np.ndarray, y: np.ndarray) -> np.ndarray:
    """How far a row's score is on the right side: y u, or that of its class less the best other."""
    if u.ndim == 1:
        return np.asarray(y * u)
    rows = np.arange(len(u))
    own, others = u[rows, y], u.copy()
    others[rows, y] = -np.inf
    return np.asarray(own - others.max(axis=1))
