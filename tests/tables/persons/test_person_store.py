"""People whose rows waited on a disk are those whose rows were in memory, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tables.persons.tables import make_schema, random_lines, to_columns
from veilspan.tables.encoding import Encoder
from veilspan.tables.persons import gather_people, person_store
from veilspan.tables.persons.person_rows import PersonRows
from veilspan.tables.persons.person_store import PersonStore
from veilspan.tables.sources.frames import ArrayColumns

MANY = tuple(f"q{i}" for i in range(60))


class Batches:
    """A source of several batches."""

    def __init__(self, lines, size):
        self.parts = [lines[i : i + size] for i in range(0, len(lines), size)]

    def batches(self, columns):
        for part in self.parts:
            yield from ArrayColumns(to_columns(part)).batches(columns)


def gather(schema, lines, seed, *, kept, size, dealt=500, target=True):
    """Units of all batches, and how many parts they came in."""
    old = person_store.KEPT_BYTES, person_store.DEALT_BYTES
    person_store.KEPT_BYTES, person_store.DEALT_BYTES = kept, dealt
    try:
        coins = np.random.default_rng(seed)
        encoder = Encoder(schema, target=target)
        parts = list(gather_people(Batches(lines, size), encoder, schema.unit, coins))
    finally:
        person_store.KEPT_BYTES, person_store.DEALT_BYTES = old
    names = ("x", "y", "present")
    joined = [
        b"".join(b"" if getattr(p, n) is None else getattr(p, n).tobytes() for p in parts)
        for n in names
    ]
    return joined, len(parts)


@pytest.mark.parametrize("combine", ["mean", "sum", "first", "last", "none"])
@pytest.mark.parametrize("keep", ["random", "first", "last"])
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32), size=st.integers(1, 50), target=st.booleans())
def test_units_from_a_disk_have_the_bits_of_units_in_memory(keep, combine, seed, size, target):
    target = target and combine != "none"
    schema = make_schema(keep=keep, combine=combine, target="majority" if target else None)
    lines = random_lines(np.random.default_rng(seed), n=90, ids=MANY)
    memory, _ = gather(schema, lines, seed, kept=10**9, size=size, target=target)
    disk, parts = gather(schema, lines, seed, kept=0, size=size, target=target)
    assert disk == memory
    assert parts > 3


def test_a_bucket_without_a_key_would_be_chosen_by_ids():
    """Marks spread people whatever their ids are: of 5,000 alike ones no bucket gets many."""
    from veilspan.tables.persons.secret_order import PersonCoins

    marks = PersonCoins(bytes(32)).mark_people([f"{i:05d}" for i in range(5000)])
    store = PersonStore()
    store.add(PersonRows(marks, np.zeros((5000, 1))))
    store._deal()
    # Of 5,000 people in 4,096 buckets more than 15 meet with a probability below 1e-8.
    assert store._dealt.sizes.max() <= 15
    assert store._dealt.sizes.sum() == 5000


def test_a_table_without_people_gives_nothing():
    schema = make_schema()
    lines = [line | {"who": ""} for line in random_lines(np.random.default_rng(0), n=5)]
    for kept in (0, 10**9):
        assert gather(schema, lines, 0, kept=kept, size=2) == ([b""] * 3, 0)


def test_somebody_with_a_crowd_of_rows_is_one_part():
    marks = np.zeros((300, 2), dtype=np.uint64)
    marks[:, 0] = 2**63
    marks[::100, 0] = [1, 2**62, 2**64 - 1]
    store = PersonStore()
    store.add(PersonRows(marks[:150], np.arange(150.0)[:, None]))
    store._deal()
    store.add(PersonRows(marks[150:], np.arange(150.0, 300.0)[:, None]))
    old, person_store.DEALT_BYTES = person_store.DEALT_BYTES, 24
    try:
        parts = list(store.parts())
    finally:
        person_store.DEALT_BYTES = old
    assert [len(part) for part in parts] == [1, 1, 297, 1]
    assert (np.diff(parts[2].x[:, 0]) > 0).all()  # in the order of the table
