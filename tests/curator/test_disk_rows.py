"""Rows on a disk: the same bits as rows in memory, and places of the same law."""

import pickle
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from veilspan.curator import array_file, row_places, row_store
from veilspan.curator.array_file import ArrayFile
from veilspan.curator.disk_rows import DiskRows, row_forms
from veilspan.curator.row_places import choose_buckets, place_on_disk
from veilspan.curator.row_store import RowStore, check_store
from veilspan.curator.rows import MappedRows, Rows
from veilspan.losses.linear import Logistic
from veilspan.privacy.errors import TemporaryFolderError
from veilspan.queries.linear.regression_moments import RegressionMoments
from veilspan.queries.linear.row_scaling import RowScaling
from veilspan.queries.linear.slope_gradient import SlopeGradient
from veilspan.queries.moments import SecondMoment


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("VEILSPAN_TEMP", str(tmp_path))
    return tmp_path


def make_table(n, width, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, width)) * 10.0 ** rng.integers(-12, 3, (n, width))
    return x, np.sign(rng.standard_normal(n)), rng.random(n) < 0.8


def store_all(x, y, present, *, kept, batch=7, places=None, coins=None, dtype=np.float64):
    """Rows by way of a store that keeps so many bytes in memory."""
    store = RowStore(x.shape[1], with_targets=y is not None, dtype=dtype)
    before, row_store.KEPT_BYTES = row_store.KEPT_BYTES, kept
    try:
        for start in range(0, len(x), batch):
            part = slice(start, start + batch)
            some = (None if one is None else one[part] for one in (y, present))
            store.add(x[part], *some)
        return store.finish(places, coins)
    finally:
        row_store.KEPT_BYTES = before


def same(one, two):
    return (one is None) == (two is None) and (one is None or one.tobytes() == two.tobytes())


@given(
    n=st.integers(2, 60),
    width=st.integers(1, 5),
    stride=st.integers(1, 70),
    batch=st.integers(1, 70),
    kept=st.sampled_from([0, 300, 10**9]),
    targets=st.booleans(),
    marked=st.booleans(),
)
def test_blocks_have_the_bits_of_rows_in_memory(n, width, stride, batch, kept, targets, marked):
    x, y, present = make_table(n, width)
    y, present = y if targets else None, present if marked else None
    expected = Rows.checked_before(x, y, present)
    found = store_all(x, y, present, kept=kept, batch=batch)
    if kept == 0:
        assert isinstance(found, DiskRows)
    if kept == 10**9:
        assert type(found) is Rows
    assert (found.n_rows, found.n_features, found.is_sparse) == (n, width, False)
    for _ in range(2):  # a walk leaves nothing behind that the next one meets
        for one, two in zip(expected.blocks(stride), found.blocks(stride), strict=True):
            assert same(one.x, two.x)
            assert same(one.y, two.y)
            assert same(one.present, two.present)
            assert one.x.flags.c_contiguous == two.x.flags.c_contiguous
            assert not two.x.flags.writeable


@pytest.mark.parametrize("sampled", [False, True])
def test_sums_have_the_bits_of_rows_in_memory(sampled):
    from veilspan.curator.clipping import Sampling
    from veilspan.privacy.noise import SeededNoise

    x, y, present = make_table(5000, 8, seed=3)
    queries = [
        (SecondMoment(1.0), None),
        (RegressionMoments(1.0), None),
        (SlopeGradient(Logistic(), 1.0), np.linspace(-1, 1, 8)),
    ]
    both = [Rows.checked_before(x, y, present)]
    both.append(store_all(x, y, present, kept=0, batch=911))
    for query, point in queries:
        space = query.space(8, point)
        sums = []
        for rows in both:
            sampling = Sampling(0.3, SeededNoise(1), 0) if sampled else None
            sums.append(rows.clipped_sum(query, point, space, sampling, 700))
        assert sums[0].tobytes() == sums[1].tobytes()


def test_small_types_hold_codes():
    codes = np.random.default_rng(0).integers(0, 200, (50, 3)).astype(np.uint8)
    rows = store_all(codes, None, None, kept=0, dtype=np.uint8)
    assert rows._file._files[0].size == 150
    np.testing.assert_array_equal(np.vstack([b.x for b in rows.blocks(8)]), codes.astype(float))


