r"""How strong a promise is, by a rule that can be said aloud; and what an attacker can do at best.

The rule goes by the letter of the promise, (epsilon, delta), and by the number n of people, so that
it is the same for all estimators. By the letter no release makes an attacker's odds more than
e^epsilon times what they were, but with probability delta. With even odds she is then right at most

    (e^epsilon + delta) / (e^epsilon + 1)

of the time (the total variation distance is at most (e^epsilon - 1 + 2 delta) / (e^epsilon + 1);
Kairouz, Oh & Viswanath 2015): 73 % at epsilon = 1, 95 % at 3, all but once in 22,000 at 10.

*strong*: epsilon is at most 1; delta is at most 1e-5, and at most a tenth of 1/n where n is known.
*moderate*: epsilon is at most 3, and delta is below 1/n. *weak*: epsilon is above 3, or delta is
not below 1/n: publishing the row of one person, drawn at random, keeps (0, 1/n). *none*: no
guarantee at all.

Full-batch Gaussian releases are better than their letter: with mu-GDP the attacker with even odds
is right at most Phi(mu / 2) of the time, which the best test meets (Dong, Roth & Su 2022). Words
about an attacker use it where it holds; the rule does not.

n is the public number of people under replace-one. Under add-remove n is private: a public guess
stands for it, and where there is none nothing is said about 1/n but that nobody could check it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from veilspan.privacy import gdp

STRONG, MODERATE, WEAK, NONE = "strong", "moderate", "weak", "none"
#: Largest epsilon of a strong and of a moderate promise; the top of this file says why.
MOST_STRONG, MOST_MODERATE = 1.0, 3.0
#: Largest delta of a strong promise, and its largest part of 1/n.
STRONG_DELTA, STRONG_PART = 1e-5, 0.1
#: Above this epsilon a fit, a plan and a report say what an attacker can do.
ALARMING = 10.0
#: The rule as a report says it.
RULES = {
    STRONG: "strong: ε is at most 1, δ at most 10⁻⁵ and at most a tenth of one over the number of "
    "people, where that is known",
    MODERATE: "moderate: ε is at most 3, and δ below one over the number of people",
    WEAK: "weak: ε is above 3, or δ is not below one over the number of people",
    NONE: "there is no guarantee",
}
#: What a badge says.
BADGES = {
    STRONG: "Private: strong",
    MODERATE: "Private: moderate",
    WEAK: "Private, but WEAK",
    NONE: "NOT PRIVATE",
}


class Strength(NamedTuple):
    """How strong a promise is.

    Attributes
    ----------
    grade : {"strong", "moderate", "weak", "none"}
        By the rule at the top of this file.
    reasons : tuple of str
        Why it is weak, or none; empty otherwise.
    """

    grade: str
    reasons: tuple[str, ...] = ()


def grade_promise(
    epsilon: float,
    delta: float,
    population: int | None,
    *,
    odds: float | None = None,
) -> Strength:
    """How strong a promise is.

    Parameters
    ----------
    epsilon, delta : float
        The promise.
    population : int or None
        Number of people: public, or a public guess; None if nobody said.
    odds : float, optional
        The best attacker's share of right guesses (:func:`find_even_odds`), if more than the letter
        is known of the release.
    """
    if not math.isfinite(epsilon):
        return Strength(NONE, ("epsilon is infinite",))
    reasons = []
    if is_delta_weak(delta, population):
        reasons.append(say_weak_delta(delta, population))
    if epsilon > MOST_MODERATE:
        odds = find_even_odds(epsilon, delta) if odds is None else odds
        reasons.append(f"epsilon is {epsilon:.6g}. {say_attacker(odds)}")
    if reasons:
        return Strength(WEAK, tuple(reasons))
    small = delta <= STRONG_DELTA and delta * (population or 0) <= STRONG_PART
    return Strength(STRONG if epsilon <= MOST_STRONG and small else MODERATE)


def is_delta_weak(delta: float, population: int | None) -> bool:
    """Whether delta is known not to be below one over the number of people."""
    return population is not None and delta * population >= 1


def say_weak_delta(delta: float, population: int | None) -> str:
    """Why such a delta protects nobody in particular."""
    return (
        f"delta = {delta:g} is not below 1/n = {1 / (population or 1):.3g}: such a guarantee would "
        "allow publishing a random row."
    )


def say_unchecked_delta(delta: float) -> str:
    """What is to be said where nobody knows n: up to how many people delta is meant for."""
    return (
        f"the number of people is private and nobody guessed it: delta = {delta:g} is meant for "
        f"far fewer than {1 / delta:,.0f} of them, and that is yours to check"
    )


def find_even_odds(epsilon: float, delta: float, mu: float | None = None) -> float:
    """Largest share of right guesses between two equally likely candidates."""
    letter = 1.0 if epsilon > 700 else (math.exp(epsilon) + delta) / (math.exp(epsilon) + 1)
    if mu is None:
        return letter
    return min(letter, (1 + gdp.delta_of(mu, 0.0)) / 2)


def say_attacker(odds: float) -> str:
    """What an attacker can do at best, in one sentence; by :func:`find_even_odds`."""
    wrong = 1 - odds
    if wrong < 1e-9:
        often = "practically always right"
    elif wrong < 0.01:
        often = f"wrong only once in {_round_up(1 / wrong):,} cases"
    else:
        often = f"right in {math.ceil(1000 * odds) / 10:g} of 100 cases"
    return (
        "An attacker who knows everybody else's data and has two equally likely guesses about one "
        f"person may tell which is true, and be {often}."
    )


def _round_up(value: float) -> int:
    """Two significant digits, upwards: it bounds how rarely somebody is wrong."""
    scale: int = 10 ** max(math.floor(math.log10(value)) - 1, 0)
    return math.ceil(value / scale) * scale
