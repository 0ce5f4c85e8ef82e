"""People are gathered as the slow reference does it, bit by bit, and each by herself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tables.persons.reference import gather_slowly
from tables.persons.tables import make_schema, random_lines, to_columns, units_of
from veilspan.tables.encoding import Encoder
from veilspan.tables.persons import gather_people
from veilspan.tables.persons.person_ids import read_id
from veilspan.tables.persons.secret_order import PersonCoins, sip_hash
from veilspan.tables.sources.frames import ArrayColumns

KEYS = [
    (keep, combine, target)
    for keep in ("random", "first", "last")
    for combine in ("mean", "sum", "first", "last")
    for target in ("any", "majority", "first", "last")
]


def expected_units(schema, lines, seed, combine=None, target=True):
    coins = PersonCoins.draw(np.random.default_rng(seed))
    slow = gather_slowly(schema, lines, coins, combine, target=target)
    return sorted(slow.items(), key=lambda pair: tuple(coins.mark_people([pair[0]])[0]))


@pytest.mark.parametrize(("keep", "combine", "target"), KEYS)
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_units_are_those_of_the_slow_reference(keep, combine, target, seed):
    schema = make_schema(keep=keep, combine=combine, target=target)
    lines = random_lines(np.random.default_rng(seed))
    found = units_of(schema, to_columns(lines), seed)
    wanted = expected_units(schema, lines, seed)
    assert len(found) == len(wanted)
    for i, (_, (x, y)) in enumerate(wanted):
        assert tuple(found.x[i]) == x
        assert (found.y[i] if found.present[i] else None) == y


@pytest.mark.parametrize("target", ["mean", "sum", "first", "last"])
def test_numbers_are_combined_as_their_key_says(target):
    schema = make_schema(numbers=target)
    lines = random_lines(np.random.default_rng(3), n=80)
    found = units_of(schema, to_columns(lines), 5)
    for i, (_, (_, y)) in enumerate(expected_units(schema, lines, 5)):
        assert (found.y[i] if found.present[i] else None) == y


def test_without_combining_rows_stand_in_slots():
    schema = make_schema(combine="none", target=None)
    lines = random_lines(np.random.default_rng(1), n=60)
    found = units_of(schema, to_columns(lines), 7)
    wanted = expected_units(schema, lines, 7)
    slots = schema.unit.max_rows
    assert len(found) == slots * len(wanted)
    for i, (_, rows) in enumerate(wanted):
        for j in range(slots):
            place = i * slots + j
            if j < len(rows):
                assert tuple(found.x[place]) == rows[j][0]
                assert (found.y[place] if found.present[place] else None) == rows[j][1]
            else:
                assert not found.x[place].any()
                assert not found.present[place]


def test_another_way_of_combining_may_be_asked_for():
    schema = make_schema(combine="sum", max_rows=2)
    lines = random_lines(np.random.default_rng(2))
    source = ArrayColumns(to_columns(lines))
    encoder = Encoder(schema, target=False)
    coins = np.random.default_rng(0)
    (found,) = gather_people(source, encoder, schema.unit, coins, "mean")
    wanted = expected_units(schema, lines, 0, "mean", target=False)
    assert [tuple(x) for x in found.x] == [x for _, (x, _) in wanted]
    assert found.y is None


@pytest.mark.parametrize("change", ["other rows", "more rows", "no rows", "moved to the front"])
@pytest.mark.parametrize("combine", ["mean", "sum", "first", "none"])
def test_one_persons_rows_change_one_unit(change, combine):
    schema = make_schema(combine=combine, target=None if combine == "none" else "majority")
    rng = np.random.default_rng(4)
    lines = random_lines(rng, n=90)
    who = read_id(lines[10]["who"]) or "p1"
    mine = [line for line in lines if read_id(line["who"]) == who]
    others = [line for line in lines if read_id(line["who"]) != who]
    new = [{**line, "who": who} for line in random_lines(rng, n=500)]
    table = {
        "other rows": [{**line, **{k: new[0][k] for k in ("age", "kind")}} if line in mine else line
                       for line in lines],
        "more rows": [*new[:250], *lines, *new[250:]],
        "no rows": others,
        "moved to the front": [*mine, *others],
    }[change]  # fmt: skip
    one, two = (units_of(schema, to_columns(part), 9) for part in (lines, table))
    slots = schema.unit.max_rows if combine == "none" else 1

    def multiset(units):
        shape = (-1, slots * units.x.shape[1])
        rows = units.x.reshape(shape).tolist(), units.y.reshape(-1, slots).tolist()
        return sorted(map(tuple, (a + b for a, b in zip(*rows))))

    from collections import Counter

    a, b = (Counter(multiset(units)) for units in (one, two))
    assert (a - b).total() <= 1
    assert (b - a).total() <= 1


def test_ids_are_texts_whatever_stores_them():
    assert read_id(17) == read_id("17") == read_id(17.0) == read_id(np.int64(17)) == " 17 ".strip()
    assert read_id("e\u0301va") == read_id(" \u00e9va ")
    assert read_id(float("nan")) == read_id(float("inf")) == read_id(None) == read_id([]) == ""
    assert read_id(2**70) == str(2**70)


def test_siphash_is_the_published_one():
    """The first vectors of the reference implementation, for keys 00..0f and bytes 00, 01, ..."""
    first, second = np.uint64(0x0706050403020100), np.uint64(0x0F0E0D0C0B0A0908)
    words = [np.array([first]), np.array([second])]
    assert int(sip_hash(first, second, words[:1])[0]) == 0x93F5F5799A932462
    assert int(sip_hash(first, second, words)[0]) == 0x3F2ACC7F57C29BDB
