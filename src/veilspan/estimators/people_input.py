"""Tables of people with several rows: gathered by id behind the curator's door."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from veilspan.curator.silence import quiet
from veilspan.estimators.people_plan import rows_per_unit
from veilspan.estimators.schema_input import SchemaTable


class PeopleTable(SchemaTable):
    """A table whose schema names a column of ids: its rows become units.

    ``shape`` is that of people: their public number, and the columns of an encoded row.
    """

    #: People that have rows, once they were read: exact, and secret.
    found: int

    def encode(self, coins: np.random.Generator) -> Any:
        """Gather the people, and bring them to the schema's count; many wait on a disk.

        They are put into places by coins that look at none of them
        (:mod:`veilspan.curator.row_places`), a unit of several rows into one place.

        Parameters
        ----------
        coins : Generator
            Secret, and independent of everything else: which rows are kept, who gets which place.
        """
        from veilspan.curator.row_store import RowStore
        from veilspan.tables.encoding import Encoder
        from veilspan.tables.persons import gather_people

        with quiet():
            with_target = self._targets is not None
            encoder = Encoder(self.schema, target=with_target)
            group = rows_per_unit(self.schema)
            store = RowStore(encoder.width, with_targets=with_target, group=group)
            for units in gather_people(self._source, encoder, self.schema.unit, coins):
                y = units.y if self._targets is None else self._targets(units.y)  # type: ignore[arg-type]
                store.add(units.x, y, units.present)
            self.found = store.n_units
            return store.finish(self.shape[0], coins)


def open_people_table(
    schema: Any, X: Any, targets: Callable[[np.ndarray], np.ndarray] | None
) -> PeopleTable:
    """A table of people with its form checked; see ``schema_input.open_schema_table``."""
    from veilspan.curator.row_store import check_store
    from veilspan.tables.sources.check_names import check_names
    from veilspan.tables.sources.open_table import as_source

    source = as_source(X, schema.file)
    with_target = targets is not None
    check_names(source, schema, needed=needed_columns(schema, with_target=with_target))
    if schema.count is not None:
        places = schema.count * rows_per_unit(schema)
        check_store(places, len(schema.columns_out), with_targets=with_target)
    return PeopleTable(schema, source, schema.count, targets)


def needed_columns(schema: Any, *, with_target: bool) -> tuple[Any, ...]:
    """Columns that a table of people must have; a target must say how it is combined."""
    from veilspan.tables.encoding import Encoder
    from veilspan.tables.persons.rules import find_target_rule

    encoder = Encoder(schema, target=with_target)
    if with_target:
        find_target_rule(schema, schema.unit.combine)
    named = (schema.unit.id, schema.unit.order_by)
    more = [c for c in schema.columns if c.name in named and c not in encoder.columns]
    return (*encoder.columns, *more)
