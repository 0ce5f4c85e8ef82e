"""Write a schema as TOML: no more of the language than a schema needs."""

from __future__ import annotations

import dataclasses
import datetime
from typing import TYPE_CHECKING, Any

from veilspan.tables.columns import MOST_WHOLE
from veilspan.tables.problems import is_bare

if TYPE_CHECKING:
    from veilspan.tables.schema import Schema

#: What a field is called in TOML where the names differ.
_KEYS = {"parts": "as"}
#: Keys in the order in which people read them; ``type`` is none of the fields.
_HEAD = ("veilspan_schema", "name", "version", "about", "owner", "notes")
_UNIT = (
    "protects", "id", "max_rows", "keep", "order_by", "combine", "neighbors", "count", "expected",
    "source",
)  # fmt: skip
_FILE = ("separator", "decimal", "encoding", "missing")
_COLUMN = (
    "role", "type", "unit", "format", "range", "scale", "categories", "other", "true", "false",
    "parts", "fill", "missing_column", "combine", "source",
)  # fmt: skip
_WIDTH = 88
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def write_toml(schema: Schema) -> str:
    """The text of a schema; what equals its default is left out."""
    parts = [f"veilspan_schema = {schema.veilspan_schema}\n" + _write(schema, _HEAD)]
    for title, part, keys in (("unit", schema.unit, _UNIT), ("file", schema.file, _FILE)):
        text = _write(part, keys)
        parts += [f"[{title}]\n{text}"] if text else []
    for column in schema.columns:
        name = column.name if is_bare(column.name) else write_value(column.name)
        parts.append(f"[columns.{name}]\n" + _write(column, _COLUMN))
    return "\n".join(parts)


def write_value(value: Any, indent: int = 0) -> str:
    """A value in TOML; a long list takes several lines."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{"".join(map(_letter, value))}"'
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) <= MOST_WHOLE
        return str(int(value)) if whole else repr(value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, tuple):
        items = [write_value(item) for item in value]
        line = f"[{', '.join(items)}]"
        if len(line) + indent <= _WIDTH:
            return line
        return "[\n" + "".join(f"    {item},\n" for item in items) + "]"
    return str(value)


def _write(part: Any, keys: tuple[str, ...]) -> str:
    """The lines of a table; a type that is empty and what equals its default are left out."""
    defaults = {field.name: field.default for field in dataclasses.fields(part)} | {"type": ""}
    lines = []
    for name in keys:
        value = getattr(part, name, None)
        if name in defaults and value != defaults[name]:
            key = _KEYS.get(name, name)
            lines.append(f"{key} = {write_value(value, len(key) + 3)}\n")
    return "".join(lines)


def _letter(letter: str) -> str:
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    code = ord(letter)
    return f"\\u{code:04x}" if code < 0x20 or code == 0x7F else letter
