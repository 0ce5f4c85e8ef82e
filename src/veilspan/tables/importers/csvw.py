"""CSV on the Web (JSON): a table, or one of a group of tables.

https://www.w3.org/TR/tabular-metadata/ and https://www.w3.org/TR/tabular-data-model/. Patterns of
dates are those of Unicode there (``dd.MM.yyyy``).
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

from veilspan.tables.importers.draft import Draft, choose, name_of, need_dict
from veilspan.tables.problems import Problem, SchemaError
from veilspan.tables.schema import Schema

_INTEGERS = (
    "integer", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger",
    "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte", "nonPositiveInteger",
    "negativeInteger", "gYear",
)  # fmt: skip
_NUMBERS = ("number", "decimal", "double", "float")
_MOMENT = "yyyy-MM-ddTHH:mm:ss"
_DATES = {"date": "yyyy-MM-dd", "dateTime": _MOMENT, "datetime": _MOMENT}
#: Letters of Unicode's patterns of dates, the longest first.
_DIRECTIVES = {
    "yyyy": "%Y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "M": "%m", "dd": "%d", "d": "%d",
    "HH": "%H", "mm": "%M", "ss": "%S",
}  # fmt: skip


def read_csvw(document: Any, table: str | None = None) -> Schema:
    """Make a schema of a table's description, or of one of several."""
    whole = need_dict(document, "the description")
    found = whole
    if "tables" in whole:
        listed = whole["tables"] if isinstance(whole["tables"], list) else []
        named = {str(each.get("url", "")): each for each in listed if isinstance(each, dict)}
        found = {**whole, **choose(named, table)[1]}
    schema = need_dict(found.get("tableSchema"), "its tableSchema")
    columns = schema.get("columns")
    if not isinstance(columns, list):
        raise SchemaError([Problem("", "its tableSchema has no list of columns.")])
    draft = Draft()
    key = schema.get("primaryKey")
    for place, column in enumerate(columns, start=1):
        column = need_dict(column, f"column {place:,}")
        if column.get("virtual") is True:
            continue
        title = _title(column)
        kind = _datatype(column, schema, found)
        if column.get("name") is not None and key in (column["name"], [column["name"]]):
            draft.add_plain(name_of(title, place), "id")
        else:
            _add(draft, name_of(title, place), kind)
    file = _read_format(found, schema)
    url = found.get("url")
    name = PurePosixPath(url).stem if isinstance(url, str) else ""
    about = found.get("dc:description") or found.get("dc:title") or ""
    return draft.build("CSV on the Web", name, about, **file)


def _title(column: dict[str, Any]) -> Any:
    """What the header calls a column: its first title, or else its name."""
    titles = column.get("titles", column.get("name"))
    while isinstance(titles, (list, dict)) and titles:  # by language, and several of each
        titles = titles[0] if isinstance(titles, list) else next(iter(titles.values()))
    return titles


def _datatype(*described: dict[str, Any]) -> dict[str, Any]:
    """The datatype of a column, from the column or inherited from its table."""
    for level in described:
        kind = level.get("datatype")
        if isinstance(kind, str):
            return {"base": kind}
        if isinstance(kind, dict):
            return kind
    return {"base": "string"}


def _add(draft: Draft, name: str, kind: dict[str, Any]) -> None:
    base, form = kind.get("base", "string"), kind.get("format")
    low = kind.get("minimum", kind.get("minInclusive"))
    high = kind.get("maximum", kind.get("maxInclusive"))
    if base in _INTEGERS or base in _NUMBERS:
        mark = form.get("decimalChar", ".") if isinstance(form, dict) else "."
        draft.add_number(name, low, high, integer=base in _INTEGERS, mark=mark)
    elif base == "boolean":
        words = form.split("|") if isinstance(form, str) else []
        more = {"true": (words[0],), "false": (words[1],)} if len(words) == 2 else {}
        draft.add_boolean(name, **more)
    elif isinstance(base, str) and base in _DATES:
        pattern = form if isinstance(form, str) else _DATES[base]
        draft.add_date(name, low, high, format=translate_pattern(pattern))
    elif base == "string" and isinstance(form, str) and _is_list(form):
        draft.add_category(name, form.split("|"))
    elif base == "string":
        draft.add_category(name, None)
    else:
        draft.leave_out(name, "its type has no place in a schema")


def _is_list(pattern: str) -> bool:
    """Whether a regular expression is nothing but words with bars between them."""
    return re.fullmatch(r"[\w -]+(?:\|[\w -]+)+", pattern) is not None


def translate_pattern(pattern: str) -> str:
    """A pattern of Unicode in the directives of a schema; what it does not know it leaves."""
    words = "|".join(sorted(_DIRECTIVES, key=len, reverse=True))
    return re.sub(words, lambda match: _DIRECTIVES[match[0]], pattern)


def _read_format(table: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    nulls = table.get("null", schema.get("null", ""))
    file: dict[str, Any] = {"missing": nulls if isinstance(nulls, list) else [nulls]}
    dialect = table.get("dialect")
    dialect = dialect if isinstance(dialect, dict) else {}
    for theirs, ours in (("delimiter", "separator"), ("encoding", "encoding")):
        if theirs in dialect:
            file[ours] = dialect[theirs]
    return file
