"""Columns of a schema: what is public of each, and the columns of numbers that it becomes.

Declarations only: :mod:`veilspan.tables.cells` maps cells. A column by itself takes any values and
can say what is wrong with them (:meth:`Column.problems`); a :class:`~veilspan.tables.schema.Schema`
asks all of its columns, so that every problem is told at once.
"""

from veilspan.tables.columns.boolean import FALSE, TRUE, BooleanColumn
from veilspan.tables.columns.category import CategoryColumn
from veilspan.tables.columns.column import NEVER_FILLED, ROLES, UNCONFIRMED, UNTYPED_ROLES, Column
from veilspan.tables.columns.date import DATE_PARTS, DIRECTIVES, MONTHS, WEEKDAYS, DateColumn
from veilspan.tables.columns.number import MOST, NumberColumn
from veilspan.tables.columns.texts import MISSING, OTHER, as_texts, clean_text, is_clean_name
from veilspan.tables.columns.values import MOST_WHOLE

__all__ = [
    "DATE_PARTS",
    "DIRECTIVES",
    "FALSE",
    "MISSING",
    "MONTHS",
    "MOST",
    "MOST_WHOLE",
    "NEVER_FILLED",
    "OTHER",
    "ROLES",
    "TRUE",
    "UNCONFIRMED",
    "UNTYPED_ROLES",
    "WEEKDAYS",
    "BooleanColumn",
    "CategoryColumn",
    "Column",
    "DateColumn",
    "NumberColumn",
    "as_texts",
    "clean_text",
    "is_clean_name",
]
