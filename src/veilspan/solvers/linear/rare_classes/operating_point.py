r"""From a noisy histogram of scores by label to probabilities and a threshold: post-processing.

Probabilities are those of a line, log-odds = a u + b at the score u (Platt 1999): two numbers can
be learned where single counts are mostly noise. They are the most likely ones after the noisy
counts, by the likelihood of :mod:`~veilspan.solvers.linear.rare_classes.odds_of_votes`. In it a
knot counts for as much as its votes stand above noise, and empty knots, however many, count for
nothing: sums over all knots would drown the few rows of a rare class. A normal prior of log a and
b, around the model's own probabilities, decides where the counts say little.

The threshold is chosen by the expected rows of both classes above a score. They too are looked at
between the knots, where the votes come from.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from veilspan.solvers.linear.rare_classes.odds_of_votes import (
    log_likelihood,
    scores_between,
    who_votes,
)

#: Counts that lie this many deviations above nothing show that there are rows: of 25 sums at each
#: end noise alone is taken for one in 600 fits. (At 3 it was in 15: of 21,000 cover types a
#: threshold was set beyond all scores.)
SHOWS = 4.0
#: Stds of the prior of log a below 0 and above, and of b. A line that is too steep is too sure.
SLOPE_BELOW, SLOPE_ABOVE, OFFSET_STD = 1.0, 0.5, 1.0
#: Logarithms of the slope and offsets, from the expected one, at which the search begins: the
#: likelihood of a few noisy counts may have several hills.
SLOPES, OFFSETS = np.linspace(-3.0, 2.0, 26), np.linspace(-6.0, 6.0, 49)


@dataclass(frozen=True)
class OperatingPoint:
    """Log-odds a u + b of a score u, and the score above which the second class is predicted."""

    slope: float
    offset: float
    threshold: float


def find_operating_point(
    knots: np.ndarray,
    counts: np.ndarray,
    noise_std: float,
    threshold: str,
    *,
    expected_offset: float = 0.0,
    bend: float | None = None,
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
    expected_offset : float
        Offset of the model's own probabilities: other than 0 where classes were weighed.
    bend : float, optional
        That of the histogram.
    """
    rows = counts.sum(axis=0)
    votes = who_votes(rows, noise_std)
    scores = scores_between(knots, bend)
    slope, offset = _line(scores, votes, counts, noise_std, expected_offset)
    if threshold == "accuracy":
        return OperatingPoint(slope, offset, -offset / slope)
    used = _occupied(rows, math.sqrt(2) * noise_std)
    weights = np.maximum(rows[used], 0.0) @ votes[used]
    likely = expit(slope * scores + offset)
    if threshold == "f1":
        return OperatingPoint(slope, offset, _best_f1(scores, weights, likely))
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


def _line(
    scores: np.ndarray, votes: np.ndarray, counts: np.ndarray, std: float, expected: float
) -> tuple[float, float]:
    """Slope and offset of the log-odds."""
    from scipy.optimize import minimize

    def unlikely(logarithms: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Minus the logarithm of the posterior, of each line."""
        second = expit(np.exp(logarithms)[:, None] * scores + offsets[:, None]) @ votes.T
        prior = np.where(logarithms < 0, SLOPE_BELOW, SLOPE_ABOVE)
        far = (logarithms / prior) ** 2 + ((offsets - expected) / OFFSET_STD) ** 2
        return np.asarray(0.5 * far - log_likelihood(counts, second, std))

    lines = np.array(list(itertools.product(SLOPES, OFFSETS + expected)))
    start = lines[unlikely(*lines.T).argmin()]
    found = minimize(
        lambda line: float(unlikely(line[:1], line[1:])[0]),
        start,
        method="Nelder-Mead",
        options={"xatol": 1e-5, "fatol": 1e-6},
    ).x
    return math.exp(found[0]), float(found[1])


def _best_f1(scores: np.ndarray, rows: np.ndarray, likely: np.ndarray) -> float:
    """The score above which the expected F1 of the second class is largest."""
    right = np.cumsum((rows * likely)[::-1])[::-1]
    said = np.cumsum(rows[::-1])[::-1]
    f1 = 2 * right / np.maximum(said + right[0], 1e-9)
    best = int(np.argmax(f1))
    return float(scores[best] + scores[best - 1]) / 2 if best else float(scores[0])
