"""The same table from every kind of storage gives the same encoded rows, bit by bit."""

import datetime
import io
from decimal import Decimal

import numpy as np
import pytest

from tables.hostile import HEADER, NAMES, SCHEMA, random_lines, usual_lines
from tables.reference import encode_slowly, rows_of, same_bits
from veilspan.tables.cell_rules import CellReader, read_cell
from veilspan.tables.cells import encode_values
from veilspan.tables.encoding import Encoder, encode_table
from veilspan.tables.persons.person_ids import read_id
from veilspan.tables.sources.csv_file import CsvFile
from veilspan.tables.sources.open_table import as_source, open_table
from veilspan.tables.sources.table_source import TableError

#: Values that stand in object columns, and in no file of text.
VALUES = [
    *(None, float("nan"), float("inf"), 1, 7, 7.0, 0.5, -99, -99.0, 2.5, 3.5, -0.4, True, False),
    *(np.int64(7), np.float32(0.5), np.bool_(True), np.float64("nan"), 10**400, Decimal("7.00")),
    *(Decimal("0.5"), Decimal("sNaN"), Decimal("Infinity"), b"7", b"\xff", "7", "a", " a ", "yes"),
    *("2022-02-03", datetime.date(2022, 2, 3), datetime.datetime(2022, 2, 3, 23, 59)),
    datetime.datetime(2022, 2, 3, 23, 59, tzinfo=datetime.timezone(datetime.timedelta(hours=-2))),
    *(np.datetime64("2022-02-03T10"), np.datetime64("NaT"), np.datetime64("-9999999-01-01")),
    *(datetime.timedelta(1), [], {}, object(), complex(1, 2), 1e300, -1e300, "1e400", "sick"),
]


class Nasty:
    """A value that fails at everything."""

    def __eq__(self, other):
        raise RuntimeError("SECRET-7391")

    def __hash__(self):
        raise RuntimeError("SECRET-7391")

    def __float__(self):
        raise RuntimeError("SECRET-7391")


def fail(*args):
    raise RuntimeError("SECRET-7391")


#: Numbers, texts and dates of somebody's own class that fail when they are asked what they are.
NASTY_KINDS = [
    type("NastyText", (str,), {"isascii": fail, "strip": fail})("7"),
    type("NastyWhole", (int,), {"__int__": fail})(7),
    type("NastyDay", (datetime.date,), {"__str__": fail, "toordinal": fail})(2022, 2, 3),
]


@pytest.mark.parametrize("value", NASTY_KINDS, ids=lambda value: type(value).__name__)
def test_values_of_own_classes_tell_nothing(value):
    for column in SCHEMA.columns:
        cell = read_cell(column, value, SCHEMA.file)
        assert cell in (read_cell(column, 7, SCHEMA.file), read_cell(column, None, SCHEMA.file))
    assert read_id(value) in ("", "7", "2022-02-03")


def reference(columns, schema=SCHEMA):
    """Encode lists of values cell by cell."""
    n = len(next(iter(columns.values())))
    rows = [
        [x for c in schema.features for x in read_cell(c, columns[c.name][i], schema.file)]
        for i in range(n)
    ]
    return np.array(rows)


def objects(seed=0, n=300):
    rng = np.random.default_rng(seed)
    values = [*VALUES, Nasty()]
    return {name: [values[i] for i in rng.integers(len(values), size=n)] for name in NAMES}


@pytest.mark.parametrize("kind", ["dict", "pandas", "array"])
def test_objects_are_read_one_by_one(kind):
    columns = objects()
    expected = reference(columns)
    if kind == "pandas":
        pd = pytest.importorskip("pandas")
        table = pd.DataFrame({n: pd.Series(v, dtype=object) for n, v in columns.items()})
    elif kind == "array":
        table = {}
        for name, values in columns.items():
            table[name] = np.empty(len(values), dtype=object)
            table[name][:] = values
    else:
        table = columns
    encoded = encode_table(SCHEMA, table)
    assert encoded.x.tobytes() == expected.tobytes()


def test_equal_values_of_other_types_are_others():
    cells = encode_values([1, True, 1.0, "1", 1])
    assert cells.codes.tolist() == [0, 1, 2, 3, 0]
    reader = CellReader(SCHEMA.columns[3], SCHEMA.file)
    assert reader.read(7) == reader.read(7.0) == reader.read("7") == 2.0
    assert np.isnan(reader.read(True))


# Typed columns.


