"""Rows of which a map changes some: the same blocks as a mapped table, in bounded memory."""

import tracemalloc

import numpy as np
import pytest

from veilspan.curator import patched_rows
from veilspan.curator.patched_rows import PatchedRows
from veilspan.curator.rows import Rows
from veilspan.estimators.manifold.points import flat_on_manifold, rows_on_manifold
from veilspan.geometry import Ball, Lorentz


def shortened(x):
    """Rows whose first entry is positive, halved."""
    return np.where(x[:, :1] > 0, x / 2, x)


@pytest.mark.parametrize("kept", [0, 10**9])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_blocks_are_those_of_the_mapped_table(monkeypatch, kept, dtype):
    monkeypatch.setattr(patched_rows, "KEPT_BYTES", kept)
    monkeypatch.setattr(patched_rows, "BLOCK_BYTES", 8 * 8 * 3 * 10)  # ten rows at a time
    table = (10 * np.random.default_rng(0).standard_normal((57, 3))).astype(dtype)
    rows = PatchedRows(Rows(table), shortened)
    assert (rows._patches is None) == (kept == 0)
    for step in (1, 7, 57, 100):
        blocks = list(rows.blocks(step))
        assert [b.n_rows for b in blocks] == [b.n_rows for b in Rows(table).blocks(step)]
        np.testing.assert_array_equal(
            np.concatenate([b.x for b in blocks]), shortened(table.astype(float))
        )
    with pytest.raises(TypeError, match="paired"):
        rows.paired(np.random.default_rng(0))


def test_the_map_sees_every_row_before_any_is_used():
    def refuse(x):
        if (x > 3.5).any():
            raise ValueError("not the form")
        return x

    table = np.zeros((1000, 2))
    table[-1] = 4
    with pytest.raises(ValueError, match="form"):
        PatchedRows(Rows(table), refuse)


def points(n):
    tail = np.random.default_rng(0).standard_normal((n, 3))
    return np.column_stack([np.sqrt(1 + np.sum(tail**2, axis=1)), tail])


def extra_memory(table, ball):
    """Bytes beside the table while it is looked through twice."""
    tracemalloc.start()
    for block in rows_on_manifold(table, ball.manifold, ball).blocks(4096):
        assert block.n_rows
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("radius", [10.0, 0.5])
def test_memory_does_not_grow_with_the_table(monkeypatch, radius):
    """Points all inside, and most of them outside with little room to keep them."""
    monkeypatch.setattr(patched_rows, "KEPT_BYTES", 100_000)
    ball = Ball(Lorentz(4), Lorentz(4).reference_point, radius)
    short, long = (extra_memory(points(n), ball) for n in (150_000, 300_000))
    assert long < 1.1 * short
    assert long < points(300_000).nbytes


def test_a_whole_table_in_one_piece_is_caught():
    ball = Ball(Lorentz(4), Lorentz(4).reference_point, 0.5)
    tracemalloc.start()
    flat_on_manifold(points(150_000), ball.manifold, ball)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak > points(150_000).nbytes
