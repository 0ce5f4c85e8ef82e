"""Rows on a grid: in the unit ball, kept in a quarter of the room, the same bits everywhere."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veilspan.curator import row_store
from veilspan.curator.grid_rows import STEP, GridRows, onto_grid
from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block, MappedRows, Rows
from veilspan.privacy.errors import TemporaryFolderError


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("VEILSPAN_TEMP", str(tmp_path))
    return tmp_path


def unit_rows(rng, n, width):
    """Rows of all lengths up to 1, the longest ones among them."""
    rows = rng.standard_normal((n, width)) * (rng.random((n, width)) < 0.7)
    rows[:, 0] += 1e-6
    lengths = np.linalg.norm(rows, axis=1)
    return rows / lengths[:, None] * np.where(rng.random(n) < 0.5, 1.0, rng.random(n))[:, None]


def squares_in_steps(rows):
    """Squared lengths in units of the grid, of whole numbers of any size."""
    return [sum(int(k) ** 2 for k in row) for row in rows / STEP]


@given(st.integers(1, 300), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_rounded_rows_are_whole_steps_in_the_ball(width, seed):
    rows = unit_rows(np.random.default_rng(seed), 20, width)
    grid = onto_grid(rows.copy())
    assert np.array_equal(grid / STEP, np.rint(grid / STEP))
    assert np.abs(grid - rows).max() <= STEP
    assert max(squares_in_steps(grid)) <= 2**30
    assert not np.signbit(grid[grid == 0]).any()


def test_the_nearest_steps_alone_would_leave_the_ball():
    """What the rounding towards zero is for."""
    rows = unit_rows(np.random.default_rng(0), 500, 50)
    nearest = np.rint(rows / STEP) * STEP
    assert max(squares_in_steps(nearest)) > 2**30
    assert max(squares_in_steps(onto_grid(rows))) <= 2**30
    alone = np.zeros((2, 3))
    alone[:, 1] = 1.0, -1.0
    assert np.abs(onto_grid(alone)).max() < 1.0  # no number of two bytes is 2^15


class OntoGrid:
    """Rows cut into the ball and rounded; says how often it was asked."""

    kept_bytes, on_grid = 0, True

    def __init__(self):
        self.seen = 0

    @row_map
    def __call__(self, block):
        self.seen += block.n_rows
        x = block.x / np.maximum(1.0, np.sqrt(block.squared_lengths))[:, None]
        return Block(onto_grid(np.hstack([x, 0.3 * x]) / 1.1), block.y)


def walks(rows, stride):
    return [
        tuple(None if each is None else each.tobytes() for each in (b.x, b.y, b.present))
        for b in rows.blocks(stride)
    ]


@pytest.mark.parametrize("kept", [10**9, 0])
@pytest.mark.parametrize("marked", [True, False])
def test_kept_rows_have_the_bits_of_mapped_ones(kept, marked, monkeypatch):
    monkeypatch.setattr(row_store, "KEPT_BYTES", kept)
    monkeypatch.setattr("veilspan.curator.grid_rows.MAPPED_NUMBERS", 60)
    rng = np.random.default_rng(1)
    x, y = 2 * unit_rows(rng, 101, 4), rng.standard_normal(101)
    table = Rows.checked_before(x, y, rng.random(101) < 0.8 if marked else None)
    each_time, once = OntoGrid(), OntoGrid()
    rows = table.mapped(once, 8)
    assert isinstance(rows, GridRows)
    for stride in (1, 10, 101, 500):
        assert walks(rows, stride) == walks(MappedRows(table, each_time, 8), stride)
    assert once.seen == 101
    assert each_time.seen == 4 * 101


def test_what_has_no_room_is_mapped_again_and_again(monkeypatch):
    """The same bits, and no error: which table has room may be as private as its length."""
    monkeypatch.setattr(row_store, "KEPT_BYTES", 0)
    table = Rows(unit_rows(np.random.default_rng(2), 50, 4))
    expected = walks(MappedRows(table, OntoGrid(), 8), 7)
    monkeypatch.setenv("VEILSPAN_TEMP", "/nowhere")
    assert walks(GridRows(table, OntoGrid(), 8), 7) == expected
    monkeypatch.delenv("VEILSPAN_TEMP")

    def full(self, data):
        raise TemporaryFolderError("full")

    monkeypatch.setattr("veilspan.curator.secret_file.SecretFile._write", full)
    rows = GridRows(table, OntoGrid(), 8)
    assert walks(rows, 7) == walks(rows, 7) == expected


def test_small_tables_and_other_maps_are_kept_as_before():
    table, small = Rows(np.eye(4)), OntoGrid()
    small.kept_bytes = 10**6
    kept = table.mapped(small, 8)
    assert small.seen == 0  # no row is read before the first walk
    assert walks(kept, 3) == walks(kept, 3)
    assert (type(kept), small.seen) == (MappedRows, 4)
    plain = OntoGrid()
    plain.on_grid = False
    anew = table.mapped(plain, 8)
    assert walks(anew, 3) == walks(anew, 3)
    assert (type(anew), plain.seen) == (MappedRows, 8)
