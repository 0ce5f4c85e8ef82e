"""The canonical form of a schema and its digest: what counts, whatever the TOML looks like.

JSON with sorted keys, columns in their order. Floats are hexadecimal, so that no rounding of a
writer matters; dates are tagged; a value that equals its default is left out, so that writing a
default down changes nothing and a later version may add keys without changing old digests. Because
of this the default of a key never changes within a version of the format. Comments, layout and the
path of a category file are not in it; every fact and every source is.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veilspan.tables.schema import Schema

#: What a digest is of, so that no digest of another kind can be equal to one of these.
_PURPOSE = b"veilspan schema\0"
#: The type of a column says it.
_IN_TYPE = "integer"


def canonical_json(schema: Schema) -> str:
    """The canonical form: two schemas that declare the same have the same."""
    form: dict[str, Any] = {
        "veilspan_schema": schema.veilspan_schema,
        **facts_of(schema),
        "unit": facts_of(schema.unit),
        "file": facts_of(schema.file),
        "columns": [
            {"name": column.name, "type": column.type, **facts_of(column)}
            for column in schema.columns
        ],
    }
    return json.dumps(form, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest_of(schema: Schema) -> str:
    """SHA-256 of the canonical form, in hexadecimal."""
    return hashlib.sha256(_PURPOSE + canonical_json(schema).encode("ascii")).hexdigest()


def facts_of(part: Any) -> dict[str, Any]:
    """The plain fields of a schema, unit, format or column that differ from their defaults."""
    facts = {}
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        counts = field.compare and field.name != _IN_TYPE and value != field.default
        if counts and not _is_apart(field.name, part):
            facts[field.name] = _plain(value)
    return facts


def _is_apart(name: str, part: Any) -> bool:
    """Whether a field has a place of its own in the canonical form."""
    return name in ("unit", "file", "columns", "veilspan_schema") and hasattr(part, "columns")


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, datetime.date):
        return {"date": value.isoformat()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
