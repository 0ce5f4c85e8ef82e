"""The same people whatever holds their rows: files, frames, a database, a cluster."""

import csv
from collections import Counter

import numpy as np
import pytest

from ledger.server import fresh_database, running_server, why_no_server
from tables.persons.reference import gather_slowly
from tables.persons.tables import make_schema, random_lines, to_columns, units_of
from veilspan.tables.persons.secret_order import PersonCoins
from veilspan.tables.sources.open_table import open_table

LINES = random_lines(np.random.default_rng(11), n=300, ids=[f"p{i}" for i in range(60)])
SEED = 4
SETTINGS = [
    {"combine": "mean", "target": "majority"},
    {"combine": "last", "keep": "first", "target": "any"},
]


def reference(schema):
    coins = PersonCoins.draw(np.random.default_rng(SEED))
    slow = gather_slowly(schema, LINES, coins)
    return Counter((x, y) for x, y in slow.values())


def multiset(units):
    return Counter(
        (tuple(x), y if known else None)
        for x, y, known in zip(units.x.tolist(), units.y.tolist(), units.present)
    )


def as_csv(folder):
    with open(folder / "v.csv", "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(LINES[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(LINES)
    return open_table(folder / "v.csv")


def as_pandas(folder):
    return pytest.importorskip("pandas").DataFrame(to_columns(LINES))


def as_polars(folder):
    return pytest.importorskip("polars").DataFrame(to_columns(LINES))


def as_parquet(folder):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table(to_columns(LINES)), folder / "v.parquet", row_group_size=37)
    return open_table(folder / "v.parquet")


KINDS = {"csv": as_csv, "pandas": as_pandas, "polars": as_polars, "parquet": as_parquet}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_storage_has_the_same_people(kind, setting, tmp_path):
    schema = make_schema(**setting)
    assert multiset(units_of(schema, KINDS[kind](tmp_path), SEED)) == reference(schema)


def test_postgresql_has_the_same_people():
    reason = why_no_server()
    if reason:
        pytest.skip(reason)
    import psycopg

    schema = make_schema()
    with running_server() as server, fresh_database(server) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            names = ", ".join(f'"{name}" text' for name in LINES[0])
            connection.execute(f"CREATE TABLE visits ({names})")  # type: ignore[arg-type]
            connection.cursor().executemany(
                "INSERT INTO visits VALUES (%s, %s, %s, %s, %s)",
                [tuple(line.values()) for line in LINES],
            )
        found = units_of(schema, open_table(url, table="visits"), SEED)
        assert multiset(found) == reference(schema)


@pytest.mark.parametrize("parts", [1, 5])
def test_a_cluster_has_the_same_people(parts):
    dask = pytest.importorskip("dask.dataframe")
    from veilspan.curator.dask.tasks import results
    from veilspan.estimators.people_dask import DaskPeopleTable
    from veilspan.estimators.schema_input import numbers_of_classes
    from veilspan.tables.encoding import Encoded

    schema = make_schema(count=60)
    lazy = dask.from_pandas(as_pandas(None), npartitions=parts)
    table = DaskPeopleTable.open(schema, lazy, numbers_of_classes)
    x, y, present = table.gather(np.random.default_rng(SEED))
    assert x.shape == (60, len(schema.columns_out))
    assert table.found == reference(schema).total()
    whole = Encoded(*(np.concatenate(results(part.parts)) for part in (x, y, present)))
    found = multiset(whole)
    nobody = (tuple([0.0] * x.shape[1]), None)
    found[nobody] -= 60 - table.found
    assert +found == reference(schema)
    fewer = DaskPeopleTable.open(make_schema(count=20), lazy, numbers_of_classes)
    x, _, present = fewer.gather(np.random.default_rng(SEED))
    assert x.shape[0] == 20
    assert sum(map(len, results(present.parts))) == 20
    assert fewer.found == table.found


def test_numbers_and_texts_name_the_same_person():
    schema = make_schema(target=None, combine="none", max_rows=4)
    pandas = pytest.importorskip("pandas")
    lines = {**to_columns(LINES[:8])}
    ids = [17, 17, 3, 3, 3, 4, 17, 4]
    as_texts = units_of(schema, {**lines, "who": [str(i) for i in ids]}, 0)
    for stored in (
        pandas.Series(ids),
        pandas.Series(ids, dtype="float64"),
        pandas.Series(ids, dtype="Int64"),
        pandas.Series([str(i) for i in ids], dtype="category"),
    ):
        units = units_of(schema, pandas.DataFrame({**lines, "who": stored}), 0)
        np.testing.assert_array_equal(units.x, as_texts.x)
