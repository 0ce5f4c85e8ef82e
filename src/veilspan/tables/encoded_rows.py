"""Rows that are kept as cells and encoded block by block, when a solver asks for them.

A cell takes less room than its encoded columns, and a block is encoded in the cache of a core right
before it is added up: neither a second table is written nor is it read again. Blocks are stored by
columns, as the cells are. A row has the same bits in a block of any size, in every walk, and on a
disk where even the cells are too many (:class:`~veilspan.curator.disk_rows.DiskRows`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from veilspan.curator import row_store
from veilspan.curator.rows import Block, Rows
from veilspan.tables.cells import Cells
from veilspan.tables.encoding import Encoder, PreparedBatch

#: Walks in which rows are encoded anew. Solvers that walk more often walk hundreds of times, and
#: for them a small table is encoded once and kept.
FEW_WALKS = 2

Targets = Callable[[np.ndarray], np.ndarray] | None


class CellStore:
    """Takes a table in batches of cells, and gives it back as rows for a curator.

    Parameters
    ----------
    encoder : Encoder
        How cells become numbers.
    targets : callable or None
        A public map of encoded targets; ``None`` if there are none.
    in_memory : bool
        Whether the cells are in memory anyway; others are encoded to a disk where they are many.
    """

    def __init__(self, encoder: Encoder, targets: Targets, *, in_memory: bool) -> None:
        self._encoder, self._targets, self._in_memory = encoder, targets, in_memory
        self._batches: list[PreparedBatch] = []
        self._store: row_store.RowStore | None = None
        self._n_bytes = 0
        #: Rows so far: as private as the table.
        self.n_rows = 0

    def add(self, cells: Mapping[str, Cells]) -> None:
        """Take a batch of cells, to be encoded later."""
        batch = self._encoder.prepare(cells)
        self.n_rows += batch.n_rows
        if self._store is not None:
            self._encode(batch, self._store)
            return
        self._batches.append(batch)
        self._n_bytes += batch.n_bytes
        if not self._in_memory and self._n_bytes > row_store.KEPT_BYTES:
            self._encode_all()

    def finish(self, places: int | None, coins: np.random.Generator) -> Rows:
        """The rows, in their order or, with ``places``, in a secret one (``RowStore.finish``)."""
        if places is None and self.n_rows > 1 and self._store is None:
            return EncodedRows(self._encoder.width, self._batches, self._targets)
        store = self._store or self._encode_all()
        return store.finish(places, coins, by_columns=places is None)

    def _encode_all(self) -> row_store.RowStore:
        with_targets = self._targets is not None
        store = self._store = row_store.RowStore(self._encoder.width, with_targets=with_targets)
        self._batches.reverse()
        while self._batches:  # each is let go of when it is encoded
            self._encode(self._batches.pop(), store)
        return store

    def _encode(self, batch: PreparedBatch, store: row_store.RowStore) -> None:
        encoded = batch.encode_rows()
        y = encoded.y if self._targets is None else self._targets(encoded.y)  # type: ignore[arg-type]
        store.add(encoded.x, y, encoded.present)


class EncodedRows(Rows):
    """Rows whose blocks are encoded when they are asked for.

    Parameters
    ----------
    width : int
        Columns of an encoded row.
    batches : list of PreparedBatch
        The cells.
    targets : callable or None
        A public map of encoded targets; ``None`` if there are none.
    """

    is_sparse = False

    def __init__(self, width: int, batches: list[PreparedBatch], targets: Targets) -> None:
        self._batches, self._walks = batches, 0
        self._kept: Rows | None = None
        self.n_features, self.n_rows = width, sum(batch.n_rows for batch in batches)
        self._y = self._present = None
        found = [batch.targets for batch in batches if batch.targets is not None]
        if targets is not None and found:
            self._y = np.concatenate([targets(y) for y, _ in found])
            self._present = np.concatenate([present for _, present in found])

    @property
    def _x(self) -> Any:  # type: ignore[override]
        """All of them, for what needs any row at any time (pairs, patches)."""
        return self._keep()._x

    def blocks(self, rows_per_block: int) -> Iterator[Block]:
        """The table as float64 blocks of at most ``rows_per_block`` rows, in order."""
        self._walks += 1
        small = 8 * self.n_rows * self.n_features <= row_store.KEPT_BYTES
        if self._kept is None and not (small and self._walks > FEW_WALKS):
            return self._cut(rows_per_block)
        return self._keep().blocks(rows_per_block)

    def _size_with(self, n_features: int) -> float:
        """Bytes of the table if it had so many columns; none of them is encoded for that."""
        return 8 * self.n_rows * n_features

    def _cut(self, rows_per_block: int) -> Iterator[Block]:
        for start, columns in self._encode(min(rows_per_block, self.n_rows)):
            part = slice(start, start + rows_per_block)
            x = columns.T[: min(rows_per_block, self.n_rows - start)]
            x.flags.writeable = False
            y, present = (None if each is None else each[part] for each in (self._y, self._present))
            yield Block(x, y, present)

    def _keep(self) -> Rows:
        if self._kept is None:
            ((_, columns),) = self._encode(self.n_rows)
            self._kept = Rows.checked_before(columns.T, self._y, self._present)
        return self._kept

    def _encode(self, length: int) -> Iterator[tuple[int, np.ndarray]]:
        """Blocks of ``length`` rows by columns, an array for each; the last one is not filled.

        There is room for two rows at least: one alone would be stored by rows as well.
        """
        shape = (self.n_features, max(2, length))
        columns, filled, start = np.empty(shape), 0, 0
        for batch in self._batches:
            done = 0
            while done < batch.n_rows:
                more = min(batch.n_rows - done, length - filled)
                self._fill(columns, filled, batch, slice(done, done + more))
                done, filled = done + more, filled + more
                if filled == length:
                    yield start, columns
                    start, filled = start + length, 0
                    columns = np.empty(shape)
        if filled:
            yield start, columns

    @staticmethod
    def _fill(columns: np.ndarray, first: int, batch: PreparedBatch, rows: slice) -> None:
        """Encode some rows of a batch; by way of an array of their own if they fill a part only.

        NumPy takes several times as long for arithmetic on parts of columns.
        """
        n = rows.stop - rows.start
        whole = n == columns.shape[1]
        part = columns if whole else np.empty((len(columns), n))
        batch.encode_columns(rows.start, rows.stop, part)
        if not whole:
            columns[:, first : first + n] = part
