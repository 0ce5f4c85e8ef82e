"""Take what is known of a table from a description that exists: ours, or another tool's.

What another tool wrote says nothing of where it was known from. Its facts are taken as "imported,
unconfirmed", and nothing can be frozen or fitted until a person has said, column by column, where
they know them from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from starlette.responses import Response

from veilspan._html import Html, tag
from veilspan.studio.as_text import import_as_text
from veilspan.studio.declaring import entries_of
from veilspan.studio.drafts import save_draft
from veilspan.studio.fields import area_field, choice_field, text_field
from veilspan.studio.layout import address, as_text, card, form, heading, steps
from veilspan.studio.pages.declare import draft_name, find_entries
from veilspan.studio.visits import Visit, form_route, page_route
from veilspan.tables.problems import Problem, SchemaError
from veilspan.tables.schema import Schema

#: What can be pasted, as a person knows it.
FORMS = {
    "": "find out from the text",
    "veilspan": "a schema of ours (TOML)",
    "smartnoise": "SmartNoise metadata (YAML)",
    "frictionless": "Frictionless table schema or package (JSON)",
    "csvw": "CSV on the Web metadata (JSON)",
}
_OURS = re.compile(r"^\s*veilspan_schema\s*=", re.MULTILINE)
#: Names of columns that a notice lists.
MOST_NAMES = 12


def show_import(visit: Visit) -> Response:
    """A place to paste a description that exists already."""
    return _draw(visit)


def take_description(visit: Visit) -> Response:
    """Take the entries of what somebody pasted; what cannot be read stays in the form."""
    studio, name = visit.studio, visit.params["name"]
    studio.table(name)
    try:
        schema = read_pasted(_pasted(visit), visit.text("form"), visit.text("table").strip())
    except SchemaError as error:
        return _draw(visit, error.problems, status=422)
    except ImportError as error:
        return _draw(visit, [Problem("", str(error))], status=422)
    with studio.lock_draft(draft_name(name)):
        entries, _ = find_entries(studio, name)
        taken = entries_of(schema)
        told, known = taken["columns"], entries["columns"]
        taken["columns"] = {column: told.get(column, facts) for column, facts in known.items()}
        save_draft(studio, draft_name(name), taken)
    missing = [column for column in told if column not in known]
    silent = [column for column in known if column not in told]
    return visit.go(
        address("d", name, "schema"), _say_taken(schema, missing, silent), _kind(schema, missing)
    )


def read_pasted(text: str, form: str = "", table: str = "") -> Schema:
    """The schema in a text; which form it has is found by what is in it, if nobody says."""
    if not text.strip():
        raise SchemaError([Problem("", "There is nothing to read: paste the description.")])
    if form == "veilspan" or (not form and _OURS.search(text)):
        return Schema.from_toml(text)
    from veilspan.tables.importers.import_schema import read_description

    return read_description(text, form if form in FORMS else None, table=table or None)


def _pasted(visit: Visit) -> str:
    return visit.text("toml").replace("\r\n", "\n")  # browsers end lines by both


def _kind(schema: Schema, missing: list[str]) -> str:
    return "careful" if schema.unconfirmed or missing else "done"


def _say_taken(schema: Schema, missing: list[str], silent: list[str]) -> str:
    """What was taken, what was not, and what is for the steward to do now."""
    words = ["The entries were taken from the description."]
    if schema.unconfirmed:
        words.append(
            "They are imported and unconfirmed: look at each, and write where you know it from. "
            "Nothing can be frozen before."
        )
    if missing:
        words.append(f"The table has no column {_list(missing)}: left out.")
    if silent:
        words.append(f"The description says nothing of {_list(silent)}.")
    return " ".join(words)


def _list(names: Iterable[str]) -> str:
    found = list(names)
    more = f" and {len(found) - MOST_NAMES} more" if len(found) > MOST_NAMES else ""
    return ", ".join(f"“{name}”" for name in found[:MOST_NAMES]) + more


def _draw(visit: Visit, problems: Iterable[Any] = (), status: int = 200) -> Response:
    name = visit.params["name"]
    visit.studio.table(name)
    wrong = [tag("li", str(problem)) for problem in problems]
    said: Html | None = None
    if wrong:
        said = tag("div", tag("p", "This was not taken:"), tag("ul", *wrong),
                   class_="notice problem", role="alert")  # fmt: skip
    own = form(
        address("d", name, "import"),
        visit.session.csrf,
        area_field("toml", "Paste the description here", _pasted(visit), rows=16, class_="mono",
                   spellcheck="false"),
        tag(
            "div",
            choice_field("form", "What it is", visit.text("form"), FORMS),
            text_field("table", "Which of its tables", visit.text("table"),
                       help="Only where it describes several."),
            class_="row",
        ),
        tag(
            "p",
            tag("button", "Take these entries"),
            tag("a", "Back to the columns", href=address("d", name, "schema"),
                class_="button second"),
            class_="actions",
        ),
    )  # fmt: skip
    return visit.page(
        f"Use a description for {name}",
        steps(0, [address("d", name, "schema")]),
        heading(
            "Use an existing description",
            over=f"Dataset {name}",
            under="Nothing is frozen by this. What another tool wrote counts as imported and "
            "unconfirmed until you say where it is known from.",
        ),
        said,
        card(own),
        as_text(*import_as_text(visit.studio, name)),
        status=status,
    )


ROUTES = [
    page_route("/d/{name}/import", show_import, roles=("steward",)),
    form_route("/d/{name}/import", take_description, roles=("steward",)),
]
