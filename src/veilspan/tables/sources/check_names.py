"""Compare the columns of a table with those of a schema, before any cell is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from veilspan.tables.columns import Column, clean_text
from veilspan.tables.problems import MOST_SHOWN, Problem, SchemaError, show, suggest

if TYPE_CHECKING:
    from veilspan.tables.schema import Schema
    from veilspan.tables.sources.table_source import TableSource

#: Names that a message lists before it only counts.
_MOST_LISTED = 30
_OTHER_SEPARATORS = (",", ";", "\t", "|", ":")


def check_names(
    source: TableSource, schema: Schema, *, needed: Sequence[Column], complete: bool = False
) -> None:
    """Refuse a table that lacks a needed column or has one that the schema does not declare.

    Parameters
    ----------
    source : TableSource
        The table.
    schema : Schema
        Its declaration.
    needed : sequence of Column
        Columns that must be there; declared others may be absent.
    complete : bool
        Whether all declared columns must be there.

    Raises
    ------
    SchemaError
        With every name that is wrong, and ids that are stored as no id can be. Names and stored
        types are public: they are those of a header.
    """
    names = source.names
    known = [column.name for column in schema.columns]
    _check_is_header(source, known)
    wanted = schema.columns if complete else needed
    problems = []
    there, declared = set(names), set(known)
    absent = [column.name for column in wanted if column.name not in there]
    strange = [name for name in names if name not in declared]
    # Every name is compared with all others: nobody reads thousands of hints.
    few = len(absent) <= MOST_SHOWN and len(strange) <= MOST_SHOWN
    for name in absent:
        hint = suggest(name, strange) if few else ""
        problems.append(Problem("", f"It has no column {show(name)}.{hint}"))
    for name in strange:
        hint = suggest(name, absent) if few else ""
        what = (
            f'It has a column {show(name)} that the schema does not declare: say role = "ignore" '
        )
        problems.append(Problem("", f"{what}for a column that is not used.{hint}"))
    if problems:
        problems.append(Problem("", f"Its columns are {_list(names)}."))
    problems += _find_unread_ids(source, schema)
    if problems:
        raise SchemaError(problems, origin=source.label)


def _find_unread_ids(source: TableSource, schema: Schema) -> list[Problem]:
    """Ids of a stored type that is never read: every row would be nobody's, and left out."""
    unit = getattr(schema, "unit", None)  # a schema with problems may have none
    if unit is None or getattr(source, "kinds", {}).get(unit.id) != "other":
        return []
    what = (
        f"Its column of ids, {show(unit.id)}, is stored in a way that is not read (raw bytes, "
        "lists and the like), so that no row would belong to anybody: store ids as texts or whole "
        "numbers."
    )
    return [Problem("", what)]


def _check_is_header(source: TableSource, known: Sequence[str]) -> None:
    """Refuse a first line that may be a row (a file without a header), and do not quote it.

    One of whose cells at least half are declared names is a header, and so are the names of a
    table with types of its own.
    """
    names = source.names
    separator = find_separator(names, known)
    if separator:
        what = (
            f"It is separated by {show(separator)}, it seems: say so in the schema, [file] "
            f"separator = {show(separator)}."
        )
        raise SchemaError([Problem("", what)], origin=source.label)
    kinds = getattr(source, "kinds", None)  # a Dask frame has names, and types of its own
    typed = kinds is None or any(kind != "text" for kind in kinds.values())
    found = len(set(known).intersection(names))
    if not typed and 2 * found < len(names):
        what = (
            f"Its first line has {found:,} of the schema's columns. It must name the columns, and "
            f"may be a row, so it is not shown. The schema declares {_list(known)}."
        )
        raise SchemaError([Problem("", what)], origin=source.label)


def find_separator(names: Sequence[str], known: Sequence[str]) -> str | None:
    """The separator that would make declared names of a header which is one name."""
    if len(names) != 1 or len(known) < 2:
        return None
    for separator in _OTHER_SEPARATORS:
        parts = {clean_text(part.strip().strip('"')) for part in names[0].split(separator)}
        if len(parts) > 1 and len(parts & set(known)) > len(parts) / 2:
            return "\\t" if separator == "\t" else separator
    return None


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(show(name) for name in names[:_MOST_LISTED])
    left = len(names) - _MOST_LISTED
    return f"{shown} and {left:,} more" if left > 0 else shown
