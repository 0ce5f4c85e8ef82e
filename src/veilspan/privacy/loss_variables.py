"""Random variables that bound a privacy loss: maxima of straight lines in a standard normal.

Each is known by its survival function P(L >= x), from which delta(epsilon) <= E (1 - e^(epsilon -
L))_+ follows, and by its exponential moments, from which Rényi divergences follow. Which of them
bounds what is in ``objective``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

#: |v| beyond which all of its probability, 2e-19, counts as an infinite loss.
FARTHEST = 9.0
#: Bins of |v| in between. Rounding it up to the end of its bin adds at most a FARTHEST / BINS =
#: a / 20 to a loss: more bins would bring the bound down a little, fewer raise it.
BINS = 180


class LossBound(Protocol):
    """A non-negative random variable that bounds a privacy loss."""

    def survival(self, x: np.ndarray) -> np.ndarray:
        """Upper bound on P(L >= x) at each x of an array."""

    def log_moment(self, order: float) -> float:
        """Upper bound on log E e^(order L) for an order above 0."""


@dataclass(frozen=True)
class Lines:
    """max_j (slopes_j u + heights_j), slopes >= 0, u ~ N(0, 1), or of |u| with two sides."""

    slopes: tuple[float, ...]
    heights: tuple[float, ...]
    sides: int = 1

    def survival(self, x: np.ndarray) -> np.ndarray:
        """P(u >= the least u that reaches x on some line)."""
        from scipy.special import ndtr

        slopes, heights, starts = self._envelope()
        with np.errstate(invalid="ignore", divide="ignore"):
            levels = np.where(np.isfinite(starts), slopes * starts + heights, -math.inf)
            piece = np.maximum(np.searchsorted(levels, x, side="left") - 1, 0)
            reach = (x - heights[piece]) / slopes[piece]
        reach[slopes[piece] == 0] = -math.inf  # L is at least the height of a flat line
        return np.asarray(np.minimum(1.0, self.sides * ndtr(-reach)))

    def log_moment(self, order: float) -> float:
        """Exact: a sum over the pieces of the upper envelope."""
        slopes, heights, starts = self._envelope()
        ends = np.append(starts[1:], math.inf)
        shift = order * slopes
        logs = order * heights + shift**2 / 2 + _log_between(starts - shift, ends - shift)
        peak = float(logs.max())
        return peak + math.log(self.sides * float(np.exp(logs - peak).sum()))

    def _envelope(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Slopes and heights of the lines that are largest somewhere, and where each begins to be.

        Lines are added by rising slope; one that the new line overtakes before it began is dropped.
        """
        first = -math.inf if self.sides == 1 else 0.0
        kept: list[tuple[float, float, float]] = []
        for slope, height in sorted(zip(self.slopes, self.heights)):
            start = first
            while kept:
                flatter, lower, begun = kept[-1]
                rises = slope > flatter
                start = (lower - height) / (slope - flatter) if rises else begun
                if start > begun and rises:
                    break
                kept.pop()
                start = first
            kept.append((slope, height, max(start, first)))
        slopes, heights, starts = zip(*kept)
        return np.array(slopes), np.array(heights), np.array(starts)


@dataclass(frozen=True)
class Apart:
    """X + a |v| + a^2/2, X a maximum of lines in u and v ~ N(0, 1), independent."""

    along: Lines
    a: float

    def survival(self, x: np.ndarray) -> np.ndarray:
        """|v| falls into bins and counts as their upper ends."""
        from scipy.special import ndtr

        edges = np.linspace(0.0, FARTHEST, BINS + 1)
        total = np.full(len(x), 2 * float(ndtr(-FARTHEST)))
        for low, high in pairwise(edges):
            weight = 2 * float(ndtr(-low) - ndtr(-high))
            total += weight * self.along.survival(x - (self.a * high + self.a**2 / 2))
        return np.asarray(np.minimum(total, 1.0))

    def log_moment(self, order: float) -> float:
        """Sum of the log moments of the two parts, which are independent."""
        aside = Lines((self.a,), (self.a**2 / 2,), sides=2)
        return self.along.log_moment(order) + aside.log_moment(order)


@dataclass(frozen=True)
class Larger:
    """A variable that is stochastically larger than each of two."""

    one: LossBound
    two: LossBound

    def survival(self, x: np.ndarray) -> np.ndarray:
        """At each x the larger of the two survival functions, which bounds both."""
        return np.asarray(np.maximum(self.one.survival(x), self.two.survival(x)))

    def log_moment(self, order: float) -> float:
        """The larger one: each pair of neighbours is bounded by one of the two."""
        return max(self.one.log_moment(order), self.two.log_moment(order))


@dataclass(frozen=True)
class AnyOf:
    """floor + the largest of ``number`` variables like max(0, length u + length^2/2)."""

    number: int
    length: float
    floor: float

    def survival(self, x: np.ndarray) -> np.ndarray:
        """``number`` times the tail of one variable, at most 1: a union bound."""
        from scipy.special import ndtr

        tail = ndtr(-((x - self.floor) / self.length - self.length / 2))
        return np.asarray(np.where(x <= self.floor, 1.0, np.minimum(1.0, self.number * tail)))

    def log_moment(self, order: float) -> float:
        """E e^max <= 1 + sum (E e^each - 1)."""
        one = Lines((0.0, self.length), (0.0, self.length**2 / 2)).log_moment(order)
        if one < 1:
            return order * self.floor + math.log1p(self.number * math.expm1(one))
        return order * self.floor + one + math.log(self.number)


def _log_between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Log P(low < u < high), accurate in both tails."""
    from scipy.special import log_ndtr

    right = low > 0  # by symmetry look at the left tail
    near, far = np.where(right, -low, high), np.where(right, -high, low)
    with np.errstate(divide="ignore"):
        gap = np.exp(log_ndtr(far) - log_ndtr(near))
        return np.asarray(log_ndtr(near) + np.log1p(-np.minimum(gap, 1.0)))
