"""People whose rows lie on a Dask cluster: gathered by id first, where the parts are.

A person's rows may lie in any parts. Every part is encoded and cut into as many pieces as there
will be parts of people, by the leading bits of the person's mark: a keyed hash of the id, so that
nobody can choose a part. The pieces of one number are joined, in the order of the table, and become
units. So a part of people holds all rows of its people, and in which part a row lay before matters
to nobody. All that moves between workers is encoded rows and marks, no id and no cell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from veilspan.curator.dask.rows import DaskRows
from veilspan.curator.dask.table import DaskTable, DaskTargets, persist
from veilspan.curator.dask.tasks import current_client, results, task
from veilspan.estimators.people_input import PeopleTable, needed_columns
from veilspan.estimators.people_plan import rows_per_unit
from veilspan.estimators.schema_dask import make_absent, parts_of, take

#: Parts of people at most: every part of the table sends a piece to each, by a task.
MOST_BUCKETS = 128


class DaskPeopleTable(PeopleTable):
    """A Dask data frame whose schema names a column of ids."""

    on_cluster = True

    @classmethod
    def open(
        cls, schema: Any, X: Any, targets: Callable[[np.ndarray], np.ndarray] | None
    ) -> DaskPeopleTable:
        """Check the columns; no row is counted, since the schema says how many people there are."""
        parts = parts_of(schema, X, needed_columns(schema, with_target=targets is not None))
        return cls(schema, parts, schema.count, targets)

    def encode(self, coins: np.random.Generator) -> Any:
        """Gather the people by tasks, and bring them to the schema's count; for a curator."""
        return DaskRows(*self.gather(coins))

    def gather(
        self, coins: np.random.Generator
    ) -> tuple[DaskTable, DaskTargets | None, DaskTargets]:
        """The people in parts: encoded units, targets, and who takes part.

        Parts of people follow each other in the order of marks, so that those behind the first
        ``count`` are a uniformly random choice. One more part holds absent units, none or many.
        """
        from veilspan.tables.persons.secret_order import PersonCoins

        secret = PersonCoins.draw(coins)
        group, with_target = rows_per_unit(self.schema), self._targets is not None
        buckets = max(1, min(len(self._source), MOST_BUCKETS))
        pieces = [
            task(cut_part, [part], self.schema, with_target, secret, buckets)
            for part in self._source
        ]
        units = [
            task(gather_bucket, [[task(take, [one], j) for one in pieces]], self.schema,
                 self._targets, secret)
            for j in range(buckets)
        ]  # fmt: skip
        if current_client() is not None:
            units = persist(units)
        sizes = [size // group for size in results([task(count_rows, [one]) for one in units])]
        self.found = sum(sizes)
        wanted = self.shape[0] if self.shape[0] is not None else max(2, self.found)
        before = np.concatenate([[0], np.cumsum(sizes)])
        kept = [min(size, max(0, wanted - int(b))) for size, b in zip(sizes, before)]
        units = [task(first_rows, [one], size * group) for one, size in zip(units, kept)]
        absent = max(0, wanted - self.found) * group
        units.append(task(make_absent, [], absent, self.shape[1], with_target))
        x, y, present = ([task(take, [one], place) for one in units] for place in range(3))
        rows = [*(size * group for size in kept), absent]
        table = DaskTable(x, rows, self.shape[1], np.float64, is_sparse=False)
        return table, DaskTargets(y) if with_target else None, DaskTargets(present)


def cut_part(frame: Any, schema: Any, with_target: bool, secret: Any, buckets: int) -> list[Any]:
    """The rows of a part, encoded and cut by person; a task."""
    from veilspan.tables.persons.person_rows import PersonRows
    from veilspan.tables.sources.open_table import as_source

    reader = _reader(schema, with_target, secret)
    source = as_source(frame, schema.file)
    parts = [reader.read(batch).with_ids() for batch in source.batches(reader.columns)]
    if not parts:
        return [None] * buckets
    rows = PersonRows.join(parts)
    bucket = ((rows.marks[:, 0] >> np.uint64(32)) * np.uint64(buckets)) >> np.uint64(32)
    return [rows.take(np.flatnonzero(bucket == j)) for j in range(buckets)]


def gather_bucket(
    pieces: list[Any],
    schema: Any,
    targets: Callable[[np.ndarray], np.ndarray] | None,
    secret: Any,
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """The units of the people of one bucket; a task."""
    from veilspan.tables.persons.combining import combine_rows
    from veilspan.tables.persons.kept_rows import choose_rows
    from veilspan.tables.persons.person_rows import PersonRows

    reader = _reader(schema, targets is not None, secret)
    found = [piece for piece in pieces if piece is not None]
    if not found:
        return make_absent(0, reader.encoder.width, targets is not None)
    units = combine_rows(
        choose_rows(PersonRows.join(found), reader.rules, reader.coins), reader.rules
    )
    present = np.ones(len(units), dtype=bool) if units.present is None else units.present
    return units.x, None if targets is None else targets(units.y), present  # type: ignore[arg-type]


def _reader(schema: Any, with_target: bool, secret: Any) -> Any:
    from veilspan.tables.encoding import Encoder
    from veilspan.tables.persons.gathering import reader_for

    return reader_for(Encoder(schema, target=with_target), schema, secret)


def count_rows(units: Any) -> int:
    """How many rows the units of a part are; a task."""
    return len(units[0])


def first_rows(units: Any, size: int) -> Any:
    """The first rows of the units of a part; a task."""
    return tuple(None if part is None else part[:size] for part in units)
