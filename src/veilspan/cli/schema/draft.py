"""The text of a draft: every column with suggestions, and what a person is to fill in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from veilspan._printable import printable

if TYPE_CHECKING:
    from veilspan.tables.file_format import FileFormat

#: Where comments stand behind short lines.
_COMMENT_COLUMN = 34
_HEAD = """\
# A draft of the public schema of {data}, by veilspan schema init.
# {how}
#
# Fill it in, then run:   veilspan schema check {check}
#
# Everything in this file is PUBLIC and goes into releases. Write down only what is known WITHOUT
# looking at the rows (from a form, a manual, a law, a published report), and say in source where
# you know it from. Suggestions stand behind a #: remove the # of those that are right.
#
#   role   use (learn from it) | target (predict it) | id | ignore (not read)
#   type   integer, number   range = [low, high]: what is beyond moves to the border
#                            scale = "log" for amounts over several magnitudes, range above 0
#          category          categories = ["a", "b"], and other = true for everything else
#          boolean           true = ["yes"], false = ["no"]
#          date              format = "%Y-%m-%d", range = [2020-01-01, 2025-12-31],
#                            as = ["days", "weekday", "month"], or some of them
#   fill   what a missing or unreadable cell counts as (by default the middle of the range)
#   missing_column = true     one more column that says where the cell was missing
"""
_GUESSED_HEAD = """\
#
# WARNING: made with --guess. Types, ranges and categories below were taken FROM THE ROWS. They are
# not public, they may tell about single people, and a release that rests on them is not covered by
# its promise. A fit refuses this schema as long as a source says "imported, unconfirmed". Replace
# each by where the fact is known from without the rows, and the fact by what is known there. Keep
# this file as you keep the table.
"""


class Line(NamedTuple):
    """A line of a column: a fact, or a suggestion that stands behind a ``#``."""

    key: str
    value: str
    comment: str = ""
    suggested: bool = True


def write_draft(
    source: Any, file: FileFormat, guesses: Mapping[str, list[Line]] | None, data: str, out: Path
) -> str:
    """The draft of a table's schema.

    Parameters
    ----------
    source : TableSource
        The table; only its names and declared types are used.
    file : FileFormat
        How it is written, if it is a text file.
    guesses : mapping of str to list of Line, or None
        What the cells look like, if somebody asked for it.
    data : str
        What the table is called on the command line.
    out : Path
        Where the draft will be.
    """
    from veilspan.tables.columns import UNCONFIRMED
    from veilspan.tables.problems import is_bare
    from veilspan.tables.toml_writer import write_value

    shown = printable("the standard input" if data == "-" else data)
    typed = any(kind != "text" for kind in source.kinds.values())
    how = "From the names of its columns alone: no cell was read."
    if typed:
        how = "From the names and declared types of its columns: no cell was read."
    if guesses is not None:
        how = "Its cells were looked at (--guess): see the warning below."
    beside = "" if data == "-" else f" {shown}"
    text = _HEAD.format(data=shown, how=how, check=f"{printable(str(out))}{beside}")
    text += "" if guesses is None else _GUESSED_HEAD
    parts = [text, _write_head(data), _write_unit(), "" if typed else _write_file(file)]
    for name in source.names:
        title = name if is_bare(name) else write_value(name)
        lines = suggest_lines(name, source.kinds[name], typed) if guesses is None else guesses[name]
        lines = lines if name else [_NAMELESS]
        known = "" if guesses is None or all(line.key == "role" for line in lines) else UNCONFIRMED
        lines = [*lines, Line("source", write_value(known), "", suggested=False)]
        parts.append(f"[columns.{title}]\n" + "".join(map(_write_line, lines)))
    return "\n".join(part for part in parts if part)


def suggest_lines(name: str, kind: str, typed: bool = False) -> list[Line]:
    """Suggestions for a column by its declared type, or else by its name alone.

    Parameters
    ----------
    name : str
        Of the column.
    kind : str
        How it is stored, ``text`` if nothing is known.
    typed : bool
        Whether the table declares types, so that ``text`` means texts.
    """
    if kind in _BY_KIND:
        return [Line("type", f'"{kind}"', "as it is stored", suggested=False), *_BY_KIND[kind]]
    if kind == "other":
        return [Line("role", '"ignore"', "stored in a way that is not read")]
    for lines, words in _BY_WORD:
        if set(words.split()) & set(_split_words(name)):
            return lines
    if typed:
        return [Line("type", '"category"', 'or role = "ignore" for free text'), *_LABELS]
    return [Line("type", '"number"', "integer | number | category | boolean | date"), _RANGE]


