"""Tables of every kind, whole and in parts."""

import dask.array as da
import numpy as np

ROWS, WIDTH = 900, 6


def rows(n=ROWS, d=WIDTH, seed=0):
    """A plane in noise, about half of the rows longer than 1."""
    rng = np.random.default_rng(seed)
    inside = rng.standard_normal((n, 2)) @ rng.standard_normal((2, d))
    x = inside + 0.3 * rng.standard_normal((n, d))
    return x / np.median(np.linalg.norm(x, axis=1))


def parts(x, sizes=(250, 1, 0, 400, 249)):
    """An array in parts of any size, made by tasks: an empty one, one of a single row."""
    assert sum(sizes) == x.shape[0]
    cuts = np.cumsum((0, *sizes))

    def piece(block, block_id=None):
        return x[cuts[block_id[0]] : cuts[block_id[0] + 1]]

    rest = x.shape[1:]
    empty = da.zeros((x.shape[0], *(1 for _ in rest)), chunks=(sizes, *((1,) for _ in rest)))
    chunks = (sizes, *((length,) for length in rest))
    return empty.map_blocks(piece, chunks=chunks, dtype=x.dtype, meta=x[:0])


def of_unknown_size(x, chunks=300):
    """The same rows behind a filter, which leaves sizes of chunks unknown."""
    lazy = da.from_array(x, chunks=(chunks, *x.shape[1:]))
    return lazy[da.from_array(np.ones(len(x), dtype=bool), chunks=chunks)]


def far(a, b):
    """Largest difference of two arrays."""
    return float(np.abs(np.asarray(a) - np.asarray(b)).max())
