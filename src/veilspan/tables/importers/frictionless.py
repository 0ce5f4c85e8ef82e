"""Frictionless table schemas (JSON): alone, in a resource, or in a data package of one table.

https://specs.frictionlessdata.io/table-schema/ and https://datapackage.org/standard/table-schema/.
"""

from __future__ import annotations

from typing import Any

from veilspan.tables.importers.draft import Draft, choose, name_of, need_dict
from veilspan.tables.problems import Problem, SchemaError
from veilspan.tables.schema import Schema


def read_frictionless(document: Any, table: str | None = None) -> Schema:
    """Make a schema of a table schema, or of one resource with its dialect and encoding."""
    resource = need_dict(document, "the description")
    if "resources" in resource:
        listed = resource["resources"] if isinstance(resource["resources"], list) else []
        named = {str(each.get("name", "")): each for each in listed if isinstance(each, dict)}
        resource = choose(named, table)[1]
    if "schema" not in resource:
        resource = {"schema": resource, "name": resource.get("name")}
    schema = need_dict(resource["schema"], "its schema")
    fields = schema.get("fields")
    if not isinstance(fields, list):
        raise SchemaError([Problem("", "its schema has no list of fields.")])
    draft, keys = Draft(), _keys(schema.get("primaryKey"))
    for place, field in enumerate(fields, start=1):
        field = need_dict(field, f"field {place:,}")
        _add(draft, name_of(field.get("name"), place), field, keys)
    file = _read_format(resource, schema)
    about = resource.get("description") or schema.get("description") or ""
    return draft.build(
        "a Frictionless table schema", resource.get("name") or schema.get("name"), about, **file
    )


def _keys(given: Any) -> list[str]:
    """The column that tells rows apart; several together are no id of one column."""
    keys = [given] if isinstance(given, str) else given
    return keys if isinstance(keys, list) and len(keys) == 1 else []


def _read_format(resource: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    file: dict[str, Any] = {"missing": schema.get("missingValues", [""])}
    listed = file["missing"]
    if isinstance(listed, list):  # from version 2 on with labels
        file["missing"] = [v.get("value") if isinstance(v, dict) else v for v in listed]
    dialect = resource.get("dialect")
    if isinstance(dialect, dict) and "delimiter" in dialect:
        file["separator"] = dialect["delimiter"]
    if isinstance(resource.get("encoding"), str):
        file["encoding"] = resource["encoding"]
    return file


def _add(draft: Draft, name: str, field: dict[str, Any], keys: list[str]) -> None:
    limits = field.get("constraints")
    limits = limits if isinstance(limits, dict) else {}
    kind = field.get("type", "string")
    labels = _labels(field, limits)
    low, high = limits.get("minimum"), limits.get("maximum")
    if name in keys:
        draft.add_plain(name, "id")
    elif labels and kind in ("string", "integer", "any"):
        draft.add_category(name, labels)
    elif kind in ("integer", "year", "number"):
        mark = field.get("decimalChar", ".")
        draft.add_number(name, low, high, integer=kind != "number", mark=mark)
    elif kind == "boolean":
        words = {"true": field.get("trueValues"), "false": field.get("falseValues")}
        draft.add_boolean(name, **{key: v for key, v in words.items() if v is not None})
    elif kind in ("date", "datetime"):
        written = field.get("format", "default")
        if written == "default":
            written = "%Y-%m-%d" if kind == "date" else "%Y-%m-%dT%H:%M:%SZ"
        if written == "any":
            draft.leave_out(name, "its format is not given")
        else:
            draft.add_date(name, low, high, format=written)
    elif kind == "string":
        draft.add_category(name, None)
    else:
        draft.leave_out(name, "its type has no place in a schema")


def _labels(field: dict[str, Any], limits: dict[str, Any]) -> list[Any] | None:
    """The list of values: ``constraints.enum``, or ``categories`` from version 2 on."""
    found = limits.get("enum", field.get("categories"))
    if not isinstance(found, list):
        return None
    return [label.get("value") if isinstance(label, dict) else label for label in found]
