"""The first page: a card for every dataset, with its budget; and the page of one dataset."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from veilspan._html import Html, tag
from veilspan.studio.as_text import account_as_text
from veilspan.studio.charts import budget_strip
from veilspan.studio.layout import address, as_text, card, heading
from veilspan.studio.schemas import find_schema
from veilspan.studio.state import Studio
from veilspan.studio.visits import Visit, page_route


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
    body.append(tag("ul", *chips, class_="chips"))
    if account is not None:
        body += draw_budget(account.spent())
    body.append(tag("p", tag("a", "Open", href=place, class_="button second"), class_="actions"))
    return card(*body)


def draw_budget(state: Any, key: str = "") -> list[Html]:
    """The budget of a dataset as a bar and two numbers."""
    from veilspan.ledger.words.sentences import say_used_and_left
    from veilspan.ledger.words.shares import write_shares

    used, left = write_shares([state.shares.used, state.shares.left])
    words = tag(
        "p",
        tag("span", tag("b", used), " used"),
        tag("span", tag("b", left), " left"),
        class_="strip-words",
    )
    return [budget_strip(state.shares.used, words=say_used_and_left(state), key=key), words]


ROUTES = [page_route("/", list_datasets)]
