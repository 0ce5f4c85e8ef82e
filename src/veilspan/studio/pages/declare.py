"""Declare what is public of a table: a card a column, TOML and digest beside them, and freeze."""

from __future__ import annotations

import difflib
from typing import Any

from starlette.responses import Response

from veilspan._html import Html, join, tag
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
from veilspan.studio.fields import area_field, choice_field, text_field
from veilspan.studio.header_names import (
    UnconfirmedNames,
    open_confirmed,
    open_header,
)
from veilspan.studio.layout import address, as_text, card, form, heading, hidden, steps
from veilspan.studio.pages.names import ask_for_names
from veilspan.studio.schemas import find_schema, freeze_schema, keep_schema, name_in_files
from veilspan.studio.state import Studio
from veilspan.studio.visits import Visit, form_route, page_route, read_number

#: Lines of TOML that differ and are shown.
MOST_LINES = 200


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
    cards = [_draw_table_card(entries, shown), _draw_file_card(entries, shown)]
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
        _draw_state(visit, name, declared, problems, frozen, fresh=fresh),
        _draw_toml(declared, frozen),
    )
    body = [
        steps(0, [None, address("d", name, "ask") if frozen else None]),
        heading(
            f"What is public of {name}?",
            under="Write down only what is known without looking at rows: from a form, a manual, a "
            "law, a published report. Only the names of the columns were read from the table.",
        ),
        tag("div", own, beside, class_="split"),
        as_text(*schema_as_text(studio, name)),
    ]
    return visit.page(f"Declare {name}", *body, wide=True)


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


def take_toml(visit: Visit) -> Response:
    """Take the entries from a schema that somebody pasted; its columns must be the table's."""
    from veilspan.tables.schema import Schema

    studio, name = visit.studio, visit.params["name"]
    studio.table(name)
    schema = Schema.from_toml(visit.text("toml"))
    with studio.lock_draft(draft_name(name)):
        entries, _ = find_entries(studio, name)
        taken = entries_of(schema)
        known = entries["columns"]
        taken["columns"] = {c: taken["columns"].get(c, facts) for c, facts in known.items()}
        save_draft(studio, draft_name(name), taken)
    return visit.go(address("d", name, "schema"), "The entries were taken from the schema.")


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


def _wrong(problems: list[Any], *places: str) -> list[str]:
    return [problem.what for problem in problems if problem.place in places]


def _draw_table_card(entries: Entries, problems: list[Any]) -> Html:
    several = {
        "": "one row each, or combined by their mean",
        "mean": "by their mean",
        "sum": "by their sum",
        "first": "the first row counts",
        "last": "the last row counts",
        "none": "not at all: every row counts by itself",
    }
    said = {key: entries.get(key, "") for key in (*HEAD, *UNIT)}
    return card(
        text_field("about", "About, in one sentence", said["about"]),
        tag(
            "div",
            text_field("owner", "Who answers for it", said["owner"]),
            text_field("version", "Version", said["version"]),
            text_field("notes", "Notes", said["notes"]),
            class_="row",
        ),
        tag(
            "div",
            text_field("protects", "Whom it is about", said["protects"], help="patient, customer",
                       wrong=_wrong(problems, "unit.protects")),
            choice_field(
                "neighbors", "Is their number public?", said["neighbors"],
                {"replace-one": "yes, it is published", "add-remove": "no, keep it private"},
            ),
            text_field("count", "How many there are", said["count"], inputmode="numeric",
                       help="The published number.", wrong=_wrong(problems, "unit.count")),
            text_field("unit_source", "Where is that published?", said["unit_source"],
                       wrong=_wrong(problems, "unit.source")),
            class_="row",
        ),
        tag(
            "details",
            tag("summary", "If one of them may have several rows"),
            tag(
                "div",
                text_field("id", "Column that says whose row it is", said["id"],
                           wrong=_wrong(problems, "unit.id")),
                text_field("max_rows", "Rows of one that are used at most", said["max_rows"],
                           wrong=_wrong(problems, "unit.max_rows")),
                choice_field("keep", "Which of them", said["keep"],
                             {"": "at random", "random": "at random", "first": "the first",
                              "last": "the last"}, wrong=_wrong(problems, "unit.keep")),
                text_field("order_by", "Column that orders them", said["order_by"],
                           wrong=_wrong(problems, "unit.order_by")),
                choice_field("combine", "How they become one row", said["combine"], several,
                             wrong=_wrong(problems, "unit.combine")),
                text_field("expected", "A public guess of their number", said["expected"],
                           help="Where the number is private.",
                           wrong=_wrong(problems, "unit.expected")),
                class_="row",
            ),
            open=bool(said["id"]),
        ),
        title="The table",
        class_="first",
    )  # fmt: skip


