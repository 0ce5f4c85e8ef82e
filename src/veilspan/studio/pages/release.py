"""A release: its report, its files, an audit, predictions for one's own file, and withdrawal."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from veilspan._files import read_regular
from veilspan._html import Html, table, tag
from veilspan.catalogue import COMMANDS
from veilspan.studio.as_text import release_as_text, requests_as_text, withdraw_as_text
from veilspan.studio.errors import NOT_YOURS, Refusal
from veilspan.studio.fields import area_field
from veilspan.studio.layout import (
    address,
    as_text,
    card,
    draw_warnings,
    form,
    heading,
    steps,
    void,
)
from veilspan.studio.pages.requests import name_method, write_day
from veilspan.studio.releases import (
    MOST_BYTES,
    Released,
    find_release,
    list_releases,
    mark_report,
    read_report,
    run_command,
)
from veilspan.studio.visits import Visit, form_route, page_route

#: Endings of files that are predicted, as the command line reads them.
ENDINGS = (".csv", ".tsv", ".parquet", ".arrow", ".feather")
#: Stands in the place of the report where the page is printed.
ON_PAPER = "The report is a document of its own: open it by itself to print it."


def list_all(visit: Visit) -> Response:
    """All releases, with boxes to choose two for a comparison."""
    found = list_releases(visit.studio)
    several = len(found) > 1  # one alone has nothing to be compared with
    rows = []
    for released in found:
        request = released.request
        withdrawn = visit.studio.records.say_withdrawn(request)
        box = void("input", type="checkbox", name="with", value=request.id,
                   aria_label=f"compare {request.id}")  # fmt: skip
        rows.append(
            (
                tag("a", f"{name_method(request.estimator)} of {request.dataset}",
                    href=address("x", request.id)),
                f"{request.epsilon:g}",
                request.asked_by,
                write_day(request.approved_at),
                tag("span", "withdrawn", class_="chip bad") if withdrawn else
                tag("span", "in use", class_="chip good"),
                *([box] if several else []),
            )
        )  # fmt: skip
    head = ["release", "epsilon", "asked by", "on", "state", *(["compare"] if several else [])]
    shown: Any = tag("p", "There is no release yet.", class_="muted")
    if rows:
        shown = tag(
            "form",
            table(head, rows, caption="Releases", numeric=(1,), class_="asked"),
            tag("p", tag("button", "Compare the two ticked", class_="second"),
                class_="actions") if several else None,
            method="get",
            action="/compare",
        )  # fmt: skip
    return visit.page(
        "Releases",
        heading("Releases", under="What was learned, and may be shown to anybody."),
        card(shown),
        as_text(*requests_as_text(visit.studio, "released")) if rows else None,
    )


def show_release(visit: Visit) -> Response:
    """One release: report in a frame of its own, and everything that can be done with it."""
    studio = visit.studio
    released = find_release(studio, visit.params["id"])
    request = released.request
    withdrawn = studio.records.say_withdrawn(request)
    place = address("x", request.id)
    banner = tag("p", withdrawn, class_="notice problem") if withdrawn else None
    frame = tag(
        "iframe",
        src=f"{place}/report",
        sandbox="",
        title="Report of this release",
        class_="report-frame",
        loading="lazy",
    )
    title = f"{name_method(request.estimator)} of {request.dataset}"
    actions = tag(
        "p",
        tag("a", "Open the report by itself", href=f"{place}/report", class_="button",
            target="_blank", rel="noopener"),
        tag("a", "How it came about", href=address("r", request.id), class_="button second"),
        class_="actions top",
    )  # fmt: skip
    return visit.page(
        title,
        steps(4, [address("d", request.dataset, "schema")]),
        heading(title, over="Release", under=request.note or None),
        banner,
        draw_warnings(released.job.warnings),
        actions,
        tag(
            "div",
            tag("div", frame, tag("p", ON_PAPER, class_="on-paper")),
            tag(
                "aside",
                _draw_audit(visit, released),
                _draw_files(released, place),
                _draw_predict(visit, released) if not withdrawn else None,
                _draw_withdraw(visit, released) if not withdrawn else None,
            ),
            class_="split release",
        ),
        as_text(*release_as_text(studio, released)),
        wide=True,
    )


def _draw_audit(visit: Visit, released: Released) -> Html:
    found = visit.studio.records.audit(released.request.id)
    place = address("x", released.request.id, "audit")
    button = form(place, visit.session.csrf, tag("button", "Try to refute it", class_="second"))
    words = (
        "An audit plays the attacker against the method of this release, on tables made to break "
        "it. It reads no row and costs nothing."
    )
    if found is None:
        return card(tag("p", words), button, title="Audit")
    if found.get("running"):
        return card(
            tag("p", "The audit runs, for a minute or so.", role="status"),
            tag("p", tag("a", "Look again", href=address("x", released.request.id))),
            title="Audit",
            data_reload="yes",
        )
    if found.get("failed"):
        return card(tag("p", "The audit could not be run."), button, title="Audit")
    good = bool(found.get("ok", False))
    kind, said = ("ok", "Nothing was found against the promise.") if good else (
        "danger", "The audit found a violation. Do not use this release."
    )  # fmt: skip
    return card(tag("p", said, class_=kind), *_list_checks(found), title="Audit")


def _list_checks(found: dict[str, Any]) -> list[Html]:
    """Every check of an audit: what was promised, and what it found."""
    facts = [
        tag("li", f"{check['check']}: promised epsilon {check['claimed']:.3g}; {check['verdict']}")
        for check in found.get("checks", ())
    ]
    return [tag("ul", *facts, class_="help")] if facts else []


def _draw_files(released: Released, place: str) -> Html:
    rows = [
        tag(
            "li",
            tag("a", file.path.name, href=f"{place}/file/{file.digest}", download=file.path.name),
            f" {max(1, file.size // 1000):,} KB",
            tag("br"),
            tag("code", file.digest[:24], "…", title=file.digest, class_="muted"),
        )
        for file in released.files
    ]
    return card(tag("ul", *rows, class_="files"), title="Download")


def _draw_predict(visit: Visit, released: Released) -> Html | None:
    if not COMMANDS[released.request.estimator].needs_target:
        return None
    return card(
        tag("p", tag("b", "Not private: "), "what comes out is as sensitive as your file. It is "
            "sent to this studio, predicted, and not kept.", class_="notice careful"),
        form(
            address("x", released.request.id, "predict"),
            visit.session.csrf,
            tag("label", "Rows of your own, with the same columns", for_="file"),
            void("input", type="file", id="file", name="file", accept=",".join(ENDINGS)),
            tag("p", tag("button", "Predict", class_="second"), class_="actions"),
            enctype="multipart/form-data",
        ),
        title="Predict on my file",
    )  # fmt: skip


def _draw_withdraw(visit: Visit, released: Released) -> Html | None:
    request = released.request
    if not visit.session.may("officer", "steward") and visit.session.person != request.asked_by:
        return None
    inside = form(
        address("x", request.id, "withdraw"),
        visit.session.csrf,
        area_field("reason", "Why?", rows=2, required=True),
        tag("p", tag("button", "Withdraw, without refund", class_="danger"), class_="actions"),
    )
    words = (
        "Marks the release as not to be used. What it told is told: the charge stays spent, and "
        "copies that people hold are theirs."
    )
    return card(
        tag(
            "details",
            tag("summary", "Withdraw this release"),
            tag("p", words),
            inside,
            tag("p", "As command:", class_="help"),
            tag("pre", tag("code", withdraw_as_text(visit.studio, request, visit.session.person)),
                tabindex="0", aria_label="As command"),
        ),
    )  # fmt: skip


def serve_report(visit: Visit) -> Response:
    """The report by itself: without scripts, framed by our own pages only, marked if withdrawn."""
    released = find_release(visit.studio, visit.params["id"])
    data, policy = read_report(released)
    withdrawn = visit.studio.records.say_withdrawn(released.request)
    if withdrawn:
        data = mark_report(data, withdrawn)
    headers = {"content-security-policy": policy, "x-frame-options": "SAMEORIGIN"}
    return Response(data, headers={"content-type": "text/html; charset=utf-8", **headers})


def serve_file(visit: Visit) -> Response:
    """A file of the release by the digest of what is in it now; any other digest is 404."""
    released = find_release(visit.studio, visit.params["id"])
    for file in released.files:
        if file.digest == visit.params["digest"]:
            data = read_regular(file.path, MOST_BYTES)
            name = quote(file.path.name)
            return Response(
                data,
                headers={
                    "content-type": "application/octet-stream",
                    "content-disposition": f"attachment; filename*=UTF-8''{name}",
                },
            )
    raise Refusal(404, "No file of this release has this digest.", link=True)


def start_audit(visit: Visit) -> Response:
    """Begin the audit; one that runs already is that one."""
    released = find_release(visit.studio, visit.params["id"])
    visit.studio.records.start_audit(released.request)
    return visit.go(address("x", released.request.id), "The audit has begun.")


def withdraw(visit: Visit) -> Response:
    """Write into the ledger that a release is not to be used any more, once."""
    released = find_release(visit.studio, visit.params["id"])
    request, session = released.request, visit.session
    if not session.may("officer", "steward") and session.person != request.asked_by:
        raise Refusal(
            403, "Whoever asked, a steward or an officer withdraws it.", link=True, title=NOT_YOURS
        )
    place = address("x", request.id)
    reason = visit.text("reason").replace("\r\n", "\n").strip()[:500]
    if not reason:
        return visit.go(place, "Say why.", "problem")
    account = visit.studio.account(request.dataset)
    if account is None or request.charge is None:
        raise Refusal(404, "The ledger knows no charge of this release.", link=True)
    if not visit.studio.records.say_withdrawn(request):
        account.withdraw(request.charge, by=session.person, reason=reason)
    return visit.go(place, "Withdrawn. What it cost stays spent.", "careful")


def predict(visit: Visit) -> Response:
    """Predict the rows of a file that somebody sent; nothing of it is kept."""
    released = find_release(visit.studio, visit.params["id"])
    place = address("x", released.request.id)
    sent = (visit.form or {}).get("file")
    name = Path(getattr(sent, "filename", "") or "").name
    if sent is None or not name:
        return visit.go(place, "Choose a file first.", "problem")
    ending = Path(name).suffix.lower()
    if ending not in ENDINGS:
        return visit.go(place, f"The file ends in one of {', '.join(ENDINGS)}.", "problem")
    with tempfile.TemporaryDirectory(prefix="veilspan-") as held:
        table, out = Path(held) / f"rows{ending}", Path(held) / "predictions.csv"
        table.write_bytes(sent.file.read())
        done = run_command(["predict", str(released.folder), str(table), "--out", str(out)])
        if done.returncode or not out.exists():
            said = done.stderr.strip().splitlines()[-1:] or ["veilspan: it could not be predicted."]
            words = said[0].removeprefix("veilspan: ")
            for path, shown in ((table, name), (released.folder, "RELEASE")):  # where they lie here
                words = words.replace(str(path), shown)
            return visit.go(place, words, "problem")
        data = out.read_bytes()
    return Response(
        data,
        headers={
            "content-type": "text/csv; charset=utf-8",
            "content-disposition": 'attachment; filename="predictions-not-private.csv"',
        },
    )


ROUTES = [
    page_route("/releases", list_all),
    page_route("/x/{id}", show_release),
    page_route("/x/{id}/report", serve_report),
    page_route("/x/{id}/file/{digest}", serve_file),
    form_route("/x/{id}/audit", start_audit),
    form_route("/x/{id}/withdraw", withdraw),
    form_route("/x/{id}/predict", predict),
]