def typed(rng, n=500):
    """Columns of NumPy, with what is missing; numbers under categories and text under numbers."""
    number = rng.normal(0, 20, n)
    number[rng.random(n) < 0.1] = np.nan
    number[:3] = np.inf, -99.0, 1e308
    days = np.datetime64("2019-06-01") + rng.integers(0, 3000, n)
    days[rng.random(n) < 0.1] = np.datetime64("NaT")
    groups = rng.choice([7, 8, -99, 2**53 + 1], n)
    return {
        "number": number,
        "whole": rng.integers(-300, 300, n).astype(np.int16),
        "level": rng.gamma(1, 100, n).astype(np.float32),
        "group": groups,
        "kind": rng.choice(["k", "l", "m", ""], n),
        "flag": rng.random(n) < 0.5,
        "day": days,
        "result": rng.choice(["sick", "healthy", "NA"], n),
    }


def as_objects(columns):
    """The same as lists of Python values, for the reference."""
    return {name: list(values) for name, values in columns.items()}


@pytest.mark.parametrize("seed", range(3))
def test_typed_arrays(seed):
    columns = typed(np.random.default_rng(seed))
    encoded = encode_table(SCHEMA, columns)
    assert encoded.x.tobytes() == reference(as_objects(columns)).tobytes()
    assert encoded.present.tolist() == [v != "NA" for v in columns["result"]]


def test_rows_have_the_same_bits_in_batches_of_any_size():
    columns = typed(np.random.default_rng(4), 5000)
    whole = encode_table(SCHEMA, columns)
    for start, stop in ((0, 1), (17, 20), (1000, 4097), (4999, 5000)):
        part = encode_table(SCHEMA, {n: v[start:stop] for n, v in columns.items()})
        assert part.x.tobytes() == whole.x[start:stop].tobytes()
        assert part.y.tobytes() == whole.y[start:stop].tobytes()


def test_masked_arrays_and_structured_arrays():
    columns = typed(np.random.default_rng(5), 50)
    masked = {n: np.ma.MaskedArray(v, mask=np.arange(50) % 3 == 0) for n, v in columns.items()}
    expected = {n: [None if i % 3 == 0 else x for i, x in enumerate(v)] for n, v in columns.items()}
    assert encode_table(SCHEMA, masked).x.tobytes() == reference(expected).tobytes()
    table = np.empty(50, dtype=[(n, v.dtype) for n, v in columns.items()])
    for name, values in columns.items():
        table[name] = values
    assert encode_table(SCHEMA, table).x.tobytes() == encode_table(SCHEMA, columns).x.tobytes()


def frame_of(columns, **kinds):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({name: pd.Series(values) for name, values in columns.items()})
    return frame.astype(kinds)


@pytest.mark.parametrize(
    "kinds",
    [
        {},
        {"whole": "Int16", "flag": "boolean", "number": "Float64", "group": "Int64"},
        {"kind": "category", "group": "category", "whole": "category", "result": "category"},
        {"kind": "string", "number": "float32"},
        {"kind": "object", "flag": "object", "whole": "object"},
        {"day": "datetime64[ns, UTC]"},
        {"day": "datetime64[ns, America/New_York]"},
        {"whole": "int16[pyarrow]", "kind": "string[pyarrow]", "number": "double[pyarrow]"},
    ],
    ids=lambda kinds: "-".join(kinds.values()) or "plain",
)
def test_pandas(kinds):
    columns = typed(np.random.default_rng(6), 300)
    if "float32" in kinds.values():
        columns["number"] = np.clip(columns["number"], -1e30, 1e30).astype(np.float32)
    frame = frame_of(columns, **{k: v for k, v in kinds.items() if "UTC" not in v and "/" not in v})
    for name, kind in kinds.items():
        if "datetime" in kind:
            zone = kind.split(", ")[1].rstrip("]")
            frame[name] = frame[name].dt.tz_localize("UTC").dt.tz_convert(zone)
    expected = reference(as_objects(columns))
    assert encode_table(SCHEMA, frame).x.tobytes() == expected.tobytes()


