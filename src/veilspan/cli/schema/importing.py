"""``veilspan schema import``: a schema from another tool's description of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veilspan.cli.arguments.options import AsJson, Force, SchemaOut
from veilspan.cli.console import print_json, say


def import_schema(
    file: Annotated[
        Path,
        typer.Argument(
            help="Metadata of SmartNoise (.yaml), Frictionless (.json, .yaml) or CSVW (.json)."
        ),
    ],
    out: SchemaOut,
    table: Annotated[
        str | None, typer.Option(help="Which table, where the file describes several.")
    ] = None,
    force: Force = False,
    json: AsJson = False,
) -> None:
    """Make a schema from SmartNoise, Frictionless or CSVW metadata.

    Those formats do not say where a fact is known from. So every fact is marked "imported,
    unconfirmed", and fits refuse the schema until a person says where they know it from.

    Example: veilspan schema import metadata.yaml --out ward.toml
    """
    from veilspan.cli.schema.draft import check_place, write_text
    from veilspan.tables.importers import import_schema as read_metadata

    check_place(out, force=force)
    if not file.exists():
        raise FileNotFoundError(f"there is no file {file}.")
    found = read_metadata(file, table=table)
    write_text(out, found.to_toml())
    unconfirmed = len(found.unconfirmed)
    if json:
        print_json({"schema": str(out), "digest": found.digest, "unconfirmed": unconfirmed})
        return
    say(f"A schema with {len(found.columns):,} columns is in {out}.")
    if found.notes:
        say(found.notes)
    say(
        f"Nobody has confirmed {unconfirmed:,} of its facts: in each source, say where you know "
        f"them from, then: veilspan schema check {out}"
    )
