"""Read another tool's description of a table from a file, whichever of the known forms it has."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from veilspan._archives import parse_json
from veilspan._files import IrregularFileError, read_regular
from veilspan.tables.importers import csvw, frictionless, smartnoise
from veilspan.tables.problems import Problem, SchemaError
from veilspan.tables.schema import Schema

#: Readers by the name of the form: from the parsed document and a table's name to a schema.
FORMS: dict[str, Callable[[Any, str | None], Schema]] = {
    "smartnoise": smartnoise.read_smartnoise,
    "frictionless": frictionless.read_frictionless,
    "csvw": csvw.read_csvw,
}
#: Largest description; those of ten thousand columns take a megabyte.
MOST_BYTES = 10 * 10**6


def import_schema(
    path: str | os.PathLike[str], form: str | None = None, *, table: str | None = None
) -> Schema:
    """Make a schema of a SmartNoise YAML, Frictionless JSON or CSVW JSON file.

    Columns whose public facts are not in the file (a number without a range, a text without a list)
    get ``role = "ignore"``; the schema's ``notes`` name them.

    Parameters
    ----------
    path : path
        The file.
    form : {"smartnoise", "frictionless", "csvw"}, optional
        What it is; recognised by what is in it if left out.
    table : str, optional
        Which of its tables, if it describes several.

    Returns
    -------
    Schema
        Every fact has the source ``"imported, unconfirmed"``, so no fit takes it as it is.

    Raises
    ------
    SchemaError
        If the file cannot be read, or what it says makes no schema.
    """
    if form is not None and form not in FORMS:
        raise ValueError(f"form is one of {', '.join(FORMS)}.")
    origin = f"the description {path}"
    try:
        data = read_regular(Path(path), MOST_BYTES)
        text = data.decode("utf-8-sig")
    except IrregularFileError as error:
        raise SchemaError([Problem("", str(error))], origin) from None
    except UnicodeDecodeError:
        raise SchemaError([Problem("", "it is not UTF-8.")], origin) from None
    return read_description(text, form, table=table, origin=origin)


def read_description(
    text: str, form: str | None = None, *, table: str | None = None, origin: str = "the description"
) -> Schema:
    """The same of a text that somebody has at hand."""
    is_yaml = form == "smartnoise" if form else text.lstrip()[:1] not in ("{", "[")
    document = smartnoise.parse_yaml(text, origin) if is_yaml else _parse(text, origin)
    try:
        return FORMS[form or _recognise(document)](document, table)
    except SchemaError as error:
        raise SchemaError(error.problems, origin) from None


def _parse(text: str, origin: str) -> Any:
    try:
        return parse_json(text.encode())
    except (ValueError, RecursionError):
        pass
    raise SchemaError([Problem("", "it is not JSON, or names a key twice.")], origin)


def _recognise(document: Any) -> str:
    found = document if isinstance(document, dict) else {}
    if {"tableSchema", "tables", "@context"} & set(found):
        return "csvw"
    if {"fields", "resources", "schema"} & set(found):
        return "frictionless"
    return "smartnoise"
