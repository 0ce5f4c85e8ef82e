"""A request on its way: approve or refuse, run, watch, cancel. All of it is the ledger's truth."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from veilspan._html import Html, tag
from veilspan.studio.as_text import fit_as_text
from veilspan.studio.asking import asking_of, find_request, weigh
from veilspan.studio.errors import NOT_YOURS, Refusal
from veilspan.studio.fields import area_field
from veilspan.studio.layout import (
    address,
    as_text,
    card,
    draw_warnings,
    form,
    heading,
    hidden,
    steps,
)
from veilspan.studio.pages.datasets import draw_facts
from veilspan.studio.pages.requests import draw_state_of, name_method, write_day
from veilspan.studio.pages.sign import draw_charge
from veilspan.studio.visits import Visit, enter, form_route, page_route, read_number

#: Stages of a job in their order, as people read them.
STAGES = {
    "wait": "Waiting for its turn",
    "read": "Opening the table",
    "charged": "Charged",
    "fit": "Learning",
    "report": "Writing the report",
    "done": "Released",
}
LOOK, LONGEST = 0.4, 120.0
#: What a job that somebody stopped says for the steward.
STOPPED = "KeyboardInterrupt: "


def show_request(visit: Visit) -> Response:
    """A request, what became of it, and what can be done now."""
    studio = visit.studio
    account, request = find_request(studio, visit.params["id"])
    job = find_job(studio, request.id)
    asking = asking_of(request)
    state = account.spent()
    decision = _draw_decision(visit, request, job)
    parts: list[Any] = [] if job is None else [_draw_job(visit, request, job)]
    if request.state != "open":
        parts.append(decision)
    if request.state in ("open", "approved"):
        from veilspan.ledger.costs import cost_of

        charge = weigh(cost_of(asking.plan(studio), state.rules), state)
        parts.append(card(draw_charge(asking, charge, state), title="The exact charge"))
    parts.append(_draw_facts(request))
    if request.state == "open":  # whoever decides has read the rest first
        parts.append(decision)
    return visit.page(
        f"{name_method(request.estimator)} of {request.dataset}",
        steps(3 if request.state != "released" else 4, [address("d", request.dataset, "schema")]),
        heading(
            tag("span", f"{name_method(request.estimator)} of {request.dataset} "),
            over=f"Request {request.id}, version {request.version}",
            under=_draw_state(request, job),
        ),
        *parts,
        as_text(*fit_as_text(studio, asking, request.key)),
    )


def _draw_state(request: Any, job: Any) -> Html:
    """The state of a request; one that was charged and whose job is at work is no alarm."""
    if request.state == "charged" and job is not None and not job.ended:
        return tag("span", "charged, at work", class_="chip good")
    return draw_state_of(request)


def find_job(studio: Any, request_id: str) -> Any:
    """The latest job of a request, or None."""
    return next((job for job in studio.queue.jobs() if job.request_id == request_id), None)


def _draw_job(visit: Visit, request: Any, job: Any) -> Html:
    """Where the job is, by stages and public steps of the plan."""
    place = address("r", request.id)
    names = list(STAGES)
    at = names.index(job.stage) if job.stage in names else -1
    items = []
    for number, (stage, words) in enumerate(STAGES.items()):
        paid = job.cancel_costs and number <= names.index("charged")
        past = 0 <= number < at or job.stage == "done" or (paid and number != at)
        state = "now" if number == at and job.stage != "done" else "past" if past else "next"
        items.append(tag("li", words, class_=state, data_stage=stage))
    body: list[Any] = [tag("ol", *items, class_="stages", id="stages")]
    if job.message:
        kind = "problem" if job.stage == "failed" else "careful"
        body.append(tag("p", job.message, class_=f"notice {kind}"))
    told = job.steward_message not in ("", STOPPED)  # that says no more than the message
    if told and visit.session.may("steward"):
        body.append(
            tag("details", tag("summary", "For the steward only; it may depend on a cell"),
                tag("pre", job.steward_message, tabindex="0"))
        )  # fmt: skip
    if not job.ended:
        amount = {"value": job.step, "max": job.of} if job.of else {}
        body.append(tag("progress", id="progress", aria_label="Steps of the plan", **amount))
        body.append(tag("p", "", id="progress-words", class_="help", role="status"))
        if may_cancel(visit, request):
            body.append(_draw_cancel(visit, request, job))
    elif job.stage == "done":
        body.append(draw_warnings(job.warnings))
        link = tag("a", "Open the release", href=address("x", request.id), class_="button")
        body.append(tag("p", link, class_="actions"))
    elif request.state in ("approved", "released") and may_cancel(visit, request):
        again = "Start again" if request.state == "approved" else "Get the release, at no cost"
        body.append(form(f"{place}/start", visit.session.csrf, tag("button", again)))
    return card(
        *body,
        title="Progress",
        class_="first job",
        id="job",
        data_events=None if job.ended else f"{place}/events",
        data_job=job.id,
    )


def _draw_cancel(visit: Visit, request: Any, job: Any) -> Html:
    words = "Cancel: free, nothing was charged yet"
    if job.cancel_costs:
        words = "Cancel: the charge stays spent"
    button = tag("button", words, class_="danger", id="cancel")
    return form(
        address("r", request.id, "cancel"),
        visit.session.csrf,
        hidden("seen", "spent" if job.cancel_costs else "free"),
        tag("p", button, class_="actions"),
    )


def may_cancel(visit: Visit, request: Any) -> bool:
    """Whoever asked, and officers, may start and stop what was approved."""
    return visit.session.may("officer") or visit.session.person == request.asked_by


def _draw_decision(visit: Visit, request: Any, job: Any) -> Html:
    """Who approved or refused; or the buttons for whoever may."""
    place, session = address("r", request.id), visit.session
    body: list[Any] = []
    mine = session.person == request.asked_by
    if request.approved_by:
        alone = ", who also asked: nobody else looked at it" if request.solo else ""
        body.append(
            tag("p", f"Approved by {request.approved_by}{alone}, {write_day(request.approved_at)}.")
        )
        if request.approval_note:
            body.append(tag("blockquote", request.approval_note))
    if request.refused_by:
        who = "Taken back" if request.refused_by == request.asked_by else "Refused"
        body.append(tag("p", f"{who} by {request.refused_by}: {request.reason}"))
    if request.state == "charged" and (job is None or job.ended):
        words = "It was charged and has no release. Ask again for a new one."
        if job is None:  # nothing else on the page says it
            words = f"What was charged stays spent. {words}"
        body.append(tag("p", words, class_="notice careful"))
    version = hidden("version", request.version)
    if request.state == "open":
        if mine and visit.studio.settings.team:
            body.append(tag("p", "It waits for an officer. Nobody approves their own request."))
        elif session.may("officer"):
            body.append(
                form(f"{place}/approve", session.csrf, version,
                     area_field("note", "A note for the record", rows=2),
                     tag("p", tag("button", "Approve, and run it"), class_="actions"))
            )  # fmt: skip
            body.append(
                tag("details", tag("summary", "Refuse it"),
                    form(f"{place}/refuse", session.csrf, version,
                         area_field("reason", "Why?", rows=2, required=True),
                         tag("p", tag("button", "Refuse", class_="danger"), class_="actions")))
            )  # fmt: skip
        else:
            body.append(tag("p", "It waits for an officer."))
    if request.state == "approved" and job is None and may_cancel(visit, request):
        body.append(form(f"{place}/start", session.csrf, tag("button", "Run it")))
    if mine and request.state in ("open", "approved", "refused") and (job is None or job.ended):
        body.append(
            tag("p",
                form(f"{place}/edit", session.csrf, tag("button", "Edit it", class_="second"),
                     class_="inline"),
                form(f"{place}/refuse", session.csrf, version, hidden("reason", "taken back"),
                     tag("button", "Take it back", class_="quiet"), class_="inline")
                if request.state != "refused" else None,
                class_="actions")
        )  # fmt: skip
    return card(*body, title="Decision")


def _draw_facts(request: Any) -> Html:
    settings = ", ".join(f"{name} = {value}" for name, value in request.params.items())
    facts = [
        ("Asked by", f"{request.asked_by}, {write_day(request.asked_at)}"),
        ("For", request.note or "nothing was noted"),
        ("Promise", f"epsilon {request.epsilon:g}, delta {request.delta:g}, {request.neighbors}"),
        ("Settings", settings or "as usual"),
        ("Schema", tag("code", request.schema_digest or "", class_="wrap")),
        ("Plan", tag("code", request.plan_digest, class_="wrap")),
        ("Binds", tag("code", request.binding, class_="wrap")),
    ]
    return card(draw_facts(facts), title="What was asked")


def approve(visit: Visit) -> Response:
    """Approve what was looked at, and start it: two officers or two clicks are one charge."""
    studio, session = visit.studio, visit.session
    account, request = find_request(studio, visit.params["id"])
    if not session.may("officer"):
        raise Refusal(403, "Only officers approve.", link=True, title=NOT_YOURS)
    solo = not studio.settings.team
    account.approve(
        request.id,
        by=session.person,
        role=session.role,
        note=visit.text("note").replace("\r\n", "\n"),
        solo=solo,
        version=_version(visit),
    )
    studio.queue.start(request.id)
    return visit.go(address("r", request.id))


def refuse(visit: Visit) -> Response:
    """Refuse a request, or take one's own back; free, since nothing was charged."""
    session = visit.session
    account, request = find_request(visit.studio, visit.params["id"])
    reason = visit.text("reason").replace("\r\n", "\n").strip()
    if not reason:
        return visit.go(address("r", request.id), "Say why, for whoever asked.", "problem")
    account.refuse(
        request.id, by=session.person, role=session.role, reason=reason, version=_version(visit)
    )
    return visit.go(address("r", request.id), "Written into the ledger. Nothing was charged.")


