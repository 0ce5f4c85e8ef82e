r"""Mechanisms of the zoo with too little noise, or noise of the wrong shape, and repaired twins.

Each is ``mechanism(table, runs, rng)`` and returns ``runs`` independent releases, stacked. The
audit is a distinguishing game on a worst-case pair of tables, with the direction of the canary as
score; for Wishart noise the test is an event that was fixed before any run.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from audit.zoo.leaks import clip
from veilspan.audit.bounds import choose_test, error_rates
from veilspan.privacy.gdp import mu_of

Mechanism = Callable[[np.ndarray, int, np.random.Generator], np.ndarray]

#: Claimed mu where all rows are read: there 4,000 runs see noise that is 1.25 times too small.
MU = 3.0
#: Claimed mu where rows are sampled: that of the release without sampling, an upper bound.
SAMPLED_MU = 1.0
RUNS = 4_000
#: Of one game: the probability to refute a claim that is true.
ALPHA = 2e-8

# ---------------------------------------------------------------- sums, replace-one


def gaussian_sum(
    table: np.ndarray, runs: int, rng: np.random.Generator, *, factor: float = 1.0
) -> np.ndarray:
    """Sum of clipped rows; one row moves it by 2. ``factor`` is on the noise."""
    std = factor * 2 / MU
    return clip(table).sum(axis=0) + std * rng.standard_normal((runs, table.shape[1]))


def half_noise_sum(table: np.ndarray, runs: int, rng: np.random.Generator) -> np.ndarray:
    """Broken: half of the noise, as for the sensitivity of add-remove."""
    return gaussian_sum(table, runs, rng, factor=0.5)


SUM_PAIR = (np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[-1.0, 0.0], [0.0, 0.0]]))


def first_coordinate(releases: np.ndarray) -> np.ndarray:
    """Along the canary."""
    return np.asarray(releases[..., 0].reshape(len(releases), -1).sum(axis=1))


# ---------------------------------------------------------------- samples


def _sampled_sums(
    table: np.ndarray, runs: int, rng: np.random.Generator, rate: float, steps: int, std: float
) -> np.ndarray:
    """Noisy sums over Poisson samples: the whole transcript, of shape (runs, steps, d)."""
    rows = clip(table)
    coins = rng.random((runs, steps, len(rows))) < rate
    return coins @ rows + std * rng.standard_normal((runs, steps, rows.shape[1]))


BATCH_RATE, BATCH_ROWS = 0.5, 20
BATCH_PAIR = (np.zeros((BATCH_ROWS, 2)), np.vstack([np.zeros((BATCH_ROWS, 2)), [[1.0, 0.0]]]))


def batch_sum(table: np.ndarray, runs: int, rng: np.random.Generator) -> np.ndarray:
    """Repaired: noise of the sum, whose sensitivity (add-remove) is 1."""
    return _sampled_sums(table, runs, rng, BATCH_RATE, 1, 1 / SAMPLED_MU)


def batch_sum_with_noise_over_n(
    table: np.ndarray, runs: int, rng: np.random.Generator
) -> np.ndarray:
    """Broken: the noise of a mean on a sum, 1/n of what is needed."""
    return _sampled_sums(table, runs, rng, BATCH_RATE, 1, 1 / (SAMPLED_MU * BATCH_ROWS))


SGGD_RATE, SGGD_STEPS, SGGD_ROWS = 0.1, 10, 20
SGGD_STD = 2 * math.sqrt(SGGD_STEPS) / SAMPLED_MU  # of full batches, on the sum, replace-one
SGGD_PAIR = tuple(np.vstack([[[sign, 0.0]], np.zeros((SGGD_ROWS - 1, 2))]) for sign in (1.0, -1.0))


def sampled_gradients(table: np.ndarray, runs: int, rng: np.random.Generator) -> np.ndarray:
    """Repaired: a sampled row counts as much as any, so the sum of a batch needs full noise."""
    return _sampled_sums(table, runs, rng, SGGD_RATE, SGGD_STEPS, SGGD_STD)


def printed_sampled_gradients(table: np.ndarray, runs: int, rng: np.random.Generator) -> np.ndarray:
    """Broken: (B/N)^2 T log(1/delta) / (epsilon N)^2 is the printed variance of a batch *mean*.

    Against full batches (B = N), which it fits, the mean of B rows has B/N of the noise; their sum,
    B times the mean instead of N times, has (B/N)^2 of it.
    """
    return _sampled_sums(table, runs, rng, SGGD_RATE, SGGD_STEPS, SGGD_STD * SGGD_RATE**2)


# ---------------------------------------------------------------- symmetric answers


def _symmetric_noise(
    shape: tuple[int, ...], rng: np.random.Generator, diagonal: float
) -> np.ndarray:
    """Symmetric normals of std 1/sqrt(2) off the diagonal and ``diagonal`` on it."""
    z = rng.standard_normal(shape)
    noise = (z + np.swapaxes(z, -1, -2)) / 2
    places = np.arange(shape[-1])
    noise[..., places, places] *= diagonal
    return np.asarray(noise)


def isotropic_moment(
    table: np.ndarray, runs: int, rng: np.random.Generator, *, diagonal: float = 1.0
) -> np.ndarray:
    """Second moment of clipped rows; one row moves it by sqrt(2) in the Frobenius norm."""
    rows = clip(table)
    noise = _symmetric_noise((runs, rows.shape[1], rows.shape[1]), rng, diagonal)
    return np.asarray(rows.T @ rows + math.sqrt(2) / MU * noise)


def iid_moment(table: np.ndarray, runs: int, rng: np.random.Generator) -> np.ndarray:
    """Broken: every entry gets the noise of one off the diagonal; squares of one feature show."""
    return isotropic_moment(table, runs, rng, diagonal=math.sqrt(0.5))


MOMENT_PAIR = (np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 0.0]]))


def difference_of_squares(releases: np.ndarray) -> np.ndarray:
    """Along e1 e1^T - e2 e2^T."""
    return np.asarray(releases[:, 0, 0] - releases[:, 1, 1])


# ---------------------------------------------------------------- Wishart noise

WISHART_EPSILON, DELTA, WISHART_ROWS, WISHART_WIDTH = 1.0, 1e-6, 100, 5


def _wishart_pair() -> tuple[np.ndarray, np.ndarray]:
    """A row of zeros, against a unit row in its place."""
    table = clip(np.random.default_rng(0).standard_normal((WISHART_ROWS, WISHART_WIDTH)))
    table[0] = 0
    other = table.copy()
    other[0, 0] = 1
    return table, other


WISHART_PAIR = _wishart_pair()


def wishart_moment(table: np.ndarray, runs: int, rng: np.random.Generator) -> np.ndarray:
    """Broken: A + W with W ~ Wishart(d + 1, 3/(2 n epsilon) I) is never below A."""
    n, d = table.shape
    root = rng.standard_normal((runs, d + 1, d))
    wishart = np.swapaxes(root, 1, 2) @ root * 3 / (2 * n * WISHART_EPSILON)
    return np.asarray(table.T @ table / n + wishart)


def gaussian_moment(table: np.ndarray, runs: int, rng: np.random.Generator) -> np.ndarray:
    """Repaired: symmetric Gaussian noise, calibrated exactly."""
    n, d = table.shape
    std = math.sqrt(2) / n / mu_of(WISHART_EPSILON, DELTA)
    return np.asarray(table.T @ table / n + std * _symmetric_noise((runs, d, d), rng, 1.0))


def below_second_table(releases: np.ndarray) -> np.ndarray:
    """Least eigenvalue of M - A': never negative under the second table with Wishart noise."""
    second = WISHART_PAIR[1]
    return np.asarray(np.linalg.eigvalsh(releases - second.T @ second / len(second))[:, 0])


