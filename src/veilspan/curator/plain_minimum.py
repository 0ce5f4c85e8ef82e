r"""Minimum of a smooth convex function by its gradients alone, where nothing has to be proven.

Without privacy (no tilt, no noise) nobody needs a certificate of the minimum. Limited-memory BFGS
(Liu & Nocedal 1989) then takes one pass over the rows a step, where Newton's method with several
scores takes one for every conjugate gradient.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

import numpy as np

MEMORY, MOST_STEPS = 10, 1000
#: Length of the gradient to end at, beside that at the start: probabilities to six digits.
ENOUGH = 1e-6
#: A step is long enough if it takes off a tenth of the derivative along it, and short enough if it
#: does not turn it round by more than nine tenths.
FLATTER = 0.9


class Gradients(Protocol):
    """A function that is known by its gradients."""

    shape: tuple[int, ...]

    def row_gradient(self, theta: np.ndarray) -> np.ndarray:
        """Gradient of the function at theta."""


def minimise_exactly(function: Gradients) -> np.ndarray:
    """Theta at which the gradient is a millionth of that at zero, or after 1,000 steps."""
    theta = np.zeros(function.shape)
    gradient = function.row_gradient(theta)
    enough = ENOUGH * float(np.linalg.norm(gradient))
    pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=MEMORY)
    length = 1.0 / max(float(np.linalg.norm(gradient)), 1e-300)
    for _ in range(MOST_STEPS):
        if float(np.linalg.norm(gradient)) <= enough:
            break
        direction = -_smoothed(gradient, pairs)
        if not float(np.vdot(direction, gradient)) < 0:
            pairs.clear()
            direction = -gradient
        trial, ahead = _search(function, theta, gradient, direction, 1.0 if pairs else length)
        moved, bent = trial - theta, ahead - gradient
        product = float(np.vdot(moved, bent))
        if product > 0:
            pairs.append((moved, bent, product))
        theta, gradient = trial, ahead
    return theta


def _smoothed(
    gradient: np.ndarray, pairs: deque[tuple[np.ndarray, np.ndarray, float]]
) -> np.ndarray:
    """The gradient times the inverse curvature that the last steps have shown."""
    q, shares = gradient.copy(), []
    for moved, bent, product in reversed(pairs):
        share = float(np.vdot(moved, q)) / product
        shares.append(share)
        q -= share * bent
    if pairs:
        _, bent, product = pairs[-1]
        q *= product / float(np.vdot(bent, bent))
    for (moved, bent, product), share in zip(pairs, reversed(shares)):
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
