"""Rows that are encoded on demand: the bits of the definition, in blocks of any size and order."""

import itertools

import numpy as np
import pytest

from veilspan.curator import row_store
from veilspan.datasets import make_ward
from veilspan.tables import encoded_rows
from veilspan.tables.cells import NumberCells
from veilspan.tables.encoded_rows import CellStore
from veilspan.tables.encoding import Encoder, encode_table
from veilspan.tables.schema import Schema
from veilspan.tables.sources.frames import ArrayColumns

WARD = make_ward(300, random_state=1)
NUMBERS = Schema.from_toml(
    'veilspan_schema = 1\nname = "numbers"\n'
    + "".join(
        f'[columns.{name}]\ntype = "number"\nrange = [{low}, {high}]\nsource = "x"\n'
        for name, low, high in (("a", -1, 1), ("b", 0, 1e-300), ("c", -1e300, 1e300), ("d", 3, 9))
    )
)


def signs(y):
    return 2.0 * y - 1.0


def rows_of(*sizes, in_memory=True, targets=signs):
    """The ward in batches of these sizes, kept as cells."""
    encoder = Encoder(WARD.schema, target=targets is not None)
    store = CellStore(encoder, targets, in_memory=in_memory)
    ends = np.cumsum([0, *sizes])
    for start, stop in itertools.pairwise(ends):
        part = {name: cells[start:stop] for name, cells in WARD.columns.items()}
        for batch in ArrayColumns(part).batches(encoder.columns):
            store.add(batch)
    return store.finish(None, np.random.default_rng(0))


def blocks_of(rows, stride):
    found = list(rows.blocks(stride))
    assert [block.n_rows for block in found[:-1]] == [stride] * (len(found) - 1)
    assert not any(block.x.flags.writeable for block in found)
    return [np.concatenate([getattr(b, part) for b in found]) for part in ("x", "y", "present")]


@pytest.mark.parametrize("sizes", [(300,), (1, 99, 200), (128, 0, 172)])
@pytest.mark.parametrize("stride", [1, 7, 128, 299, 300, 1000])
def test_blocks_have_the_bits_of_the_table(sizes, stride):
    whole = encode_table(WARD.schema, WARD.columns)
    rows = rows_of(*sizes)
    for _ in range(encoded_rows.FEW_WALKS + 2):  # the last walks are over rows that are kept
        x, y, present = blocks_of(rows, stride)
        assert x.tobytes() == whole.x.tobytes()
        assert y.tobytes() == signs(whole.y).tobytes()
        assert present.tobytes() == whole.present.tobytes()


@pytest.mark.parametrize("stride", [1, 13, 299])
def test_lengths_have_the_same_bits_wherever_rows_are_kept(monkeypatch, stride):
    """A block of one row too: rows are added up in the order of a table that lies by columns."""
    on_demand, kept = rows_of(300), rows_of(300)
    assert kept._x.flags.f_contiguous
    monkeypatch.setattr(row_store, "KEPT_BYTES", 0)
    on_disk = rows_of(100, 200, in_memory=False)
    assert type(on_disk).__name__ == "DiskRows"
    found = [
        np.concatenate([block.squared_lengths for block in rows.blocks(step)]).tobytes()
        for rows, step in ((on_demand, stride), (on_demand, 50), (kept, stride), (on_disk, stride))
    ]
    assert len(set(found)) == 1


ODD = [0.0, -0.0, 1.0, -1.0, 5.0, 1e308, -1e308, 5e-324, np.nan, np.inf, -np.inf, 0.3]


@pytest.mark.parametrize("odd", [[0.5], [0.5, 7.0], [1e308], ODD])
@pytest.mark.parametrize("kind", [np.float64, np.float32, "masked"])
def test_odd_numbers_by_columns_are_those_by_rows(odd, kind):
    """Whether a block is within its range, beyond it, overflows or has gaps: the same bits."""
    rng = np.random.default_rng(0)
    encoder = Encoder(NUMBERS)
    with np.errstate(over="ignore"):
        values = [rng.choice(odd, 40) for _ in range(4)]
        cells = [NumberCells(v.astype(np.float64 if kind == "masked" else kind)) for v in values]
    if kind == "masked":
        cells[1] = NumberCells(values[1], rng.random(40) < 0.3)
    batch = encoder.prepare(dict(zip("abcd", cells)))
    columns = np.empty((4, 40))
    batch.encode_columns(0, 40, columns)
    assert np.ascontiguousarray(columns.T).tobytes() == batch.encode_rows().x.tobytes()


def test_cells_of_a_file_go_to_the_disk_where_they_are_many(monkeypatch):
    monkeypatch.setattr(row_store, "KEPT_BYTES", 0)
    assert type(rows_of(300, in_memory=True)).__name__ == "EncodedRows"
    assert type(rows_of(300, in_memory=False)).__name__ == "DiskRows"


def test_pairs_and_maps_see_the_same_rows():
    rows, whole = rows_of(300, targets=None), encode_table(WARD.schema, WARD.columns).x
    pairs = np.concatenate([block.x for block in rows.paired(np.random.default_rng(3)).blocks(9)])
    assert pairs.shape == (150, whole.shape[1])
    np.testing.assert_array_equal(
        np.concatenate([block.x for block in rows.map_now(lambda block: block).blocks(31)]), whole
    )
