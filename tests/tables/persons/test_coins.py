"""Who is kept, and which rows of hers: by coins that nobody can tell, and by nothing else.

False alarms of the statistical tests: at most 1e-6, by chi-square and binomial bounds; seeds are
fixed. Each is also run on a broken twin, which it catches.
"""

import numpy as np
import pytest
from scipy import stats

from tables.persons.tables import make_schema, to_columns, units_of
from veilspan.curator.row_store import RowStore
from veilspan.tables.encoding import Encoded
from veilspan.tables.persons import kept_rows
from veilspan.tables.persons.secret_order import PersonCoins

ALPHA = 1e-6


def line(who, age, when="2020-03-05", label="yes"):
    return {"who": who, "when": when, "age": str(age), "kind": "a", "label": label}


def kept_ages(keys, *, turned=False, max_rows=2):
    """How often each of ten rows of a person is kept, over many keys."""
    schema = make_schema(combine="none", target=None, max_rows=max_rows)
    lines = [line("p1", age) for age in range(0, 100, 10)]
    if turned:
        lines = lines[::-1]
    counts = np.zeros(10)
    for key in range(keys):
        units = units_of(schema, to_columns(lines), key)
        ages = np.rint((units.x[:, 1] + 1) * 50 / 10).astype(int)  # 0 .. 9
        counts[ages] += 1
    return counts


def is_uniform(counts):
    return stats.chisquare(counts).pvalue > ALPHA


def test_every_row_of_a_person_is_kept_as_often():
    assert is_uniform(kept_ages(400))
    assert is_uniform(kept_ages(400, turned=True))


def test_keeping_the_first_rows_of_the_file_is_caught(monkeypatch):
    """The broken twin: rows are kept in the order of the file, whatever their coins."""
    monkeypatch.setattr(
        kept_rows, "_toss", lambda marks, numbers, counts, coins: numbers.astype(np.uint64)
    )
    assert not is_uniform(kept_ages(60))


def test_ties_of_an_order_are_broken_by_coins(monkeypatch):
    schema = make_schema(keep="last", combine="none", target=None, max_rows=1)
    lines = [line("p1", age) for age in range(0, 100, 10)]  # all of one day

    def counts(keys):
        found = np.zeros(10)
        for key in range(keys):
            units = units_of(schema, to_columns(lines), key)
            found[int(np.rint((units.x[0, 1] + 1) * 5))] += 1
        return found

    assert is_uniform(counts(400))
    monkeypatch.setattr(
        kept_rows, "_toss", lambda marks, numbers, counts, coins: numbers.astype(np.uint64)
    )
    assert not is_uniform(counts(60))


def test_ties_of_a_majority_are_broken_by_coins():
    schema = make_schema(target="majority")
    lines = [line("p1", 5, label="no"), line("p1", 6), line("p2", 7)]
    yes = schema.classes.index("yes")
    found = []
    for key in range(400):
        units = units_of(schema, to_columns(lines), key)
        found.append(units.y[np.argmin(units.x[:, 1])])
    wins = sum(y == yes for y in found)
    low, high = stats.binom.interval(1 - ALPHA, 400, 0.5)
    assert low <= wins <= high


def first_of(coins_of, keys, people=20):
    """Who of so many stands first, over many keys."""
    ids = [f"p{i}" for i in range(people)]
    counts = np.zeros(people)
    for key in range(keys):
        marks = coins_of(key).mark_people(ids)
        counts[np.lexsort((marks[:, 1], marks[:, 0]))[0]] += 1
    return counts


def secret(key):
    return PersonCoins.draw(np.random.default_rng(key))


def test_people_stand_in_a_secret_random_order():
    assert is_uniform(first_of(secret, 1000))


def test_ids_hashed_without_a_key_are_caught():
    """The broken twin: whoever knows the ids knows who is cut, and may choose to be."""
    assert not is_uniform(first_of(lambda key: PersonCoins(b"public".ljust(32)), 1000))


def place_units(units, group, count, coins):
    """Units in places, as a fit puts them there."""
    store = RowStore(units.x.shape[1], with_targets=True, group=group)
    store.add(units.x, units.y, units.present)
    (block,) = store.finish(count, coins).blocks(1000)
    return block


def test_who_is_cut_from_too_many_is_random():
    schema = make_schema(target="majority")
    lines = [line(f"p{i}", 10 * i) for i in range(10)]
    counts = np.zeros(10)
    for key in range(300):
        units = units_of(schema, to_columns(lines), key)
        placed = place_units(units, 1, 4, np.random.default_rng(key))
        assert placed.present.all()
        counts[np.rint((placed.x[:, 1] + 1) * 5).astype(int)] += 1
    # Four of ten without replacement: less spread than independent draws, so the bound holds.
    assert is_uniform(counts)


@pytest.mark.parametrize("group", [1, 3])
def test_places_are_filled_at_random_and_the_rest_is_absent(group):
    units = Encoded(np.arange(1.0, 1 + 5 * group)[:, None], np.ones(5 * group), None)
    counts = np.zeros(8)
    for key in range(300):
        placed = place_units(units, group, 8, np.random.default_rng(key))
        assert placed.x.shape == (8 * group, 1)
        assert placed.present.sum() == 5 * group
        assert not placed.x[~placed.present].any()
        assert not placed.y[~placed.present].any()
        taken = placed.x.reshape(8, group)
        # The rows of a unit stay together and in their order.
        filled = taken[taken[:, 0] > 0]
        assert (np.diff(filled, axis=1) == 1).all()
        counts[taken[:, 0] == 1] += 1  # where the first unit lies
    assert is_uniform(counts)


def test_one_more_person_moves_one_place_for_some_coupling():
    """All placements of two and of three people among three places: the proof, counted out."""
    from collections import Counter
    from itertools import permutations

    def law(people):
        found = Counter()
        for order in permutations(range(3)):
            places = [0, 0, 0]
            for person, place in zip(range(1, people + 1), order):
                places[place] = person
            found[tuple(places)] += 1
        return found

    two, three = law(2), law(3)
    # The coupling: the further person goes to the one place that is free.
    moved = Counter()
    for places, weight in two.items():
        free = places.index(0)
        moved[tuple(3 if i == free else p for i, p in enumerate(places))] += weight
    assert moved == three
