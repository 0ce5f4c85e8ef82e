"""The cover: on one page who asks, what was promised, what it cost, what is left, and who signs."""

from __future__ import annotations

from typing import Any

from veilspan.audit.verdict import AuditReport
from veilspan.privacy.strength import BADGES
from veilspan.reports.account import AccountRecord
from veilspan.reports.assumptions import count_boxes
from veilspan.reports.charts import budget_bar
from veilspan.reports.cover.meta import MORE_TEXTS, TEXTS, Meta
from veilspan.reports.cover.recommendation import ASK, HEADLINES, NO, YES, recommend
from veilspan.reports.guarantee import CLASSES, NBSP, unit_in_words
from veilspan.reports.html import Html, table, tag
from veilspan.reports.numbers import count, equals
from veilspan.reports.odds import letter_odds, of_hundred
from veilspan.reports.subject import Subject

#: Letters of a dataset's or release's name on the cover; the report behind it has all of them.
MOST_NAME = 40
#: With so few letters to fill in and so few other releases the sheet has room for larger type.
FEW_LETTERS, FEW_RELEASES = 800, 4
_MARKS = {YES: "ok", ASK: "ask", NO: "danger"}


def cover(
    subject: Subject,
    title: str,
    meta: Meta,
    account: AccountRecord | None,
    audit: AuditReport | None,
    code: str,
) -> Html:
    """The section in front of a report; ``code`` is the digest of what follows from the release."""
    return tag(
        "section",
        tag(
            "header",
            tag("p", f"Privacy report · cover · {meta.date.isoformat()}", class_="kicker"),
            tag("h2", title, class_="cover-title"),
        ),
        _three_answers(subject, account),
        tag("div", _facts(meta), class_="cover-facts"),
        _releases(account),
        _recommendation(subject, account, audit),
        _signatures(subject, meta),
        tag(
            "p",
            f"Release {subject.statement.release_id}. Check code of the report behind this page: ",
            tag("code", code, class_="wrap"),
            ". “veilspan verify” computes it again from the release.",
            class_="small muted",
        ),
        id="cover",
        class_="cover card" + (" roomy" if _has_room(meta, account) else ""),
        aria_label="Cover",
    )


def _has_room(meta: Meta, account: AccountRecord | None) -> bool:
    """Whether larger type still fits on one sheet of paper."""
    texts = [getattr(meta, name) or "" for name in (*TEXTS, *MORE_TEXTS)]
    letters = sum(map(len, (*texts, *meta.signatures)))
    releases = 0 if account is None else len(account.releases)
    return letters <= FEW_LETTERS and releases <= FEW_RELEASES and len(meta.signatures) <= 2


def _three_answers(subject: Subject, account: AccountRecord | None) -> Html:
    """What was promised, what it cost, what is left: in words for everybody."""
    statement, grade = subject.statement, subject.strength.grade
    badge = tag("p", BADGES[grade], class_="verdict")
    who = unit_in_words(statement.unit)
    if statement.private:
        promised = (
            f"Whoever knows all the other data and has two equally likely guesses about {who} is "
            f"right in at most {of_hundred(letter_odds(subject))} of 100 cases; blind guessing is "
            "right in 50."
        )
        cost = f"ε{NBSP}={NBSP}{subject.epsilon} at {equals('δ', statement.delta)}."
    else:
        promised = f"Nothing: {statement.why_not_private}. Treat it like the data itself."
        cost = "Nothing can be said: without a guarantee there is no cost that means anything."
    left = "Not known: no account was given, so nobody has counted all releases about these people."
    if account is not None:
        if statement.private and account.charged_here:
            cost += f" That is {_bind(account.told[1])} of the budget of {_shorten(account.name)}."
        budget = f"{_bind(account.told[2])} of the budget of {_shorten(account.name)}"
        fits = account.fits.rstrip(".").replace("e-", "e\u2011")  # no line ends in 1e-
        left = f"{budget}. Still fits: {fits}."
    elif statement.ledger is not None:
        name = _shorten(statement.ledger["dataset"])
        left = f"Not shown: it was charged to “{name}”, whose account was not at hand."
    return tag(
        "div",
        badge,
        tag(
            "dl",
            tag("div", tag("dt", "What was promised"), tag("dd", promised)),
            tag("div", tag("dt", "What it cost"), tag("dd", cost)),
            tag("div", tag("dt", "What is left"), tag("dd", left)),
            class_="answers",
        ),
        class_=CLASSES[grade],
    )


def _shorten(name: str) -> str:
    return name if len(name) <= MOST_NAME else f"{name[: MOST_NAME - 1]}…"


def _bind(share: str) -> str:
    """A share whose sign stays on the line of its number."""
    return share.replace(" ", NBSP)


def _facts(meta: Meta) -> Html:
    period = f"{meta.period_start.isoformat()} to {meta.period_end.isoformat()}"
    rows: list[tuple[str, Any]] = [(words, getattr(meta, name)) for name, words in TEXTS.items()]
    place = list(TEXTS).index("population") + 1
    rows.insert(place, ("Period of the data", period))
    rows += [
        (words, getattr(meta, name))
        for name, words in MORE_TEXTS.items()
        if words and getattr(meta, name)
    ]
    return table(("", ""), rows, caption="About this release", class_="facts")


def _releases(account: AccountRecord | None) -> Html | None:
    if account is None or not account.releases:
        return None
    rows = [
        (
            tag("b", f"this release: {_shorten(line.name)}") if line.this else _shorten(line.name),
            line.day,
            line.cost,
            tag("b", line.share) if line.this else line.share,
        )
        for line in account.releases
    ]
    rows.append((tag("b", "left"), "", "", tag("b", account.told[2])))
    return tag(
        "div",
        tag("h3", f"All releases of {_shorten(account.name)}"),
        budget_bar(account.others, account.this, "cover-budget"),
        table(
            ("release", "charged", "asked for", "share of the budget"),
            rows,
            caption="Releases of this dataset",
            numeric=(3,),
        ),
    )


def _recommendation(
    subject: Subject, account: AccountRecord | None, audit: AuditReport | None
) -> Html:
    found = recommend(subject, account, audit)
    return tag(
        "div",
        tag("h3", "Recommendation, by the rules under “Words”"),
        tag("p", HEADLINES[found.answer], class_=f"answer {_MARKS[found.answer]}"),
        tag("p", " ".join(found.reasons), class_="small"),
        class_="recommendation",
    )


def _signatures(subject: Subject, meta: Meta) -> Html:
    boxes = count(count_boxes(subject.statement), "box", "boxes")
    lines = (
        tag(
            "div",
            tag("p", role, class_="role"),
            tag("p", tag("span", "Name"), class_="line"),
            tag("p", tag("span", "Date and signature"), class_="line"),
        )
        for role in meta.signatures
    )
    words = f"We have read this report, and the {boxes} of its checklist are initialled."
    return tag(
        "div",
        tag("h3", "Signatures"),
        tag("p", words, class_="small"),
        tag("div", *lines, class_="signatures"),
        class_="signing",
    )