def _draw_file_card(entries: Entries, problems: list[Any]) -> Html:
    said = {key: entries.get(key, "") for key in FILE}
    fields = tag(
        "div",
        text_field("separator", "Between cells", said["separator"], help="A comma by default.",
                   wrong=_wrong(problems, "file.separator")),
        choice_field("decimal", "Decimal mark", said["decimal"],
                     {"": "as usual: 1.5", ".": "1.5", ",": "1,5"},
                     wrong=_wrong(problems, "file.decimal")),
        text_field("encoding", "Letters are stored as", said["encoding"], help="utf-8 by default.",
                   wrong=_wrong(problems, "file.encoding")),
        text_field("missing", "Cells that say nothing", said["missing"],
                   help="With commas: NA, -99. Empty cells always.",
                   wrong=_wrong(problems, "file.missing")),
        class_="row",
    )  # fmt: skip
    wrong = any(problem.place.startswith("file.") for problem in problems)
    summary = tag("summary", "How the file is written")
    return tag("details", summary, fields, class_="card", open=wrong)


def _draw_state(
    visit: Visit,
    name: str,
    declared: Declared,
    problems: list[Any],
    frozen: Any,
    *,
    fresh: bool,
) -> Html:
    """How far the declaration has come, and the button that puts it in force."""
    schema = declared.schema
    parts: list[Any] = []
    if fresh:
        parts.append(tag("p", "Fill in the columns, one after the other, and save now and then."))
    elif problems:
        many = "One thing is" if len(problems) == 1 else f"{len(problems)} things are"
        parts.append(tag("p", f"{many} still missing or wrong.", class_="notice careful"))
        loose = [p for p in problems if not p.place.startswith(("unit.", "file.", "columns."))]
        if loose:
            parts.append(tag("ul", *(tag("li", str(problem)) for problem in loose)))
    if schema is not None:
        parts.append(tag("p", "Digest"))
        parts.append(tag("p", tag("code", schema.digest, class_="wrap"), class_="digest"))
        same = frozen is not None and frozen.digest == schema.digest
        if same:
            parts.append(tag("p", "This schema is frozen and in force.", class_="ok"))
        elif not problems and visit.session.may("steward"):
            parts.append(
                form(
                    address("d", name, "freeze"),
                    visit.session.csrf,
                    hidden("digest", schema.digest),
                    tag("button", "Freeze this schema"),
                )
            )
            parts.append(
                tag("p", "From then on requests refer to this digest. You can declare another "
                    "version later.", class_="help")
            )  # fmt: skip
    return card(*parts, title="Schema", class_="state")


def _draw_toml(declared: Declared, frozen: Any) -> Html:
    before = "" if frozen is None else frozen.to_toml()
    differs = bool(before) and before != declared.toml
    shown = tag("pre", tag("code", declared.toml, id="toml"), tabindex="0", aria_label="TOML")
    copy = tag("button", "Copy", type="button", data_copy="toml", hidden=True)
    parts: list[Any] = [tag("div", copy, shown, class_="code tall")]
    if differs:
        lines = difflib.unified_diff(before.splitlines(), declared.toml.splitlines(), lineterm="")
        marked = join(_mark(line) for line in list(lines)[2 : MOST_LINES + 2])
        parts.append(tag("h3", "Changes against the schema in force"))
        parts.append(tag("pre", marked, class_="diff", tabindex="0", aria_label="Changes"))
    return card(*parts, title="As a file")


def _mark(line: str) -> Html:
    kind = {"+": "plus", "-": "minus"}.get(line[:1], "same")
    return tag("span", f"{line}\n", class_=kind)


def show_import(visit: Visit) -> Response:
    """A place to paste a schema that exists already."""
    name = visit.params["name"]
    visit.studio.table(name)
    box = area_field("toml", "The schema, as TOML", rows=16, class_="mono", spellcheck="false")
    own = form(
        address("d", name, "import"),
        visit.session.csrf,
        box,
        tag("p", tag("button", "Take these entries"), class_="actions"),
    )
    return visit.page(
        f"Take a schema for {name}",
        steps(0),
        heading("Take a schema that exists", under="Nothing is frozen by it."),
        card(own),
    )


ROUTES = [
    page_route("/d/{name}/schema", show_schema),
    form_route("/d/{name}/schema", save_entries, roles=("steward",)),
    page_route("/d/{name}/import", show_import, roles=("steward",)),
    form_route("/d/{name}/import", take_toml, roles=("steward",)),
    form_route("/d/{name}/freeze", freeze, roles=("steward",)),
]
