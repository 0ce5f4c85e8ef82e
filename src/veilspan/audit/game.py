r"""The distinguishing game: many runs on two neighbouring tables, scored by their transcripts.

Released is all that the curator answered, so the score of a run is the log-likelihood ratio of its
answers y_1, y_2, ... (each Gaussian around the exact sum, given the answers before it):

    score = sum_t <y_t - (f_t + f'_t)/2, f'_t - f_t> / s_t^2,

f_t on the table of the run, f'_t on its neighbour with the same answers played back
(``curator.tape``). No test of a mechanism with this noise is better, and its threshold, 0, is known
in advance: no run is needed to choose it. If the noise is not what was declared, the score is just
some function of the transcript, and the bound from its error rates stays valid.

*Minima of tilted objectives.* The tilt b that makes the released point minimal is Gaussian around
0 and known on both tables: the score is that of an answer 0 (a ratio of determinants is left out).

*Sampled steps.* Nobody outside sees who took part, so the score must not use it either. The row's
contribution and the mean of the sums come from replays with other coins; the score of a step is
then linear, <y - mean, contribution> q / s^2. It is not the best possible one.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.audit.bounds import ErrorRates, error_rates
from veilspan.curator.tape import RecordedAnswer, ReplayMismatchError, Tape, recording, replaying

#: ``fit(table, seed)``: one run on the arguments of a fit, with noise and coins from a seed.
SeededFit = Callable[[Any, int], Any]

REFERENCES = 4  # replays with other coins, for runs that sample rows
TILTED = "minimum of "  # how the curator names the minimum of a tilted objective


@dataclass(frozen=True)
class Game:
    """Scores of the runs on both tables; large ones speak for the second.

    Attributes
    ----------
    first, second : arrays of shape (runs,)
        Log-likelihood ratios of the transcripts, second table over first.
    """

    first: np.ndarray
    second: np.ndarray

    def rates(self, alpha: float) -> ErrorRates:
        """Error rates at threshold 0, which was fixed before any run."""
        return error_rates(self.first, self.second, 0.0, alpha)


def play(
    fit: SeededFit,
    one: Any,
    two: Any,
    *,
    runs: int,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Game:
    """Run a fit ``runs`` times on each of two tables.

    Parameters
    ----------
    fit : callable
        ``fit(table, seed)``; everything that it releases goes through a curator.
    one, two : Any
        Neighbouring inputs.
    runs : int
        Runs on each table.
    seed : int
        Of the whole game. No seed of a run is used twice.
    progress : callable, optional
        Told the number of runs done since it was last told.
    """
    if runs < 2:
        raise ValueError(f"a game needs two or more runs on each table; got {runs}.")
    seeds = _make_seeds(seed, 2 * runs)
    report = progress or (lambda done: None)
    with no_simulation_warnings():
        first = np.array([_score(fit, one, two, s, report) for s in seeds[:runs]])
        second = np.array([-_score(fit, two, one, s, report) for s in seeds[runs:]])
    return Game(first, second)


def score_runs(
    mechanism: Callable[[Any, np.random.Generator], float], table: Any, runs: int, seed: int
) -> np.ndarray:
    """Scores of any mechanism: ``mechanism(table, rng)`` returns one number about its output."""
    return np.array([mechanism(table, np.random.default_rng(s)) for s in _make_seeds(seed, runs)])


# ---------------------------------------------------------------- scores


def _score(
    fit: SeededFit, home: Any, away: Any, seed: int, progress: Callable[[int], None]
) -> float:
    """Log-likelihood of a run on ``home`` under ``away``, less that under ``home``."""
    with recording() as tape:
        fit(home, seed)
    if any(entry.question.event[2] < 1 for entry in tape.entries):
        score = _score_samples(fit, tape, home, away, seed)
    else:
        other = play_back(fit, tape, away, seed)
        score = -math.inf if other is None else log_likelihood_ratio(tape, other)
    progress(1)
    return score


def log_likelihood_ratio(home: Tape, away: Tape) -> float:
    """Of the recorded answers: as if they came from the table of ``away``, over ``home``."""
    total = 0.0
    for own, other in zip(home.entries, away.entries):
        shift = other.exact - own.exact
        if not np.any(shift):
            continue
        if own.question.std == 0:
            return -math.inf
        total += float((read_answer(own) - (own.exact + other.exact) / 2) @ shift) / (
            own.question.std**2
        )
    return total


def read_answer(entry: RecordedAnswer) -> np.ndarray:
    """Return what an attacker sees of an answer: 0 where the exact value is the noise (a tilt)."""
    if entry.question.query.startswith(TILTED):
        return np.zeros_like(entry.exact)
    return entry.given


def play_back(fit: SeededFit, tape: Tape, table: Any, seed: int) -> Tape | None:
    """Run another table on recorded answers and return its tape.

    None if the table leads to other questions: then it cannot be the one that was recorded.
    """
    with replaying(tape) as other:
        try:
            fit(table, seed)
        except ReplayMismatchError:
            return None
    return other if len(other.entries) == len(tape.entries) else None


def _score_samples(fit: SeededFit, tape: Tape, home: Any, away: Any, seed: int) -> float:
    """Score that does not know who took part: see the head of this file."""
    references = []
    for other_seed in _make_seeds(seed, REFERENCES):
        ours = play_back(fit, tape, home, other_seed)
        theirs = play_back(fit, tape, away, other_seed)
        if ours is None:
            raise ValueError("the questions of this fit depend on its seed, not only on its coins.")
        if theirs is None:
            return -math.inf
        references.append((ours, theirs))
    total = 0.0
    for place, entry in enumerate(tape.entries):
        if entry.question.std == 0:
            return -math.inf
        exact = [(a.entries[place].exact, b.entries[place].exact) for a, b in references]
        shift = max((b - a for a, b in exact), key=lambda v: float(v @ v))
        mean = sum((a + b) / 2 for a, b in exact) / len(exact)
        rate = entry.question.event[2]
        total += rate * float((read_answer(entry) - mean) @ shift) / entry.question.std**2
    return total


def _make_seeds(seed: int, count: int) -> list[int]:
    """Seeds of runs: different from each other and, practically surely, from those of others."""
    words = np.random.SeedSequence(seed).generate_state(count, np.uint64)
    return [int(word) for word in words]


class no_simulation_warnings(warnings.catch_warnings):
    """An audit runs simulations on purpose, on tables too small to learn from."""

    def __enter__(self) -> Any:
        log = super().__enter__()
        warnings.simplefilter("ignore", UserWarning)
        return log
