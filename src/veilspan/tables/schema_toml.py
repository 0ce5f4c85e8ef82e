"""Schemas as TOML: read with every problem at once, and written so that the digest stays.

Reading only sorts values into their places and names what has none; whether values are right is
said by the columns, the unit and the schema themselves, the same as for a schema made in Python.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from veilspan._files import IrregularFileError, read_regular
from veilspan.tables.category_files import read_categories
from veilspan.tables.columns import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    NumberColumn,
)
from veilspan.tables.problems import Problem, SchemaError, place_of, show, suggest
from veilspan.tables.schema import FileFormat, Schema, Unit

#: Largest text of a schema; lists of categories may be long.
MOST_BYTES = 100 * 10**6
#: Parts of one dotted key. Ours have three, and tomllib takes quadratic time for very many.
_MOST_PARTS = 100
#: Closing quotes may be absent and a key may have one part: so no letter is looked at twice.
_PART = r"""(?:[\w-]+|"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?)"""
_KEY = re.compile(rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*")

HEAD = ("veilspan_schema", "name", "version", "about", "owner", "notes")
UNIT = (
    "protects", "id", "max_rows", "keep", "order_by", "combine", "neighbors", "count", "expected",
    "source",
)  # fmt: skip
FILE = ("separator", "decimal", "encoding", "missing")
_EVERY = ("role", "type", "source", "missing_column", "combine")
#: Keys of a column beside those of every column, by its type.
KEYS = {
    "integer": ("range", "scale", "fill", "unit"),
    "number": ("range", "scale", "fill", "unit"),
    "category": ("categories", "other", "fill"),
    "boolean": ("true", "false", "fill"),
    "date": ("format", "range", "as", "fill"),
}
_KINDS: dict[str, type[Column]] = {
    "integer": NumberColumn,
    "number": NumberColumn,
    "category": CategoryColumn,
    "boolean": BooleanColumn,
    "date": DateColumn,
}


def load_schema(path: Path) -> Schema:
    """Read a schema from a regular file; category files are looked for in its folder."""
    origin = f"the schema {path}"
    try:
        data = read_regular(path, MOST_BYTES)
    except IrregularFileError as error:
        raise SchemaError([Problem("", str(error))], origin) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SchemaError([Problem("", "it is not UTF-8, as TOML is.")], origin) from None
    return parse_schema(text, path.parent, origin)


def parse_schema(text: str, folder: Path | None = None, origin: str = "the schema") -> Schema:
    """Read a schema from TOML text, or list everything that is wrong with it."""
    document = _parse_toml(text, origin)
    problems: list[Problem] = []
    broken: list[str] = []  # places of columns that cannot be read at all
    parts: dict[str, Any] = {name: document[name] for name in HEAD if name in document}
    if "veilspan_schema" not in document:
        problems.append(Problem("veilspan_schema", "is missing: write veilspan_schema = 1."))
    problems += _find_unknown((), document, (*HEAD, "unit", "file", "columns"))
    unit = _section(document, "unit", UNIT, problems)
    file = _section(document, "file", FILE, problems)
    declared = _section(document, "columns", None, problems)
    columns = []
    for name, facts in declared.items():
        column = _read_column(name, facts, folder, problems)
        columns.append(Column(name, role="ignore") if column is None else column)
        if column is None:
            broken.append(place_of("columns", name))
    try:
        schema = Schema(**parts, unit=Unit(**unit), file=FileFormat(**file), columns=tuple(columns))
    except SchemaError as error:
        problems += _without_followers(error.problems, broken)
    if problems:
        raise SchemaError(dict.fromkeys(problems), origin) from None
    return schema


def _parse_toml(text: str, origin: str) -> dict[str, Any]:
    if not isinstance(text, str):
        raise TypeError("a schema is read from a text; Schema.load reads a file.")
    why = ""
    if len(text) > MOST_BYTES:
        why = f"it is longer than any schema ({MOST_BYTES:,} letters)."
    elif any(_has_many_parts(key[0]) for key in _KEY.finditer(text)):
        why = f"it has a key of more than {_MOST_PARTS:,} parts."
    else:
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            why = f"it is not TOML: {str(error)[:200]}."
        except (ValueError, OverflowError):  # a date that is none, a number of too many digits
            why = "it is not TOML: a number or date in it is none."
        except RecursionError:
            why = "it is nested too deeply to be a schema."
    raise SchemaError([Problem("", why)], origin) from None


def _has_many_parts(key: str) -> bool:
    return key.count(".") > _MOST_PARTS and len(re.findall(_PART, key)) > _MOST_PARTS


def _section(
    document: dict[str, Any], name: str, known: tuple[str, ...] | None, problems: list[Problem]
) -> dict[str, Any]:
    """The known keys of a table of the document; what else is there becomes problems."""
    found = document.get(name, {})
    if not isinstance(found, dict):
        problems.append(Problem(name, f"is a table, [{name}], not {show(found)}."))
        return {}
    if known is None:
        return found
    problems += _find_unknown((name,), found, known)
    return {key: value for key, value in found.items() if key in known}


def _find_unknown(
    place: tuple[str, ...], found: dict[str, Any], known: tuple[str, ...], belongs: str = ""
) -> list[Problem]:
    return [
        Problem(place_of(*place, key), f"is not a key{belongs}.{_hint(place, key, value, known)}")
        for key, value in found.items()
        if key not in known
    ]


def _hint(place: tuple[str, ...], key: str, value: Any, known: tuple[str, ...]) -> str:
    if place[:1] == ("columns",) and isinstance(value, dict):
        name = ".".join((*place[1:], key))
        return f" A name with a dot needs quotes: [columns.{show(name)}]."
    return suggest(key, known) or f" Known are {', '.join(known)}."


def _read_column(
    name: str, facts: Any, folder: Path | None, problems: list[Problem]
) -> Column | None:
    """A column with whatever values the schema gives it; ``None`` if it is of no known type."""
    place = place_of("columns", name)
    if not isinstance(facts, dict):
        problems.append(Problem(place, f"is a table, [{place}], not {show(facts)}."))
        return None
    kind = facts.get("type")
    if kind is not None and (not isinstance(kind, str) or kind not in KEYS):
        hint = suggest(kind, KEYS) if isinstance(kind, str) else ""
        problems.append(
            Problem(f"{place}.type", f"{show(kind)} is none of {', '.join(KEYS)}.{hint}")
        )
        known = (*_EVERY, *(key for keys in KEYS.values() for key in keys))
        problems += _find_unknown(("columns", name), facts, known)
        return None
    own = KEYS[kind] if kind is not None else ()
    belongs = f" of a column of type {kind}" if kind else " of a column without a type"
    problems += _find_unknown(("columns", name), facts, (*_EVERY, *own), belongs)
    values = {k: v for k, v in facts.items() if k in (*_EVERY, *own) and k != "type"}
    if kind is None:
        return Column(name, **values)
    if kind == "integer":
        values["integer"] = True
    if "as" in values:
        values["parts"] = values.pop("as")
    if kind == "category" and isinstance(values.get("categories"), dict):
        read = _read_list(place, values["categories"], folder, problems)
        if read is None:
            return None
        values.update(read)
    return _KINDS[kind](name, **values)


def _read_list(
    place: str, where: dict[str, Any], folder: Path | None, problems: list[Problem]
) -> dict[str, Any] | None:
    """The categories of ``{file = "codes.txt"}``, and the name of the file."""
    place = f"{place}.categories"
    file = where.get("file")
    if set(where) != {"file"} or not isinstance(file, str):
        problems.append(Problem(place, 'is a list, or {file = "codes.txt"} and nothing else.'))
        return None
    try:
        return {"categories": read_categories(file, folder), "categories_file": file}
    except ValueError as error:
        problems.append(Problem(place, str(error)))
        return None


def _without_followers(problems: Iterable[Problem], broken: list[str]) -> list[Problem]:
    """The problems without those that may only follow from columns that could not be read."""
    return [
        problem
        for problem in problems
        if not broken
        or (problem.place != "columns" and not problem.place.startswith(tuple(broken)))
    ]


def write_schema(schema: Schema) -> str:
    """A schema as TOML that reads back with the same digest; defaults are left out."""
    from veilspan.tables.toml_writer import write_toml

    return write_toml(schema)
