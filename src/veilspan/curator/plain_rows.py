"""Rows of plain arrays for whoever scales them by ranges: of any number, and cut to what is taken.

Both are maps of each row on its own, and of places that nobody is in: they cost no privacy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veilspan.curator.rows import LARGEST_VALUE, Rows
from veilspan.curator.silence import quiet

#: Rows that a table in memory has at least, places that nobody is in included.
LEAST = 2


def plain_rows(table: Any, targets: Any, *, of_any_number: bool, cut: bool) -> Rows:
    """Rows of a table in memory, whose form was checked.

    Parameters
    ----------
    table, targets : array or CSR matrix of shape (n, p), array of shape (n,)
        Without NaN and infinities.
    of_any_number : bool
        Whether none and one are rows as well, as where their number is private: they stand beside
        places that nobody is in.
    cut : bool
        Whether entries beyond the largest that rows may hold are cut to it. Whoever asks for it
        clips to ranges within.
    """
    present = None
    with quiet():
        if cut:
            table = _cut_huge(table)
        n_rows = table.shape[0]
        if of_any_number and n_rows < LEAST:
            present = np.arange(LEAST) < n_rows
            table = _with_empty(table, LEAST - n_rows)
            targets = _with_empty(targets, LEAST - n_rows)
    return Rows(table, targets, present)


def _cut_huge(table: Any) -> Any:
    """The table with entries cut to the largest that a curator takes: ranges lie within."""
    entries = table if isinstance(table, np.ndarray) else table.data
    if entries.dtype.kind != "f" or not entries.size:
        return table
    if entries.min() >= -LARGEST_VALUE and entries.max() <= LARGEST_VALUE:
        return table
    if isinstance(table, np.ndarray):
        return np.clip(table, -LARGEST_VALUE, LARGEST_VALUE)
    table = table.copy()
    table.sum_duplicates()  # an entry stored twice is the sum of both: that is cut
    table.data = np.clip(table.data, -LARGEST_VALUE, LARGEST_VALUE)
    return table


def _with_empty(table: Any, count: int) -> Any:
    """Rows, or targets, and so many zeros behind them."""
    if isinstance(table, np.ndarray):
        return np.concatenate([table, np.zeros((count, *table.shape[1:]), dtype=table.dtype)])
    from scipy import sparse

    empty = sparse.csr_array((count, table.shape[1]), dtype=table.dtype)
    return sparse.csr_array(sparse.vstack([table, empty], format="csr"))
