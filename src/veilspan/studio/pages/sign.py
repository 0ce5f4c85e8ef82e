"""Sign: the exact charge first, then the signature that writes the request into the ledger."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from starlette.responses import Response

from veilspan._html import Html, tag
from veilspan.studio.as_text import find_out, fit_as_text
from veilspan.studio.asking import (
    Asking,
    Charge,
    find_asking,
    find_request,
    new_asking,
    refuse_others,
    weigh,
)
from veilspan.studio.budgets import budget_strip
from veilspan.studio.errors import NOT_YOURS, Refusal
from veilspan.studio.fields import check_field
from veilspan.studio.layout import address, as_text, card, form, heading, hidden, steps
from veilspan.studio.pages.datasets import draw_facts
from veilspan.studio.questions import METHODS
from veilspan.studio.visits import Visit, form_route, page_route


def show_charge(visit: Visit) -> Response:
    """What exactly would be charged, and what it rests on; nothing is spent by looking."""
    studio = visit.studio
    asking = find_asking(studio, visit.params["id"])
    refuse_others(asking, visit.session.person)
    if asking.request:
        return visit.go(address("r", asking.request))
    account = studio.account(asking.dataset)
    if account is None:
        raise Refusal(409, "This dataset has no budget yet.", link=True)
    state = account.spent()
    charge = count_charge(visit, asking, state)
    own = visit.session.may("analyst")
    solo = not studio.settings.team
    body: list[Any] = [draw_charge(asking, charge, state)]
    if not charge.fits:
        words = "This does not fit into what is left. Take a smaller epsilon."
        body.append(tag("p", words, class_="notice problem"))
    signature = None
    if own and charge.fits:  # below all that is signed
        signature = card(_draw_signature(visit, asking, solo=solo), title="Sign")
    back = address("r", asking.id, "plan")
    asks = f"{address('d', asking.dataset, 'ask')}?draft={asking.id}"
    return visit.page(
        f"Sign for {asking.dataset}",
        steps(3, [address("d", asking.dataset, "schema"), asks, back]),
        heading(
            "The exact charge",
            over=f"{METHODS[asking.estimator].title} · {asking.dataset}",
            under="Once the fit begins, this is spent for ever, even if it fails or is cancelled.",
        ),
        card(*body, class_="first"),
        _draw_facts(visit, asking),
        signature,
        as_text(*fit_as_text(studio, asking, key_of(asking))),
    )


def _draw_signature(visit: Visit, asking: Asking, *, solo: bool) -> Html:
    words = "I have looked at the charge and at what the promise rests on."
    if solo:
        words += " I ask and approve alone, and the report says so."
    label = "Sign and run" if solo else "Submit for approval"
    back = address("r", asking.id, "plan")
    return form(
        address("r", asking.id, "submit"),
        visit.session.csrf,
        hidden("epsilon", repr(asking.epsilon)),
        check_field("agree", words, "", required=True),
        tag(
            "p",
            tag("button", label),
            tag("a", "Back to the plan", href=back, class_="button second"),
            class_="actions",
        ),
    )  # fmt: skip


def draw_charge(asking: Any, charge: Charge, state: Any) -> Html:
    """The charge as a bar and three shares that add up."""
    from veilspan.ledger.words.shares import write_shares

    shown = max(0.0, charge.share) if charge.fits else 0.0
    before, this, left = write_shares([charge.before, shown, 1 - charge.before - shown])
    if not charge.fits:
        this = "more than is left"
    strip = budget_strip(
        charge.before, charge.share, words=f"{before} used before, {this} by this, {left} left"
    )
    return tag(
        "div",
        strip,
        tag(
            "dl",
            *_tile("Used before", before, ""),
            *_tile("This release", this, f"epsilon {asking.epsilon:g}, delta {asking.delta:g}"),
            *_tile("Left afterwards", left, f"of epsilon {state.terms.epsilon:g} in all"),
            class_="tiles",
        ),
    )


def _tile(name: str, big: str, small: str) -> list[Html]:
    inner = [tag("dt", name), tag("dd", big, class_="big"), tag("dd", small) if small else None]
    return [tag("div", *inner)]


def _draw_facts(visit: Visit, asking: Asking) -> Html:
    schema = asking.schema(visit.studio)
    many = f"{schema.count:,} {schema.protects}s" if schema.count else "a private number"
    relation = {
        "replace-one": f"another {schema.protects} in one's place makes next to no difference",
        "add-remove": f"one {schema.protects} more or less makes next to no difference",
    }
    facts = [
        ("Method", METHODS[asking.estimator].title),
        ("Protects", f"one {schema.protects}: {relation[schema.neighbors]}"),
        ("People", many),
        ("Schema", tag("code", schema.digest, class_="wrap")),
        ("For", asking.note or "nothing was noted"),
        ("Asked by", asking.asked_by),
    ]
    return card(draw_facts(facts), title="What you sign")


def submit(visit: Visit) -> Response:
    """Write the request into the ledger, once however often it is sent; alone also approve it."""
    from veilspan.ledger.errors import RequestError
    from veilspan.studio.fits import draft_fit

    studio = visit.studio
    with studio.lock_draft(f"request-{visit.params['id']}"):
        asking = find_asking(studio, visit.params["id"])
        refuse_others(asking, visit.session.person)
        place = address("r", asking.id, "sign")
        if asking.request:
            return visit.go(address("r", asking.request))
        if visit.text("agree") != "yes":
            return visit.go(place, "Tick the box if you agree.", "problem")
        if visit.text("epsilon") != repr(asking.epsilon):
            return visit.go(place, "Epsilon has changed since you looked: look again.", "problem")
        account = studio.account(asking.dataset)
        if account is None:
            raise Refusal(409, "This dataset has no budget yet.", link=True)
        if not count_charge(visit, asking, account.spent()).fits:
            return visit.go(place, "This does not fit into what is left.", "problem")
        draft = draft_fit(
            studio.table(asking.dataset),
            asking.schema(studio),
            asking.estimator,
            asking.params,
            asking.epsilon,
            asking.delta,
            asked_by=asking.asked_by,
            note=asking.note,
        )
        if asking.edits:
            request = account.edit_request(asking.edits, draft, visit.session.person)
        else:
            key = key_of(asking)
            try:
                request = account.ask(replace(draft, key=key))
            except RequestError:  # a crash came between the entry and the draft
                found = [each for each in account.requests() if each.key == key]
                if not found:
                    return _ask_anew(visit, asking)
                request = found[0]
        asking.save(studio, request=request.id)
    if studio.settings.team:
        return visit.go(address("r", request.id), "Submitted. An officer is to approve it.")
    who = visit.session.person
    account.approve(request.id, by=who, role="solo", solo=True, version=request.version)
    studio.queue.start(request.id)
    return visit.go(address("r", request.id))


def _ask_anew(visit: Visit, asking: Asking) -> Response:
    """A copy of a question whose key was charged outside the studio, under a key of its own."""
    facts = {f.name: getattr(asking, f.name) for f in fields(asking) if f.name != "id"}
    again = new_asking(visit.studio, **facts)
    words = (
        "This was charged already, by its command or its Python, and its release is where they "
        f"saved it: {find_out(visit.studio, key_of(asking))}. Nothing was charged now. Below is "
        "the same question once more: to sign it makes another release, at a charge of its own."
    )
    return visit.go(address("r", again.id, "sign"), words, "careful")


def count_charge(visit: Visit, asking: Asking, state: Any) -> Charge:
    """The exact charge of a question against the account as it stands."""
    from veilspan.ledger.costs import cost_of

    return weigh(cost_of(asking.plan(visit.studio), state.rules), state)


def key_of(asking: Asking) -> str:
    """The idempotency key under which a question is charged, whoever charges it."""
    return f"studio-{asking.id}"


def edit(visit: Visit) -> Response:
    """Begin a new version of a request; submitting it voids what was decided about the last."""
    studio = visit.studio
    account, request = find_request(studio, visit.params["id"])
    if request.asked_by != visit.session.person:
        raise Refusal(403, "Only whoever asked edits a request.", link=True, title=NOT_YOURS)
    begun = new_asking(
        studio,
        dataset=account.name,
        estimator=request.estimator,
        schema_digest=request.schema_digest or "",
        asked_by=request.asked_by,
        params=dict(request.params),
        epsilon=request.epsilon,
        delta=request.delta,
        note=request.note,
        edits=request.id,
    )
    return visit.go(address("r", begun.id, "plan"), "A new version. The old one stays until then.")


ROUTES = [
    page_route("/r/{id}/sign", show_charge),
    form_route("/r/{id}/submit", submit, roles=("analyst",)),
    form_route("/r/{id}/edit", edit, roles=("analyst",)),
]
