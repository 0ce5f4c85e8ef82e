"""Tables with a schema that lie on a Dask cluster: encoded part by part, where the parts are."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from veilspan.curator.dask.rows import DaskRows
from veilspan.curator.dask.table import (
    MOST_PARTS,
    DaskTable,
    DaskTargets,
    column_names,
)
from veilspan.curator.dask.tasks import results, task
from veilspan.estimators.cautions import Caution
from veilspan.estimators.schema_input import SchemaTable, choose_places
from veilspan.tables.columns import clean_text


class DaskSchemaTable(SchemaTable):
    """A Dask data frame whose columns fit a schema."""

    on_cluster = True

    @classmethod
    def open(
        cls, schema: Any, X: Any, targets: Callable[[np.ndarray], np.ndarray] | None
    ) -> DaskSchemaTable:
        """Check the columns, and count the rows of each part where it lies."""
        from veilspan.tables.encoding import Encoder

        parts = parts_of(schema, X, Encoder(schema, target=targets is not None).columns)
        sizes = results([task(len, [part]) for part in parts])
        n_rows: int | None = None
        cautions: tuple[Caution, ...] = ()
        if schema.neighbors == "replace-one":
            n_rows, cautions = choose_places(schema, sum(sizes), len(X.columns))
        table = cls(schema, parts, n_rows, targets)
        table._sizes, table.cautions = sizes, cautions
        return table

    _sizes: list[int]

    def encode(self, coins: np.random.Generator) -> Any:
        """Encode the parts by tasks; too many rows are cut by coins, too few filled up.

        Where a row lies does not matter for sums on a cluster (all rows count as moved by their
        rounding), so which rows are kept is all that the coins decide. One more part holds the
        absent rows, none or many: the number of parts does not tell whether there are any.
        """
        with_target = self._targets is not None
        kept: list[Any] = [None] * len(self._source)
        sizes, total = list(self._sizes), sum(self._sizes)
        wanted = self.shape[0] if self.shape[0] is not None else max(2, total)
        if wanted < total:
            chosen = np.sort(coins.permutation(total)[:wanted])
            starts = np.concatenate([[0], np.cumsum(sizes)])
            cuts = np.searchsorted(chosen, starts)
            kept = [chosen[a:b] - start for a, b, start in zip(cuts, cuts[1:], starts)]
            sizes = [len(some) for some in kept]
        encoded = [
            task(encode_part, [part], self.schema, self._targets, places)
            for part, places in zip(self._source, kept)
        ]
        absent = max(0, wanted - total)
        encoded.append(task(make_absent, [], absent, self.shape[1], with_target))
        x, y, present = ([task(take, [one], place) for one in encoded] for place in range(3))
        table = DaskTable(x, [*sizes, absent], self.shape[1], np.float64, is_sparse=False)
        return DaskRows(table, DaskTargets(y) if with_target else None, DaskTargets(present))


def parts_of(schema: Any, X: Any, needed: tuple[Any, ...]) -> list[Any]:
    """The parts of a data frame whose columns fit a schema; no part is computed."""
    from veilspan.tables.sources.check_names import check_names

    names = column_names(X)
    if names is None or not hasattr(X, "to_delayed"):
        raise TypeError("with a schema, a Dask table is a data frame: its columns need names.")
    form: Any = SimpleNamespace(names=tuple(clean_text(str(name)) for name in names), label="X")
    check_names(form, schema, needed=needed)
    parts = list(X.to_delayed())
    if len(parts) >= MOST_PARTS:
        raise ValueError(f"X has {MOST_PARTS:,} parts or more: repartition it to fewer.")
    return parts


def encode_part(
    frame: Any, schema: Any, targets: Callable[[np.ndarray], np.ndarray] | None, kept: Any
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """One part of a table as numbers, targets and who takes part; a task."""
    from veilspan.tables.encoding import encode_table

    encoded = encode_table(schema, frame, target=targets is not None)
    x, y, present = encoded.x, encoded.y, encoded.present
    if present is None:
        present = np.ones(len(x), dtype=bool)
    if targets is not None:
        y = targets(y)  # type: ignore[arg-type]
    if kept is not None:
        x, y, present = x[kept], None if y is None else y[kept], present[kept]
    return x, y, present


def make_absent(
    count: int, width: int, with_target: bool
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """A part of rows that contribute nothing; a task."""
    return (
        np.zeros((count, width)),
        np.zeros(count) if with_target else None,
        np.zeros(count, dtype=bool),
    )


def take(parts: Any, place: int) -> Any:
    """One of what a part was encoded to; a task."""
    return parts[place]
