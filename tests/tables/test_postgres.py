"""Tables of a PostgreSQL server: typed, escaped, one line a row."""

import datetime
import traceback
from decimal import Decimal

import numpy as np
import pytest

from ledger.server import fresh_database, running_server, why_no_server
from tables.hostile import CELLS, NAMES, SCHEMA, SECRET
from tables.test_storage import reference
from veilspan.tables.encoding import encode_table
from veilspan.tables.sources import postgres_table
from veilspan.tables.sources.csv_lines import parse_lines
from veilspan.tables.sources.open_table import open_table
from veilspan.tables.sources.table_source import TableError


@pytest.fixture(scope="module")
def server():
    reason = why_no_server()
    if reason:
        pytest.skip(reason)
    with running_server() as url:
        yield url


@pytest.fixture
def database(server):
    with fresh_database(server) as url:
        yield url


@pytest.fixture(params=["pyarrow", "python"])
def parser(request, monkeypatch):
    if request.param == "pyarrow":
        pytest.importorskip("pyarrow")
    else:
        monkeypatch.setattr(postgres_table, "choose_parser", lambda: (parse_lines, 1000))


def write(url, table, kinds, rows):
    import psycopg
    from psycopg import sql

    with psycopg.connect(url, autocommit=True) as connection:
        columns = sql.SQL(", ").join(
            sql.SQL("{} ").format(sql.Identifier(name)) + sql.SQL(kind)
            for name, kind in kinds.items()
        )
        where = sql.Identifier(*table.split("."))
        connection.execute(sql.SQL("CREATE TABLE {} ({})").format(where, columns))
        insert = sql.SQL("INSERT INTO {} VALUES ({})").format(
            where, sql.SQL(", ").join([sql.Placeholder()] * len(kinds))
        )
        connection.cursor().executemany(insert, rows)


TYPED = {
    "number": "float8", "whole": "int4", "level": "numeric", "group": "numeric", "kind": "text",
    "flag": "boolean", "day": "date", "result": "text", "note": "text",
}  # fmt: skip


def typed_rows():
    days = [datetime.date(2022, 2, 3), None, datetime.date(1, 1, 1), datetime.date(9999, 12, 31)]
    numbers = [1.25, None, float("nan"), float("inf"), -99.0, 1e300, 0.1]
    wholes = [3, None, -99, 2**31 - 1]
    decimals = [Decimal("7.00"), None, Decimal("0.50"), Decimal("NaN"), Decimal("123.456789")]
    texts = ["k", None, "l", "", "\\N", "a\tb", "a\nb", "a\\b", "k\r", '"', "Zoë"]
    rng = np.random.default_rng(0)

    def pick(values):
        return values[rng.integers(len(values))]

    return [
        (pick(numbers), pick(wholes), pick(decimals), pick(decimals), pick(texts),
         pick([True, False, None]), pick(days), pick(["sick", "healthy", None]), SECRET)
        for _ in range(300)
    ]  # fmt: skip


def same_rows(encoded, expected):
    """Whether they have the same bits in some order: a table of a server has none."""
    return sorted(row.tobytes() for row in encoded.x) == sorted(row.tobytes() for row in expected)


def test_typed_columns_are_what_they_are(database, parser):
    rows = typed_rows()
    write(database, "visits", TYPED, rows)
    source = open_table(database, table="visits")
    assert source.names == NAMES
    assert list(source.kinds.values()) == [
        "number", "integer", "number", "number", "text", "boolean", "date", "text", "text",
    ]  # fmt: skip
    assert source.count_rows() == 300
    columns = dict(zip(NAMES, zip(*rows)))
    for _ in range(2):
        encoded = encode_table(SCHEMA, source)
        assert same_rows(encoded, reference(columns))
        assert encoded.present.sum() == sum(row[7] is not None for row in rows)


def test_texts_are_read_as_cells_of_a_file(database, parser):
    texts = [c.decode("utf-8", "replace").replace("\0", "") for c in CELLS]
    rng = np.random.default_rng(1)
    rows = [tuple(texts[i] for i in rng.integers(len(texts), size=9)) for _ in range(300)]
    write(database, "visits", dict.fromkeys(NAMES, "text"), rows)
    encoded = encode_table(SCHEMA, open_table(database, table="visits"))
    assert same_rows(encoded, reference(dict(zip(NAMES, zip(*rows)))))