def start(visit: Visit) -> Response:
    """Start the job of an approved request; one that runs already is that one."""
    _, request = find_request(visit.studio, visit.params["id"])
    if not may_cancel(visit, request):
        raise Refusal(
            403, "Only whoever asked, or an officer, starts it.", link=True, title=NOT_YOURS
        )
    visit.studio.queue.start(request.id)
    return visit.go(address("r", request.id))


def cancel(visit: Visit) -> Response:
    """Stop the job; what the button said about the cost is what happens, or nothing does."""
    studio = visit.studio
    _, request = find_request(studio, visit.params["id"])
    if not may_cancel(visit, request):
        raise Refusal(
            403, "Only whoever asked, or an officer, cancels it.", link=True, title=NOT_YOURS
        )
    job = find_job(studio, request.id)
    place = address("r", request.id)
    if job is None or job.ended:
        return visit.go(place, "It had ended already.", "careful")
    if job.cancel_costs and visit.text("seen") != "spent":
        words = "It was charged meanwhile, so that cancelling saves nothing. It goes on."
        return visit.go(place, words, "careful")
    stopped = studio.queue.cancel(job.id)
    spent = "The charge stays spent." if stopped.cancel_costs else "Nothing was charged."
    return visit.go(place, f"Cancelled. {spent}")


