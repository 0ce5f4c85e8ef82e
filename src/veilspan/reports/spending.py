"""The sections on what was spent: budget, mechanisms, curve, attacker, accounting anew."""

from __future__ import annotations

from typing import Any

from veilspan.ledger.approvals.words import say_who
from veilspan.ledger.words import sentences
from veilspan.privacy.accounting import gaussian_mu, gaussian_only
from veilspan.privacy.events import Event, GaussianEvent, ObjectiveEvent, SearchEvent
from veilspan.privacy.plan import describe_law
from veilspan.reports.account import AccountRecord
from veilspan.reports.charts import budget_bar, privacy_curve_chart, small_bar, tradeoff_chart
from veilspan.reports.guarantee import MARKED, QUESTION
from veilspan.reports.html import Html, details, table, tag
from veilspan.reports.numbers import equals, number, percent, percent_up
from veilspan.reports.odds import compare
from veilspan.reports.subject import Subject
from veilspan.reports.svg import figure

_WHAT = {
    "gaussian": "Gaussian noise on a sum over all rows",
    "poisson-sampled gaussian": "Gaussian noise on a sum over a random sample",
    "objective perturbation": "minimum of a randomly tilted objective",
    "random search": "private search",
}
_RATES = (0.1, 0.01, 1e-3, 1e-4)


def budget(subject: Subject, account: AccountRecord | None) -> Html | None:
    """The bar of the dataset's budget, or what the statement says about its charge."""
    charged = subject.statement.ledger
    if account is None and charged is None:
        return None
    parts: list[Any] = []
    if account is not None:
        parts += _bar(account)
    if charged is not None:
        facts = f"Charged to “{charged['dataset']}” as entry {charged['entry']}; the ledger then "
        parts.append(
            tag(
                "p", facts, "ended in ", tag("code", charged["head"], class_="wrap"), class_="muted"
            )
        )
    if charged is not None and "request" in charged:
        parts.append(tag("p", say_who(charged["request"])))
    if account is None:
        parts.append(tag("p", "The account was not at hand when this page was written."))
    elif charged is None or not account.charged_here:
        parts.append(tag("p", "The charge of this release is not in this account."))
    return tag("section", tag("h2", "Budget of the dataset"), *parts, id="budget", class_="card")


def _bar(account: AccountRecord) -> list[Html]:
    names = (("others", "other releases"), ("this", "this release"), ("left", "left"))
    keys = (
        tag("li", tag("span", "", class_=f"swatch {key}"), f"{name} ", tag("b", text))
        for (key, name), text in zip(names, account.told)
    )
    return [
        budget_bar(account.others, account.this),
        tag("ul", *keys, class_="legend"),
        tag(
            "p",
            tag("b", f"{account.name}: {account.used_and_left}"),
            f", {account.charges}. Still fits: {account.fits.rstrip('.')}.",
        ),
        tag(
            "p",
            f"Budget: {account.budget}. Counted {account.counted}. {sentences.WHY}",
            class_="muted",
        ),
    ]


def mechanisms(subject: Subject) -> Html:
    """Every use of the data, with its noise."""
    events = subject.statement.events
    exact = gaussian_only(events) and subject.promise is not None
    total = gaussian_mu(events) ** 2 if exact else 0.0
    rows = [_event_cells(event, total) for event in events]
    head = ["name", "mechanism", "times", "noise multiplier", "sampling rate"]
    if exact:
        head.append("share of the cost")
    adaptive = subject.plan is not None and subject.plan.adaptive
    return tag(
        "section",
        tag("h2", "How the data was used"),
        tag(
            "p",
            "Every use of the rows, with its noise: the noise multiplier is the standard deviation "
            "of the noise over the most that one row can change.",
            class_="muted",
        ),
        table(head, rows, caption="Mechanisms", numeric=(2, 3, 4)),
        tag("p", "The solver chose these as it went, within a filter on their sum of squares.")
        if adaptive
        else None,
        id="mechanisms",
        class_="card",
    )


