r"""Sums of (r x)(r x)^T over a block of rows, dense or CSR.

Sparse rows can be multiplied in two ways: stored entry by stored entry, or written out and handed
to BLAS. Which is faster depends on how full the block is, and that is private: one person's row may
decide it. The choice needs no protection, because both ways add up the same numbers.

* The scaled entries a_ij = r_i x_ij are computed first, one by one: the same bits either way. An
  entry that is not stored is exactly 0 and adds exactly 0.
* Entry (j, k) of the answer is then the sum of b products a_ij a_ik. Each is rounded once when it
  is formed (or not at all, if multiply and add are fused) and at most b - 1 times when it is added.
  *In any order* that makes an error of at most b u sum_i |a_ij| |a_ik| (u = 2^-53; Higham 2002,
  section 3.1), so the matrix is off by at most

      b u |sum_i |a_i| |a_i|^T|_F <= b u sum_i |a_i|^2 <= b u n C

  in the Frobenius norm, where n rows are clipped to |a_i|^2 <= C. Rows that are written out go to
  BLAS in pieces of p rows. A product then passes through p roundings in its piece and at most
  ceil(b/p) - 1 more as pieces are added up, which together is at most b for every p from 1 to b.

This is the term ``block_rows`` of ``privacy.grid.float_slack``. It holds for neighbouring tables
whose blocks go the same way and for those whose blocks do not, and no row counts as moved but the
one that was exchanged, because the numbers a_ij of all others are the same.

What this rests on: the roots r must not depend on the way. So lengths of sparse rows are measured
on their stored entries (``sparse_rows.sparse_squares``), however many there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

#: Stored entries are multiplied one by one where the sum of n_i^2, n_i of them in row i, is below
#: this share of (rows x columns^2). For even rows that is 7 % density. On one core the two ways
#: meet at about 10 %, twice the products (``benchmarks/curator.py``): the rest is left to BLAS on
#: several cores.
SPARSE_SHARE = 0.005
#: Rows of a sparse table in one block at least: every block's product is a matrix of columns^2
#: numbers to be written out and added, as much work as many sparse rows are. From 125 rows to 4,096
#: the time of 2,000 columns at 1 % falls to an eighth, and to 8,192 little more.
SPARSE_BLOCK_ROWS = 4096
#: The same for rows that are dense or become so: this share of the number of columns, so that a
#: block takes a quarter of the answer's memory. With 1,600 columns, where 4 MB are 78 rows of
#: ``SphericalMoment``, its time falls to a half (and to 43 % with twice as many rows).
DENSE_BLOCK_SHARE = 1 / 4
#: Bytes of the rows that are written out at once.
PIECE_BYTES = 4_000_000


def weighted_gram(x: Any, roots: np.ndarray) -> np.ndarray:
    """Sum of (r_i x_i)(r_i x_i)^T over the rows of a dense or CSR block.

    Parameters
    ----------
    x : array or CSR array of shape (rows, d)
        Rows; in CSR every entry is stored once, as it is in the blocks of a table.
    roots : array of shape (rows,)
        r_i, the roots of the rows' weights.

    Returns
    -------
    array of shape (d, d)
        The sum, symmetric. For a sparse block it takes memory for itself, its sparse form and
        twice ``PIECE_BYTES``, however full the block is.
    """
    if isinstance(x, np.ndarray):
        return _dense_gram(x, roots)
    if is_thin(x):
        rows = _scale_entries(x, roots)
        return np.asarray((rows.T @ rows).toarray())
    pieces = _write_out(x if (roots == 1.0).all() else _scale_entries(x, roots))
    first = next(pieces, np.zeros((0, x.shape[1])))
    total = np.asarray(first.T @ first)
    for piece in pieces:
        total += piece.T @ piece
    return total


def gram_block_rows(n_features: int, *, stays_sparse: bool) -> int:
    """Rows that a block of a second moment has at least: a public number."""
    return SPARSE_BLOCK_ROWS if stays_sparse else int(DENSE_BLOCK_SHARE * n_features)


def is_thin(x: Any) -> bool:
    """Whether products of stored entries are so few that BLAS would take longer for all of them."""
    counts = np.diff(x.indptr).astype(np.float64)
    return bool(counts @ counts < SPARSE_SHARE * x.shape[0] * float(x.shape[1]) ** 2)


def _dense_gram(x: np.ndarray, roots: np.ndarray) -> np.ndarray:
    if not (roots == 1.0).all():  # no copy where no row was clipped
        x = roots[:, None] * x
    return np.asarray(x.T @ x)  # NumPy sees the same array twice and does half of the work


def _scale_entries(x: Any, roots: np.ndarray) -> Any:
    data = x.data * np.repeat(roots, np.diff(x.indptr))
    return type(x)((data, x.indices, x.indptr), shape=x.shape)


def _write_out(x: Any) -> Iterator[np.ndarray]:
    """The rows as dense pieces; one piece's memory serves the next."""
    step = max(1, PIECE_BYTES // (8 * x.shape[1]))
    buffer = np.empty((min(step, x.shape[0]), x.shape[1]))
    for first in range(0, x.shape[0], step):
        ends = x.indptr[first : min(first + step, x.shape[0]) + 1]
        piece = buffer[: len(ends) - 1]
        piece[:] = 0.0
        stored = slice(ends[0], ends[-1])
        places = np.repeat(np.arange(len(piece)), np.diff(ends))
        piece[places, x.indices[stored]] = x.data[stored]
        yield piece
