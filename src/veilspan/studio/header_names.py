"""Names of a table's columns, shown only where somebody answers for it that they are names.

A first line such as ``Anna Schmidt,female,diabetes`` looks like names and is a person's row.
Nothing in the file tells the two apart, so that a steward says which it is, once a dataset; what
was said holds for that line only. Files that store types beside names need no such word.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from veilspan._files import read_regular, write_whole
from veilspan.studio.errors import Refusal
from veilspan.studio.schemas import name_in_files
from veilspan.studio.state import SCHEMAS, Studio


class UnconfirmedNames(Refusal):
    """Nobody has said yet that the first line of a table holds names."""

    def __init__(self) -> None:
        super().__init__(
            409,
            "A steward is to say first whether the first line of this table holds the names of its "
            "columns: they are not shown before.",
            link=True,
        )


def open_header(studio: Studio, name: str) -> Any:
    """The table of a dataset, of which only names and stored types are read."""
    from veilspan.tables.sources.first_line import may_be_row
    from veilspan.tables.sources.open_table import open_table

    table = studio.table(name)
    source = open_table(table.data, table=table.table)
    if _is_untyped(source) and may_be_row(source.names):
        raise ValueError(
            "the first line of this table may be a row and not the names of the columns (numbers, "
            "dates, empty cells), and names become public: write a line of names above it."
        )
    return source


def open_confirmed(studio: Studio, name: str) -> Any:
    """The same for pages that show the names: refused while nobody answers for them."""
    source = open_header(studio, name)
    if not are_confirmed(studio, name, source):
        raise UnconfirmedNames
    return source


def are_confirmed(studio: Studio, name: str, source: Any) -> bool:
    """Whether the names of an opened table may be shown."""
    mark = _mark(studio.folder, name)
    said = read_regular(mark, 100).decode("ascii", "replace") if mark.exists() else ""
    return not _is_untyped(source) or said.strip() == _digest(source.names)


def confirm_names(folder: Path, name: str, names: Iterable[str]) -> None:
    """Keep in a studio's folder that these are names, not a row."""
    mark, text = _mark(folder, name), f"{_digest(names)}\n".encode()
    write_whole(mark, lambda stream: stream.write(text), 0o600)


def _is_untyped(source: Any) -> bool:
    return all(kind == "text" for kind in source.kinds.values())


def _mark(folder: Path, name: str) -> Path:
    return folder / SCHEMAS / f"{name_in_files(name)}.names"


def _digest(names: Iterable[str]) -> str:
    return hashlib.sha256(json.dumps(list(names)).encode()).hexdigest()
