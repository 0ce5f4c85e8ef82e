"""Rows of a table as codes and numbers: by a map of each row alone, silent and total."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from veilspan.curator.row_maps import row_map
from veilspan.tables.cell_rules import CellReader
from veilspan.tables.cells import Cells
from veilspan.tables.columns import Column
from veilspan.tables.encoding import Encoded
from veilspan.tables.number_block import read_values
from veilspan.tables.profiling.column_cells import MISSING_NUMBER
from veilspan.tables.profiling.layout import Layout

if TYPE_CHECKING:
    from veilspan.tables.schema import Schema


class CellEncoder:
    """Encodes rows for a profile: the code of the cell in every column, then the numbers.

    Every cell is read by the rules of :mod:`veilspan.tables.cell_rules` and coded by operations
    that take one entry at a time, so a row has the same bits in a batch of any size.

    Parameters
    ----------
    layout : Layout
        What is counted.
    schema : Schema
        What is public of the table.
    """

    def __init__(self, layout: Layout, schema: Schema) -> None:
        self.layout, self.schema = layout, schema
        self.width = layout.width
        self._readers = [CellReader(column.column, schema.file) for column in layout.columns]
        self._numbers = [layout.place(name) for name in layout.numbers]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns whose cells it needs."""
        # What is the target of models is a column like others here.
        return tuple(column.column for column in self.layout.columns)

    @row_map
    def encode_batch(self, columns: Mapping[str, Cells], out: np.ndarray | None = None) -> Encoded:
        """Encode the rows of a batch, all of them."""
        n = len(next(iter(columns.values())))
        x = np.empty((n, self.width)) if out is None else out
        found = []
        for i, (cells, reader) in enumerate(zip(self.layout.columns, self._readers)):
            values = read_values(reader, columns[cells.name])
            x[:, i] = cells.codes_of(values)
            found.append(values)
        for i, place in enumerate(self._numbers, start=len(found)):
            x[:, i] = self.layout.columns[place].scaled(found[place], self._readers[place])
        return Encoded(x)

    def nothing_known(self) -> np.ndarray:
        """The encoded row of somebody of whom every cell is missing."""
        codes = [float(column.missing) for column in self.layout.columns]
        return np.array(codes + [MISSING_NUMBER] * len(self._numbers))
