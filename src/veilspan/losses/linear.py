r"""Losses of linear models: functions of a row's scores and its target.

A model theta gives the row x the score u = <x, theta> (k scores, if theta has k columns). A loss
says what the score costs, l(u, y), and its derivatives in u; the gradient of a row in theta is then
x l'(u, y). Rows have at most unit length and targets lie in [-1, 1] when they get here: the
estimators scale them by public bounds.

``margin`` losses take targets y in {-1, +1} (one score) or class numbers 0..k-1 (k scores).
All are convex. Formulas are written so that no score, however large, gives NaN or a warning; a
value beyond float64 is infinite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NoReturn, Protocol

import numpy as np
from scipy.special import expit

from veilspan.curator.objective_door import RowLoss


class LinearLoss(RowLoss, Protocol):
    """A loss, as a frozen value: what the curator's second door needs of it, and its value."""

    def value(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Loss of each row, of shape (rows,)."""


@dataclass(frozen=True)
class Logistic:
    """log(1 + exp(-y u)), y in {-1, +1}."""

    name = "logistic"
    n_outputs = 1
    margin = True
    slope_bound = 1.0
    smoothness = 0.25

    def value(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """log(1 + exp(-y u)) of each row, without overflow at any score."""
        return np.asarray(np.logaddexp(0.0, -y * scores))

    def slope(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """-y / (1 + exp(y u)), the derivative of each row's loss in its score."""
        less = -y
        return np.asarray(less * expit(less * scores))

    def curvature(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The variance p (1 - p) of the label, with p = 1 / (1 + exp(-u))."""
        return np.asarray(expit(scores) * expit(-scores))


@dataclass(frozen=True)
class SmoothedHinge:
    r"""The hinge max(0, 1 - y u), y in {-1, +1}, with a parabola in place of its corner.

    With z = 1 - y u and width h: 0 for z <= 0, z^2 / (2 h) up to z = h, then z - h/2. It differs
    from the hinge by at most h/2.

    Parameters
    ----------
    width : float
        h.
    """

    width: float = 0.5

    name = "smoothed hinge"
    n_outputs = 1
    margin = True
    slope_bound = 1.0

    def __post_init__(self) -> None:
        _check_positive(self.width, "width")

    @property
    def smoothness(self) -> float:
        """1 / h, the second derivative of the parabola at the corner."""
        return 1.0 / self.width

    def value(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The hinge of each row, with its corner rounded over the width h."""
        lack = 1.0 - y * scores
        bent = np.clip(lack, 0.0, self.width)
        return np.asarray(bent / self.width * (lack - 0.5 * bent))

    def slope(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """-y z / h, z kept to [0, h]."""
        return np.asarray(-y * np.clip(1.0 - y * scores, 0.0, self.width) / self.width)

    def curvature(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """1 / h within the parabola, 0 on the two lines."""
        lack = 1.0 - y * scores
        return np.where((lack > 0) & (lack < self.width), 1.0 / self.width, 0.0)


@dataclass(frozen=True)
class Multinomial:
    r"""log(sum_j exp(u_j)) - u_y for k scores and a class number y.

    The slope is q - e_y with the probabilities q, of norm at most sqrt(2). The Hessian
    diag(q) - q q^T has norm at most 1/2: for a unit vector v it is the variance of v_j under q,
    at most (max v - min v)^2 / 4 (Popoviciu), and (max v - min v)^2 <= 2 |v|^2.

    Parameters
    ----------
    n_classes : int
        k, at least 2.
    """

    n_classes: int

    name = "multinomial"
    margin = True
    slope_bound = math.sqrt(2.0)
    smoothness = 0.5

    def __post_init__(self) -> None:
        if isinstance(self.n_classes, bool) or not isinstance(self.n_classes, int | np.integer):
            raise TypeError(f"n_classes must be a whole number; got {self.n_classes!r}.")
        if self.n_classes < 2:
            raise ValueError(f"n_classes must be at least 2; got {self.n_classes}.")

    @property
    def n_outputs(self) -> int:
        """One score for each class."""
        return int(self.n_classes)

    def value(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Negative log likelihood of each row's own class."""
        lack = scores - scores.max(axis=1, keepdims=True)  # at most 0: exp cannot overflow
        own = lack[np.arange(len(lack)), np.asarray(y, dtype=np.intp)]
        return np.asarray(np.log(np.exp(lack).sum(axis=1)) - own)

    def slope(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Probabilities, less 1 for the row's own class."""
        likely = scores - scores.max(axis=1, keepdims=True)
        np.exp(likely, out=likely)
        likely /= likely.sum(axis=1, keepdims=True)
        likely[np.arange(len(likely)), np.asarray(y, dtype=np.intp)] -= 1.0
        return np.asarray(likely)

    def curvature(self, scores: np.ndarray, y: np.ndarray) -> NoReturn:
        """Raise: k scores have a k x k matrix of second derivatives."""
        raise ValueError(
            "the multinomial loss has a matrix of second derivatives, not a number: use a solver "
            "that needs slopes only."
        )


@dataclass(frozen=True)
class MulticlassHinge(Multinomial):
    r"""The hinge of several classes, max_j (u_j + 1[j != y]) - u_y, with its corners rounded off.

    (Crammer & Singer 2001.) The maximum becomes h log sum exp(. / h), at most h log k above it: the
    multinomial loss of scores over h with a head start for the wrong classes, times h. So the slope
    q - e_y has a norm of at most sqrt(2), and the Hessian one of at most 1 / (2 h).

    Parameters
    ----------
    n_classes : int
        k, at least 2.
    width : float
        h.
    """

    width: float = 0.5

    name = "multiclass hinge"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_positive(self.width, "width")

    @property
    def smoothness(self) -> float:  # type: ignore[override]
        """1 / (2 h), that of the multinomial loss over h."""
        return 0.5 / self.width

    def value(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Rounded hinge of each row."""
        return self.width * super().value(self._ahead(scores, y), y)

    def slope(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Shares of the classes that come near the row's own, less 1 for that."""
        return super().slope(self._ahead(scores, y), y)

    def _ahead(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        # The head start as a handicap of the row's own class: the others are not rounded by it.
        ahead = np.array(scores, dtype=np.float64)
        ahead[np.arange(len(ahead)), np.asarray(y, dtype=np.intp)] -= 1.0
        return np.asarray(ahead / self.width)


@dataclass(frozen=True)
class Squared:
    """(u - y)^2 / 2; its slope has no bound."""

    name = "squared"
    n_outputs = 1
    margin = False
    slope_bound = math.inf
    smoothness = 1.0

    def value(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Half the squared residual of each row; infinite beyond float64."""
        with np.errstate(over="ignore"):
            return np.asarray(0.5 * np.square(scores - y))

    def slope(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The residual u - y of each row, which has no bound."""
        return np.asarray(scores - y)

    def curvature(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """1 at every score: the loss is a parabola."""
        return np.ones(np.shape(scores))


@dataclass(frozen=True)
class Huber:
    """(u - y)^2 / 2 for residuals up to delta, delta (|u - y| - delta / 2) beyond (Huber 1964).

    Parameters
    ----------
    delta : float
        In units of the scaled target, whose range is [-1, 1].
    """

    delta: float = 0.1

    name = "huber"
    n_outputs = 1
    margin = False
    smoothness = 1.0

    def __post_init__(self) -> None:
        _check_positive(self.delta, "delta")

    @property
    def slope_bound(self) -> float:
        """Delta, the slope of the lines on both sides."""
        return self.delta

    def value(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Half the squared residual, or its tangent line beyond delta."""
        residual = scores - y
        capped = np.clip(residual, -self.delta, self.delta)
        with np.errstate(over="ignore"):
            return np.asarray(capped * (residual - 0.5 * capped))

    def slope(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Residual, kept to [-delta, delta]."""
        return np.clip(scores - y, -self.delta, self.delta)

    def curvature(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """1 for small residuals, else 0."""
        return np.where(np.abs(scores - y) < self.delta, 1.0, 0.0)


@dataclass(frozen=True)
class Quantile:
    r"""The check loss whose minimum is a conditional quantile, smoothed at its corner.

    With r = u - y and smoothing h: (1 - level) r for r >= h, -level r for r <= -h, between them
    (r + h)^2 / (4 h) - level r: the check loss averaged over [r - h, r + h] (convolution smoothing
    with the uniform kernel; Fernandes, Guerre & Horta 2021).

    Parameters
    ----------
    level : float
        Between 0 and 1, both excluded.
    smoothing : float
        h, in units of the scaled target, whose range is [-1, 1].
    """

    level: float = 0.5
    smoothing: float = 0.05

    name = "quantile"
    n_outputs = 1
    margin = False

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise ValueError(f"level must lie strictly between 0 and 1; got {self.level}.")
        _check_positive(self.smoothing, "smoothing")

    @property
    def slope_bound(self) -> float:
        """The larger of level and 1 - level."""
        return max(self.level, 1.0 - self.level)

    @property
    def smoothness(self) -> float:
        """1 / (2 h), the second derivative of the parabola at the corner."""
        return 0.5 / self.smoothing

    def value(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The smoothed check loss of each row."""
        residual = scores - y
        inner = np.clip(residual, -self.smoothing, self.smoothing)
        lines = np.where(residual > 0, 1.0 - self.level, -self.level) * (residual - inner)
        bent = (inner + self.smoothing) ** 2 / (4 * self.smoothing) - self.level * inner
        return np.asarray(lines + bent)

    def slope(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(r + h) / (2 h) - level, r kept to [-h, h]."""
        inner = np.clip(scores - y, -self.smoothing, self.smoothing)
        return np.asarray((inner + self.smoothing) / (2 * self.smoothing) - self.level)

    def curvature(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """1 / (2 h) within the smoothed part."""
        return np.where(np.abs(scores - y) < self.smoothing, 0.5 / self.smoothing, 0.0)


def _check_positive(value: float, name: str) -> None:
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(f"{name} must be positive and finite; got {value}.")