def test_pandas_nullable_columns_with_missing_cells():
    pd = pytest.importorskip("pandas")
    n = 40
    gone = np.arange(n) % 4 == 0
    columns = {
        "number": [None if g else 1.25 for g in gone],
        "whole": [None if g else 30 for g in gone],
        "level": [None if g else 7 for g in gone],
        "group": [None if g else 7 for g in gone],
        "kind": [None if g else "k" for g in gone],
        "flag": [None if g else True for g in gone],
        "day": [None if g else datetime.date(2022, 2, 3) for g in gone],
        "result": [None if g else "sick" for g in gone],
    }
    kinds = {"number": "Float64", "whole": "UInt8", "level": "Int32", "group": "Int64",
             "kind": "string", "flag": "boolean", "result": "category"}  # fmt: skip
    frame = pd.DataFrame({name: pd.Series(v, dtype=object) for name, v in columns.items()})
    frame = frame.astype(kinds)
    frame["period"] = pd.period_range("2020-01", periods=n, freq="M")
    encoded = encode_table(SCHEMA, frame.drop(columns="period"))
    assert encoded.x.tobytes() == reference(columns).tobytes()
    assert as_source(frame, SCHEMA.file).kinds == {
        "number": "number", "whole": "integer", "level": "integer", "group": "integer",
        "kind": "text", "flag": "boolean", "day": "text", "result": "category", "period": "other",
    }  # fmt: skip


# Arrow.


def arrow_table(columns):
    pa = pytest.importorskip("pyarrow")
    return pa.table({n: pa.array(v, from_pandas=n == "number") for n, v in columns.items()})


@pytest.mark.parametrize(
    "casts",
    [
        {},
        {"kind": "dictionary", "group": "dictionary", "result": "dictionary"},
        {"kind": "large_string", "result": "string_view"},
        {"day": "timestamp", "whole": "int64"},
        {"day": "zoned"},
        {"day": "date64"},
        {"flag": "dictionary", "day": "dictionary", "whole": "dictionary"},
    ],
    ids=lambda casts: "-".join(casts.values()) or "plain",
)
@pytest.mark.parametrize("chunks", [1, 7])
def test_arrow(casts, chunks):
    pa = pytest.importorskip("pyarrow")
    columns = typed(np.random.default_rng(7), 301)
    table = arrow_table(columns)
    types = {"timestamp": pa.timestamp("us"), "zoned": pa.timestamp("ms", "Asia/Tokyo"),
             "large_string": pa.large_string(), "string_view": pa.string_view(),
             "date64": pa.date64(), "int64": pa.int64()}  # fmt: skip
    for name, kind in casts.items():
        place = table.schema.get_field_index(name)
        column = table.column(name)
        column = column.dictionary_encode() if kind == "dictionary" else column.cast(types[kind])
        table = table.set_column(place, name, column)
    size = -(-len(table) // chunks)
    table = pa.concat_tables([table.slice(i, size) for i in range(0, len(table), size)])
    expected = encode_table(SCHEMA, columns)
    for each in (table, pa.RecordBatchReader.from_batches(table.schema, table.to_batches())):
        encoded = encode_table(SCHEMA, each)
        assert encoded.x.tobytes() == expected.x.tobytes()
        assert encoded.y.tobytes() == expected.y.tobytes()
        assert encoded.present.tobytes() == expected.present.tobytes()


def test_arrow_nulls_decimals_and_types_that_say_nothing():
    pa = pytest.importorskip("pyarrow")
    decimals = [Decimal("7.10"), None, Decimal("12345678901234567890.123456789"), Decimal("0.10")]
    columns = {
        "number": decimals,
        "whole": [None, 3, 4, None],
        "level": [None, None, None, None],
        "group": [7, None, 7, 8],
        "kind": ["k", None, "l", "\ud7ff"],
        "flag": [True, None, False, True],
        "day": [datetime.date(2022, 2, 3), None, datetime.date(1, 1, 1), None],
        "result": [None, "sick", None, "healthy"],
    }
    kinds = {"number": pa.decimal128(38, 9), "level": pa.null(), "group": pa.int64()}
    table = pa.table({n: pa.array(v, kinds.get(n)) for n, v in columns.items()})
    assert encode_table(SCHEMA, table).x.tobytes() == reference(columns).tobytes()
    odd = {**columns, "kind": [None] * 4, "day": [None] * 4, "level": [None] * 4}
    table = table.set_column(4, "kind", pa.array([["k"], [], None, ["l"]]))
    table = table.set_column(6, "day", pa.array([datetime.time(1)] * 4))
    table = table.set_column(2, "level", pa.array([b"7"] * 4))
    assert encode_table(SCHEMA, table).x.tobytes() == reference(odd).tobytes()


def test_arrow_texts_that_are_no_utf8():
    pa = pytest.importorskip("pyarrow")
    raw = pa.array([b"a\xff", b"a", None, b"\xff"])
    bad = pa.StringArray.from_buffers(4, raw.buffers()[1], raw.buffers()[2], raw.buffers()[0], 1)
    columns = {n: v[:4] for n, v in typed(np.random.default_rng(0)).items()}
    table = arrow_table(columns)
    table = table.set_column(3, "group", bad)
    expected = {**as_objects(columns), "group": ["a\ufffd", "a", None, "\ufffd"]}
    assert encode_table(SCHEMA, table).x.tobytes() == reference(expected).tobytes()


def test_polars():
    pl = pytest.importorskip("polars")
    columns = typed(np.random.default_rng(8), 300)
    frame = pl.DataFrame(columns)
    expected = encode_table(SCHEMA, columns)
    for each in (frame, frame.with_columns(pl.col("kind").cast(pl.Categorical))):
        assert encode_table(SCHEMA, each).x.tobytes() == expected.x.tobytes()


# Files.


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.feather", "t.ipc"])
def test_files_with_types(name, tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    columns = typed(np.random.default_rng(9), 1000)
    table = arrow_table(columns).append_column("note", pa.array(["SECRET"] * 1000))
    path = tmp_path / name
    if name.endswith("parquet"):
        pq.write_table(table, path, row_group_size=300)
    elif name.endswith("ipc"):
        with pa.OSFile(str(path), "wb") as out, pa.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table, max_chunksize=300)
    else:
        with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table, max_chunksize=300)
    source = open_table(path)
    assert source.names == (*columns, "note")
    assert source.kinds["whole"] == "integer"
    assert source.kinds["day"] == "date"
    assert source.count_rows() == 1000
    for _ in range(2):
        assert encode_table(SCHEMA, source).x.tobytes() == encode_table(SCHEMA, columns).x.tobytes()


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_files_that_are_none(name, tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / name
    path.write_bytes(b"SECRET-7391" * 100)
    with pytest.raises(TableError, match="damaged, or no") as told:
        _ = open_table(path).names
    assert "SECRET" not in str(told.value)
    assert told.value.__cause__ is None
    assert told.value.__context__ is None


def test_csv_and_objects_agree():
    lines = [
        *usual_lines(np.random.default_rng(1), 200),
        *random_lines(np.random.default_rng(2), 200),
    ]
    data = HEADER + b"\n".join(lines)
    rows = [row or [None] * len(NAMES) for row in rows_of(data, SCHEMA)]
    columns = dict(zip(NAMES, map(list, zip(*rows))))
    same_bits(encode_table(SCHEMA, columns), encode_slowly(data, SCHEMA))
    same_bits(encode_table(SCHEMA, CsvFile(io.BytesIO(data))), encode_slowly(data, SCHEMA))


# Opening.


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("t.csv.gz", "gunzip"), ("t.zip", "unzip"), ("t.xlsx", "end in .csv"),
        ("missing.csv", "does not exist"), ("missing.parquet", "does not exist"),
        ("postgresql://u:hunter2@h/d", "which table"),
    ],
)  # fmt: skip
def test_what_cannot_be_opened_has_a_way_out(name, words):
    with pytest.raises(TableError, match=words) as told:
        open_table(name)
    assert "hunter2" not in str(told.value)


