"""Rows of CSR tables: entries stored once, lengths, and some of the rows without a copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from veilspan.curator.row_maps import row_map


@row_map
def sparse_squares(x: Any) -> np.ndarray:
    """Squared length of each sparse row, its entries added up one after the other."""
    x = join_parts(x)
    squares = type(x)((x.data**2, x.indices, x.indptr), shape=x.shape)
    return np.asarray(squares @ np.ones(x.shape[1]))


@row_map
def join_parts(x: Any) -> Any:
    """CSR rows with every entry stored once and in order; ``x`` itself if that is how it is.

    An entry may be stored in several parts, 1e30 and -1e30 for a zero, say. The squares of the
    parts do not add up to its square, so it would be clipped by a wrong length; and in a sum over
    rows the first part would swallow what other rows have added before the second takes it off
    again: one row would undo all of them. Parts are joined and put in order row by row, so other
    rows keep their bits.
    """
    if x.has_canonical_format:
        return x
    x = x.copy()
    x.sum_duplicates()
    return x


def cut_sparse(x: Any, part: slice) -> Any:
    """Some rows of a CSR table, without a copy."""
    ends = x.indptr[part.start : part.stop + 1]
    stored = slice(ends[0], ends[-1])
    view = type(x)(
        (x.data[stored], x.indices[stored], ends - ends[0]), shape=(len(ends) - 1, x.shape[1])
    )
    # Looked up once for the whole table, not again for each block.
    view.has_sorted_indices, view.has_canonical_format = (
        x.has_sorted_indices,
        x.has_canonical_format,
    )
    return view


def with_constant(x: Any, number: float) -> Any:
    """CSR rows and one more column, which holds the same number in each of them."""
    rows, columns = x.shape
    ends = x.indptr[1:]
    data = np.insert(x.data.astype(np.float64, copy=False), ends, number)
    indices = np.insert(x.indices, ends, columns)
    starts = x.indptr + np.arange(rows + 1)
    wider = type(x)((data, indices, starts), shape=(rows, columns + 1))
    wider.has_sorted_indices, wider.has_canonical_format = (
        x.has_sorted_indices,
        x.has_canonical_format,
    )
    return wider
