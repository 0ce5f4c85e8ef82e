r"""Shares of cells, and the number of people, from noisy counts.

Let the counts c_jb of cell b of column j (B_j cells) have independent noise of std s, and let each
column's counts sum to the number N of people. Under replace-one N is public. Under add-remove the
best estimate is the mean of the columns' totals by their precision,

    N = sum_j (T_j / B_j) / sum_j (1 / B_j),      var N = s^2 / sum_j (1 / B_j).

Given N, the best estimates of counts with the right sum are c'_b = c_b + (N - T) / B, and of shares
p_b = c'_b / N. A deviation d_b = c_b - T / B is independent of all totals and has variance
s^2 (1 - 1/B), and c'_b = d_b + N / B. So p_b - 1/B = d_b / N is a ratio of independent numbers, and
its interval is exact however few people there are (:mod:`veilspan.solvers.profile.ratios`). It is
moved with p_b into [0, 1] and cut there: the noiseless share lies there, so that neither loses
coverage, and no bar becomes shorter than noise is. Where N itself is not firm the interval is all
of [0, 1].

*The value* is made consistent: not negative, summing to one, inside its interval. It is
clip(p_b - t, low_b, high_b) with t such that the sum is one, the nearest such point. Intervals, and
with them coverage, stay what they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from veilspan.solvers.profile.estimates import LIMITS, Z95, Estimate
from veilspan.solvers.profile.ratios import bound_ratio, is_firm
from veilspan.tables.profiling.layout import Layout

#: Halvings of the interval in which the shift t lies: more would not change a float.
HALVINGS = 60


@dataclass(frozen=True)
class People:
    """The number of people: public, or estimated from all columns; std 0 if it is public."""

    value: float
    std: float

    @property
    def measurable(self) -> bool:
        """Whether noise is small beside it, so that something can be divided by it."""
        return is_firm(self.value, self.std)

    def estimate(self) -> Estimate:
        """With its error bar; a public number has none."""
        low = max(0.0, self.value - Z95 * self.std)
        return Estimate(self.value, low, self.value + Z95 * self.std, self.measurable)


def count_people(layout: Layout, counts: np.ndarray, std: float, n_rows: int | None) -> People:
    """The public number of people, or the best estimate of it."""
    if n_rows is not None:
        return People(float(n_rows), 0.0)
    sizes = np.array(layout.sizes, dtype=np.float64)
    totals = np.add.reduceat(counts, layout.starts[:-1])
    precision = float(np.sum(1 / sizes))
    return People(float(np.sum(totals / sizes)) / precision, std / np.sqrt(precision))


def count_known(counts: np.ndarray, std: float, people: People) -> tuple[float, float]:
    """People whose cell is not the last, the missing one, and the noise of their number.

    They are N - c'_b = N (1 - 1/B) - d_b of the missing cell: two independent numbers, and less
    noise than in a sum of the other cells.
    """
    kept = 1 - 1 / len(counts)
    apart = float(counts[-1] - counts.sum() / len(counts))
    return people.value * kept - apart, math.hypot(people.std * kept, std * math.sqrt(kept))


@dataclass(frozen=True)
class Shares:
    """Shares of the cells of one column or cross-table.

    Attributes
    ----------
    value : array of shape (B,)
        Consistent: not negative, summing to one.
    low, high : array of shape (B,)
        The interval of each share, 95 % by noise alone.
    raw : array of shape (B,)
        Estimates without a bias, which may be negative; they sum to one.
    measurable : array of bool of shape (B,)
        By the rule for shares.
    """

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    raw: np.ndarray
    measurable: np.ndarray

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, place: int) -> Estimate:
        return Estimate(
            float(self.value[place]),
            float(self.low[place]),
            float(self.high[place]),
            bool(self.measurable[place]),
        )


def typical_bar(shares: Shares) -> float:
    """The bar of a share in the middle of all: those at zero are cut on one side."""
    return float(np.max((shares.high - shares.low) / 2))


def find_shares(counts: np.ndarray, std: float, people: People) -> Shares:
    """Shares of cells that hold all people, with intervals.

    Parameters
    ----------
    counts : array of shape (B,)
        Noisy counts.
    std : float
        Of their noise.
    people : People
        How many there are.
    """
    size = len(counts)
    n = max(people.value, 1.0)
    raw = (counts + (people.value - counts.sum()) / size) / n
    if not people.measurable:
        low, high = np.zeros(size), np.ones(size)
        return Shares(make_consistent(raw, low, high), low, high, raw, np.zeros(size, dtype=bool))
    apart = counts - counts.sum() / size
    ends = bound_ratio(apart, std * math.sqrt(1 - 1 / size), people.value, people.std)
    moved = np.clip(raw, 0.0, 1.0) - raw
    low, high = (np.clip(end + 1 / size + moved, 0.0, 1.0) for end in ends)
    value = make_consistent(raw, low, high)
    measurable = (ends[1] - ends[0]) / 2 <= LIMITS.share * raw
    return Shares(value, low, high, raw, measurable)


def make_consistent(raw: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The nearest shares that sum to one and stay in their intervals."""
    if not low.sum() <= 1 <= high.sum():  # so few people that no interval means anything
        value = np.maximum(raw, 0.0)
        return value / value.sum() if value.sum() > 0 else np.full(len(raw), 1 / len(raw))
    left, right = float((raw - high).min()), float((raw - low).max())
    for _ in range(HALVINGS):
        middle = (left + right) / 2
        if np.clip(raw - middle, low, high).sum() > 1:
            left = middle
        else:
            right = middle
    return np.clip(raw - right, low, high)
