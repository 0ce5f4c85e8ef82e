"""``veilspan schema show``: a schema as a table that people can read."""

from __future__ import annotations

from veilspan.cli.arguments.options import AsJson, SchemaPath
from veilspan.cli.console import print_json, say


def show(schema: SchemaPath, json: AsJson = False) -> None:
    """Print what a schema says: whom it protects, and a line a column.

    Example: veilspan schema show ward.toml
    """
    from veilspan.cli.io.declared_data import load_schema

    found = load_schema(schema)
    if not json:
        say(found)
        return
    print_json({
        "name": found.name,
        "version": found.version,
        "digest": found.digest,
        "protects": found.protects,
        "neighbors": found.neighbors,
        "count": found.count,
        "expected": found.expected,
        "columns": [
            {"name": c.name, "role": c.role, "type": c.type or None, "source": c.source or None}
            for c in found.columns
        ],
        "columns_out": list(found.columns_out),
        "row_norm": found.row_norm,
        "unconfirmed": list(found.unconfirmed),
    })  # fmt: skip
