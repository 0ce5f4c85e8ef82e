"""Two releases side by side: what differs in what was asked and promised, and both reports."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from veilspan._html import Html, table, tag
from veilspan.studio.as_text import compare_as_text
from veilspan.studio.layout import address, as_text, card, heading
from veilspan.studio.pages.requests import name_method, write_day
from veilspan.studio.releases import Released, find_release
from veilspan.studio.visits import Visit, page_route


def compare(visit: Visit) -> Response:
    """The two releases that were ticked; fewer or more go back to the list."""
    chosen = list(dict.fromkeys(visit.request.query_params.getlist("with")))
    if len(chosen) != 2:
        return visit.go("/releases", "Tick two releases to compare them.", "careful")
    pair = [find_release(visit.studio, each) for each in chosen]
    say_withdrawn = visit.studio.records.say_withdrawn
    facts = [_collect(released, say_withdrawn(released.request)) for released in pair]
    rows = []
    for name in facts[0]:
        one, other = facts[0][name], facts[1][name]
        mark = tag("span", "differs", class_="chip warn") if one != other else None
        rows.append((tag("span", f"{name} ", mark, class_="named"), one, other))
    head = ("", "first release", "second release")
    frames = [_draw_frame(released, k) for k, released in enumerate(pair)]
    return visit.page(
        "Compare",
        heading("Two releases side by side"),
        card(table(head, rows, caption="What differs", class_="compare"), class_="first"),
        tag("div", *frames, class_="pair frames"),
        as_text(*compare_as_text(visit.studio, pair)),
        wide=True,
    )


def _collect(released: Released, withdrawn: str) -> dict[str, Any]:
    request, statement = released.request, released.statement()
    return {
        "Method": name_method(request.estimator),
        "Dataset": request.dataset,
        "Epsilon": f"{request.epsilon:g}",
        "Delta": f"{request.delta:g}",
        "Neighbours": request.neighbors,
        "Settings": ", ".join(f"{k} = {v}" for k, v in request.params.items()) or "as usual",
        "Schema": (request.schema_digest or "")[:16],
        "Asked by": request.asked_by,
        "Approved by": request.approved_by or "",
        "Approved on": write_day(request.approved_at),
        "State": "withdrawn" if withdrawn else "in use",
        "Version": str(statement.get("version", "")),
    }


def _draw_frame(released: Released, number: int) -> Html:
    request = released.request
    title = f"{name_method(request.estimator)} of {request.dataset}, epsilon {request.epsilon:g}"
    return tag(
        "section",
        tag("h2", tag("a", title, href=address("x", request.id))),
        tag(
            "iframe",
            src=address("x", request.id, "report"),
            sandbox="",
            title=f"Report {number + 1}: {title}",
            class_="report-frame",
        ),
    )


ROUTES = [page_route("/compare", compare)]
