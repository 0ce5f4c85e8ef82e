"""The head of a report: the promise in one sentence, in numbers, and what deserves a look."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from veilspan.audit.verdict import AuditReport
from veilspan.privacy.strength import (
    BADGES,
    MODERATE,
    NONE,
    RULES,
    STRONG,
    WEAK,
    is_delta_weak,
    say_unchecked_delta,
    say_weak_delta,
)
from veilspan.reports.html import Html, join, tag
from veilspan.reports.numbers import count, equals
from veilspan.reports.odds import letter_odds, of_hundred, say_odds
from veilspan.reports.subject import Subject

NBSP = "\u00a0"
#: The share of false alarms at which an attacker's gain is stated.
MARKED = 1e-3
#: Blue is for strong promises only; no badge is told by its colour alone.
CLASSES = {
    STRONG: "promise",
    MODERATE: "promise moderate",
    WEAK: "promise weak",
    NONE: "promise danger",
}
_RELATION = {
    "replace-one": "which may have been exchanged for any other (how many there are is public)",
    "add-remove": "which may have been there or not (how many there are is private)",
}
#: What an attacker asks about one unit.
QUESTION = {
    "replace-one": "“Which of two candidates was it?”",
    "add-remove": "“Was it there?”",
}


def hero(title: str) -> Html:
    """What the page is, and its title."""
    return tag(
        "header",
        tag("p", "Veilspan · privacy report", class_="kicker"),
        tag("h1", title),
        class_="hero",
    )


def promise_in_numbers(subject: Subject) -> Html:
    """Verdict, the guarantee in one sentence, and the numbers to remember."""
    return tag("div", _promise(subject), _tiles(subject))


def promise_section(subject: Subject) -> Html:
    """The guarantee in one sentence, below what was released."""
    return tag(
        "section",
        tag("h2", "What is promised", class_="over"),
        _promise(subject),
        id="promise",
    )


def _promise(subject: Subject) -> Html:
    private = subject.statement.private
    grade = subject.strength.grade
    return tag(
        "div",
        tag("p", BADGES[grade], class_="verdict"),
        *(_sentence(subject) if private else _refusal(subject)),
        tag("p", f"{RULES[grade][0].upper()}{RULES[grade][1:]}.", class_="rule")
        if private
        else None,
        class_=CLASSES[grade],
    )


def attention(subject: Subject) -> list[tuple[str, str]]:
    """What deserves a look before anything else: pairs of a level and a sentence."""
    cautions = [("warning", text) for text in getattr(subject.source, "cautions_", ())]
    return [*_about_promise(subject), *_about_result(subject.source), *cautions]


def attention_to_audit(audit: AuditReport | None) -> list[tuple[str, str]]:
    """The same of an audit, if it found something."""
    if audit is None or audit.ok:
        return []
    return [("danger", "The audit found a violation of the promise: see Audit.")]


def notes(entries: list[tuple[str, str]]) -> Html | None:
    """The list of what deserves a look; None if there is nothing."""
    if not entries:
        return None
    words = {"danger": "Wrong", "warning": "Look"}
    items = (
        tag("li", tag("strong", words[level], class_=level), " ", text) for level, text in entries
    )
    return tag("section", tag("h2", "Before you go on"), tag("ul", *items), class_="notes card")


def unit_in_words(unit: str) -> str:
    """``one user: all of her ratings`` as ``one user (all of her ratings)``."""
    first, _, rest = unit.partition(": ")
    return f"{first} ({rest})" if rest else first


def _sentence(subject: Subject) -> tuple[Html, ...]:
    statement = subject.statement
    main = tag(
        "p",
        "This release is ",
        tag(
            "strong",
            f"(ε{NBSP}={NBSP}{subject.epsilon.replace(' ', NBSP)}, "
            f"{equals('δ', statement.delta)})-differentially private",
        ),
        " for ",
        tag("strong", unit_in_words(statement.unit)),
        f", {_RELATION[statement.neighbors]}, provided that all of the ",
        tag("a", "checklist", href="#assumptions"),
        " holds.",
        class_="sentence",
    )
    if subject.promise is None:
        return (main,)
    plain = say_odds(subject, QUESTION[statement.neighbors])
    return main, tag("p", plain)


def _refusal(subject: Subject) -> tuple[Html, ...]:
    statement = subject.statement
    reason = tag("p", statement.why_not_private or "there is no guarantee", class_="sentence")
    if not math.isfinite(statement.epsilon):
        rest = "Treat what was released like the rows themselves."
    else:
        rest = (
            "Treat what was released like the rows themselves. All figures on this page are those "
            f"of the same fit with secret noise ({equals('ε', statement.epsilon, 6)}, "
            f"{equals('δ', statement.delta)}, protecting {unit_in_words(statement.unit)}); they do "
            "not hold for this one."
        )
    return reason, tag("p", rest)


def _tiles(subject: Subject) -> Html:
    statement, promise, plan = subject.statement, subject.promise, subject.plan
    point = f"at {equals('δ', statement.delta)}"
    tiles = [
        ("epsilon", subject.epsilon, point),
        ("neighbours", statement.neighbors, unit_in_words(statement.unit)),
    ]
    if not statement.private:
        tiles[0] = ("guarantee", "none", "figures below are hypothetical")
        tiles.append(("an attacker's best guess", "unbounded", "no bound holds"))
    elif promise is not None:
        tiles.append(
            (
                "an attacker's best guess",
                f"≤ {of_hundred(letter_odds(subject))}",
                "right of 100; 50 are blind luck",
            )
        )
    if plan is not None:
        rows = "private" if plan.n_rows is None else f"{plan.n_rows:,}"
        tiles.append(("rows", rows, f"{plan.n_features:,} columns"))
    return tag(
        "dl",
        *(
            tag("div", tag("dt", name), tag("dd", value, class_="big"), tag("dd", more))
            for name, value, more in tiles
        ),
        class_="tiles",
    )


def _about_promise(subject: Subject) -> list[tuple[str, str]]:
    statement, plan, found = subject.statement, subject.plan, []
    if subject.verification is not None and not subject.verification.ok:
        found.append(("danger", "The recorded events cost more than was promised: see Re-checked."))
    if statement.private:
        found += [
            ("warning", f"This is a weak promise: {reason}") for reason in subject.strength.reasons
        ]
        if statement.neighbors == "add-remove" and statement.population is None:
            unchecked = say_unchecked_delta(statement.delta)
            found.append(("warning", f"{unchecked[0].upper()}{unchecked[1:]}."))
    elif plan is not None and is_delta_weak(statement.delta, plan.n_rows):
        found.append(("warning", say_weak_delta(statement.delta, plan.n_rows)))
    if statement.ledger is not None and statement.ledger.get("test"):
        found.append(("warning", "The charge was recorded as a test, at no cost."))
    return found


def _about_result(source: Any) -> list[tuple[str, str]]:
    edge = getattr(source, "noise_edge_", None)
    values = getattr(source, "explained_variance_", getattr(source, "spectrum_", None))
    if edge is not None and values is not None:
        kept = np.asarray(values)[: len(source.components_)]
        weak = int(np.sum(kept < edge))
        if weak:
            return [
                (
                    "warning",
                    f"{weak} of {count(len(kept), 'component')} below the level that noise alone "
                    "reaches: such components carry little signal.",
                )
            ]
    factors = getattr(source, "item_factors_", None)
    if factors is not None and np.shape(factors)[1] == 0:
        return [("warning", "No item factors were released: at this budget noise hides them.")]
    tastes = getattr(source, "top_items_", None)
    if tastes is not None and len(tastes) == 0:
        words = "Lists are those of popularity: at this budget noise would hide tastes."
        return [("warning", words)]
    return []


def navigation(entries: list[tuple[str, str]]) -> Html:
    """Links to the sections of the page."""
    links = (tag("a", name, href=f"#{key}") for key, name in entries)
    return tag("nav", join(links), aria_label="Sections")
