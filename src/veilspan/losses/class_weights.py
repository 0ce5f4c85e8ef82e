"""``ClassWeighted``: a loss times a public weight for each class, such as balanced weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veilspan.losses.linear import LinearLoss


@dataclass(frozen=True)
class ClassWeighted:
    """w_y l(u, y): weights fixed in advance, one for each class, scale a row's loss and slope.

    A row's gradient is clipped like any other, so the weights change what is minimised and no
    sensitivity. Slope bound and smoothness grow by the largest weight, and defaults with them.

    Parameters
    ----------
    loss : LinearLoss
        A margin loss.
    weights : tuple of float
        In the order of the classes; the lower class of two is y = -1.
    """

    loss: LinearLoss
    weights: tuple[float, ...]

    margin = True

    @property
    def name(self) -> str:
        """That of the loss, with a word before it: proofs about the loss need not hold."""
        return f"weighted {self.loss.name}"

    @property
    def n_outputs(self) -> int:
        """Number of scores per row, as of the loss inside."""
        return self.loss.n_outputs

    @property
    def slope_bound(self) -> float:
        """Largest weight times that of the loss."""
        return max(self.weights) * self.loss.slope_bound

    @property
    def smoothness(self) -> float:
        """Largest weight times that of the loss."""
        return max(self.weights) * self.loss.smoothness

    def value(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Loss of each row, times the weight of its class."""
        return self._of_rows(y) * self.loss.value(scores, y)

    def slope(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Derivative in the scores, times the weight of the row's class."""
        slopes = self.loss.slope(scores, y)
        weights = self._of_rows(y)
        return np.asarray(slopes * (weights if slopes.ndim == 1 else weights[:, None]))

    def curvature(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Second derivative in the score of each row."""
        return self._of_rows(y) * self.loss.curvature(scores, y)

    def _of_rows(self, y: np.ndarray) -> np.ndarray:
        number = y.astype(np.intp) if self.n_outputs > 1 else (y > 0).astype(np.intp)
        return np.asarray(self.weights)[number]
