"""``veilspan schema digest``: the fingerprint by which releases and ledgers name a schema."""

from __future__ import annotations

from veilspan.cli.arguments.options import AsJson, SchemaPath
from veilspan.cli.console import print_json, say


def digest(schema: SchemaPath, json: AsJson = False) -> None:
    """Print the fingerprint of what a schema says.

    SHA-256; releases, statements and charges name it. Comments and the order of keys do not count,
    the order of columns does.

    Example: veilspan schema digest ward.toml
    """
    from veilspan.cli.io.declared_data import load_schema

    found = load_schema(schema)
    if json:
        print_json({"name": found.name, "version": found.version, "digest": found.digest})
    else:
        say(found.digest)
