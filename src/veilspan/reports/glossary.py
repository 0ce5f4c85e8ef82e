"""Words of a report for people who meet them for the first time, and the rules it judges by."""

from __future__ import annotations

from veilspan.reports.cover.recommendation import RULES
from veilspan.reports.html import Html, tag

WORDS = (
    (
        "Differential privacy",
        "A promise about a computation: what comes out is nearly as likely if one person's data is "
        "exchanged or left out. Random noise makes it true.",
    ),
    (
        "Release",
        "The numbers that leave the computation, with the noise in them. Nothing else leaves.",
    ),
    (
        "Epsilon, ε",
        "How much a release may tell about one person, at most. 0 is nothing; up to 1 is strong, "
        "above 3 is weak.",
    ),
    (
        "Delta, δ",
        "How likely it is that the promise fails. It must be far below one over the number of "
        "people: a millionth is usual.",
    ),
    (
        "Who is protected",
        "A row, a patient, a user. The promise is to each of them, for all of their data in the "
        "table; it is not about groups.",
    ),
    (
        "Neighbours",
        "The two tables that must look alike. “replace-one”: one is exchanged, and how many there "
        "are is public. “add-remove”: one is missing, and how many there are is protected too.",
    ),
    ("Noise", "Random numbers that are added to every answer before it leaves."),
    (
        "Budget and share",
        "What all releases about the same people may tell together. A release uses a share of it; "
        "shares add up to 100 %, epsilons do not.",
    ),
    (
        "Ledger, account",
        "The sealed record of who used which share. What is used is never given back.",
    ),
    (
        "Attacker",
        "Somebody who knows all the other data and wants to learn about one person. Nobody knows "
        "that much; whoever is safe from this attacker is safe from others.",
    ),
    ("False alarm", "The attacker says yes, and is wrong."),
    (
        "Audit",
        "An attack by ourselves on made-up data. It can show that a promise is broken, never that "
        "it holds.",
    ),
    (
        "Seed",
        "A number that makes random noise repeatable. Whoever knows it can take the noise off, so "
        "a release with a seed is not private.",
    ),
)


def glossary() -> Html:
    """The section with the words, and with the rules of recommendations."""
    pairs = (tag("div", tag("dt", word), tag("dd", meaning)) for word, meaning in WORDS)
    rules = (tag("li", text) for text in RULES)
    return tag(
        "section",
        tag("h2", "Words"),
        tag("dl", *pairs, class_="glossary"),
        tag("h3", "By which rules a cover recommends"),
        tag("ol", *rules, class_="rules"),
        id="words",
        class_="card",
    )
