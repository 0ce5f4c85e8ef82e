"""The row-map contract: a per-row map looks at one row, is defined for all of them, and is silent.

For every per-row map there is (``ROW_MAPS`` and the pull-in of every manifold):

* a row gets the same bits alone, in blocks of 2, 3 and 64, in any company and at any place;
* no row that passes the public check of form makes it warn or raise, also where warnings are errors
  and ``np.seterr(all="raise")``;
* what comes out is finite.
"""

import contextlib
import warnings

import numpy as np
import pytest

from contracts.package import all_of, import_everything
from contracts.row_map_cells import (
    BALLS,
    MAPS,
    Map,
    count,
    from_lines,
    hard,
    lines_of,
    numbers,
    per_row,
    spd_points,
    take,
)
from tables.hostile import usual_lines
from veilspan.curator.row_maps import ROW_MAPS
from veilspan.geometry import Ball, Sphere, Stiefel
from veilspan.geometry.base import Manifold
from veilspan.tables.cells import encode_values


@contextlib.contextmanager
def strictest():
    """Where every warning and every rounding flag is an error."""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        yield


def test_every_marked_map_is_in_the_table():
    import_everything()
    ours = {name for name in ROW_MAPS if name.startswith("veilspan.")}
    assert ours == {each.marked for each in MAPS.values()} - {None}


def test_every_manifold_is_in_the_table():
    listed = {type(ball.manifold) for ball, _ in BALLS.values()}
    assert set(all_of(Manifold)) - listed == {Stiefel}  # has no logarithm, hence no ball


def moved_rows(cell, rng, sizes=(1, 2, 3, 64)):
    """Rows whose bits depend on their company, as a share of all comparisons."""
    rows = cell.rows(rng)
    n = count(rows)
    whole = per_row(cell.apply(rows), n)
    differing = compared = 0
    for size in sizes:
        order = rng.permutation(n)
        # Small blocks: a few are enough, each row of a block of one is looked at.
        for start in range(0, n - size + 1, size):
            which = order[start : start + size]
            alone = per_row(cell.apply(take(rows, which)), size)
            differing += sum(a != whole[i] for a, i in zip(alone, which))
            compared += size
    return differing / compared


@pytest.mark.parametrize("name", MAPS)
def test_a_row_has_the_same_bits_in_any_company(name):
    assert moved_rows(MAPS[name], np.random.default_rng(0)) == 0


def moved_by_storage(cell, rng, sizes=(1, 2, 3)):
    """Rows of a table stored by columns whose bits depend on how many are in their block."""
    rows = cell.rows(rng)
    x, *rest = rows if isinstance(rows, tuple) else (rows,)
    if not (isinstance(x, np.ndarray) and x.ndim == 2):
        return 0
    stored = np.asfortranarray(x)

    def part(start, stop):
        parts = (stored[start:stop], *(each[start:stop] for each in rest))
        return per_row(cell.apply(parts if rest else parts[0]), stop - start)

    n = len(x)
    whole = part(0, n)
    return sum(
        alone != whole[start + i]
        for size in sizes
        for start in range(0, n - size + 1, size)
        for i, alone in enumerate(part(start, start + size))
    )


@pytest.mark.parametrize("name", MAPS)
def test_a_row_stored_by_columns_has_the_same_bits_in_any_block(name):
    """Slices of such a table are stored by columns as well, but for one row alone."""
    assert moved_by_storage(MAPS[name], np.random.default_rng(0)) == 0


@pytest.mark.parametrize("name", MAPS)
def test_no_row_makes_a_map_speak(name):
    cell = MAPS[name]
    rows = cell.rows(np.random.default_rng(1))
    with strictest():
        whole = cell.apply(rows)
        for i in range(0, count(rows), 3):
            cell.apply(take(rows, [i]))
    assert np.isfinite(numbers(whole)).all()


# Broken twins.


