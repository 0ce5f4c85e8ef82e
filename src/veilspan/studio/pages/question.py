"""Ask: questions in words, the methods that answer them, and why some cannot be asked here."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from veilspan._html import Html, tag
from veilspan.studio.as_text import schema_as_text
from veilspan.studio.asking import Asking, find_asking, new_asking, refuse_others
from veilspan.studio.errors import Refusal
from veilspan.studio.fields import area_field
from veilspan.studio.layout import address, as_text, form, heading, hidden, steps, void
from veilspan.studio.questions import (
    METHODS,
    QUESTIONS,
    Question,
    find_question,
    make_model,
    make_plan,
    read_parameters,
    why_not,
    write_parameters,
)
from veilspan.studio.schemas import find_schema, keep_schema
from veilspan.studio.visits import Visit, form_route, page_route


def show_questions(visit: Visit) -> Response:
    """All questions; those that the schema cannot feed say why."""
    studio, name = visit.studio, visit.params["name"]
    studio.table(name)
    schema = find_schema(studio, name)
    if schema is None or studio.account(name) is None:
        missing = "its columns are declared" if schema is None else "its budget is open"
        return visit.go(address("d", name), f"A question can be asked once {missing}.", "careful")
    begun = _find_draft(visit, visit.query("draft"))
    chosen = begun.estimator if begun is not None else ""
    open_ones = [q for q in QUESTIONS if not why_not(q, schema)]
    if not chosen and open_ones:
        chosen = open_ones[0].methods[0].command
    cards = [_draw_question(question, why_not(question, schema), chosen) for question in QUESTIONS]
    may = visit.session.may("analyst")
    more = "" if begun is None else write_parameters(begun.params)
    own = form(
        address("d", name, "ask"),
        visit.session.csrf,
        hidden("draft", begun.id if begun is not None else ""),
        tag("fieldset", tag("legend", "Question", class_="unseen-title"), *cards,
            class_="plain questions", disabled=not may),
        tag(
            "details",
            tag("summary", "Settings of the method"),
            area_field("params", "One per line: name = value", more, rows=3, class_="mono short",
                       help="Most people leave this empty."),
            class_="card",
            open=bool(more) and more != write_parameters(METHODS[chosen].params),
        ),
        area_field("note", "What is it for?", "" if begun is None else begun.note, rows=2,
                   help="Whoever approves reads this, and it is kept in the ledger."),
        tag("p", tag("button", "Plan it"), tag("span", "Nothing is spent yet.", class_="help"),
            class_="actions") if may else tag("p", "Asking is for analysts.", class_="muted"),
    )  # fmt: skip
    return visit.page(
        f"Ask about {name}",
        steps(1, [address("d", name, "schema")]),
        heading(f"What do you want to know about {name}?"),
        own,
        as_text(*schema_as_text(studio, name)),
    )


def _find_draft(visit: Visit, asking_id: str) -> Asking | None:
    if not asking_id:
        return None
    found = find_asking(visit.studio, asking_id)
    refuse_others(found, visit.session.person)
    return found


def _draw_question(question: Question, reason: str, chosen: str) -> Html:
    methods = [
        tag(
            "label",
            void("input", type="radio", name="method", value=method.command, required=True,
                 checked=method.command == chosen, disabled=bool(reason)),
            tag("span", tag("b", method.title), f" · {method.when}"),
            class_="check",
        )
        for method in question.methods
    ]  # fmt: skip
    body: list[Any] = [_draw_title(question.title), tag("p", question.about, class_="muted")]
    body += [tag("p", f"Not here: {reason}", class_="reason")] if reason else methods
    return tag("section", *body, class_="card question" + (" off" if reason else ""))


def _draw_title(title: str) -> Html:
    """What is asked, then what is done: where it takes two lines, each has its own."""
    asked, mark, done = title.partition("? ")
    if not done:
        return tag("h2", title)
    return tag("h2", tag("span", asked + mark.strip()), " ", tag("span", done))


def choose(visit: Visit) -> Response:
    """Keep the question as a draft and go on to its plan; nothing is written to the ledger."""
    studio, name = visit.studio, visit.params["name"]
    studio.table(name)
    schema, account = find_schema(studio, name), studio.account(name)
    if schema is None or account is None:
        raise Refusal(409, "This dataset has no schema, or no budget yet.", link=True)
    place = address("d", name, "ask")
    method = METHODS.get(visit.text("method"))
    if method is None:
        return visit.go(place, "Choose one of the questions.", "problem")
    reason = why_not(find_question(method.command), schema)
    if reason:
        return visit.go(place, reason, "problem")
    begun = _find_draft(visit, visit.text("draft"))
    if begun is not None and begun.request:
        begun = None  # what was submitted stays as it is
    delta = min(account.terms().delta, 1e-6)
    try:
        params = {**method.params, **read_parameters(method.command, visit.text("params"))}
        make_plan(make_model(method.command, schema, params, 1.0, delta))
    except (ValueError, TypeError) as error:
        where = f"{place}?draft={begun.id}" if begun is not None else place
        return visit.go(where, f"These settings do not go: {error}", "problem")
    keep_schema(studio, schema)
    note = visit.text("note").replace("\r\n", "\n").strip()[:2000]
    said = {"estimator": method.command, "params": params, "schema_digest": schema.digest,
            "delta": delta, "note": note}  # fmt: skip
    if begun is None:
        begun = new_asking(studio, dataset=name, asked_by=visit.session.person, **said)
    else:
        begun = begun.save(studio, **said)
    return visit.go(address("r", begun.id, "plan"))


ROUTES = [
    page_route("/d/{name}/ask", show_questions),
    form_route("/d/{name}/ask", choose, roles=("analyst",)),
]