def check_place(out: Path, *, force: bool) -> None:
    """Refuse to replace a file, which may be hours of work, unless somebody says so."""
    if out.suffix.lower() != ".toml":
        raise ValueError(f"--out must end in .toml; got {out.name!r}.")
    if out.exists() and not force:
        raise FileExistsError(f"{out} exists; choose another --out, or --force to replace it.")


def write_text(path: Path, text: str, *, secret: bool = False) -> None:
    """Write a text to a file, whole or not at all; a ``secret`` one for this user only."""
    from veilspan._files import write_whole

    mode = 0o600 if secret else 0o666
    write_whole(path, lambda stream: stream.write(text.encode()), mode)


#: Values are left empty, so that a line that only lost its # is still found by schema check.
_RANGE = Line("range", "[]", "[lowest, highest] possible value")
_DATES = Line("range", "[]", "[first, last] possible day: [2020-01-01, 2025-12-31]")
_PARTS = Line("as", '["days"]', "and weekday, month")
_LABELS = (
    Line("categories", "[]", 'the public list: ["first", "second"]'),
    Line("other", "true", "one more for everything else and gaps"),
)
#: A column without a name, as data frames write their index.
_NAMELESS = Line("role", '"ignore"', "it has no name; an index, mostly", suggested=False)
#: What is left to say of a column whose type is declared where it is stored.
_BY_KIND: dict[str, tuple[Line, ...]] = {
    "integer": (_RANGE,), "number": (_RANGE,), "boolean": (), "date": (_DATES, _PARTS),
    "category": _LABELS,
}  # fmt: skip
#: What names of columns suggest, by the words in them; the first match counts.
_BY_WORD: tuple[tuple[list[Line], str], ...] = (
    (
        [Line("role", '"id"', "tells people apart; it is not learned from")],
        "id ids uuid guid mrn ssn key insurance",
    ),
    (
        [Line("role", '"ignore"', "not read; texts cannot be learned from")],
        "name surname firstname lastname forename note notes comment comments remark remarks text "
        "email mail phone address street description",
    ),
    (
        [
            Line("type", '"date"'),
            Line("format", '"%Y-%m-%d"', "how the file writes them"),
            _DATES,
            _PARTS,
        ],
        "date day time timestamp admitted admission discharged discharge birth birthday dob born "
        "created updated at since until",
    ),
    ([Line("type", '"integer"'), _RANGE], "age year years days count n number children visits"),
    (
        [
            Line("type", '"boolean"'),
            Line("true", "[]", 'how the file writes it: ["yes"]'),
            Line("false", "[]", '["no"]'),
        ],
        "is has was flag smoker",
    ),
    (
        [
            Line("type", '"category"'),
            *_LABELS,
        ],
        "sex gender ward unit department type kind category group class status country region city "
        "state code diagnosis level stage grade ethnicity job profession",
    ),
)


def _split_words(name: str) -> list[str]:
    return re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower())


def _write_line(line: Line) -> str:
    text = f"{'# ' if line.suggested else ''}{line.key} = {line.value}"
    if line.comment:
        text = f"{text + ' ':<{_COMMENT_COLUMN}}# {line.comment}"
    return f"{text}\n"


def _write_head(data: str) -> str:
    from veilspan.tables.toml_writer import write_value

    name = "" if data == "-" or "://" in data else Path(data).stem
    return (
        "veilspan_schema = 1\n"
        + _write_line(Line("name", write_value(name), "of the dataset, and of its budget", False))
        + _write_line(Line("about", '""', "one sentence", False))
        + _write_line(Line("owner", '""', "who answers for it", False))
    )


def _write_unit() -> str:
    return (
        "[unit]\n"
        + _write_line(Line("protects", '"row"', 'who one row is: "patient", "customer"', False))
        + _write_line(Line("id", '"..."', "column of ids, if one may have several rows"))
        + _write_line(Line("max_rows", "8", "of one; more are not used"))
        + _write_line(Line("combine", '"mean"', "how they become one: sum, first, last, none"))
        + _write_line(Line("neighbors", '"replace-one"', "or add-remove: a private number", False))
        + _write_line(Line("count", "5000", "public number of rows, if it is published"))
        + _write_line(Line("source", '"..."', "where the count is published"))
    )


def _write_file(file: FileFormat) -> str:
    from veilspan.tables.toml_writer import write_value

    return (
        "[file]\n"
        + _write_line(Line("separator", write_value(file.separator), "between cells", False))
        + _write_line(Line("decimal", write_value(file.decimal), "1.5 or 1,5", False))
        + _write_line(Line("encoding", write_value(file.encoding), "or latin-1, cp1252", False))
        + _write_line(Line("missing", write_value(file.missing), "cells that say nothing", False))
    )
