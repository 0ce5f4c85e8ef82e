"""What a person declares of a table: entries of a form, as they were typed, and the schema of them.

Entries are kept as texts, right or wrong, so that nothing that somebody typed is ever lost. The
schema is made of them by way of TOML, whose reader finds every problem with its place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from veilspan.tables.columns import UNCONFIRMED
from veilspan.tables.problems import Problem, SchemaError, is_bare, not_confirmed, place_of
from veilspan.tables.schema import Schema
from veilspan.tables.toml_writer import write_value

#: Entries of the table as a whole, by their keys in TOML.
HEAD = ("version", "about", "owner", "notes")
UNIT = (
    "protects", "id", "max_rows", "keep", "order_by", "combine", "neighbors", "count", "expected",
    "unit_source",
)  # fmt: skip
FILE = ("separator", "decimal", "encoding", "missing")
#: Entries of a column.
COLUMN = (
    "role", "type", "low", "high", "scale", "unit", "categories", "other", "true", "false",
    "format", "parts", "fill", "missing_column", "combine", "source",
)  # fmt: skip
#: Which entries say something of a column of a type.
OF_TYPE = {
    "integer": ("low", "high", "scale", "unit", "fill"),
    "number": ("low", "high", "scale", "unit", "fill"),
    "category": ("categories", "other", "fill"),
    "boolean": ("true", "false", "fill"),
    "date": ("format", "low", "high", "parts", "fill"),
    "": (),
}
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")

Entries = dict[str, Any]


class Declared(NamedTuple):
    """What entries come to: TOML, and a schema or problems."""

    toml: str
    schema: Schema | None
    problems: tuple[Problem, ...]


def begin_entries(names: Sequence[str], kinds: Mapping[str, str]) -> Entries:
    """The first entries of a table: what the names of its columns, or stored types, suggest."""
    from veilspan.tables.suggestions import suggest_lines

    typed = any(kind != "text" for kind in kinds.values())
    columns = {}
    for name in names:
        facts = dict.fromkeys(COLUMN, "")
        said = {line.key: line.value for line in suggest_lines(name, kinds[name], typed)}
        facts["type"] = said.get("type", "").strip('"')
        facts["role"] = said.get("role", '"use"').strip('"') if name else "ignore"
        if facts["role"] in ("id", "ignore"):
            facts["role"] = "ignore"
        columns[name] = facts
    return {"protects": "person", "neighbors": "replace-one", "columns": columns}


def entries_of(schema: Schema) -> Entries:
    """The entries that would declare a schema."""
    unit = schema.unit
    entries: Entries = {
        **{key: getattr(schema, key) for key in HEAD},
        "protects": unit.protects,
        "id": unit.id or "",
        "max_rows": _text(unit.max_rows),
        "keep": unit.keep or "",
        "order_by": unit.order_by or "",
        "combine": unit.combine or "",
        "neighbors": unit.neighbors,
        "count": _text(unit.count),
        "expected": _text(unit.expected),
        "unit_source": unit.source,
        "separator": schema.file.separator,
        "decimal": schema.file.decimal,
        "encoding": schema.file.encoding,
        "missing": ", ".join(text for text in schema.file.missing if text),
    }
    columns = {}
    for column in schema.columns:
        facts = dict.fromkeys(COLUMN, "")
        facts |= {"role": column.role, "type": column.type, "source": column.source}
        facts["combine"] = column.combine or ""
        facts["missing_column"] = "yes" if column.missing_column else ""
        pair = getattr(column, "range", ())
        if pair:
            facts["low"], facts["high"] = (_text(bound) for bound in pair)
        for key in ("scale", "unit", "format", "fill"):
            facts[key] = _text(getattr(column, key, ""))
        facts["categories"] = "\n".join(getattr(column, "categories", ()))
        facts["other"] = "yes" if getattr(column, "other", False) else ""
        for key in ("true", "false", "parts"):
            facts[key] = ", ".join(getattr(column, key, ()))
        columns[column.name] = facts
    return {**entries, "columns": columns}


def declare(name: str, entries: Entries) -> Declared:
    """What entries come to, with every problem at once."""
    text = write_entries(name, entries)
    try:
        schema = Schema.from_toml(text)
        schema.check_confirmed()
        schema.check_people()
    except SchemaError as error:
        # What is imported is asked for beside all else, not when all else is done.
        more = [each for each in _find_unconfirmed(entries) if each not in error.problems]
        return Declared(text, None, (*error.problems, *more))
    return Declared(schema.to_toml(), schema, ())


def _find_unconfirmed(entries: Entries) -> list[Problem]:
    """Imported facts of columns that are used, and whose source nobody has named yet."""
    places = ["unit"] if entries.get("unit_source") == UNCONFIRMED else []
    places += [
        place_of("columns", column)
        for column, facts in entries["columns"].items()
        if facts.get("source") == UNCONFIRMED
    ]
    return [not_confirmed(place) for place in places]


def write_entries(name: str, entries: Entries) -> str:
    """The entries as TOML, right or wrong: what is no number is written as a text."""
    lines = ["veilspan_schema = 1", f"name = {write_value(name)}"]
    lines += [f"{key} = {write_value(entries[key])}" for key in HEAD if entries.get(key)]
    lines += ["", "[unit]"]
    for key in UNIT:
        value = entries.get(key, "")
        if value:
            named = "source" if key == "unit_source" else key
            whole = key in ("max_rows", "count", "expected")
            lines.append(f"{named} = {_number(value) if whole else write_value(value)}")
    lines += ["", "[file]"]
    for key in FILE:
        value = entries.get(key, "")
        if value and key == "missing":
            lines.append(f"missing = {write_value(('', *_words(value)))}")
        elif value:
            lines.append(f"{key} = {write_value(value)}")
    for column, facts in entries["columns"].items():
        title = column if is_bare(column) else write_value(column)
        lines += ["", f"[columns.{title}]", *_write_column(facts)]
    return "\n".join(lines) + "\n"


def _write_column(facts: Mapping[str, str]) -> list[str]:
    role, kind = facts.get("role") or "use", facts.get("type", "")
    if role in ("ignore", "id", "user"):
        source = [f"source = {write_value(facts['source'])}"] if facts.get("source") else []
        return [f"role = {write_value(role)}", *source]
    lines = [f"role = {write_value(role)}"] if role != "use" else []
    lines += [f"type = {write_value(kind)}"] if kind else []
    said = {key: facts.get(key, "") for key in OF_TYPE.get(kind, ())}
    if said.get("low") or said.get("high"):
        lines.append(f"range = [{_bound(said['low'])}, {_bound(said['high'])}]")
    if said.get("scale") == "log":
        lines.append('scale = "log"')
    for key in ("unit", "format"):
        if said.get(key):
            lines.append(f"{key} = {write_value(said[key])}")
    if kind == "category":
        labels = tuple(line.strip() for line in said["categories"].splitlines() if line.strip())
        lines.append(f"categories = {write_value(labels)}")
        lines += ["other = true"] if said["other"] else []
    for key in ("true", "false"):
        if said.get(key):
            lines.append(f"{key} = {write_value(_words(said[key]))}")
    if said.get("parts"):
        lines.append(f"as = {write_value(_words(said['parts']))}")
    if said.get("fill") and role == "use":
        lines.append(f"fill = {_fill(kind, said['fill'])}")
    if facts.get("missing_column") and role == "use":
        lines.append("missing_column = true")
    if facts.get("combine") and role == "target":
        lines.append(f"combine = {write_value(facts['combine'])}")
    lines.append(f"source = {write_value(facts.get('source', ''))}")
    return lines


def merge(base: Entries, mine: Entries, theirs: Entries) -> tuple[Entries, list[str]]:
    """Entries of two people who began from the same: nobody's are lost.

    Returns the merged entries, and places where both changed the same entry otherwise; mine then
    stand, and the other's are named in the notice.
    """
    merged: Entries = {}
    clashes: list[str] = []
    for key in dict.fromkeys((*theirs, *mine)):
        was, one, other = base.get(key, ""), mine.get(key, ""), theirs.get(key, "")
        if isinstance(one, dict) or isinstance(other, dict):
            part, more = merge(was or {}, one or {}, other or {})
            merged[key] = part
            clashes += [f"{key}, {place}" if key != "columns" else place for place in more]
        elif one == was:
            merged[key] = other
        else:
            merged[key] = one
            if other not in (was, one):
                clashes.append(f"{key} (the other entry was: {other or 'empty'})")
    return merged, clashes


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _number(text: str) -> str:
    plain = text.strip().replace(",", "").replace("\u202f", "").replace(" ", "")
    return plain.lstrip("+") if plain.isdigit() and plain.isascii() else write_value(text)


def _bound(text: str) -> str:
    plain = text.strip()
    if _DAY.fullmatch(plain):
        return plain
    return write_value(float(plain)) if _NUMBER.fullmatch(plain) else write_value(plain)


def _fill(kind: str, text: str) -> str:
    if kind == "category":
        return write_value(text)
    if kind == "boolean":
        return "true" if text.strip().lower() in ("true", "yes") else "false"
    return _bound(text)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return write_value(value)
    return str(value)
