"""The first page: a card for every dataset, with its budget; and the page of one dataset."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from starlette.responses import Response

from veilspan._html import Html, tag
from veilspan._passwords import without_password
from veilspan.studio.as_text import account_as_text, schema_as_text
from veilspan.studio.budgets import draw_budget
from veilspan.studio.errors import Refusal
from veilspan.studio.fields import text_field
from veilspan.studio.layout import address, as_text, card, form, heading, hidden
from veilspan.studio.pages.requests import draw_requests
from veilspan.studio.schemas import find_schema, keep_schema
from veilspan.studio.state import Studio
from veilspan.studio.visits import Visit, form_route, page_route

#: Said of an account that was opened where one person works alone.
NO_APPROVAL = (
    "This budget was opened without approvals: whoever can read the ledger's key may charge it by "
    "a command, and no officer is asked. Its terms are sealed and cannot be changed: let nobody "
    "but the studio's own account on the machine read that key."
)
#: A number whose sign a browser would take for a hyphen, with what closes it.
_SMALL = re.compile(r"(\d[\d.]*e-\d+[),;.]*)")


def list_datasets(visit: Visit) -> Response:
    """All datasets with their budgets, a card each."""
    studio = visit.studio
    cards = [_draw_card(studio, name) for name in studio.settings.tables]
    return visit.page(
        "Datasets",
        heading(
            "Datasets",
            under="Choose what to learn from. Every release spends a part of its dataset's "
            "privacy budget, once, and the ledger keeps count.",
        ),
        tag("div", *cards, class_="cards"),
        as_text(*account_as_text(studio.settings)),
    )


def _draw_card(studio: Studio, name: str) -> Html:
    account, schema = studio.account(name), find_schema(studio, name)
    place = address("d", name)
    chips = [
        tag("li", "schema declared", class_="chip good")
        if schema is not None
        else tag("li", "no schema yet", class_="chip warn"),
    ]
    if account is None:
        chips.append(tag("li", "no budget yet", class_="chip warn"))
    body: list[Any] = [tag("h2", tag("a", name, href=place))]
    if schema is not None and schema.about:
        body.append(tag("p", schema.about, class_="muted"))
    if account is not None:
        state = account.spent()
        body += draw_budget(state)
        waiting = sum(request.state == "open" for request in account.requests())
        broken = state.charges - state.released
        if waiting:
            chips.append(
                tag(
                    "li",
                    f"{waiting} {'request' if waiting == 1 else 'requests'} to approve",
                    class_="chip warn",
                )
            )
        if broken > 0:
            chips.append(tag("li", f"{broken} charged without release", class_="chip warn"))
        chips.append(
            tag("li", "ledger verified", class_="chip good")
            if studio.verify_ledger()
            else tag("li", "ledger does NOT verify", class_="chip bad")
        )
    elif schema is None:
        body.append(tag("p", "Begin by declaring what is public of its columns.", class_="muted"))
    else:
        body.append(tag("p", "Its columns are declared. Next, open its budget.", class_="muted"))
    body.insert(-2 if account is not None else -1, tag("ul", *chips, class_="chips"))
    body.append(tag("p", tag("a", "Open", href=place, class_="button second"), class_="actions"))
    return card(*body)


def show_dataset(visit: Visit) -> Response:
    """One dataset: its budget, its schema, and what was asked of it."""
    studio, name = visit.studio, visit.params["name"]
    table = studio.table(name)
    account, schema = studio.account(name), find_schema(studio, name)
    left: list[Any] = [_draw_budget_card(visit, name, account, schema)]
    if account is not None:
        left += draw_requests(visit, account)
    place = without_password(table.data)
    facts = [("Table", place if "://" in place else Path(place).name)]
    if schema is not None:
        many = f"{schema.count:,}" if schema.count is not None else "a private number"
        facts += [
            ("Protects", schema.protects),
            ("How many", many),
            ("Columns", f"{len(schema.columns)}, of which {len(schema.features)} are learned from"),
            ("Owner", schema.owner or "nobody named"),
            ("Schema", tag("code", schema.digest[:16])),
        ]
    may = visit.session.may("steward")
    schema_words = "Look at the schema"
    if schema is None:
        schema_words = "Declare its columns" if may else "Look at its columns"
    ask = None
    if schema is not None and account is not None and visit.session.may("analyst"):
        ask = tag("a", "Ask a question", href=address("d", name, "ask"), class_="button")
    declare = tag(
        "a",
        schema_words,
        href=address("d", name, "schema"),
        class_="button second" if ask or not may else "button",
    )
    body = [
        heading(name, over="Dataset", under=schema.about if schema is not None else None),
        tag("p", ask, declare, class_="actions top"),
        tag(
            "div",
            tag("div", *left),
            tag("aside", card(draw_facts(facts), title="What is public")),
            class_="split",
        ),
        # Without a budget there is nothing to show of it, and the next step is its schema.
        as_text(
            *(
                schema_as_text(studio, name)
                if account is None
                else account_as_text(studio.settings, name)
            )
        ),
    ]
    return visit.page(name, *body)


def _draw_budget_card(visit: Visit, name: str, account: Any, schema: Any) -> Html:
    from veilspan.studio.visits import ROLES

    if account is not None:
        from veilspan.ledger.words.sentences import list_what_fits

        state = account.spent()
        terms = state.terms
        facts = [
            ("In all", f"epsilon {terms.epsilon:g}, delta {terms.delta:g}"),
            ("Charges", _say_charges(state)),
            ("Still fits", "; ".join(list_what_fits(state))),
            ("Ledger", _say_verified(visit.studio)),
        ]
        body = [*draw_budget(state), draw_facts(facts)]
        if visit.studio.settings.team and not terms.approval:
            body.insert(0, tag("p", NO_APPROVAL, class_="notice careful"))
        return card(*body, title="Budget", class_="first")
    if schema is None:
        words = (
            "A budget is opened once its columns are declared: the schema says whom it protects."
        )
        return card(tag("p", words), title="Budget", class_="first")
    if not visit.session.may("steward"):
        return card(
            tag("p", f"No budget was opened yet. That is for the {ROLES[0]}."),
            title="Budget",
            class_="first",
        )
    people = schema.count or schema.expected
    small = min(1e-6, 0.1 / people) if people else 1e-6
    own = form(
        "/d",
        visit.session.csrf,
        hidden("name", name),
        tag(
            "div",
            text_field("epsilon", "Epsilon in all", "3", inputmode="decimal",
                       help="1 is strong, 3 moderate, more is weak."),
            text_field("delta", "Delta in all", f"{small:.0e}", inputmode="decimal",
                       help="Far below one over the number of people."),
            class_="row",
        ),
        tag("p", tag("button", "Open this budget"), class_="actions"),
    )  # fmt: skip
    words = (
        "How much may all releases together tell about one "
        f"{schema.protects}, for ever? It cannot be changed later, and nothing is refunded."
    )
    return card(tag("p", words), own, title="Open its budget", class_="first")


def _say_charges(state: Any) -> str:
    if not state.charges:
        return "none yet"
    return f"{state.charges}, of which {state.released} released"


def _say_verified(studio: Studio) -> str:
    report = studio.verify_ledger()
    if report:
        return f"verified, {report.entries:,} entries, none changed"
    return (
        "DOES NOT VERIFY: run veilspan ledger verify, and use no release before that is explained"
    )


def open_budget(visit: Visit) -> Response:
    """Open the account of a dataset; the same terms again change nothing."""
    studio, name = visit.studio, visit.text("name")
    studio.table(name)
    schema = find_schema(studio, name)
    if schema is None:
        raise Refusal(409, "Declare the columns of this dataset first.", link=True)
    place = address("d", name)
    try:
        epsilon, delta = float(visit.text("epsilon")), float(visit.text("delta"))
    except ValueError:
        return visit.go(place, "Epsilon and delta are numbers, 3 and 1e-6 say.", "problem")
    account = studio.ledger.dataset(
        name,
        epsilon=epsilon,
        delta=delta,
        neighbors=schema.neighbors,
        schema=schema,
        # In a team the ledger itself refuses what no officer approved, also from a command.
        approval=studio.settings.team,
    )
    keep_schema(studio, schema)
    note_schema(account, schema.digest, visit.session.person)
    return visit.go(place, "The budget is open, and its terms are sealed in the ledger.")


def note_schema(account: Any, digest: str, by: str) -> None:
    """Write into the ledger by which schema a dataset is read."""
    if hasattr(account, "record_schema"):
        account.record_schema(digest, by=by)


def draw_facts(facts: Sequence[tuple[str, Any]]) -> Html:
    """A list of names and what they are."""
    pairs = [
        part
        for name, value in facts
        for part in (tag("dt", name), tag("dd", *_keep_numbers_whole(value)))
    ]
    return tag("dl", *pairs, class_="facts-list")


def _keep_numbers_whole(value: Any) -> list[Any]:
    """A text in parts, so that no line ends within 1e-06."""
    if isinstance(value, Html) or not isinstance(value, str):
        return [value]
    parts = _SMALL.split(value)
    return [tag("span", part, class_="whole") if k % 2 else part for k, part in enumerate(parts)]


ROUTES = [
    page_route("/", list_datasets),
    page_route("/d/{name}", show_dataset),
    form_route("/d", open_budget, roles=("steward",)),
]
