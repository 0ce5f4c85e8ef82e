"""The cards of the page on which a table is declared, but for those of its columns."""

from __future__ import annotations

import difflib
from typing import Any

from veilspan._html import Html, join, tag
from veilspan.studio.declaring import FILE, HEAD, UNIT, Declared, Entries
from veilspan.studio.fields import choice_field, text_field
from veilspan.studio.layout import address, card, form, hidden
from veilspan.studio.visits import Visit

#: Lines of TOML that differ and are shown.
MOST_LINES = 200


def _wrong(problems: list[Any], *places: str) -> list[str]:
    return [problem.what for problem in problems if problem.place in places]


def draw_table_card(entries: Entries, problems: list[Any]) -> Html:
    """What is said of the table as a whole, and of whom it is about."""
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


def draw_file_card(entries: Entries, problems: list[Any]) -> Html:
    """How the file is written, folded away unless something is wrong with it."""
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


def draw_state(
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


def draw_changes(declared: Declared, frozen: Any) -> Html | None:
    """What would change if the entries were put in force, line by line."""
    before = "" if frozen is None else frozen.to_toml()
    if not before or before == declared.toml:
        return None
    lines = difflib.unified_diff(before.splitlines(), declared.toml.splitlines(), lineterm="")
    marked = join(_mark(line) for line in list(lines)[2 : MOST_LINES + 2])
    shown = tag("pre", marked, class_="diff", tabindex="0", aria_label="Changes")
    return card(shown, title="Changes against the schema in force")


def _mark(line: str) -> Html:
    if line.startswith("@@"):  # numbers of lines tell nobody anything here
        return tag("span", "…\n", class_="same")
    kind = {"+": "plus", "-": "minus"}.get(line[:1], "same")
    return tag("span", f"{line}\n", class_=kind)


def draw_toml(declared: Declared) -> Html:
    """The schema as the file that it is."""
    shown = tag("pre", tag("code", declared.toml, id="toml"), tabindex="0", aria_label="TOML")
    copy = tag("button", "Copy", type="button", data_copy="toml", hidden=True)
    return card(tag("div", copy, shown, class_="code tall"), title="As a file")
