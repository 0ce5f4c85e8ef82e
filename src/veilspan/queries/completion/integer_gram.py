r"""Exact sums of q q^T for sparse rows of whole numbers, at the speed of float32.

A float32 holds whole numbers up to 2^24 exactly. In a chunk of rows, every partial sum of the
entry (j, k), in any order, is a whole number of magnitude at most

    sum_i |q_ij q_ik| <= sqrt(D_j D_k) <= max_j D_j,      D_j = sum_i q_ij^2

(Cauchy and Schwarz). So if max_j D_j <= 2^24, which is checked before the product, no operation of
the float32 product rounds, with or without fused multiply-add. Chunks that fail the check, and very
sparse ones, are multiplied in float64, which is exact up to 2^53. The answer is the same integer
matrix whichever way was taken; only the time differs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

EXACT_FLOAT32 = 2.0**24
#: Scatter where sum_i n_i^2 is below this share of (rows x items^2): measured crossover.
SPARSE_SHARE = 0.002
LARGEST_CHUNK = 1024


@dataclass(frozen=True)
class IntegerRows:
    """Sparse rows of whole numbers: ``values[starts[i]:starts[i+1]]`` at ``items`` of row i."""

    starts: np.ndarray
    items: np.ndarray
    values: np.ndarray
    n_items: int

    @property
    def n_rows(self) -> int:
        """Number of rows, those without entries included."""
        return len(self.starts) - 1

    def dense(self) -> np.ndarray:
        """Return all rows as a float64 array."""
        return _dense(self, 0, self.n_rows, np.zeros((self.n_rows, self.n_items)))


def integer_gram(rows: IntegerRows) -> np.ndarray:
    """Sum of q q^T over the rows, exactly, as float64 whole numbers (below 2^53)."""
    counts = np.diff(rows.starts).astype(np.float64)
    if counts @ counts < SPARSE_SHARE * rows.n_rows * float(rows.n_items) ** 2:
        return _sparse_gram(rows)
    # D_j is about chunk * Q^2 / n for rows of norm Q = 2^10: 4 n rows leave room for popular items.
    chunk = int(np.clip(4 * rows.n_items, 32, LARGEST_CHUNK))
    total = np.zeros((rows.n_items, rows.n_items))
    buffer = np.empty((min(chunk, rows.n_rows), rows.n_items), dtype=np.float32)
    for first in range(0, rows.n_rows, chunk):
        last = min(first + chunk, rows.n_rows)
        part = slice(rows.starts[first], rows.starts[last])
        squares = np.bincount(rows.items[part], rows.values[part] ** 2, minlength=rows.n_items)
        fits = squares.max() <= EXACT_FLOAT32
        space = buffer[: last - first] if fits else np.empty((last - first, rows.n_items))
        space[:] = 0
        dense = _dense(rows, first, last, space)
        total += dense.T @ dense  # NumPy sees the same array twice and calls the triangular product
    return total


def dense_integer_gram(rows: np.ndarray) -> np.ndarray:
    """The same for dense float32 rows of whole numbers (of squared length below 2^24)."""
    total = np.zeros((rows.shape[1], rows.shape[1]))
    for first in range(0, len(rows), LARGEST_CHUNK):
        part = rows[first : first + LARGEST_CHUNK]
        # Sums of squares only grow, so one that rounding touched is 2^24 or more.
        squares = np.einsum("ij,ij->j", part, part)
        if squares.max(initial=0.0) >= EXACT_FLOAT32:
            part = part.astype(np.float64)
        total += part.T @ part
    return total


def _dense(rows: IntegerRows, first: int, last: int, out: np.ndarray) -> np.ndarray:
    """Write rows ``first`` to ``last`` into ``out``, which holds zeros."""
    part = slice(rows.starts[first], rows.starts[last])
    counts = np.diff(rows.starts[first : last + 1])
    place = np.repeat(np.arange(last - first) * rows.n_items, counts)
    place += rows.items[part]
    out.reshape(-1)[place] = rows.values[part]
    return out


def _sparse_gram(rows: IntegerRows) -> np.ndarray:
    from scipy import sparse

    shape = (rows.n_rows, rows.n_items)
    table = sparse.csr_array((rows.values, rows.items, rows.starts), shape=shape)
    return np.asarray((table.T @ table).toarray())
