r"""From error rates of a test to lower bounds on privacy parameters.

A distinguishing game draws scores under two neighbouring tables and calls "the second" whenever a
score exceeds a threshold t. With FPR = P[score > t | first] and FNR = P[score <= t | second],

* a mu-GDP mechanism has Phi^-1(1 - FPR) - Phi^-1(FNR) <= mu for every test (Dong, Roth & Su 2022,
  Definition 2.6 rewritten);
* an (epsilon, delta)-DP mechanism has FNR >= 1 - delta - e^epsilon FPR, and the same with both
  rates exchanged (Kairouz, Oh & Viswanath 2015, Theorem 2.1): *both roles*.

Both right sides decrease in both rates, so upper confidence bounds on the rates give lower bounds
on mu and epsilon. One pair of bounds serves all statements made from it: no further correction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

#: What is maximised where a threshold is chosen by runs.
Aim = Literal["mu", "epsilon"]
_LEVELS = np.linspace(0.002, 0.998, 499)


def clopper_pearson_upper(hits: int, runs: int, alpha: float) -> float:
    """Upper bound on a probability, too small with probability at most ``alpha``.

    The largest p for which ``hits`` or fewer of ``runs`` have probability alpha: the upper alpha
    quantile of Beta(hits + 1, runs - hits) (Clopper & Pearson 1934). The complemented function
    keeps its accuracy for an alpha of 1e-7, where 1 - alpha would not.
    """
    _check_rate(hits, runs, alpha)
    if hits == runs:
        return 1.0
    from scipy.special import betainccinv

    return float(betainccinv(hits + 1.0, float(runs - hits), alpha))


@dataclass(frozen=True)
class ErrorRates:
    """Upper bounds on both error rates of one test, wrong with probability ``alpha`` together.

    Attributes
    ----------
    false_positive, false_negative : float
        Upper confidence bounds.
    runs : int
        Scores that they rest on, of both tables together.
    alpha : float
        Probability that one of them is too small.
    """

    false_positive: float
    false_negative: float
    runs: int
    alpha: float

    @property
    def mu(self) -> float:
        """Lower bound on mu of a mechanism that is Gaussian differentially private."""
        from scipy.special import ndtri

        if self.false_positive + self.false_negative >= 1:
            return 0.0
        return max(0.0, -float(ndtri(self.false_positive)) - float(ndtri(self.false_negative)))

    def epsilon(self, delta: float) -> float:
        """Lower bound on epsilon at ``delta``, for any mechanism, in both roles."""
        one, two = self.false_positive, self.false_negative
        return max(0.0, *(_log_ratio(1 - b - delta, a) for a, b in ((one, two), (two, one))))

    def delta(self, epsilon: float) -> float:
        """Lower bound on delta at ``epsilon``, for any mechanism, in both roles."""
        one, two = self.false_positive, self.false_negative
        grow = math.exp(min(epsilon, 700.0))
        return max(0.0, *(1 - b - grow * a for a, b in ((one, two), (two, one))))


def error_rates(
    first: np.ndarray, second: np.ndarray, threshold: float, alpha: float
) -> ErrorRates:
    """Bound the rates of the test "score > threshold" that was fixed before these runs.

    Parameters
    ----------
    first, second : arrays
        Independent scores under the two tables; large ones speak for the second.
    threshold : float
        Chosen without these scores.
    alpha : float
        Allowed error, half of it for each rate.
    """
    first, second = _scores(first), _scores(second)
    hits, misses = int(np.sum(first > threshold)), int(np.sum(second <= threshold))
    return ErrorRates(
        clopper_pearson_upper(hits, len(first), alpha / 2),
        clopper_pearson_upper(misses, len(second), alpha / 2),
        len(first) + len(second),
        alpha,
    )


def choose_test(
    first: np.ndarray,
    second: np.ndarray,
    alpha: float,
    *,
    aim: Aim = "mu",
    delta: float = 0.0,
) -> ErrorRates:
    """Half of the runs choose threshold and direction, the other half judge.

    Scores of one table are independent of each other, so any split that does not look at them is
    as good as another; the first half chooses.

    Parameters
    ----------
    first, second, alpha
        As in :func:`error_rates`; nothing is known about the direction of the scores.
    aim : {"mu", "epsilon"}
        Which bound the choice is for.
    delta : float
        Of the bound on epsilon.
    """
    first, second = _scores(first), _scores(second)
    halves = len(first) // 2, len(second) // 2
    sign, threshold = _best_test(
        first[: halves[0]], second[: halves[1]], alpha, aim=aim, delta=delta
    )
    return error_rates(sign * first[halves[0] :], sign * second[halves[1] :], threshold, alpha)


def epsilon_lower_bound(first: np.ndarray, second: np.ndarray, delta: float, alpha: float) -> float:
    """Lower bound on epsilon at ``delta`` by :func:`choose_test`, valid for any mechanism."""
    return choose_test(first, second, alpha, aim="epsilon", delta=delta).epsilon(delta)


def _best_test(
    first: np.ndarray, second: np.ndarray, alpha: float, *, aim: Aim, delta: float
) -> tuple[float, float]:
    """Direction and threshold with the best bound on these runs."""
    best, found = -math.inf, (1.0, 0.0)
    for sign in (1.0, -1.0):
        one, two = np.sort(sign * first), np.sort(sign * second)
        # "lower" takes scores that occurred: quantiles between would average infinite scores.
        levels = np.unique(np.quantile(np.concatenate([one, two]), _LEVELS, method="lower"))
        positive = _upper(len(one) - np.searchsorted(one, levels, "right"), len(one), alpha / 2)
        negative = _upper(np.searchsorted(two, levels, "right"), len(two), alpha / 2)
        values = _mus(positive, negative) if aim == "mu" else _epsilons(positive, negative, delta)
        place = int(np.argmax(values))
        if values[place] > best:
            best, found = float(values[place]), (sign, float(levels[place]))
    return found


def _upper(hits: np.ndarray, runs: int, alpha: float) -> np.ndarray:
    """Clopper-Pearson bounds of many counts at once."""
    from scipy.special import betainccinv

    bounds = betainccinv(hits + 1.0, np.maximum(runs - hits, 1.0), alpha)
    return np.asarray(np.where(hits >= runs, 1.0, bounds))


def _mus(positive: np.ndarray, negative: np.ndarray) -> np.ndarray:
    from scipy.special import ndtri

    # A rate of 1 would be infinite against an infinite other one.
    kept = np.minimum(positive, 1 - 1e-12), np.minimum(negative, 1 - 1e-12)
    return np.asarray(-ndtri(kept[0]) - ndtri(kept[1]))


def _epsilons(positive: np.ndarray, negative: np.ndarray, delta: float) -> np.ndarray:
    one = np.log(np.maximum(1 - negative - delta, 1e-300) / positive)
    two = np.log(np.maximum(1 - positive - delta, 1e-300) / negative)
    return np.asarray(np.maximum(one, two))


def _log_ratio(numerator: float, denominator: float) -> float:
    if numerator <= 0:
        return 0.0
    return math.log(numerator / denominator)


def _scores(scores: np.ndarray) -> np.ndarray:
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 1 or len(scores) < 2 or np.isnan(scores).any():
        raise ValueError("scores must be a list of two or more numbers without NaN.")
    return scores


def _check_rate(hits: int, runs: int, alpha: float) -> None:
    if not 0 <= hits <= runs or runs < 1:
        raise ValueError(f"hits must lie between 0 and runs; got {hits} of {runs}.")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie strictly between 0 and 1; got {alpha}.")