def test_maps_walk_over_the_disk():
    x, y, present = make_table(300, 3)
    row_map = RowScaling(intercept=0.3)
    expected = Rows.checked_before(x, y, present).mapped(row_map, 4)
    found = store_all(x, y, present, kept=0).mapped(row_map, 4)
    assert isinstance(found, MappedRows)
    twice = found.mapped(RowScaling(intercept=0.1), 5)
    assert isinstance(twice, MappedRows)
    for one, two in zip(expected.blocks(50), found.blocks(50), strict=True):
        assert same(one.x, two.x)
        assert same(one.y, two.y)
        assert same(one.present, two.present)


@pytest.mark.parametrize("n", [40, 41])
def test_pairs_of_disk_rows_are_a_matching(n):
    """Every row is in one pair at most; rows are unit vectors, so a difference names its pair."""
    x = np.eye(n)
    present = np.arange(n) != 5
    rows = store_all(x, None, present, kept=0)
    pairs = rows.paired(np.random.default_rng(0))
    assert pairs.n_rows == n // 2
    used = []
    for block in pairs.blocks(7):
        for row, takes_part in zip(block.x, block.present, strict=True):
            pair = np.flatnonzero(row).tolist()
            assert sorted(row[pair]) == [-1.0, 1.0]
            used += pair
            assert takes_part == (5 not in pair)
    assert len(set(used)) == len(used) == 2 * (n // 2)
    assert len(list(rows.blocks(7))) == -(-n // 7)  # the rows are there as before
    with pytest.raises(ValueError, match="at least 50"):
        rows.paired(np.random.default_rng(0), least=50)
    with pytest.raises(TypeError, match="not paired again"):
        pairs.paired(np.random.default_rng(0))


# ---------------------------------------------------------------- places


class Kept:
    """A secret file for thousands of tiny tables: its bytes are in memory."""

    def __init__(self):
        self._bytes = bytearray()

    def append(self, array):
        self._bytes += np.ascontiguousarray(array).tobytes()

    def read_into(self, out, start):
        out.reshape(-1).view(np.uint8)[:] = np.frombuffer(self._bytes, np.uint8)[start:][
            : out.nbytes
        ]
        return out

    def close(self):
        pass


def place(n, count, coins):
    """Numbers of the rows in each place of a disk, -1 where nobody is."""
    file = ArrayFile(row_forms(1, np.float64, with_targets=True))
    file.append(np.arange(1.0, n + 1)[:, None], np.arange(1.0, n + 1), np.ones(n, dtype=bool))
    x, y, present = place_on_disk(file, count, coins).read(0, count)
    np.testing.assert_array_equal(x[:, 0], y)
    np.testing.assert_array_equal(present, y > 0)
    return (y - 1).astype(int)


@given(n=st.integers(0, 80), count=st.integers(1, 80), seed=st.integers(0, 99))
def test_each_row_has_one_place_at_most(n, count, seed):
    before, row_places.SHUFFLED_BYTES = row_places.SHUFFLED_BYTES, 100
    try:
        found = place(n, count, np.random.default_rng(seed))
    finally:
        row_places.SHUFFLED_BYTES = before
    assert len(found) == count
    rows = found[found >= 0]
    assert len(rows) == len(set(rows)) == min(n, count)
    assert set(rows) <= set(range(n))


@pytest.mark.parametrize(("n", "count"), [(3, 3), (2, 4), (4, 2)])
def test_every_order_is_equally_likely(n, count, monkeypatch):
    """Chi-square over all injections at a false alarm of 1e-6, with several buckets."""
    monkeypatch.setattr(row_places, "SHUFFLED_BYTES", 17)  # a row and a target: a bucket a row
    monkeypatch.setattr(array_file, "SecretFile", Kept)
    assert choose_buckets(max(n, count) * 17) == 4
    coins, trials = np.random.default_rng(7), 1500
    if n <= count:  # places of row 0, of row 1, ...
        names = list(permutations(range(count), n))
    else:
        names = list(permutations(range(n), count))
    seen = dict.fromkeys(names, 0)
    for _ in range(trials):
        found = place(n, count, coins)
        key = tuple(np.argsort(found)[-n:]) if n <= count else tuple(found)
        seen[key] += 1
    assert stats.chisquare(list(seen.values())).pvalue > 1e-6


def test_an_order_by_too_few_buckets_would_be_found(monkeypatch):
    """The test has power: rows that are dealt but not put in order within a bucket fail it."""
    monkeypatch.setattr(row_places, "SHUFFLED_BYTES", 17)
    monkeypatch.setattr(array_file, "SecretFile", Kept)
    real = np.random.default_rng(7)

    class Sloppy:
        integers = real.integers

        def permutation(self, n):
            return np.arange(n)

    seen = dict.fromkeys(permutations(range(3)), 0)
    for _ in range(1500):
        seen[tuple(place(3, 3, Sloppy()))] += 1
    assert stats.chisquare(list(seen.values())).pvalue < 1e-6


def test_buckets_are_powers_of_two():
    unit = row_places.SHUFFLED_BYTES
    sizes = [0, 1, unit, unit + 1, 3 * unit, 4 * unit, 5 * unit, 10**9 * unit]
    assert [choose_buckets(size) for size in sizes] == [1, 1, 1, 2, 4, 4, 8, 4096]


@pytest.mark.parametrize("kept", [0, 10**9])
@pytest.mark.parametrize("n", [0, 1])
def test_a_curator_gets_two_rows_at_least(n, kept):
    x, y, _ = make_table(n, 2)
    rows = store_all(x, y, None, kept=kept, coins=np.random.default_rng(0))
    assert rows.n_rows == 2
    (block,) = rows.blocks(5)
    assert block.present.sum() == n


@pytest.mark.parametrize("n", [5, 12])
def test_places_in_memory_and_on_a_disk_say_the_same(n):
    """Fewer rows than places are marked as absent, more are cut, wherever they are kept."""
    x, y, _ = make_table(n, 2)
    for kept in (0, 10**9):
        rows = store_all(x, y, None, kept=kept, places=9, coins=np.random.default_rng(0))
        (block,) = rows.blocks(20)
        assert (block.present is None) == (n >= 9)
        filled = block.x if block.present is None else block.x[block.present]
        known = {row.tobytes() for row in x}
        assert len(filled) == min(n, 9)
        assert {row.tobytes() for row in filled} <= known


@given(
    units=st.integers(0, 20),
    group=st.integers(1, 4),
    places=st.integers(1, 25),
    kept=st.sampled_from([0, 200, 10**9]),
)
def test_the_rows_of_a_unit_stay_together(units, group, places, kept):
    x = np.arange(2.0 * units * group).reshape(-1, 2)
    before, row_store.KEPT_BYTES = row_store.KEPT_BYTES, kept
    try:
        store = RowStore(2, with_targets=True, group=group)
        for start in range(0, len(x), group):
            part = slice(start, start + group)
            store.add(x[part], x[part, 0], np.arange(group) == 0)
        rows = store.finish(places, np.random.default_rng(0))
    finally:
        row_store.KEPT_BYTES = before
    assert rows.n_rows == places * group
    blocks = list(rows.blocks(7))
    found = np.concatenate([b.x for b in blocks]).reshape(places, group, 2)
    present = np.concatenate([np.ones(b.n_rows, bool) if b.present is None else b.present
                              for b in blocks]).reshape(places, group)  # fmt: skip
    targets = np.concatenate([b.y for b in blocks]).reshape(places, group)
    np.testing.assert_array_equal(targets, found[:, :, 0])
    known = {unit.tobytes() for unit in x.reshape(units, group, 2)}
    filled = [unit.tobytes() for unit in found[present[:, 0]]]
    assert len(filled) == len(set(filled)) == min(units, places)
    assert set(filled) <= known
    assert not found[~present[:, 0]].any()
    assert not present[:, 1:].any()


def test_many_empty_places_wait_on_the_disk(monkeypatch):
    monkeypatch.setattr(row_store, "KEPT_BYTES", 10_000)
    store = RowStore(3, with_targets=False)
    store.add(np.ones((5, 3)))
    rows = store.finish(1000, np.random.default_rng(0))
    assert isinstance(rows, DiskRows)
    assert sum(block.x.sum() for block in rows.blocks(100)) == 15.0
    assert sum(block.present.sum() for block in rows.blocks(100)) == 5


def test_places_need_coins():
    with pytest.raises(ValueError, match="by coins"):
        RowStore(3, with_targets=False).finish(10)


def test_room_is_checked_where_the_number_of_rows_is_public(monkeypatch):
    check_store(None, 10, with_targets=True)
    check_store(100, 10, with_targets=True)
    monkeypatch.setenv("VEILSPAN_TEMP", "/nowhere")
    check_store(100, 10, with_targets=True)
    check_store(None, 10, with_targets=True)
    with pytest.raises(TemporaryFolderError, match="nowhere"):
        check_store(10**9, 10, with_targets=True)


def test_rows_on_a_disk_are_never_pickled():
    with pytest.raises(TypeError, match="never pickled"):
        pickle.dumps(store_all(*make_table(5, 2), kept=0))
