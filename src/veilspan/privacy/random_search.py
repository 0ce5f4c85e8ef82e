r"""What the best of a random number of trials costs: a search with few or many candidates.

A *trial* Q draws a candidate by public coins, fits it privately and releases the model with a noisy
score; both are parts of its outcome x, and both are paid for. A search draws K, runs K independent
trials, and releases the outcome with the highest score. K, the other outcomes and their scores are
forgotten. How many candidates there are does not matter.

**The law.** K ~ TNB(eta, gamma), the truncated negative binomial law on 1, 2, ... whose generating
function f(q) = E q^K has

    f'(q) = m (gamma / (1 - (1 - gamma) q))^(eta + 1),        m = f'(1) = E K:

m = eta (1 - gamma) / (gamma (1 - gamma^eta)), and (1/gamma - 1) / log(1/gamma) for eta = 0, the
logarithmic law. eta = 1 is geometric: a coin that says "go on" with probability 1 - gamma.

**Theorem.** Let Q have the privacy profile delta_Q (the largest hockey-stick divergence between
neighbours, of either relation, in both orders). For any e >= 0 put

    C(e) = max( 1 + delta_Q(e) (1 - gamma) / gamma,   gamma + (1 - gamma) (e^e + delta_Q(e)) ),

and C = min_e C(e). The search A has, for epsilon >= (eta + 1) log C and every order a > 1,

    delta_A(epsilon) <= m delta_Q(epsilon - (eta + 1) log C),
    R_A(a)           <= R_Q(a) + log m / (a - 1) + (eta + 1) log C.

*Proof.* Outcomes are ordered by their score; ties are broken by a label that each trial draws
uniformly, so that the order is total and no outcome has positive probability. (The label is a part
of x that costs nothing.) P and P' are the laws of Q on two neighbouring tables, p and p' their
densities. The best of K outcomes lies at or below x with probability f(P(<= x)), so that A has the
density a(x) = p(x) f'(q) with q = P(<= x), and likewise a'(x) = p'(x) f'(q') with q' = P'(<= x).

(i) *The ratio f'(q) / f'(q').* The event "above x" has probabilities t = 1 - q and t' = 1 - q', and
t' <= e^e t + delta_Q(e). Hence

    (f'(q) / f'(q'))^(1/(eta+1)) = (gamma + (1-gamma) t') / (gamma + (1-gamma) t)
                                <= (gamma + (1-gamma) (e^e t + delta_Q(e))) / (gamma + (1-gamma) t),

a quotient of linear functions of t, hence monotone on [0, 1] and at most its larger end, which is
C(e). Every e gives a valid bound, so the least does: f'(q) <= C^(eta+1) f'(q') at every x.
(Koskela, Redberg & Wang 2024 have e^e + delta_Q(e) (1-gamma)/gamma in place of C(e), which is
never smaller.)

(ii) *Profile.* With c = epsilon - (eta + 1) log C and f' <= f'(1) = m,

    int [a - e^epsilon a']_+ = int f'(q) [p - e^epsilon (f'(q') / f'(q)) p']_+
                            <= int f'(q) [p - e^c p']_+  <=  m delta_Q(c).

(iii) *Rényi.* int a^s a'^(1-s) = int p^s p'^(1-s) f'(q) (f'(q) / f'(q'))^(s-1), for an order s, is
at most m C^((eta+1)(s-1)) int p^s p'^(1-s). Take logarithms and divide by s - 1.

Neighbours enter through delta_Q and R_Q alone, so both relations are covered by their own.  []

*Kinds of trials.* Q draws its candidate with coins that do not depend on rows, and the candidate is
a part of x: delta_Q is an average of the profiles of the candidates' trials, at most the largest of
them, and so is the exponential moment behind R_Q. The largest is what is counted here.

Compare Liu & Talwar 2019 (geometric K, three times a pure epsilon), Papernot & Steinke 2022
(TNB and Rényi orders; their Theorem 2 is (iii) with log C bounded by another order), and
Koskela, Redberg & Wang 2024 (profiles).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from veilspan.privacy.accounting import epsilon_spent, profile_of
from veilspan.privacy.events import SearchEvent
from veilspan.privacy.neighbors import Neighbors

#: Halvings of the interval in which the best e lies; any e is valid, so that they only sharpen.
HALVINGS = 50
#: Added to log C for the rounding of a dozen float64 operations.
MARGIN = 1e-12


def mean_trials(eta: float, gamma: float) -> float:
    """The mean m of K, rounded up.

    Examples
    --------
    >>> round(mean_trials(1.0, 0.1), 6), round(mean_trials(0.0, 0.1), 4)
    (10.0, 3.9087)
    """
    logarithm = -math.log(gamma)
    if abs(eta) * logarithm < 1e-6:  # the logarithmic law, to first order in eta
        shrunk = logarithm * (1 - eta * logarithm / 2)
        return (1 - gamma) / gamma / shrunk * (1 + 1e-11)
    return eta * (1 - gamma) / (gamma * -math.expm1(-eta * logarithm)) * (1 + MARGIN)


def chance_tried(eta: float, gamma: float, candidates: int) -> float:
    """Probability that a given one of so many candidates is tried at all: 1 - f(1 - 1/k).

    Examples
    --------
    >>> round(chance_tried(1.0, 1 / 27, 10), 4)
    0.75
    """
    base = 1 - (1 - gamma) * (1 - 1 / candidates)
    if abs(eta) < 1e-9:
        return 1 - math.log(base) / math.log(gamma)
    return 1 - math.expm1(-eta * math.log(base)) / math.expm1(-eta * math.log(gamma))


def draw_geometric(gamma: float, coins: np.random.Generator) -> int:
    """K for eta = 1: exactly geometric, by coins that say "stop" with probability gamma.

    gamma is a float, hence a whole number over a power of two, and as many fair bits decide each
    coin without any rounding.
    """
    top, bottom = gamma.as_integer_ratio()
    bits = bottom.bit_length() - 1
    trials = 1
    while _fair_bits(bits, coins) >= top:
        trials += 1
    return trials


def search_epsilon(event: SearchEvent, delta: float, neighbors: Neighbors) -> float:
    """Epsilon of one search at delta: (eta + 1) log C + epsilon_Q(delta / m)."""
    if event.noise_multiplier == 0:
        return math.inf
    part = delta / mean_trials(event.eta, event.gamma)
    dearest = max(epsilon_spent(trial, part, neighbors=neighbors) for trial in event.trials)
    return dearest + factor_cost(event, neighbors)


def search_delta(event: SearchEvent, epsilon: float, neighbors: Neighbors) -> float:
    """Delta of one search at epsilon, at most 1: m delta_Q(epsilon - (eta + 1) log C)."""
    left = epsilon - factor_cost(event, neighbors)
    if not left >= 0:
        return 1.0
    worst = max(profile_of(trial, neighbors)(left) for trial in event.trials)
    return min(1.0, mean_trials(event.eta, event.gamma) * worst)


def search_divergences(event: SearchEvent, trial: np.ndarray, orders: Any, neighbors: Any) -> Any:
    """R_A at each order from R_Q, ``trial``, the largest of the kinds of trials."""
    mean = mean_trials(event.eta, event.gamma)
    return trial + math.log(mean) / (np.asarray(orders) - 1) + factor_cost(event, neighbors)


@lru_cache(maxsize=512)  # pure: a plan, its statement and its ledger ask for the same
def factor_cost(event: SearchEvent, neighbors: Neighbors) -> float:
    """(eta + 1) log C, rounded up."""
    profiles = [profile_of(trial, neighbors) for trial in dict.fromkeys(event.trials)]

    def delta_q(epsilon: float) -> float:
        return max(profile(epsilon) for profile in profiles)

    return (event.eta + 1) * (find_log_factor(delta_q, event.gamma) + MARGIN)


def find_log_factor(delta_q: Callable[[float], float], gamma: float) -> float:
    """Log C: the least C(e), whose two parts fall and rise with e and so cross once.

    Examples
    --------
    >>> from veilspan.privacy import gdp
    >>> round(find_log_factor(lambda e: gdp.delta_of(0.15, e), 1 / 20), 4)
    0.1737
    """
    odds = (1 - gamma) / gamma
    low, high, best = 0.0, 1.0, math.inf

    def parts(e: float) -> tuple[float, float]:
        delta = min(1.0, delta_q(e))
        # Beyond 700 the second part is taken to be infinite: C is then found at a smaller e.
        grown = math.exp(e) if e < 700 else math.inf
        return 1 + delta * odds, gamma + (1 - gamma) * (grown + delta)

    while high < 700:
        falling, rising = parts(high)
        best = min(best, max(falling, rising))
        if falling <= rising:
            break
        low, high = high, 2 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        falling, rising = parts(middle)
        best = min(best, max(falling, rising))
        low, high = (middle, high) if falling > rising else (low, middle)
    return math.log(best)


def _fair_bits(count: int, coins: np.random.Generator) -> int:
    """A uniform whole number of so many bits."""
    words = -(-count // 64)
    drawn = coins.integers(0, 2**64, size=words, dtype=np.uint64, endpoint=False)
    total = 0
    for word in drawn.tolist():
        total = total << 64 | word
    return total >> (64 * words - count)
