"""``veilspan transform``: use a release on rows of your own. Nothing is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veilspan.cli.arguments.options import (
    AsJson,
    ByPerson,
    Columns,
    DataFile,
    Decimal,
    Encoding,
    Header,
    KeyFile,
    OutputTable,
    Release,
    SchemaFile,
    Separator,
    TableName,
)


def transform(
    release: Release,
    data: DataFile,
    out: OutputTable,
    schema: SchemaFile = None,
    columns: Columns = None,
    separator: Separator = None,
    decimal: Decimal = None,
    header: Header = None,
    encoding: Encoding = None,
    table: TableName = None,
    proba: Annotated[bool, typer.Option("--proba", help="Probabilities of the classes.")] = False,
    by_person: ByPerson = False,
    key: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Coordinates or predictions of rows of your own, by a release.

    Nothing is spent. A release that was fitted by a schema holds it, and reads new rows exactly as
    those of the fit; others find columns by the names they were learned from. If a file is written
    otherwise than that of the fit, say so by --separator, --decimal and --encoding; columns that
    the release does not know are ignored.

    Example: veilspan transform release table.csv --out coordinates.csv
    """
    from veilspan.cli.io.own_rows import OwnRows, write_results

    rows = OwnRows(data, table, schema, columns, separator, decimal, header, encoding, by_person)
    write_results(release, key, rows, Path(out), "proba" if proba else "any", as_json=json)
