r"""Tables for a profile: read as they are, every row as codes and numbers.

The map is one of each row alone (:mod:`veilspan.tables.profiling.coding`), so neighbouring tables
stay neighbouring. With a public ``count`` rows are put into so many places as
:mod:`veilspan.estimators.schema_input` proves: whoever exchanges, adds or removes a row exchanges
at most one place. A place that nobody takes counts as somebody of whom every cell is missing: it is
a row like any other, so the sensitivities of rows hold for it, and shares are shares of the public
count, whatever the table holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veilspan.curator.dask.table import is_lazy
from veilspan.curator.silence import quiet
from veilspan.estimators.schema_input import SchemaTable, place_by_coins
from veilspan.tables.profiling.coding import CellEncoder
from veilspan.tables.profiling.layout import Layout


class ProfileTable(SchemaTable):
    """A table whose form fits a schema; no cell of it was looked at yet."""

    _encoder: CellEncoder

    @classmethod
    def open(cls, schema: Any, X: Any, layout: Layout) -> ProfileTable:
        """Check the columns, and count the rows where their number is public."""
        from veilspan.tables.sources.check_names import check_names
        from veilspan.tables.sources.open_table import as_source

        if is_lazy(X):
            raise TypeError(
                "a profile reads a table of one machine: write the Dask frame to Parquet files and "
                "open these with veilspan.open_table, which reads them piece by piece."
            )
        encoder = CellEncoder(layout, schema.file)
        source = as_source(X, schema.file)
        check_names(source, schema, needed=encoder.columns)
        n_rows = None
        if schema.neighbors == "replace-one":
            n_rows = schema.count if schema.count is not None else source.count_rows()
            if n_rows < 2:
                raise ValueError("the table must have at least 2 rows.")
        table = cls(schema, source, n_rows)
        table._encoder, table.shape = encoder, (n_rows, layout.width)
        return table

    def encode(self, coins: np.random.Generator) -> tuple[Any, Any, Any]:
        """Read and encode all rows, for a curator: every one takes part.

        Parameters
        ----------
        coins : Generator
            Secret, and independent of everything else: who is left out of too many rows.
        """
        encoder = self._encoder
        with quiet():
            parts = [np.zeros((0, encoder.width), dtype=np.float32)]
            for batch in self._source.batches(encoder.columns):
                # Codes are small whole numbers; of numbers seven digits are kept.
                parts.append(encoder.encode_batch(batch).x.astype(np.float32))
            x = np.concatenate(parts)
            n_rows = self.shape[0]
            if n_rows is None:
                return self._two_at_least(x)
            if len(x) != n_rows or self.schema.count is not None:
                x, _, taken = place_by_coins(x, None, None, n_rows, coins)
                if taken is not None:
                    x[~taken] = encoder.nothing_known()
        return x, None, None

    @staticmethod
    def _two_at_least(x: np.ndarray) -> tuple[Any, Any, Any]:
        """A curator holds two rows at least; those that are added are absent."""
        if len(x) >= 2:
            return x, None, None
        present = np.arange(2) < len(x)
        return np.concatenate([x, np.zeros((2 - len(x), x.shape[1]))]), None, present
