"""Rows that come in batches, kept for a curator: in memory while they are few, else on a disk.

Where they are kept decides time and memory only. Rows have the same bits on a disk and in memory
(``disk_rows``), and the order in which they are put into places has the same law (``row_places``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veilspan.curator.array_file import ArrayFile, bytes_of_row
from veilspan.curator.disk_rows import DiskRows, row_forms
from veilspan.curator.row_places import place_by_coins, place_on_disk
from veilspan.curator.rows import Rows
from veilspan.curator.secret_file import check_room

#: A table of at most so many bytes is kept in memory, where a walk over it is about twice as fast.
#: Putting rows into places takes as much again for a moment.
KEPT_BYTES = 64_000_000


class RowStore:
    """Takes rows in batches, and gives them back as rows for a curator.

    Parameters
    ----------
    width : int
        Columns of a row.
    with_targets : bool
        Whether every row comes with a target.
    dtype : dtype
        How numbers are kept; blocks are float64 in any case. A type of one or two bytes holds codes
        in an eighth of the room.
    group : int
        Rows of one unit, which come one after the other and are put into a place together.
    """

    def __init__(
        self, width: int, *, with_targets: bool, dtype: Any = np.float64, group: int = 1
    ) -> None:
        self._width, self._with_targets, self._dtype = width, with_targets, np.dtype(dtype)
        self._group = group
        self._forms = row_forms(width, dtype, with_targets=with_targets)
        self._row_bytes = bytes_of_row(self._forms)
        self._batches: list[tuple[np.ndarray, np.ndarray | None, np.ndarray | None]] = []
        self._file: ArrayFile | None = None
        self._marked = False
        #: Rows so far: as private as the table.
        self.n_rows = 0

    def add(
        self, x: np.ndarray, y: np.ndarray | None = None, present: np.ndarray | None = None
    ) -> None:
        """Take a batch; the arrays are the store's from now on.

        Parameters
        ----------
        x : array of shape (n, width)
            Rows.
        y : array of shape (n,), optional
            Their targets.
        present : array of bool of shape (n,), optional
            Who takes part; all if left out.
        """
        self._marked = self._marked or present is not None
        self.n_rows += len(x)
        if self._file is not None:
            self._write(x, y, present)
            return
        self._batches.append((np.asarray(x, dtype=self._dtype), y, present))
        if self.n_rows * self._row_bytes > KEPT_BYTES:
            self._move_to_disk()

    @property
    def n_units(self) -> int:
        """Units so far: as private as the table."""
        return self.n_rows // self._group

    def finish(
        self,
        places: int | None = None,
        coins: np.random.Generator | None = None,
        *,
        by_columns: bool = False,
    ) -> Rows:
        """The rows, in their order or in places; the store is empty afterwards.

        Parameters
        ----------
        places : int, optional
            Puts the units into so many places in a secret random order (``row_places``); left out,
            they stay as they came, in two places at least: a curator holds two rows, and absent
            ones add nothing.
        coins : Generator, optional
            Secret, and independent of everything else.
        by_columns : bool
            Whether blocks from a disk are stored by columns.
        """
        if places is None and self.n_units < 2:
            places = 2
        if places is not None and coins is None:
            raise ValueError("rows are put into places by coins: pass them.")
        size = 0 if places is None else places * self._group * self._row_bytes
        if size > KEPT_BYTES and self._file is None:
            self._move_to_disk()  # absent rows take room as well
        if self._file is None:
            x, y, present = self._join()
            if places is not None and coins is not None:
                x, y, present = self._place(x, y, present, places, coins)
            return Rows.checked_before(x, y, present)
        file, self._file = self._file, None
        if places is not None and coins is not None:
            self._marked = self._marked or self.n_units < places
            units = row_forms(
                self._width, self._dtype, with_targets=self._with_targets, group=self._group
            )
            file = place_on_disk(file.split(units), places, coins).split(self._forms)
        return DiskRows(file, marked=self._marked, by_columns=by_columns)

    def _place(
        self,
        x: np.ndarray,
        y: np.ndarray | None,
        present: np.ndarray | None,
        places: int,
        coins: np.random.Generator,
    ) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        if self._group == 1:
            return place_by_coins(x, y, present, places, coins)
        n, k = self.n_units, self._group
        x = x.reshape(n, k, self._width)
        y, present = (None if part is None else part.reshape(n, k) for part in (y, present))
        x, y, present = place_by_coins(x, y, present, places, coins)
        y, present = (None if part is None else part.reshape(-1) for part in (y, present))
        return x.reshape(-1, self._width), y, present

    def _move_to_disk(self) -> None:
        self._file = ArrayFile(self._forms)
        self._batches.reverse()
        while self._batches:  # each is let go of when it is written
            self._write(*self._batches.pop())

    def _write(self, x: np.ndarray, y: np.ndarray | None, present: np.ndarray | None) -> None:
        assert self._file is not None
        takes_part = np.ones(len(x), dtype=bool) if present is None else present
        self._file.append(x, y, takes_part)

    def _join(self) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        """All batches as one, each let go of when it is copied."""
        x = np.empty((self.n_rows, self._width), dtype=self._dtype)
        y = np.empty(self.n_rows) if self._with_targets else None
        present = np.ones(self.n_rows, dtype=bool) if self._marked else None
        stop = self.n_rows
        while self._batches:
            some, targets, takes_part = self._batches.pop()
            part = slice(stop - len(some), stop)
            x[part] = some
            if y is not None:
                y[part] = targets
            if present is not None and takes_part is not None:
                present[part] = takes_part
            stop = part.start
        return x, y, present


def check_store(
    n_rows: int | None, width: int, *, with_targets: bool, dtype: Any = np.float64
) -> None:
    """Refuse, before anything is paid, rows that the temporary folder has no room for.

    Parameters
    ----------
    n_rows : int or None
        Their number, where it is public. Otherwise nothing is checked: an error that tells whether
        there is room would tell of their number.
    width : int
        Columns of a row.
    with_targets : bool
        Whether every row has a target.
    dtype : dtype
        How numbers are kept.
    """
    if n_rows is None:
        return
    size = n_rows * bytes_of_row(row_forms(width, dtype, with_targets=with_targets))
    if size > KEPT_BYTES:
        # Put into places, and then into pairs, rows stand there three times for a moment.
        check_room(3 * size)
