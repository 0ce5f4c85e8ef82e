r"""A meter that trusts no tape: realised privacy from exact sums and from noise that it measures.

A tape says of every answer what sensitivity was declared, how much noise was added and what was
charged. A curator that gets one of these wrong writes the wrong number on the tape as well, and an
audit that reads it there agrees with it. This meter takes from a replay only what cannot lie:

* the two exact sums behind an answer. Their distance is what it is, whatever was declared;
* the noise. While the first table is recorded, every answer is drawn again until ``PROBES`` numbers
  are seen. They give an interval for the standard deviation, wrong with probability ``ALPHA``, and
  the declared value counts only within it; and the grid, the largest power of two that divides
  every number seen (too large with probability 2^-PROBES). Released is round(f) + round(noise), so
  the distance that counts is that of the rounded sums.

Each step is then a shift in units of its noise (``own_accountant.Shift``). ``own_accountant``
composes the steps, and the result is held against the budget that the user wrote down, not against
the plan.

*Sampled steps.* A row that took no part shows no distance. So both tables are replayed once more
with every coin on its head: then the sums differ by the row's contribution.

*Minima of tilted objectives.* On the tape stand the two tilts that explain the released point.
Their difference is the row's gradient there, and counts as a full-batch shift in units of its std.
The ratio of determinants, at least 1 in one direction, is left out: the reading is too small by it
and cannot refute a correct mechanism, whose bound dominates that of the Gaussian pair. What is left
out has exact tests of its own (``tests/privacy/test_objective.py``). The tilt is drawn once in a
fit, so its measured interval is wide: one of p numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from unittest import mock

import numpy as np

from veilspan.audit.own_accountant import Shift, realised_delta
from veilspan.curator.clipping import Sampling
from veilspan.curator.tape import Question, RecordedAnswer, Tape
from veilspan.privacy.budget import Budget
from veilspan.privacy.neighbors import Neighbors

PROBES = 600  # numbers drawn to measure the noise of one answer: 3/4 of it is told from all of it
ALPHA = 1e-13  # that the interval of one answer's noise is wrong
ROUNDING = 1e-6  # relative: by how much a delta must exceed the budget's to refute it
TILTED = "minimum of "  # how the curator names the minimum of a tilted objective


@dataclass(frozen=True)
class Noise:
    """What was measured of the noise of one answer.

    Attributes
    ----------
    low, high : float
        Interval of its standard deviation.
    grid : float
        Power of two that all answers are multiples of; 0 if unknown.
    """

    low: float
    high: float
    grid: float = 0.0

    def std(self, declared: float) -> float:
        """The declared value where the measurement allows it, else the nearest that it allows."""
        return min(max(declared, self.low), self.high)


@dataclass
class MeasuringTape(Tape):
    """A tape that draws every answer again to see its noise. For the first run of a replay."""

    noises: list[Noise] = field(default_factory=list)

    def exchange(
        self, question: Question, exact: np.ndarray, draw: Callable[[], np.ndarray]
    ) -> np.ndarray:
        """Record an answer and measure its noise."""
        given = super().exchange(question, exact, draw)
        count = max(2, 2 * math.ceil(PROBES / (2 * exact.size)))
        drawn = np.stack([np.ravel(draw()) for _ in range(count)])
        self.noises.append(measure_noise(drawn, np.ravel(exact)))
        return given

    def exchange_at(
        self,
        question: Question,
        draw: Callable[[], np.ndarray],
        exact_at: Callable[[np.ndarray], np.ndarray],
    ) -> np.ndarray:
        """Record a minimum; its noise is the one tilt that was drawn."""
        given = super().exchange_at(question, draw, exact_at)
        self.noises.append(Noise(*_bound_std(np.ravel(self.entries[-1].exact), ALPHA)))
        return given


def measure_noise(drawn: np.ndarray, exact: np.ndarray) -> Noise:
    """Measure the noise of repeated answers, of shape (times, coordinates).

    Twice: about the exact sum, and between one answer and the next. Noise that repeats itself
    cancels in the difference, and is as good as none.
    """
    about = _bound_std((drawn - exact).ravel(), ALPHA / 2)
    between = _bound_std(((drawn[1::2] - drawn[::2]) / math.sqrt(2)).ravel(), ALPHA / 2)
    return Noise(min(about[0], between[0]), min(about[1], between[1]), find_grid(drawn))


def _bound_std(residuals: np.ndarray, alpha: float) -> tuple[float, float]:
    """Interval of a standard deviation: the squares over it are chi-square."""
    from scipy.special import chdtri, gammaincinv

    length, count = _measure_length(residuals), residuals.size
    upper = float(chdtri(count, alpha / 2))
    lower = 2 * float(gammaincinv(count / 2, alpha / 2))
    return length / math.sqrt(upper), length / math.sqrt(lower)


def _measure_length(vector: np.ndarray) -> float:
    """Euclidean length, also where squares would leave the range of float64."""
    peak = float(np.max(np.abs(vector), initial=0.0))
    if peak == 0 or not math.isfinite(peak):
        return peak
    # The inverse of a denormal peak would overflow; a power of two is exact.
    scale = math.frexp(peak)[1]
    return math.ldexp(float(np.linalg.norm(np.ldexp(vector, -scale))), scale)


def find_grid(values: np.ndarray) -> float:
    """Find the largest power of two that divides every number; 0 where none can be told."""
    numbers = values[values != 0]
    if not numbers.size or not np.isfinite(numbers).all():
        return 0.0
    fractions, exponents = np.frexp(np.ravel(numbers))
    whole = np.abs(np.ldexp(fractions, 53)).astype(np.int64)
    zeros = np.log2((whole & -whole).astype(np.float64)).astype(int)
    return math.ldexp(1.0, int(np.min(exponents - 53 + zeros)))


@dataclass(frozen=True)
class Reading:
    """What a pair of tables costs in truth, for the answers of one replay.

    Attributes
    ----------
    shifts : tuple of Shift
        One per answer.
    neighbors : {"replace-one", "add-remove"}
        The relation.
    quiet : tuple of str
        Answers whose noise was measured below what the tape says.
    """

    shifts: tuple[Shift, ...]
    neighbors: Neighbors
    quiet: tuple[str, ...] = ()

    @property
    def mu(self) -> float:
        """Joint distance of all answers, a sampled one counted as if its row took part."""
        return math.sqrt(math.fsum(shift.distance**2 for shift in self.shifts))

    def delta(self, epsilon: float) -> float:
        """Lower bound on delta at ``epsilon``."""
        return realised_delta(self.shifts, epsilon, self.neighbors)

    def epsilon(self, delta: float) -> float:
        """Lower bound on epsilon at ``delta``."""
        low, high = 0.0, 1.0
        if self.delta(0.0) <= delta:
            return 0.0
        while self.delta(high) > delta:
            high *= 2
            if high > 1e6:
                return math.inf
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return low

    def findings(self, budget: Budget | None = None) -> list[str]:
        """Say what contradicts the tape, or the budget."""
        found = list(self.quiet)
        if budget is None or not budget.is_private:
            return found
        spent = self.delta(budget.epsilon)
        if spent > budget.delta * (1 + ROUNDING):
            found.append(
                f"these tables are delta = {spent:.4g} apart at epsilon = {budget.epsilon:g}; "
                f"the budget allows {budget.delta:g}."
            )
        return found


def read_replay(
    first: MeasuringTape,
    second: Tape,
    neighbors: Neighbors,
    everyone: tuple[Tape, Tape] | None = None,
) -> Reading:
    """Read a replay: exact sums of both tapes, noise as measured.

    Parameters
    ----------
    first, second : tapes
        Of the recorded table and of its neighbour.
    neighbors : {"replace-one", "add-remove"}
        How they are related.
    everyone : pair of tapes, optional
        Both tables again, with all coins on their heads; needed if a step is sampled.
    """
    shifts, quiet = [], []
    ours, theirs = everyone or (first, second)
    for place, (entry, noise) in enumerate(zip(first.entries, first.noises)):
        if place >= min(len(second.entries), len(ours.entries), len(theirs.entries)):
            break
        rate = entry.question.event[2]
        one, two = (first, second) if rate == 1 else (ours, theirs)
        declared = entry.question.std
        std = noise.std(declared) if declared > 0 else 0.0
        gap = _measure_gap(one.entries[place], two.entries[place], noise.grid if std else 0.0)
        # Without noise any distance is seen with certainty.
        shifts.append(Shift(gap / std if std else (math.inf if gap else 0.0), rate))
        if std < declared:
            quiet.append(
                f"answer {place} has noise of std {std:.4g} at most; the tape says {declared:.4g}."
            )
    return Reading(tuple(shifts), neighbors, tuple(quiet))


def _measure_gap(one: RecordedAnswer, two: RecordedAnswer, grid: float) -> float:
    """Distance of two exact sums, after rounding to the grid that the answers are on."""
    first, second = np.ravel(one.exact), np.ravel(two.exact)
    if grid > 0 and not one.question.query.startswith(TILTED):
        with np.errstate(all="ignore"):
            steps = np.rint(first / grid) - np.rint(second / grid)
        return grid * _measure_length(steps)
    return _measure_length(first - second)


@contextmanager
def everyone_takes_part() -> Iterator[None]:
    """Let every coin of Poisson sampling fall on its head, for tables in memory."""
    with mock.patch.object(Sampling, "coins", return_value=_Heads()):
        yield


class _Heads:
    def random(self, size: int) -> np.ndarray:
        return np.zeros(size)


def has_samples(entries: Sequence[RecordedAnswer]) -> bool:
    """Whether an answer was given on a sample of the rows."""
    return any(entry.question.event[2] < 1 for entry in entries)
