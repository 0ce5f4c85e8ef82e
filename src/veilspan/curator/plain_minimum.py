r"""Minimum of a smooth convex function by its gradients alone, where nothing has to be proven.

Without privacy (no tilt, no noise) nobody needs a certificate of the minimum. Limited-memory BFGS
(Liu & Nocedal 1989) then takes one pass over the rows a step, where Newton's method with several
scores takes one for every conjugate gradient. It starts from a bound on the curvature that holds
everywhere (Bohning 1992): waves and bins of one column are of unlike size and nearly alike, and
steps that have to find that out by themselves are thousands.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

import numpy as np

MEMORY, MOST_STEPS = 10, 300
#: Length of the gradient to end at, beside that at the start: probabilities to six digits.
ENOUGH = 1e-6
#: A step is long enough if it takes off a tenth of the derivative along it, and short enough if it
#: does not turn it round by more than nine tenths.
FLATTER = 0.9

#: Divides a gradient by some curvature.
Metric = Callable[[np.ndarray], np.ndarray]
#: A step, how the gradient changed along it, their product, and that over the one which the bound
#: on the curvature would have had.
Pair = tuple[np.ndarray, np.ndarray, float, float]


class Gradients(Protocol):
    """A function that is known by its gradients, and by a bound on its curvature."""

    shape: tuple[int, ...]

    def row_gradient(self, theta: np.ndarray) -> np.ndarray:
        """Gradient of the function at theta."""

    def curvature_bound(self) -> Metric | None:
        """How to divide by a bound on the curvature everywhere; None where that is too large."""


def minimise_exactly(function: Gradients) -> np.ndarray:
    """Theta at which the gradient is a millionth of that at zero, or after 300 steps.

    Lengths of gradients are those of the bound on the curvature, so that features of unlike scale
    count alike.
    """
    divide = function.curvature_bound() or _as_it_is
    theta = np.zeros(function.shape)
    gradient = function.row_gradient(theta)
    divided = divide(gradient)
    enough = ENOUGH**2 * float(np.vdot(gradient, divided))
    pairs: deque[Pair] = deque(maxlen=MEMORY)
    first = 1.0
    if divide is _as_it_is:
        first = 1.0 / max(float(np.linalg.norm(gradient)), 1e-300)
    for _ in range(MOST_STEPS):
        if float(np.vdot(gradient, divided)) <= enough:
            break
        direction = -_smoothed(gradient, pairs, divide)
        if not float(np.vdot(direction, gradient)) < 0:
            pairs.clear()
            direction = -divided
        trial, ahead = _search(function, theta, gradient, direction, 1.0 if pairs else first)
        ahead_divided = divide(ahead)
        moved, bent = trial - theta, ahead - gradient
        product = float(np.vdot(moved, bent))
        if product > 0:
            scale = product / float(np.vdot(bent, ahead_divided - divided))
            pairs.append((moved, bent, product, scale))
        theta, gradient, divided = trial, ahead, ahead_divided
    return theta


def _as_it_is(gradient: np.ndarray) -> np.ndarray:
    return gradient


def _smoothed(gradient: np.ndarray, pairs: deque[Pair], divide: Metric) -> np.ndarray:
    """The gradient times the inverse curvature that the bound and the last steps have shown."""
    q, shares = gradient.copy(), []
    for moved, bent, product, _ in reversed(pairs):
        share = float(np.vdot(moved, q)) / product
        shares.append(share)
        q -= share * bent
    q = divide(q)
    if pairs:
        q = pairs[-1][3] * q
    for (moved, bent, product, _), share in zip(pairs, reversed(shares)):
        q += (share - float(np.vdot(bent, q)) / product) * moved
    return q


def _search(
    function: Gradients, theta: np.ndarray, gradient: np.ndarray, direction: np.ndarray, size: float
) -> tuple[np.ndarray, np.ndarray]:
    """A step along the direction that leaves little of the derivative, and the gradient there."""
    start, low, high = float(np.vdot(gradient, direction)), 0.0, np.inf
    trial, ahead = theta, gradient
    for _ in range(30):
        trial = theta + size * direction
        ahead = function.row_gradient(trial)
        end = float(np.vdot(ahead, direction))
        if abs(end) <= -FLATTER * start:
            break
        low, high = (size, high) if end < 0 else (low, size)
        size = 2 * size if np.isinf(high) else (low + high) / 2
    return trial, ahead
