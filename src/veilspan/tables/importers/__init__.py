"""Schemas from the descriptions that other tools have of a table.

None of them says where a fact is known from, so every imported fact has the source ``"imported,
unconfirmed"``, and a fit refuses the schema until a person has put their own source there.
"""

from veilspan.tables.importers.import_schema import FORMS, import_schema

__all__ = ["FORMS", "import_schema"]
