r"""Losses of linear models: functions of a row's scores and its target.

A model theta gives the row x the score u = <x, theta> (k scores, if theta has k columns). A loss
says what the score costs, l(u, y), and its derivatives in u; the gradient of a row in theta is then
x l'(u, y). Rows have at most unit length and targets lie in [-1, 1] when they get here: the
estimators scale them by public bounds.

``margin`` losses take targets y in {-1, +1} (one score) or class numbers 0..k-1 (k scores).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np


class LinearLoss(Protocol):
    """A loss, as a frozen value."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def n_outputs(self) -> int:
        """Scores per row: 1 (theta is a vector), or k (theta has k columns)."""

    @property
    def margin(self) -> bool:
        """Whether targets are classes."""

    @property
    def slope_bound(self) -> float:
        """Largest |l'| (Euclidean norm, for k scores); infinite if there is none."""

    @property
    def smoothness(self) -> float:
        """Largest l'' (operator norm); infinite if there is none."""

    def value(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Loss of each row."""

    def slope(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Derivative in the scores, of the scores' shape."""

    def curvature(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Second derivative in the score of each row; only for one score."""


@dataclass(frozen=True)
class Logistic:
    """log(1 + exp(-y u)), y in {-1, +1}."""

    name = "logistic"
    n_outputs = 1
    margin = True
    slope_bound = 1.0
    smoothness = 0.25

    def value(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Loss of each row."""
        return np.logaddexp(0.0, -y * scores)

    def slope(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """-y / (1 + exp(y u))."""
        from scipy.special import expit

        return np.asarray(-y * expit(-y * scores))

    def curvature(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """P (1 - p)."""
        from scipy.special import expit

        likely = expit(scores)
        return np.asarray(likely * (1.0 - likely))
