"""``veilspan predict``: what a release predicts of rows of your own. Nothing is spent."""

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


def predict(
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
    """Predictions of rows of your own, by a release.

    Nothing is spent. One line for each row, in their order; with --by-person one for each person,
    whose rows are combined as those of the fit. Who sees a prediction learns something
    about the row that it is of, as with any model: the release is public, your rows are not.

    A release that was fitted by a schema reads new rows by it. If a file is written otherwise, say
    so by --separator, --decimal and --encoding; columns that the release does not know are ignored.

    Example: veilspan predict release new.csv --out predicted.csv --proba
    """
    from veilspan.cli.io.own_rows import OwnRows, write_results

    rows = OwnRows(data, table, schema, columns, separator, decimal, header, encoding, by_person)
    write_results(release, key, rows, Path(out), "proba" if proba else "predict", as_json=json)
