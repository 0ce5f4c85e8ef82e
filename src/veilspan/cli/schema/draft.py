"""The text of a draft: every column with suggestions, and what a person is to fill in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veilspan._printable import printable
from veilspan.tables.suggestions import NAMELESS, Line, suggest_lines

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
#          use by default; the column that models are to predict needs   role = "target"
#   type   integer, number   range = [low, high]: what is beyond moves to the border
#                            scale = "log" for amounts over several magnitudes, range above 0
#          category          categories = ["a", "b"], and other = true for everything else
#          boolean           true = ["yes"], false = ["no"]
#          date              format = "%Y-%m-%d", range = [2020-01-01, 2025-12-31],
#                            as = ["days", "weekday", "month"], or some of them
#   fill   what a missing or unreadable cell counts as (by default the middle of the range)
#   missing_column = true     one more column that says where the cell was missing
"""
_NOTHING = 'cells that say nothing; add "N/A", "-99" or what the file has'
_GUESSED_HEAD = """\
#
# WARNING: made with --guess. Types, ranges and categories below were taken FROM THE ROWS. They are
# not public, they may tell about single people, and a release that rests on them is not covered by
# its promise. A fit refuses this schema as long as a source says "imported, unconfirmed". Replace
# each by where the fact is known from without the rows, and the fact by what is known there. Keep
# this file as you keep the table.
"""


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
        lines = lines if name else [NAMELESS]
        known = "" if guesses is None or all(line.key == "role" for line in lines) else UNCONFIRMED
        lines = [*lines, Line("source", write_value(known), "", suggested=False)]
        parts.append(f"[columns.{title}]\n" + "".join(map(_write_line, lines)))
    return "\n".join(part for part in parts if part)


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
        + _write_line(Line("missing", write_value(file.missing), _NOTHING, False))
    )