def test_tables_without_names_are_refused():
    with pytest.raises(TypeError, match="no table with names"):
        as_source(np.zeros((3, 2)), SCHEMA.file)
    with pytest.raises(TableError, match="one dimension"):
        as_source({"a": np.zeros((2, 2))}, SCHEMA.file)
    with pytest.raises(TableError, match="same length"):
        as_source({"a": [1], "b": [1, 2]}, SCHEMA.file)
    with pytest.raises(TableError, match="is for databases"):
        open_table("t.csv", table="x")


def test_standard_input_is_kept_where_nobody_else_can_read_it(monkeypatch):
    import os
    import stat
    import sys

    data = HEADER + b"\n".join(usual_lines(np.random.default_rng(1), 20))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    source = open_table("-")
    info = os.fstat(source._path._file.fileno())
    assert stat.S_IMODE(info.st_mode) == 0o600
    assert info.st_nlink == 0
    same_bits(encode_table(SCHEMA, source), encode_slowly(data, SCHEMA))


def test_tabs(tmp_path):
    path = tmp_path / "t.tsv"
    data = HEADER + b"\n".join(usual_lines(np.random.default_rng(1), 20))
    path.write_bytes(data.replace(b",", b"\t"))
    same_bits(encode_table(SCHEMA, open_table(path)), encode_slowly(data, SCHEMA))


def test_the_encoder_needs_no_table():
    assert [column.name for column in Encoder(SCHEMA).columns] == list(NAMES[:-1])
    assert [column.name for column in Encoder(SCHEMA, target=False).columns] == list(NAMES[:-2])
