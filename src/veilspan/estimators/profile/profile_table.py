r"""Tables for a profile: read as they are, every row as codes and numbers, every person as a unit.

The map is one of each row alone (:mod:`veilspan.tables.profiling.coding`), so neighbouring tables
stay neighbouring. Where a person may have several rows, her unit is these rows side by side, at
most ``max_rows`` of them and at most 16 (:mod:`veilspan.tables.persons.gathering` has the proof
that tables that differ in one person have units that differ in one), and they share her weight
equally (:mod:`veilspan.queries.profile.slots`): whatever the schema's ``combine`` says of models, a
profile counts people, not rows.

Under replace-one there are as many places as the public number of people, and units are put into
them as :mod:`veilspan.estimators.schema_input` proves: whoever comes, goes or is exchanged
exchanges at most one place. A place that nobody takes counts as somebody of whom every cell is
missing. That is a unit like any other, so the sensitivities of units hold for it, and shares are
shares of the public number, whatever the table holds. (Units of that kind are added before all are
put into a random order: the same law as leaving places free.) Under add-remove nothing is filled up
or cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from veilspan._progress import watch_rows
from veilspan.curator.dask.table import is_lazy
from veilspan.curator.row_store import RowStore, check_store
from veilspan.curator.silence import quiet
from veilspan.estimators.cautions import Caution
from veilspan.estimators.schema_input import SchemaTable, choose_places
from veilspan.queries.profile.slots import EMPTY
from veilspan.tables.profiling.coding import CellEncoder
from veilspan.tables.profiling.layout import Layout

#: Rows of one person that are counted where the schema gives no ``max_rows``, chosen at random; and
#: at most, since a unit holds all of them side by side. More would hardly move her shares.
USUAL_ROWS, MOST_ROWS = 8, 16
#: How units are kept: codes are small whole numbers, and of numbers seven digits are enough.
KEPT_AS = np.float32
#: Units that are added at once to fill up places.
AT_ONCE = 16_384


def slots_of(schema: Any) -> int:
    """How many rows of one person a profile counts at most."""
    if schema.unit.id is None:
        return 1
    return min(schema.unit.max_rows or USUAL_ROWS, MOST_ROWS)


def _columns_of_units(schema: Any, encoder: CellEncoder) -> list[Any]:
    """Columns that say whose a row is and which comes first, beside those that are counted."""
    named = (schema.unit.id, schema.unit.order_by)
    return [c for c in schema.columns if c.name in named and c not in encoder.columns]


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
        encoder = CellEncoder(layout, schema)
        source = as_source(X, schema.file)
        check_names(source, schema, needed=(*encoder.columns, *_columns_of_units(schema, encoder)))
        n_rows = schema.count
        cautions: tuple[Caution, ...] = ()
        if schema.neighbors == "replace-one" and schema.unit.id is None:
            n_rows, cautions = choose_places(schema, source.count_rows(), len(source.names))
        elif schema.neighbors == "replace-one" and n_rows is None:
            raise ValueError(
                f"the public number of {schema.protects}s is needed: say count = ... in the "
                'schema\'s unit, or neighbors = "add-remove", where it is private.'
            )
        if n_rows is not None and n_rows < 2:
            raise ValueError("the table must have at least 2 rows.")
        check_store(n_rows, slots_of(schema) * layout.width, with_targets=False, dtype=KEPT_AS)
        table = cls(schema, source, n_rows)
        table.cautions = cautions
        table._encoder, table.shape = encoder, (n_rows, slots_of(schema) * layout.width)
        return table

    def encode(self, coins: np.random.Generator) -> Any:
        """Read and encode all units, for a curator: every one takes part.

        Parameters
        ----------
        coins : Generator
            Secret, and independent of everything else: who is left out of too many.
        """
        store = RowStore(self.shape[1], with_targets=False, dtype=KEPT_AS)
        places = self.shape[0]
        with quiet():
            for units in self._units(coins):
                store.add(units.astype(KEPT_AS))
            #: How many units there are: as private as the table.
            self.found = store.n_rows
            if places is not None:
                self._fill_up(store, places)
            same = self.schema.count is None and self.schema.unit.id is None
            in_order = places is None or (same and store.n_rows == places)
            return store.finish(None if in_order else places, coins)

    def _units(self, coins: np.random.Generator) -> Iterator[np.ndarray]:
        """Encoded units in batches, a row for each."""
        encoder, unit = self._encoder, self.schema.unit
        if unit.id is None:
            for batch in watch_rows(self._source.batches(encoder.columns)):
                yield encoder.encode_batch(batch).x
            return
        from veilspan.tables.persons.gathering import gather_people

        slots = slots_of(self.schema)
        limited = replace(unit, max_rows=slots)
        people = gather_people(
            self._source, encoder, limited, coins, combine="none", schema=self.schema
        )
        for encoded in people:
            x = np.array(encoded.x)
            if encoded.present is not None:
                x[~encoded.present] = EMPTY
            yield x.reshape(-1, slots * encoder.width)

    def _fill_up(self, store: RowStore, places: int) -> None:
        """Add units of whom nothing is known until there is one for every place."""
        blank = np.full(self.shape[1], EMPTY, dtype=KEPT_AS)
        blank[: self._encoder.width] = self._encoder.nothing_known()
        while store.n_rows < places:
            store.add(np.tile(blank, (min(AT_ONCE, places - store.n_rows), 1)))