def _version(visit: Visit) -> int | None:
    said = visit.text("version")
    return read_number(said) if said else None


async def tell_progress(request: Request) -> Response:
    """What a job says, as server-sent events, until it ends."""
    visit = enter(request)
    studio = visit.studio
    job = await run_in_threadpool(find_job, studio, request.path_params["id"])
    if job is None:
        raise Refusal(404, "There is no such job.")
    after = read_number(request.headers.get("last-event-id", "") or "0")

    async def events(after: int) -> AsyncIterator[str]:
        waited = 0.0
        while waited < LONGEST:
            told = await run_in_threadpool(studio.queue.events, job.id, after)
            for event in told[-20:]:
                shown = {key: event.get(key) for key in ("n", "stage", "step", "of")}
                yield f"id: {event['n']}\ndata: {json.dumps(shown)}\n\n"
                after = event["n"]
                if event["stage"] in ("done", "failed", "cancelled"):
                    return
            await asyncio.sleep(LOOK)
            waited += LOOK

    return StreamingResponse(events(after), headers={"content-type": "text/event-stream"})


ROUTES = [
    page_route("/r/{id}", show_request),
    form_route("/r/{id}/approve", approve, roles=("officer",)),
    form_route("/r/{id}/refuse", refuse, roles=("officer", "analyst")),
    form_route("/r/{id}/start", start, roles=("officer", "analyst")),
    form_route("/r/{id}/cancel", cancel, roles=("officer", "analyst")),
    Route("/r/{id}/events", tell_progress, methods=["GET"]),
]
