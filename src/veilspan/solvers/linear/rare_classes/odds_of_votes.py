r"""What divided votes say of log-odds: the likelihood of a noisy histogram of scores by class.

Votes at a knot u_k come from all scores of the two cells beside it. Over a cell the probability may
fall by a factor of ten, so the share of the second class among these votes is not the probability
at the knot: of calibrated scores about -5.4, with knots at -3.3 and -7.1, the votes at -7.1 hold
three times as many of the second class as sigma(-7.1) says. It is a mean over the scores that vote
there,

    q_k = integral phi_k(u) p(u) P(u) du / integral phi_k(u) p(u) du,

where phi_k(u) is the share of a vote that the score u gives to the knot and P the probability that
is looked at. The density p is read off the same counts: its logarithm is a line in every cell,
and its masses under phi_k are the released ones.

Let H_1, H_0 be the noisy counts at a knot, each with noise of std s. Whatever the number R of
votes there,

    z = (q H_0 - (1 - q) H_1) / sqrt(w),   w = q^2 + (1 - q)^2,

has the mean 0, and the variance s^2 by noise and R q (1 - q) / w by who came: it is what is left of
the counts beside the best R. Knots without rows say the same of every P, however much noise they
have. R is taken by its noisy count.

All of it is post-processing of released counts.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

#: Scores that are looked at in each cell, at the middles of equal parts, and rounds in which the
#: density comes to have the released masses. More of either move no factor by 0.002.
PARTS, ROUNDS = 8, 10
#: Rows at the least, where there is no noise: the density has a logarithm.
LEAST_MASS = 1e-3
#: Rows squared: without noise a knot without rows must not divide by nothing.
TINY = 1e-9
#: Noise, in shares of the public number of rows, up to which many knots are asked for. Noise of a
#: histogram grows by the root of its knots, which costs nothing only where it is small; there many
#: knots tell where in a cell the rows are, also when all have one of two scores.
QUIET = 1 / 4000


def is_quiet(noise_std: float, rows: int | None) -> bool:
    """Whether many knots may be asked for, by public numbers.

    Parameters
    ----------
    noise_std : float
        Of a count.
    rows : int or None
        Public number of rows, or a public guess; beside ``None`` only no noise is small.
    """
    return noise_std <= QUIET * (rows or 0)


@lru_cache(maxsize=8)  # knots come in a few numbers only
def places_between(n_knots: int) -> np.ndarray:
    """Places of the scores that are looked at, counted in knots: 0.5 is amid the first cell."""
    places = (np.arange((n_knots - 1) * PARTS) + 0.5) / PARTS
    places.flags.writeable = False
    return places


@lru_cache(maxsize=8)
def shares_between(n_knots: int) -> np.ndarray:
    """Share of a vote at each of these places that a knot gets, one row for each knot."""
    knots = np.arange(n_knots)[:, None]
    shares = np.maximum(0.0, 1.0 - np.abs(knots - places_between(n_knots)))
    shares.flags.writeable = False
    return shares


def scores_between(knots: np.ndarray, bend: float | None) -> np.ndarray:
    """Scores at these places, on the scale on which votes are divided.

    Parameters
    ----------
    knots : array of shape (B,)
        Scores of the knots.
    bend : float, optional
        That of the histogram.
    """
    number, places = np.arange(len(knots)), places_between(len(knots))
    if bend is None:
        return np.interp(places, number, knots)
    return np.asarray(bend * np.sinh(np.interp(places, number, np.arcsinh(knots / bend))))


def who_votes(masses: np.ndarray, noise_std: float) -> np.ndarray:
    """Where the votes at each knot come from: shares of the places, one row for each knot.

    Parameters
    ----------
    masses : array of shape (B,)
        Noisy numbers of votes at the knots.
    noise_std : float
        What is less than this cannot be told from nothing, and counts as this much.
    """
    shares = shares_between(len(masses))
    # Only one cell votes for a knot at an end.
    masses = np.maximum(masses, max(noise_std, LEAST_MASS) * shares.sum(axis=1) / PARTS)
    density = masses
    for _ in range(ROUNDS):
        density = density * (masses / (shares @ _between(shares, density)))
    votes = shares * _between(shares, density)
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))


def log_likelihood(counts: np.ndarray, second: np.ndarray, noise_std: float) -> np.ndarray:
    """Logarithm of the likelihood of counts, for each row of probabilities at the knots.

    Parameters
    ----------
    counts : array of shape (2, B)
        Noisy counts of both classes.
    second : array of shape (m, B)
        q: shares of the second class among the votes at each knot.
    noise_std : float
        Standard deviation of each count.
    """
    # A mean may be more than its largest part by rounding.
    second = np.minimum(np.maximum(second, 0.0), 1.0)
    first = 1.0 - second
    weigh = second**2 + first**2
    rows = np.maximum(counts.sum(axis=0), 0.0)
    missed = (second * counts[0] - first * counts[1]) ** 2 / weigh
    spread = noise_std**2 + rows * second * first / weigh + TINY
    return np.asarray(-0.5 * (missed / spread + np.log(spread)).sum(axis=1))


def _between(shares: np.ndarray, density: np.ndarray) -> np.ndarray:
    """The density at places between the knots: its logarithm is a line in every cell.

    Shares of a vote fall in lines as well: weighted by them, values at knots lie on such lines.
    """
    return np.exp(np.log(density) @ shares)  # type: ignore[no-any-return]
