"""``veilspan schema check``: everything that is wrong with a schema, or with a table beside it."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from veilspan.cli.arguments.options import AsJson, SchemaPath, TableName
from veilspan.cli.console import ERROR, print_json, say

if TYPE_CHECKING:
    from veilspan.tables.columns import Column
    from veilspan.tables.file_format import FileFormat
    from veilspan.tables.problems import Problem
    from veilspan.tables.schema import Schema


class Declared(NamedTuple):
    """Names and format that a schema declares, whatever else is wrong with it."""

    columns: tuple[Column, ...]
    file: FileFormat


def check(
    schema: SchemaPath,
    data: Annotated[
        str | None,
        typer.Argument(
            help="A table that it is to fit: .csv, .tsv, .parquet, .arrow, .feather, - or "
            "postgresql://host/database. Only the names of its columns are read, and its rows are "
            "counted if the schema has a count."
        ),
    ] = None,
    table: TableName = None,
    json: AsJson = False,
) -> None:
    """List all problems of a schema at once, and what to do.

    Exit code 1 if there are any. With DATA also whether the table has the columns that the schema
    declares, and no others, and as many rows as its count says. No cell is read. What is allowed
    and may not be meant is said as well.

    Example: veilspan schema check ward.toml ward.csv
    """
    from veilspan.cli.io.declared_data import load_schema, open_data
    from veilspan.cli.schema.hints import find_hints, find_table_hints
    from veilspan.tables.problems import SchemaError

    source = None if data is None else open_data(data, table)
    found: Schema | None = None
    problems: Sequence[Problem] = ()
    try:
        found = load_schema(schema)
        found.check_confirmed()
        found.check_people()
    except SchemaError as error:
        problems = error.problems
    beside: Sequence[Problem] = ()
    if source is not None:
        beside = find_header_problems(schema, found, source)
    hints = [] if found is None or problems else list(find_hints(found))
    table_hints: list[str] = []
    if source is not None and found is not None and not beside:
        table_hints = list(find_table_hints(found, source.with_format(found.file)))
    if json:
        print_json({
            "schema": str(schema),
            "digest": None if found is None else found.digest,
            "problems": [problem._asdict() for problem in problems],
            "hints": hints,
            "data": None if source is None else source.label,
            "data_problems": [problem._asdict() for problem in beside],
            "data_hints": table_hints,
        })  # fmt: skip
    else:
        _tell(str(schema), problems, "" if found is None else repr(found).strip("<>"), hints)
        if source is not None:
            good = "Its columns are those of the schema; no cell was read"
            _tell(source.label, beside, good, table_hints)
    if problems or beside:
        raise typer.Exit(ERROR)


def find_header_problems(path: Path, schema: Schema | None, source: Any) -> Sequence[Problem]:
    """What does not fit between a schema, even one with problems, and the header of a table."""
    from veilspan.tables.columns import UNTYPED_ROLES
    from veilspan.tables.problems import Problem, SchemaError, show
    from veilspan.tables.sources.check_names import check_names

    declared: Any = schema or read_declared(path)
    needed = [c for c in declared.columns if c.role not in UNTYPED_ROLES]
    unit_id = None if schema is None else schema.unit.id
    ids = [c for c in declared.columns if c.name == unit_id and c not in needed]
    try:
        source = source.with_format(declared.file)
        check_names(source, declared, needed=[*needed, *ids])
    except SchemaError as error:
        return error.problems
    except ValueError as error:  # of ours: an empty file, a header that is none
        return [Problem("", str(error))]
    return [
        Problem(
            "",
            f"Its column {show(column.name)} is stored in a way that is not read (lists, raw bytes "
            "and the like), so it is missing in every row: store it as texts, or say "
            'role = "ignore".',
        )
        for column in needed
        if source.kinds[column.name] == "other"
    ]


def read_declared(path: Path) -> Declared:
    """The names that a schema with problems declares; none if it is not TOML at all."""
    from veilspan.tables.columns import Column
    from veilspan.tables.file_format import FileFormat

    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        document = {}
    columns, file = document.get("columns"), document.get("file")
    facts = columns if isinstance(columns, dict) else {}
    roles = {n: f.get("role", "use") if isinstance(f, dict) else "use" for n, f in facts.items()}
    known = {k: v for k, v in file.items() if k in FileFormat.__dataclass_fields__} if file else {}
    written = FileFormat(**known) if isinstance(file, dict) else FileFormat()
    if any(written.problems()):
        written = FileFormat()
    return Declared(tuple(Column(name, role=role) for name, role in roles.items()), written)


def _tell(what: str, problems: Sequence[Problem], good: str, hints: Sequence[str]) -> None:
    """Say all problems of a file, a line each, or what is good about it; then the hints."""
    if problems:
        many = "a problem" if len(problems) == 1 else f"{len(problems):,} problems"
        say(f"{what} has {many}:")
        for problem in problems:
            say(f"  - {problem}")
    else:
        say(f"{what}: no problems. {good}.")
    for hint in hints:
        say(f"  {hint}")
