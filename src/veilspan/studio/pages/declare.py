"""Declare what is public of a table: a card a column, TOML and digest beside them, and freeze."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from veilspan._html import Html, tag
from veilspan.studio.as_text import schema_as_text
from veilspan.studio.column_card import draw_column
from veilspan.studio.declaring import (
    COLUMN,
    FILE,
    HEAD,
    UNIT,
    Declared,
    Entries,
    begin_entries,
    declare,
    entries_of,
    merge,
)
from veilspan.studio.drafts import latest_version, load_draft, save_draft
from veilspan.studio.errors import Refusal
from veilspan.studio.header_names import (
    UnconfirmedNames,
    open_confirmed,
    open_header,
)
from veilspan.studio.layout import address, as_text, form, heading, hidden, steps
from veilspan.studio.pages.names import ask_for_names
from veilspan.studio.schema_cards import (
    draw_changes,
    draw_file_card,
    draw_state,
    draw_table_card,
    draw_toml,
)
from veilspan.studio.schemas import find_schema, freeze_schema, keep_schema, name_in_files
from veilspan.studio.state import Studio
from veilspan.studio.visits import Visit, form_route, page_route, read_number

WHAT_TO_WRITE = (
    "Write down only what is known without looking at rows: from a form, a manual, a law, a "
    "published report. Only the names of the columns were read from the table."
)
WHO_WRITES = "What the steward declared, without looking at rows. Only a steward changes it."


def show_schema(visit: Visit) -> Response:
    """The form with what was saved last, its problems, and what it comes to."""
    studio, name = visit.studio, visit.params["name"]
    studio.table(name)
    try:
        entries, version = find_entries(studio, name)
    except UnconfirmedNames:
        return ask_for_names(visit, name)
    declared = declare(name, entries)
    frozen = find_schema(studio, name)
    problems = [*declared.problems, *find_header_problems(studio, name, declared)]
    may = visit.session.may("steward")
    place = address("d", name, "schema")
    fresh = not version and frozen is None  # nobody has said anything that could be wrong
    shown = [] if fresh else problems
    cards = [draw_table_card(entries, shown), draw_file_card(entries, shown)]
    cards += [
        draw_column(number, column, facts, shown)
        for number, (column, facts) in enumerate(entries["columns"].items())
    ]
    save = tag("button", "Save", name="what", value="save") if may else None
    own = form(
        place,
        visit.session.csrf,
        hidden("began", version),
        tag("fieldset", *cards, class_="plain", disabled=not may),
        tag("p", save, tag("span", "Saving charges nothing and reads no row.", class_="help"),
            class_="actions stay") if may else None,
        id="declare",
    )  # fmt: skip
    beside = tag(
        "aside",
        draw_state(visit, name, declared, problems, frozen, fresh=fresh),
        draw_changes(declared, frozen),
        draw_toml(declared),
    )
    body = [
        steps(0, [None, address("d", name, "ask") if frozen else None]),
        heading(f"What is public about {name}?", under=WHAT_TO_WRITE if may else WHO_WRITES),
        _link_import(name) if may else None,
        tag("div", own, beside, class_="split"),
        as_text(*schema_as_text(studio, name)),
    ]
    return visit.page(f"Declare {name}", *body, wide=True)


def _link_import(name: str) -> Html:
    words = "Use an existing description: a schema, SmartNoise, Frictionless or CSVW"
    return tag("p", tag("a", words, href=address("d", name, "import")), class_="beside")


def save_entries(visit: Visit) -> Response:
    """Keep what was typed, right or wrong; entries of another tab are merged, never lost."""
    studio, name = visit.studio, visit.params["name"]
    studio.table(name)
    mine = read_entries(visit)
    with studio.lock_draft(draft_name(name)):
        theirs, latest = find_entries(studio, name)
        began = read_number(visit.text("began") or "0")
        clashes: list[str] = []
        if began != latest:
            base = load_draft(studio, draft_name(name), began)
            if base is not None:
                mine, clashes = merge(base, mine, theirs)
        unknown = set(mine["columns"]) - set(theirs["columns"])
        if unknown:
            raise Refusal(409, "This form has columns that the table does not have. Reload it.")
        if mine != theirs or not latest:
            save_draft(studio, draft_name(name), mine)
    words = "Saved."
    if clashes:
        words = (
            "Saved, and merged with what was saved in another window meanwhile. Both changed: "
            f"{'; '.join(clashes)}. Your entries stand; please look at them."
        )
    return visit.go(address("d", name, "schema"), words, "careful" if clashes else "done")


def freeze(visit: Visit) -> Response:
    """Put the schema in force that was looked at, and no other."""
    studio, name = visit.studio, visit.params["name"]
    place = address("d", name, "schema")
    entries, _ = find_entries(studio, name)
    declared = declare(name, entries)
    if declared.schema is None or find_header_problems(studio, name, declared):
        return visit.go(place, "There are open problems: nothing was frozen.", "problem")
    if declared.schema.digest != visit.text("digest"):
        return visit.go(
            place, "The entries have changed since you looked: look again, then freeze.", "problem"
        )
    in_force = find_schema(studio, name)
    if in_force is None or in_force.digest != declared.schema.digest:
        freeze_schema(studio, name, declared.schema)
        account = studio.account(name)
        if account is not None:
            account.record_schema(declared.schema.digest, by=visit.session.person)
    return visit.go(
        address("d", name), "The schema is frozen and in force. Its digest goes into releases."
    )


def find_entries(studio: Studio, name: str) -> tuple[Entries, int]:
    """The latest entries and their version; at first those of the schema, or of the header."""
    saved = load_draft(studio, draft_name(name))
    if saved is not None:
        return saved, latest_version(studio, draft_name(name))
    schema = find_schema(studio, name)
    if schema is not None:
        keep_schema(studio, schema)
        return entries_of(schema), 0
    source = open_confirmed(studio, name)
    return begin_entries(source.names, source.kinds), 0


def find_header_problems(studio: Studio, name: str, declared: Declared) -> list[Any]:
    """What does not fit between the schema and the names of the table's columns."""
    from veilspan.tables.columns import UNTYPED_ROLES
    from veilspan.tables.problems import Problem, SchemaError
    from veilspan.tables.sources.check_names import check_names

    schema = declared.schema
    if schema is None:
        return []
    needed = [column for column in schema.columns if column.role not in UNTYPED_ROLES]
    try:
        source = open_header(studio, name).with_format(schema.file)
        check_names(source, schema, needed=needed)
    except SchemaError as error:
        return list(error.problems)
    except (ValueError, OSError):
        return [Problem("", "The table cannot be opened where the studio was told that it lies.")]
    return []


def draft_name(name: str) -> str:
    """What the draft of a dataset's schema is called on the disk."""
    return f"schema-{name_in_files(name)}"


def read_entries(visit: Visit) -> Entries:
    """The entries of the form, as they were typed."""
    entries: Entries = {key: visit.text(key).strip() for key in (*HEAD, *UNIT, *FILE)}
    columns: dict[str, dict[str, str]] = {}
    number = 0
    while f"c{number}-name" in visit.form:
        column = visit.text(f"c{number}-name")
        facts = {key: visit.text(f"c{number}-{key}").strip() for key in COLUMN}
        facts["categories"] = facts["categories"].replace("\r\n", "\n")
        columns[column] = facts
        number += 1
    return {**entries, "columns": columns}


ROUTES = [
    page_route("/d/{name}/schema", show_schema),
    form_route("/d/{name}/schema", save_entries, roles=("steward",)),
    form_route("/d/{name}/freeze", freeze, roles=("steward",)),
]
