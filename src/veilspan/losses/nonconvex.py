r"""Losses of linear models that are not convex: for descent, whose privacy needs no convexity.

What protects a row in descent is that its gradient is clipped, whatever function it is the gradient
of. What needs convexity refuses these losses with a sentence: objective perturbation, whose proof
rests on it, and steps and statistics that rest on a curvature that is nowhere negative. Utility is
another matter: descent ends near *some* point where the gradient is small. Theorems on such
objectives speak of a random iterate, or of the last one where a Polyak-Lojasiewicz inequality holds
(Wang, Ye & Xu 2017, section 6): ``GradientDescent(output="random")`` or ``output="last"``.

>>> from veilspan import HuberRegressor
>>> from veilspan.losses.nonconvex import Biweight
>>> model = HuberRegressor(loss=Biweight(0.5), feature_range=(0, 1), target_range=(0, 10))
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

#: Widths of the biweight. Objective perturbation looks at slopes on a grid of scores in steps of
#: 0.01 up to 30: a narrower loss could fall between them, a wider one is convex as far as they go.
NARROWEST, WIDEST = 0.05, 10.0


@dataclass(frozen=True)
class Biweight:
    r"""Tukey's biweight (Beaton & Tukey 1974): residuals beyond the width do not count at all.

    With r = u - y and s = (r / c)^2: (c^2 / 6) (1 - (1 - s)^3) up to |r| = c, c^2 / 6 beyond.

    *Slope.* l' = r (1 - s)^2 within the width, else 0. Its derivative l'' = (1 - s) (1 - 5 s) is
    zero at s = 1/5 and s = 1, so that |l'| is largest at |r| = c / sqrt(5), where it is
    (16 / 25) c / sqrt(5): the slope bound.

    *Smoothness.* l'' is a parabola in s on [0, 1]: 1 at s = 0, least at s = 3/5 with -4/5, 0 at
    s = 1. So |l''| <= 1, and the loss is not convex.

    *Sensitivity* of a sum of row gradients x l'(<x, theta>, y), |x| <= 1, each clipped to C. No
    row's gradient is longer than min(C, slope bound). *add-remove*: that. *replace-one*: twice
    that, met by one row with residuals of c / sqrt(5) of either sign. Where C is shorter than the
    bound, the clipped slope max(-C', min(C', l')), C' = C / |x|, is the derivative of its own
    integral: descent minimises that, a loss that is flat beyond the width again and linear where
    l' is capped.

    Parameters
    ----------
    width : float
        c, in units of the scaled target, whose range is [-1, 1]; between 0.05 and 10.
    """

    width: float = 0.5

    name = "biweight"
    n_outputs = 1
    margin = False
    smoothness = 1.0
    convex = False  # losses that do not say so are

    def __post_init__(self) -> None:
        if not NARROWEST <= self.width <= WIDEST:
            raise ValueError(
                f"width must lie between {NARROWEST:g} and {WIDEST:g}, in units of the scaled "
                f"target, whose range is [-1, 1]; got {self.width}."
            )

    @property
    def slope_bound(self) -> float:
        """16 c / (25 sqrt(5)), the slope at a residual of c / sqrt(5)."""
        return 16.0 * self.width / (25.0 * math.sqrt(5.0))

    def value(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The loss of each row, at most c^2 / 6."""
        return np.asarray((1.0 - self._inside(scores, y)[1] ** 3) * (self.width**2 / 6.0))

    def slope(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The residual times (1 - s)^2 within the width, 0 beyond."""
        residual, left = self._inside(scores, y)
        return np.asarray(residual * left**2)

    def curvature(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(1 - s) (1 - 5 s) within the width, 0 beyond; negative from s = 1/5 on."""
        _, left = self._inside(scores, y)
        return np.asarray(left * (5.0 * left - 4.0))

    def _inside(self, scores: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The residual kept to the width, and 1 - s, which is 0 where it was longer."""
        residual = np.clip(scores - y, -self.width, self.width)
        return residual, 1.0 - np.square(residual / self.width)