def _event_cells(event: Event, total: float) -> list[Any]:
    noise = number(event.noise_multiplier) if event.noise_multiplier else "no noise"
    rate = "all rows" if event.sampling_rate == 1 else number(event.sampling_rate)
    what = _WHAT.get(event.mechanism, event.mechanism)
    if isinstance(event, ObjectiveEvent):
        what += f" ({equals('λ', event.lam)}, clip {number(event.clip)}, {event.shape} loss)"
    if isinstance(event, SearchEvent):
        what += f" (the best of a secret number of trials: {describe_law(event)})"
    cells: list[Any] = [event.name, what, f"{event.count:,}", noise, rate]
    if total and isinstance(event, GaussianEvent):
        share = event.mu**2 / total
        bar = small_bar(share, 1.0, signed=False)
        cells.append(tag("span", bar, percent(share), class_="share"))
    return cells


def curves(subject: Subject) -> Html | None:
    """The curve of the promise and what an attacker gains, side by side."""
    promise, statement = subject.promise, subject.statement
    if promise is None:
        return None
    behind = (
        f"exact: the release is μ-GDP with {equals('μ', promise.mu)}"
        if promise.mu is not None
        else "by the joint privacy loss distribution of all mechanisms, rounded up"
    )
    points = range(0, len(promise.epsilons), 10)
    rows = [(number(promise.epsilons[i], 4), number(promise.deltas[i], 3)) for i in points]
    left = figure(
        privacy_curve_chart(promise, statement.epsilon, statement.delta),
        f"One release has a δ for every ε, not only the promised pair ({behind}).",
        details("Numbers", table(("ε", "δ"), rows, caption="The curve", numeric=(0, 1))),
    )
    caught = [(percent(a), percent_up(promise.detection_rate(a)), percent(a)) for a in _RATES]
    right = figure(
        tradeoff_chart(promise, MARKED),
        "The attacker knows all the other data and asks: "
        f"{QUESTION[statement.neighbors]} Who accepts a wrong yes in {percent(MARKED)} of the "
        f"cases finds at most {percent_up(promise.detection_rate(MARKED))} of the right ones.",
        details(
            "Numbers",
            table(
                ("false alarms", "detected, at most", "by blind guessing"),
                caught,
                caption="Bounds on any test",
                numeric=(0, 1, 2),
            ),
        ),
    )
    honest = (
        "These are upper bounds on any attacker, for the worst two tables; real ones know less. "
        "They are about one person's rows. They do not say that nothing is learned about people: "
        "what holds for everybody, such as a correlation, is what a release is for."
    )
    would = "With secret noise it would be so. What was released is not protected like this."
    return tag(
        "section",
        tag("h2", f"What an attacker {'gains' if statement.private else 'would gain'}"),
        None if statement.private else tag("p", would, class_="danger"),
        compare(subject) if statement.private else None,
        tag("div", left, right, class_="pair"),
        tag("p", honest, class_="muted"),
        id="attacker",
        class_="card",
    )


def recheck_section(subject: Subject) -> Html | None:
    """The section in which the recorded events are accounted anew; None without a promise."""
    found = subject.verification
    if found is None:
        return None
    rows = [
        ("promised", number(found.claimed, 6), "what the statement says"),
        ("again", number(found.recomputed, 6), "from the recorded events, when this was written"),
        ("Rényi", number(found.renyi, 6), "another way of accounting; a little larger is normal"),
    ]
    verdict = (
        "The recorded events cost no more than was promised."
        if found.ok
        else "The recorded events cost MORE than was promised."
    )
    if not subject.statement.private:
        verdict += " That is no guarantee: this release is NOT PRIVATE."
    fine = found.ok and subject.statement.private
    return tag(
        "section",
        tag("h2", "Re-checked"),
        tag("p", verdict, class_="ok" if fine else "danger"),
        table(
            ("epsilon", f"at {equals('δ', subject.statement.delta)}", "how"),
            rows,
            caption="Accounting",
            numeric=(1,),
        ),
        tag(
            "p",
            "This re-checks the arithmetic. That the noise was really added cannot be seen from a "
            "release; an audit tries to refute it.",
            class_="muted",
        ),
        id="rechecked",
        class_="card",
    )
