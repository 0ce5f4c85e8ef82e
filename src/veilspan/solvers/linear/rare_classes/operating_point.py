r"""From a noisy histogram of scores by label to probabilities and a threshold: post-processing.

Probabilities are those of a line, log-odds = a u + b at the score u (Platt 1999), fitted to the
counts by their likelihood. Two numbers can be learned where single counts are mostly noise. With
H_1, H_0 the noisy counts at the knots u and q = 1 / (1 + exp(-a u - b)), the line solves

    sum (H_1 - (H_0 + H_1) q) (u, 1) = r (a - 1, b),

in which noise enters linearly; r, the std of the noise of a sum over the knots in use, draws it
towards a = 1, b = 0 (the model's own probabilities) where the counts say little.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

#: Counts that lie this many deviations above nothing show that there are rows.
SHOWS = 3.0
#: Least slope of the line, and rounds of Newton's method: it converges in fewer than ten.
LEAST_SLOPE, ROUNDS = 0.05, 50


@dataclass(frozen=True)
class OperatingPoint:
    """Log-odds a u + b of a score u, and the score above which the second class is predicted."""

    slope: float
    offset: float
    threshold: float


def find_operating_point(
    knots: np.ndarray, counts: np.ndarray, noise_std: float, threshold: str
) -> OperatingPoint:
    """The line of probabilities, and the score that suits an aim best.

    Parameters
    ----------
    knots : array of shape (B,)
        Scores, increasing.
    counts : array of shape (2, B)
        Noisy counts of both classes.
    noise_std : float
        Standard deviation of each.
    threshold : {"accuracy", "balanced", "f1"}
        Most rows right (log-odds 0), the mean of both classes' shares of right rows (log-odds of
        the classes' shares), or the F1 score of the second class.
    """
    rows = counts.sum(axis=0)
    used = _occupied(rows, math.sqrt(2) * noise_std)
    slope, offset = _line(knots[used], counts[:, used], noise_std)
    if threshold == "accuracy":
        return OperatingPoint(slope, offset, -offset / slope)
    weights = np.maximum(rows[used], 0.0)
    likely = _logistic(slope * knots[used] + offset)
    if threshold == "f1":
        return OperatingPoint(slope, offset, _best_f1(knots[used], weights, likely))
    total = max(float(weights.sum()), 1.0)
    share = min(max(float(weights @ likely), 0.5), total - 0.5) / total
    at_share = math.log(share / (1 - share))
    return OperatingPoint(slope, offset, (at_share - offset) / slope)


def _occupied(rows: np.ndarray, std: float) -> slice:
    """Knots between the outermost ones at which the counts show that there are rows."""
    reached = np.arange(1, len(rows) + 1)
    least = SHOWS * std * np.sqrt(reached)
    first = np.cumsum(rows) > least
    last = np.cumsum(rows[::-1]) > least
    if not (first.any() and last.any()):
        return slice(None)
    low, high = int(first.argmax()), len(rows) - int(last.argmax())
    return slice(max(low - 1, 0), high + 1) if low < high else slice(None)


def _line(u: np.ndarray, counts: np.ndarray, std: float) -> tuple[float, float]:
    """Slope and offset of the log-odds."""
    design = np.stack([u, np.ones_like(u)])
    ones, rows = counts[1], counts.sum(axis=0)
    prior = max(std * math.sqrt(len(u)), 1e-6)
    line = np.array([1.0, 0.0])
    for _ in range(ROUNDS):
        q = _logistic(design.T @ line)
        gradient = design @ (ones - rows * q) - prior * (line - (1.0, 0.0))
        curved = (design * (np.maximum(rows, 0.0) * q * (1 - q))) @ design.T + prior * np.eye(2)
        step = np.linalg.solve(curved, gradient)
        line = line + step / max(1.0, float(np.abs(step).max()))
        line[0] = max(line[0], LEAST_SLOPE)
        if np.abs(step).max() < 1e-9:
            break
    return float(line[0]), float(line[1])


def _best_f1(u: np.ndarray, rows: np.ndarray, likely: np.ndarray) -> float:
    """Score, between two knots, above which the expected F1 of the second class is largest."""
    right = np.cumsum((rows * likely)[::-1])[::-1]
    said = np.cumsum(rows[::-1])[::-1]
    f1 = 2 * right / np.maximum(said + right[0], 1e-9)
    best = int(np.argmax(f1))
    return float(u[best] - (u[1] - u[0]) / 2)


def _logistic(z: np.ndarray) -> np.ndarray:
    from scipy.special import expit

    return np.asarray(expit(z))