def test_moments_count_by_their_date(database, parser):
    zoned = datetime.timezone(datetime.timedelta(hours=-2))
    moments = [
        datetime.datetime(2022, 2, 3, 23, 59, 1, 5), None, datetime.datetime(1990, 1, 1),
    ]  # fmt: skip
    late = [None if m is None else m.replace(tzinfo=zoned) for m in moments]
    base = (1.0, 2, 3, 7, "k", True)
    write(database, "a", {**TYPED, "day": "timestamp"}, [(*base, m, "sick", "") for m in moments])
    write(database, "b", {**TYPED, "day": "timestamptz"}, [(*base, m, "sick", "") for m in late])
    for table, days in (("a", moments), ("b", late)):
        columns = dict(zip(NAMES, zip(*[(*base, m, "sick", "") for m in days])))
        encoded = encode_table(SCHEMA, open_table(database, table=table))
        assert same_rows(encoded, reference(columns))


def test_days_that_python_does_not_have_are_at_the_border(database, parser):
    import psycopg

    write(database, "a", TYPED, [(1.0, 2, 3, 7, "k", True, None, "sick", "")] * 4)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE a SET day = '0044-03-15 BC' WHERE ctid = '(0,1)'")
        connection.execute("UPDATE a SET day = 'infinity' WHERE ctid = '(0,2)'")
        connection.execute("UPDATE a SET day = '12022-02-03' WHERE ctid = '(0,3)'")
    days = (datetime.date.min, None, datetime.date.max, None)  # infinity is missing
    lines = [(1.0, 2, 3, 7, "k", True, day, "sick", "") for day in days]
    encoded = encode_table(SCHEMA, open_table(database, table="a"))
    assert same_rows(encoded, reference(dict(zip(NAMES, zip(*lines)))))


def test_an_array_is_no_number(database):
    write(database, "visits", {"ages": "integer[]", "age": "integer"}, [([1, 2], 1)])
    assert open_table(database, table="visits").kinds == {"ages": "text", "age": "integer"}


def test_a_name_is_quoted_and_a_schema_goes_before_it(database, parser):
    import psycopg

    evil = 'x"; DROP TABLE visits; --'
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA ward")
    write(database, "ward.visits", TYPED, typed_rows()[:5])
    write(database, evil, TYPED, typed_rows()[:5])
    for table in ("ward.visits", evil):
        assert len(encode_table(SCHEMA, open_table(database, table=table))) == 5
    assert open_table(database, table="ward.visits").count_rows() == 5


def test_an_empty_table(database, parser):
    write(database, "visits", TYPED, [])
    assert encode_table(SCHEMA, open_table(database, table="visits")).x.shape == (
        0,
        len(SCHEMA.columns_out),
    )


def told_by(error):
    return "".join(traceback.format_exception(error)) + repr(error.__context__)


def test_errors_name_no_password_and_no_row(database):
    with pytest.raises(TableError, match="does not exist") as told:
        _ = open_table(database, table="nothing").names
    wrong = "postgresql://veilspan:hunter2@localhost:1/nothing?connect_timeout=1"
    with pytest.raises(TableError, match="cannot be reached") as unreachable:
        _ = open_table(wrong, table="visits").names
    with pytest.raises(TableError, match="read in two ways") as unclear:
        open_table("postgresql://u:hun/ter2@h@x/d", table="visits")
    for error in (told.value, unreachable.value, unclear.value):
        assert "hunter2" not in str(error)
        assert "ter2" not in str(error)
        assert error.__cause__ is None
        assert error.__context__ is None
    assert "hunter2" not in told_by(unreachable.value)


def test_a_view_that_fails_at_a_row_tells_nothing_of_it(database):
    import psycopg

    write(database, "visits", TYPED, [(1.0, 2, 3, 7, SECRET, True, None, "sick", "")])
    with psycopg.connect(database, autocommit=True) as connection:
        names = ", ".join(f'"{n}"' for n in NAMES if n != "whole")
        connection.execute(f'CREATE VIEW v AS SELECT {names}, kind::int AS "whole" FROM visits')
    with pytest.raises(TableError, match="22P02") as told:
        encode_table(SCHEMA, open_table(database, table="v"))
    assert SECRET not in told_by(told.value)
