"""Ordinary tables: a public schema, and every row of every file as a row of bounded numbers.

What is public of a table is declared once (:class:`Schema`). With it every cell of every row has a
value by a rule of that cell alone, so that no cell decides about an error or the number of rows.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veilspan.tables.problems import SchemaError
    from veilspan.tables.schema import Schema
    from veilspan.tables.sources.open_table import open_table

_HOME = {"Schema": "schema", "SchemaError": "problems", "open_table": "sources.open_table"}

__all__ = ["Schema", "SchemaError", "open_table"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