def squarings_of_the_batch(points):
    """exp of symmetric matrices as it was: halved as often as the largest of the batch needs."""
    logs = np.log(np.linalg.eigvalsh(points))[:, :, None] * np.eye(3)
    halvings = int(np.ceil(np.log2(max(np.abs(logs).sum(axis=1).max(), 0.75) / 0.75)))
    out = np.eye(3) + logs * 0.5**halvings
    for _ in range(halvings):
        out = out @ out
    return out


def formula_of_the_least(points):
    """Logarithm on the sphere as it was: cleaned up if any point of the block is far away."""
    base = np.array([0.6, 0.8, 0.0, 0.0]) + 0.0
    cosine = points @ base
    p = points - cosine[:, None] * base
    if np.min(cosine) < -0.9:
        p = p - (p @ base)[:, None] * base
    return p


def einsum_lengths(x):
    return np.einsum("ij,ij->i", x, x)


def scaled_by_the_largest(x):
    return x / np.abs(x).max()


def open_quotes(rng, n):
    """Usual lines, and one whose quote is not closed."""
    lines = usual_lines(rng, n)
    lines[n // 2] = b'1,2,3,"a,k,yes,2022-02-03,sick,'
    return lines


def pyarrow_alone(block, layout):
    """A reader that skips rows of the wrong width and lets an open quote swallow rows."""
    import pyarrow as pa
    from pyarrow import csv

    table = csv.read_csv(
        pa.py_buffer(block),
        read_options=csv.ReadOptions(column_names=[str(i) for i in range(layout.width)]),
        parse_options=csv.ParseOptions(
            newlines_in_values=True, invalid_row_handler=lambda row: "skip"
        ),
        convert_options=csv.ConvertOptions(
            column_types={str(i): pa.binary() for i in range(layout.width)}
        ),
    )
    n, found = block.count(b"\n"), {}
    for column in layout.columns:
        texts = [raw.decode("utf-8", "replace") for raw in table[str(column.place)].to_pylist()]
        found[column.name] = encode_values((texts + [None] * n)[:n])
    return found


TWINS = {
    "squarings of the batch": Map(None, spd_points, squarings_of_the_batch),
    "formula of the least": Map(None, lambda rng: BALLS["sphere"][1](rng), formula_of_the_least),
    "einsum": Map(None, hard(9000, usual=6), einsum_lengths),
    "scaled by the largest": Map(None, hard(6), scaled_by_the_largest),
    "pyarrow alone": Map(None, lines_of(open_quotes), from_lines(pyarrow_alone)),
}


@pytest.mark.parametrize("name", TWINS)
def test_maps_that_look_at_other_rows_are_seen(name):
    with np.errstate(all="ignore"):
        assert moved_rows(TWINS[name], np.random.default_rng(0)) > 0


def old_complete_rows(x, row_norm=1e9):
    known = np.nan_to_num(x)
    largest = np.maximum(np.abs(known).max(axis=1), 1e-300)
    lengths = largest * np.linalg.norm(known / largest[:, None], axis=1)
    return known * np.minimum(1.0, row_norm / np.maximum(lengths, 1e-300))[:, None]


def old_shortening(x):
    with np.errstate(over="ignore"):
        return x / np.maximum(np.sqrt(np.einsum("ij,ij->i", x, x)), 1.5)[:, None]


@pytest.mark.parametrize("twin", [old_complete_rows, old_shortening])
def test_maps_that_speak_are_seen(twin):
    with strictest(), pytest.raises(FloatingPointError):
        twin(hard(6)(np.random.default_rng(1)))


def test_a_row_of_gaps_makes_no_warning():
    """The one that was: 1e9 / 1e-300 overflows for a row of somebody who is absent."""
    rows = np.full((2, 3), 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            old_complete_rows(rows)


def test_a_ball_far_away_takes_any_point_of_the_sphere():
    ball = Ball(Sphere(4), np.eye(4)[0], 0.8)
    with strictest():
        assert np.isfinite(ball.pull_in(-np.eye(4))).all()
