"""What was asked: a list for each dataset, and of all of them."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from veilspan._html import Html, table, tag
from veilspan.studio.as_text import requests_as_text
from veilspan.studio.asking import Asking
from veilspan.studio.drafts import list_drafts, load_draft
from veilspan.studio.layout import address, as_text, card, heading
from veilspan.studio.questions import METHODS
from veilspan.studio.visits import Visit, page_route

STATES = {
    "open": ("waits for approval", "warn"),
    "approved": ("approved", "good"),
    "refused": ("refused", "bad"),
    "charged": ("charged, no release", "warn"),
    "released": ("released", "good"),
    "withdrawn": ("withdrawn", "bad"),
}
#: Requests that a list shows.
MOST = 200


def draw_requests(visit: Visit, account: Any) -> list[Html]:
    """Requests of a dataset, newest first, and own drafts that were not submitted."""
    found = account.requests()[:MOST]
    parts: list[Html] = []
    if found:
        rows = [
            (
                tag("a", name_method(request.estimator), href=address("r", request.id)),
                f"{request.epsilon:g}",
                request.asked_by,
                write_day(request.asked_at),
                draw_state_of(request),
            )
            for request in found
        ]
        head = ("question", "epsilon", "asked by", "on", "state")
        parts.append(
            card(
                table(head, rows, caption="Requests", numeric=(1,), class_="asked"),
                title="Requests",
            )
        )
    own = [
        asking
        for asking in find_drafts(visit)
        if asking.dataset == account.name and not asking.request
    ]
    if own:
        links = [
            tag("li", tag("a", name_method(a.estimator), href=address("r", a.id, "plan")),
                f", epsilon {a.epsilon:g}")
            for a in own[:20]
        ]  # fmt: skip
        parts.append(card(tag("ul", *links), title="Your drafts, not submitted"))
    return parts


def list_requests(visit: Visit) -> Response:
    """Requests of all datasets, those that wait first."""
    studio = visit.studio
    found = []
    for name in studio.settings.tables:
        account = studio.account(name)
        if account is not None:
            found += account.requests()[:MOST]
    found.sort(key=lambda request: request.asked_at, reverse=True)
    found.sort(key=lambda request: request.state != "open")
    rows = [
        (
            tag("a", f"{name_method(request.estimator)} of {request.dataset}",
                href=address("r", request.id)),
            f"{request.epsilon:g}",
            request.asked_by,
            write_day(request.asked_at),
            draw_state_of(request),
        )
        for request in found[:MOST]
    ]  # fmt: skip
    head = ("request", "epsilon", "asked by", "on", "state")
    shown = table(head, rows, caption="Requests", numeric=(1,), class_="asked") if rows else None
    return visit.page(
        "Requests",
        heading("Requests", under="Everything that was asked, sealed in the ledger."),
        card(shown or tag("p", "Nobody has asked anything yet.", class_="muted")),
        as_text(*requests_as_text(studio)) if rows else None,
    )


def find_drafts(visit: Visit) -> list[Asking]:
    """Drafts of whoever looks, newest first."""
    found = []
    for name in list_drafts(visit.studio):
        if name.startswith("request-"):
            content = load_draft(visit.studio, name)
            if content is not None and content["asked_by"] == visit.session.person:
                found.append(Asking(**content))
    return found


def name_method(command: str) -> str:
    """What a method is called; commands that the studio does not offer keep their name."""
    return METHODS[command].title if command in METHODS else command


def draw_state_of(request: Any) -> Html:
    """The state of a request as a small label; withdrawn or taken back by whoever asked, that."""
    if request.withdrawn_by is not None:
        return draw_state("withdrawn")
    if request.state == "refused" and request.refused_by == request.asked_by:
        return draw_state("taken back")
    return draw_state(request.state)


def draw_state(state: str) -> Html:
    """The same of a state."""
    words, kind = STATES.get(state, (state, ""))
    return tag("span", words, class_=f"chip {kind}")


def write_day(time: str) -> str:
    """The day of an entry's time."""
    return str(time)[:10]


ROUTES = [page_route("/requests", list_requests)]
