r"""What an attacker gains, by one figure that compares releases of whatever method.

By the letter of (epsilon, delta) an attacker with two equally likely guesses is right at most

    (e^epsilon + delta) / (e^epsilon + 1)

of the time (:mod:`veilspan.privacy.strength`): the same for every method at the same epsilon and
delta, so this is the figure to compare. A release whose noise is known keeps a promise that is
better than its letter, by how much depends on the method; that figure is said second.
"""

from __future__ import annotations

import math

from veilspan.privacy.strength import find_even_odds
from veilspan.reports.html import Html, table, tag
from veilspan.reports.numbers import number
from veilspan.reports.subject import Subject

#: Promises that one release is compared with.
LADDER = (0.1, 0.5, 1.0, 2.0, 3.0, 10.0)
#: Epsilons as close as this are one line: what was asked for and what was needed.
SAME = 0.01


def of_hundred(share: float) -> str:
    """Right guesses of 100, rounded up, since it is an upper bound; never a round 100.

    Examples
    --------
    >>> of_hundred(0.73105), of_hundred(0.99999), of_hundred(1.0)
    ('73.2', '99.999', '100')
    """
    if share >= 1:
        return "100"
    wrong = 100 * (1 - share)
    # As many decimals as tell it from 100, and one at least.
    decimals = max(1, math.ceil(-math.log10(wrong) - 1e-9)) if wrong > 0 else 1
    if decimals > 9:
        return "100"
    scale = 10.0**decimals
    return f"{min(math.ceil(100 * share * scale - 1e-6), 100 * scale - 1) / scale:.{decimals}f}"


def letter_odds(subject: Subject) -> float:
    """Largest share of right guesses that the promise allows, whatever the method."""
    return find_even_odds(_asked(subject), subject.statement.delta)


def _asked(subject: Subject) -> float:
    """Epsilon as it was asked for: a hair more than was needed, and alike for equal requests."""
    statement = subject.statement
    return max(statement.epsilon, statement.asked or 0.0)


def own_odds(subject: Subject) -> float | None:
    """The same by this release's own noise; None where no more than the letter is known."""
    if subject.promise is None:
        return None
    found = subject.promise.even_odds
    return found if found < letter_odds(subject) - 5e-4 else None


def say_odds(subject: Subject, question: str) -> str:
    """The promise as odds, in two sentences for people who know no mathematics."""
    who = subject.statement.unit.partition(":")[0]
    told = (
        "In plain words: somebody knows all the other data and has two equally likely guesses "
        f"about {who} ({question}). Without the release they are right in 50 of 100 cases; with "
        f"it in at most {of_hundred(letter_odds(subject))} of 100."
    )
    own = own_odds(subject)
    if own is None:
        return told
    return f"{told} The noise that was really used allows {of_hundred(own)}."


def compare(subject: Subject) -> Html:
    """A ladder of promises with the place of this one on it."""
    statement = subject.statement
    asked = _asked(subject)
    others = (e for e in LADDER if not math.isclose(e, asked, rel_tol=SAME))
    steps = sorted((*others, asked))
    own = own_odds(subject)
    rows = []
    for epsilon in steps:
        here = epsilon == asked
        odds = of_hundred(find_even_odds(epsilon, statement.delta))
        name = subject.epsilon if here else number(epsilon)
        rows.append(
            (
                tag("b", name) if here else name,
                tag("b", odds) if here else odds,
                tag("b", "this release") if here else "",
            )
        )
    words = (
        "An attacker's right guesses of 100, where 50 are blind luck. This figure is the same "
        "for every method with this ε and δ."
    )
    if own is not None:
        words += (
            f" The noise that was really used allows only {of_hundred(own)}: its form is known, "
            "and it protects better than ε alone says. How much better depends on the method, so "
            "compare releases of different methods by the first figure only."
        )
    return tag(
        "div",
        tag("p", words),
        table(
            ("ε", "right of 100, at most", ""), rows, caption="Promises compared", numeric=(0, 1)
        ),
        class_="ladder",
    )
