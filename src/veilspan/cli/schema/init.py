"""``veilspan schema init``: a draft of a schema from the names of a table's columns."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from veilspan.cli.arguments.options import (
    AsJson,
    Decimal,
    Encoding,
    Force,
    SchemaOut,
    Separator,
    TableName,
)
from veilspan.cli.console import note, print_json, say

#: What --guess means, on the screen; the file says it too.
GUESSED = (
    "the rows were looked at. Ranges, types and categories that come from rows are not public: a "
    "release that rests on them is not covered by its promise. Every guess is marked as "
    "unconfirmed, and a fit refuses the schema until you have replaced each source by where the "
    "fact is known from WITHOUT the rows (a form, a manual, a law) and corrected the fact to what "
    "is known there. Keep the draft as you keep the table."
)


def init(
    data: Annotated[
        str,
        typer.Argument(
            help="A .csv, .tsv, .parquet, .arrow or .feather file, - (CSV from the standard "
            "input), or postgresql://host/database with --table."
        ),
    ],
    out: SchemaOut,
    table: TableName = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    header: Annotated[
        bool, typer.Option("--header", help="The first line names the columns, though it may not.")
    ] = False,
    guess: Annotated[
        bool,
        typer.Option(
            "--guess", help="Look at the cells. Such facts are not public: no fit takes them as is."
        ),
    ] = False,
    force: Force = False,
    json: AsJson = False,
) -> None:
    """Draft a schema from the names of columns; no cell is read.

    Types are taken from files and databases that declare them. The rest is for a person to fill
    in: what each column may hold, and where that is known from. Then veilspan schema check.

    Example: veilspan schema init ward.csv --out ward.toml
    """
    from veilspan.cli.io.declared_data import choose_format, open_data
    from veilspan.cli.schema.draft import check_place, write_draft, write_text
    from veilspan.tables.file_format import FileFormat

    check_place(out, force=force)
    said = {"separator": separator, "decimal": decimal, "encoding": encoding}
    file = choose_format(FileFormat(), said)
    source = open_data(data, table).with_format(file)
    names = source.names
    if not header:
        _refuse_row(source, names)
    guesses = None
    if guess:
        from veilspan.cli.schema.guess import guess_columns

        guesses = guess_columns(source)
    file = getattr(source, "file", file)  # a .tsv has tabs, whatever is said
    write_text(out, write_draft(source, file, guesses, data, out), secret=guess)
    command = f"veilspan schema check {out}" + ("" if data == "-" else f" {data}")
    if json:
        print_json({"schema": str(out), "columns": len(names), "guessed": guess})
    else:
        looked = "its cells were looked at" if guess else "no cell was read"
        say(f"A draft with {len(names):,} columns of {source.label} is in {out} ({looked}).")
        say(f"Fill it in with an editor, then: {command}")
    if guess:
        note(GUESSED)


def _refuse_row(source: Any, names: tuple[str, ...]) -> None:
    """Refuse a first line that may be a person's row: names go into releases."""
    from veilspan.tables.sources.first_line import find_other_separator, may_be_row

    if any(kind != "text" for kind in source.kinds.values()):
        return  # a file with types of its own, whose names are no row
    other = find_other_separator(names[0]) if len(names) == 1 else None
    if other is not None:
        raise ValueError(
            f"{source.label} has one column only, and its first line looks separated otherwise: "
            f"try {other}."
        )
    if may_be_row(names):
        raise ValueError(
            f"the first line of {source.label} may be a row and not the names of the columns "
            "(numbers, dates, empty cells): names become public. Write a line of names above it, "
            "or say --header if it holds the names."
        )
