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

    def encode(self, coins: np.random.Generator) -> tuple[Any, Any, Any]:
        """Gather the people, and bring them to the schema's count.

        Parameters
        ----------
        coins : Generator
            Secret, and independent of everything else: which rows are kept, who gets which place.
        """
        from veilspan.tables.encoding import Encoded, Encoder
        from veilspan.tables.persons import gather_people

        with quiet():
            encoder = Encoder(self.schema, target=self._targets is not None)
            parts = list(gather_people(self._source, encoder, self.schema.unit, coins))
            nothing = encoder.encode_nothing()
            units = join_units([*parts, nothing])
            if self._targets is not None:
                units = Encoded(units.x, self._targets(units.y), units.present)
            group = rows_per_unit(self.schema)
            self.found = len(units) // group
            wanted = self.shape[0] if self.shape[0] is not None else max(2, self.found)
            placed = place_units(units, group, wanted, coins)
        return placed.x, placed.y, placed.present


def join_units(parts: list[Any]) -> Any:
    """Batches of units as one."""
    from veilspan.tables.encoding import Encoded

    x = np.concatenate([part.x for part in parts])
    y = present = None
    if any(part.y is not None for part in parts):
        y = np.concatenate([part.y for part in parts])
    if any(part.present is not None for part in parts):
        flags = [np.zeros(0, dtype=bool) if p.present is None else p.present for p in parts]
        present = np.concatenate(flags)
    return Encoded(x, y, present)


def place_units(units: Any, group: int, count: int, coins: np.random.Generator) -> Any:
    """As many places as ``count``, each of ``group`` rows, filled by units in a secret order.

    Units come in the order of their marks, a uniformly random one; of too many the first ``count``
    are kept: a uniformly random choice, one after the other. They are put into places by a
    uniformly random permutation. So units are put into places by a uniformly random injection, or
    choice, that looks at none of them, which is what :mod:`veilspan.estimators.schema_input` proves
    about.
    """
    from veilspan.tables.encoding import Encoded

    n = min(len(units) // group, count)
    places = coins.permutation(count)[:n]
    rows = (places[:, None] * group + np.arange(group)).reshape(-1)

    def put(part: np.ndarray | None, fill: Any) -> np.ndarray:
        wide = () if part is None else part.shape[1:]
        whole = np.zeros((count * group, *wide), dtype=np.asarray(fill).dtype)
        whole[rows] = fill if part is None else part[: n * group]
        return whole

    present = put(units.present, True)
    return Encoded(put(units.x, 0.0), None if units.y is None else put(units.y, 0.0), present)


def open_people_table(
    schema: Any, X: Any, targets: Callable[[np.ndarray], np.ndarray] | None
) -> PeopleTable:
    """A table of people with its form checked; see ``schema_input.open_schema_table``."""
    from veilspan.tables.sources.check_names import check_names
    from veilspan.tables.sources.open_table import as_source

    source = as_source(X, schema.file)
    check_names(source, schema, needed=needed_columns(schema, with_target=targets is not None))
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
