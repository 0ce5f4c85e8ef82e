"""Tables that are read by a schema: where they come from, and what may not be said beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from veilspan.tables.file_format import FileFormat
    from veilspan.tables.schema import Schema
    from veilspan.tables.sources.table_source import TableSource

#: The standard input, as commands call it.
STANDARD_INPUT = "-"
_URL = re.compile(r"(postgresql|postgres)://", re.IGNORECASE)
#: What an estimator would be told and a schema says already: why it is not said twice.
_SAID = {
    "columns": "which columns are used",
    "target": "which column is predicted",
    "items": "the items",
    "separator": "how the file is written, in [file]",
    "header": "the names of the columns",
    "encoding": "how the file is written, in [file]",
    "classes": "the classes",
    "feature_range": "the ranges of the columns",
    "target_range": "the range of the target",
    "rating_range": "the range of the ratings",
    "bounds": "the ranges of the columns",
}


def load_schema(path: Path) -> Schema:
    """The schema of a file, or all of its problems at once."""
    from veilspan.tables.schema import Schema

    if not path.exists():
        raise FileNotFoundError(f"there is no schema {path}; veilspan schema init makes a draft.")
    return Schema.load(path)


def is_address(data: str) -> bool:
    """Whether the data are a table of a database, not a file."""
    return bool(_URL.match(data))


def refuse_beside_schema(
    options: Mapping[str, Any], settings: Mapping[str, Any], where: str = "beside --schema"
) -> None:
    """Refuse options and parameters that say again, or otherwise, what the schema says."""
    said = [(f"--{name}", _SAID[name]) for name, value in options.items() if value is not None]
    said += [(f"-p {name}", _SAID[name]) for name in settings if name in _SAID]
    if said:
        words, facts = zip(*said)
        raise ValueError(
            f"{where} leave out {', '.join(words)}: the schema says "
            f"{', '.join(dict.fromkeys(facts))}."
        )


def refuse_without_schema(data: str, table: str | None) -> None:
    """Refuse data that only a schema can read."""
    for_schema = data == STANDARD_INPUT or is_address(data) or table is not None
    if for_schema or Path(data).suffix in (".arrow", ".feather"):
        raise ValueError(
            "the standard input, Arrow files and databases are read by a schema: veilspan schema "
            "init makes a draft of one, and --schema FILE takes it."
        )


def choose_neighbors(given: str | None, schema: Schema | None) -> str:
    """Whose number is public: as the schema says; the user may only say the same."""
    if schema is None:
        return given or "replace-one"
    if given not in (None, schema.neighbors):
        raise ValueError(
            f"the schema promises {schema.neighbors}, --neighbors says {given}: leave it out, or "
            "change neighbors in the schema's [unit]."
        )
    return schema.neighbors


def choose_format(file: FileFormat, said: Mapping[str, Any]) -> FileFormat:
    """How a text file is written: as ``file`` says but for what the command line says.

    Parameters
    ----------
    file : FileFormat
        What holds where nothing else is said.
    said : mapping of str to str or None
        ``separator``, ``decimal`` and ``encoding``.
    """
    chosen = replace(file, **{name: value for name, value in said.items() if value is not None})
    for problem in chosen.problems():
        raise ValueError(f"--{problem.place.removeprefix('file.')} {problem.what}")
    return chosen


def open_data(data: str, table: str | None = None) -> TableSource:
    """Open a file, the standard input or a table of a database, to be read by a schema.

    Parameters
    ----------
    data : str
        A path, ``-`` for CSV from the standard input, or ``postgresql://host/database``.
    table : str, optional
        Name of the table of a database.
    """
    from veilspan.tables.sources.open_table import open_table

    if is_address(data):
        refuse_password(data)
        if table is None:
            raise ValueError("say which table of the database: --table NAME.")
    elif table is not None:
        raise ValueError("--table is for postgresql://host/database, not for files.")
    elif data != STANDARD_INPUT:
        pattern = not Path(data).exists() and any(letter in data for letter in "*?[")
        if pattern or Path(data).is_dir():
            raise ValueError(
                "by a schema one file is read at a time, no folder or pattern: in Python, fit "
                "takes a Dask data frame of many."
            )
        if not Path(data).exists():
            raise FileNotFoundError(f"there is no file {data}.")
    return open_table(data, table=table)


def refuse_password(url: str) -> None:
    """Refuse an address with a password in it, without showing it."""
    from veilspan._passwords import is_unclear

    rest = url.partition("://")[2]
    login, at, _ = rest.partition("?")[0].rpartition("@")
    keys = [unquote(part.partition("=")[0]) for part in rest.partition("?")[2].split("&")]
    if (at and ":" in login) or any("password" in key for key in keys) or is_unclear(url):
        raise ValueError(
            "everybody on this machine can read a command line, so the address must hold no "
            "password: leave it out and set PGPASSWORD, or use ~/.pgpass."
        )
