"""Tables that need a change before they can be rows: huge entries, fewer rows than two."""

from __future__ import annotations

from typing import Any

import numpy as np

from veilspan.curator.silence import quiet


def cut_huge(table: Any, largest: float) -> Any:
    """The table with entries cut to the largest that a curator takes: ranges lie within."""
    if isinstance(table, np.ndarray):
        return np.clip(table, -largest, largest)
    table = table.copy()
    with quiet():
        table.sum_duplicates()  # an entry stored twice is the sum of both: that is cut
    table.data = np.clip(table.data, -largest, largest)
    return table


def with_empty(table: Any, count: int) -> Any:
    """Rows, or targets, and so many zeros behind them."""
    if isinstance(table, np.ndarray):
        return np.concatenate([table, np.zeros((count, *table.shape[1:]), dtype=table.dtype)])
    from scipy import sparse

    empty = sparse.csr_array((count, table.shape[1]), dtype=table.dtype)
    return sparse.csr_array(sparse.vstack([table, empty], format="csr"))
