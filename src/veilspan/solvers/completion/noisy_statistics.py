"""Noisy sums and counts of items: asked for, averaged over releases, and read."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.queries.completion.rating_moments import ItemStatistics
from veilspan.solvers.completion.base import CompletionProblem, believed_share

#: Guess of the variance of an item's bias, in squared typical deviations.
PRIOR = 0.2
#: Of the guess: biases that seem to spread less than this do; and the least that is believed.
SHRUNKEN, LEAST_PRIOR = 0.2, 0.01
#: Counts are not believed to spread less than this share of their mean, nor to be below it.
LEAST_SPREAD = 0.1
#: Squared norm of the counts over that of the sums: when they are first asked for, and again.
FIRST_COUNTS, LATER_COUNTS = 1 / 3, 1 / 10


@dataclass(frozen=True)
class NoisyStatistics:
    """Noisy sums and counts per item, and the noise on each."""

    sums: np.ndarray
    counts: np.ndarray
    sum_noise: float
    count_noise: float

    def average_with(self, other: NoisyStatistics) -> NoisyStatistics:
        """The average of two releases, each weighted by its precision; evenly without noise."""
        if not (self.sum_noise > 0 and other.sum_noise > 0):
            return replace(
                other,
                sums=(self.sums + other.sums) / 2,
                counts=(self.counts + other.counts) / 2,
            )
        a, b = self.sum_noise**-2, other.sum_noise**-2
        c, d = self.count_noise**-2, other.count_noise**-2
        return NoisyStatistics(
            (a * self.sums + b * other.sums) / (a + b),
            (c * self.counts + d * other.counts) / (c + d),
            (a + b) ** -0.5,
            (c + d) ** -0.5,
        )

    def smooth_counts(self) -> np.ndarray:
        """Counts drawn to their mean by as much as noise explains their spread, and floored."""
        mean = max(float(self.counts.mean()), 1.0)
        spread = max(float(self.counts.var()) - self.count_noise**2, (LEAST_SPREAD * mean) ** 2)
        drawn = mean + (self.counts - mean) * spread / (spread + self.count_noise**2)
        return np.maximum(drawn, LEAST_SPREAD * mean)

    def most_rated(self, count: int) -> np.ndarray:
        """Numbers of the items with the largest noisy counts, in order."""
        return np.sort(np.argsort(-self.counts, kind="stable")[:count])

    def count_common(self, part: float) -> int:
        """How many items are rated at least ``part`` as often as the item of a typical rating."""
        return int(np.sum(self.smooth_counts() >= part * self.ratings_per_item()))

    def ratings_per_item(self, items: np.ndarray | None = None) -> float:
        """Sum c_j^2 / sum c_j without the part of noise: ratings of an item that a rating sees."""
        counts = self.counts if items is None else self.counts[items]
        total = float(counts.sum())
        squares = float((counts**2).sum()) - len(counts) * self.count_noise**2
        return max(total / len(counts), squares / total, 0.0) if total > 0 else 0.0

    def estimate_bias(self, problem: CompletionProblem) -> np.ndarray:
        """Posterior mean t c S / (t c^2 + v c + s^2), prior variance t, residual variance v."""
        counts = self.smooth_counts()
        residual = problem.typical_deviation**2
        prior = PRIOR * residual * self._learn_spread(counts, residual)
        below = prior * counts**2 + residual * counts + self.sum_noise**2
        width = problem.rule.high - problem.rule.low
        return np.clip(prior * counts * self.sums / below, -width, width)

    def kept_share(self, problem: CompletionProblem) -> float:
        """Share of a guessed bias that noise leaves, by the released counts."""
        residual, noise = problem.typical_deviation**2, (self.count_noise, self.sum_noise)
        return believed_share(PRIOR * residual, residual, self.counts, *noise)

    def _learn_spread(self, counts: np.ndarray, residual: float) -> float:
        r"""What of the guessed variance t of biases to believe: all of it, unless they show none.

        S_j / c_j is b_j plus an error of variance h_j = v / c_j + s^2 / c_j^2. The mean of (S_j /
        c_j)^2 - h_j, weighted by its precision (2 (t + h_j)^2 is its variance), estimates t; the
        guess is drawn to it by as much as that precision allows. Rows are clipped, so sums are too
        small and t is more than it seems: only what is below ``SHRUNKEN`` of the guess counts.
        """
        guess = PRIOR * residual
        errors = residual / counts + (self.sum_noise / counts) ** 2
        weights = 0.5 / (guess + errors) ** 2
        seen = float(weights @ ((self.sums / counts) ** 2 - errors)) / float(weights.sum())
        trust = 1 / (1 + 1 / (float(weights.sum()) * guess**2))
        return float(np.clip((1 + trust * (seen / guess - 1)) / SHRUNKEN, LEAST_PRIOR, 1.0))


def ask_statistics(
    curator: Curator,
    problem: CompletionProblem,
    norm: float,
    event: str,
    count_part: float = FIRST_COUNTS,
) -> NoisyStatistics:
    """Release sums and counts of rows clipped to ``norm``."""
    query = ItemStatistics(problem.rule, norm, count_part)
    answer = curator.answer(query, event=event)
    sums, counts = answer.value
    return NoisyStatistics(sums, counts, answer.noise_std, answer.noise_std / query.count_weight)
