"""Whose row it is: ids of people as texts, whatever type the storage gives them.

Ids are compared as texts, normalised (NFC) and trimmed. Stored numbers read as their digits, whole
ones without a point, so that 17 in Parquet and ``17`` in CSV are one person. An id is missing under
the rules of any other cell: empty, one of ``[file] missing`` or the number of such a word, NaN, an
infinity, or what cannot be read. Nothing raises or warns by what a cell holds.
"""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from veilspan.tables.cell_rules import CellReader, as_float, as_plain, label_of
from veilspan.tables.columns import Column, clean_text

if TYPE_CHECKING:
    from veilspan.tables.file_format import FileFormat


class IdReader:
    """Reads the ids of a column.

    Parameters
    ----------
    name : str
        The column. It is asked for as one without a type, whatever the schema says of it: digits
        that a type would round away may tell two people apart.
    file : FileFormat
        Which words are missing.
    """

    def __init__(self, name: str, file: FileFormat) -> None:
        self.column = Column(name, role="id")
        reader = CellReader(self.column, file)
        self._words, self._numbers = reader.missing_words, reader.missing_numbers
        self._number_of = reader._read_number

    def read(self, cell: Any) -> str:
        """The id that a cell holds; empty if there is none."""
        name = read_id(cell)
        if name in self._words:
            return ""
        if self._numbers and self._number_of(name) in self._numbers:
            return ""
        return name


def read_id(cell: Any) -> str:
    """What a cell says as a name of somebody; empty if it says nothing."""
    try:
        return _name_of(as_plain(cell))
    except Exception:  # a value of somebody's own class: whatever it does, nothing is told
        return ""


def _name_of(plain: Any) -> str:
    if plain is None:
        return ""
    if isinstance(plain, str):
        return str(clean_text(plain))
    if isinstance(plain, bool):
        return "true" if plain else "false"
    if isinstance(plain, datetime.date):
        return str(plain)
    if isinstance(plain, Decimal) and plain.is_finite() and plain == plain.to_integral_value():
        return str(int(plain))  # with all its digits
    return label_of(plain) if math.isfinite(as_float(plain)) else ""