# ---------------------------------------------------------------- the audits


def game_findings(
    mechanism: Mechanism,
    pair: tuple[np.ndarray, ...],
    score: Callable[[np.ndarray], np.ndarray],
    claimed: float,
    seed: int = 0,
) -> tuple[str, ...]:
    """Refute a claimed mu: half of the runs choose the test, half judge it."""
    first, second = _scores(mechanism, pair, score, seed)
    found = choose_test(first, second, ALPHA).mu
    return (f"mu is at least {found:.2f}, claimed {claimed:g}.",) if found > claimed else ()


def event_findings(mechanism: Mechanism, seed: int = 0) -> tuple[str, ...]:
    """Refute epsilon by an event fixed in advance: M - A' has a negative eigenvalue."""
    first, second = _scores(mechanism, WISHART_PAIR, below_second_table, seed)
    found = error_rates(first, second, -1e-12, ALPHA).epsilon(DELTA)
    if found <= WISHART_EPSILON:
        return ()
    return (f"epsilon is at least {found:.2f} at delta {DELTA:g}, claimed {WISHART_EPSILON:g}.",)


def _scores(
    mechanism: Mechanism,
    pair: tuple[np.ndarray, ...],
    score: Callable[[np.ndarray], np.ndarray],
    seed: int,
) -> list[np.ndarray]:
    streams = np.random.SeedSequence(seed).spawn(2)
    return [
        score(mechanism(table, RUNS, np.random.default_rng(stream)))
        for table, stream in zip(pair, streams)
    ]
