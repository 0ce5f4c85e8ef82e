"""CSV files are read row by row: a line break ends a row, and nothing else does."""

import csv
import io
import time
import tracemalloc
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tables.hostile import CELLS, HEADER, LINES, NAMES, SCHEMA, random_lines, usual_lines
from tables.reference import cells_of, encode_slowly, same_bits
from veilspan.tables.encoding import encode_batches, encode_table
from veilspan.tables.file_format import FileFormat
from veilspan.tables.problems import SchemaError
from veilspan.tables.schema import Schema
from veilspan.tables.sources import csv_file
from veilspan.tables.sources.check_names import check_names
from veilspan.tables.sources.csv_file import CsvFile, KeptStream
from veilspan.tables.sources.csv_lines import parse_lines, read_blocks, split_quoted
from veilspan.tables.sources.table_source import TableError

PARSERS = ["pyarrow", "python"]


@pytest.fixture(params=PARSERS)
def parser(request, monkeypatch):
    if request.param == "pyarrow":
        pytest.importorskip("pyarrow")
    use(request.param, monkeypatch)
    return request.param


def use(name, monkeypatch, size=None):
    if name == "python":
        monkeypatch.setattr(csv_file, "choose_parser", lambda: (parse_lines, size or 1 << 20))
    elif size is not None:
        from veilspan.tables.sources.csv_arrow import parse_block

        monkeypatch.setattr(csv_file, "choose_parser", lambda: (parse_block, size))


def encode(data, schema=SCHEMA):
    return encode_table(schema, CsvFile(io.BytesIO(data), schema.file))


letters = st.sampled_from([b",", b'"', b"\r", b"a", b"7", b".", b"-", b" ", b"\xff", b"\0", b"e"])
soup = st.lists(letters, max_size=20).map(b"".join)
cell = st.one_of(st.sampled_from(CELLS), soup)
line = st.one_of(
    st.lists(cell, min_size=len(NAMES), max_size=len(NAMES)).map(b",".join),
    st.sampled_from(LINES),
    soup,
    st.integers(0, 2**32).map(lambda seed: usual_lines(np.random.default_rng(seed), 1)[0]),
)
ends = st.sampled_from([b"\n", b"\r\n"])
tables = st.lists(st.tuples(line, ends), max_size=12).map(
    lambda rows: b"".join(text + end for text, end in rows)
)


@settings(max_examples=200, deadline=None)
@given(body=tables, last=line, size=st.sampled_from([1, 50, 1000, 1 << 20]))
@example(body=b'1,2,3,"a,k,yes,2022-02-03,sick,\n' * 3, last=b"", size=1 << 20)
@example(body=b"", last=b"\xef\xbb\xbf5" + b"," * 8, size=1 << 20)
@example(body=b"5\r" + b"," * 8 + b"\r\r\n", last=b"\r", size=1)
@pytest.mark.parametrize("name", PARSERS)
def test_every_table_is_read_as_the_reference_reads_it(name, body, last, size):
    if name == "pyarrow":
        pytest.importorskip("pyarrow")
    data = HEADER + body + last
    with pytest.MonkeyPatch.context() as monkeypatch:
        use(name, monkeypatch, size)
        same_bits(encode(data), encode_slowly(data, SCHEMA))


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32), place=st.integers(0, 11), new=line)
@pytest.mark.parametrize("name", PARSERS)
def test_a_changed_row_changes_no_other_row(name, seed, place, new):
    if name == "pyarrow":
        pytest.importorskip("pyarrow")
    rng = np.random.default_rng(seed)
    lines = [*random_lines(rng, 6), *usual_lines(rng, 6)]
    before = encode(HEADER + b"\n".join(lines) + b"\n")
    lines[place] = new
    after = encode(HEADER + b"\n".join(lines) + b"\n")
    others = np.arange(12) != place
    assert before.x.shape == after.x.shape
    assert before.x[others].tobytes() == after.x[others].tobytes()
    assert before.y[others].tobytes() == after.y[others].tobytes()
    assert before.present[others].tobytes() == after.present[others].tobytes()


@pytest.mark.parametrize(
    "odd", [*CELLS, b'"5"x', b'"k"l', b' "k"', b'"k" ', b'""k', b'"7""', b'k""']
)
def test_one_odd_cell_among_usual_ones(odd, parser):
    """Alone, so that nothing else in the block sends it to the slow path."""
    usual = usual_lines(np.random.default_rng(0), 4)
    for place in range(len(NAMES)):
        cells = usual[2].split(b",")
        cells[place] = odd
        data = HEADER + b"\n".join([*usual[:2], b",".join(cells), usual[3]]) + b"\n"
        same_bits(encode(data), encode_slowly(data, SCHEMA))


@settings(max_examples=400)
@given(st.text(st.sampled_from('",;ab \0é'), max_size=30))
def test_quotes_are_read_as_the_strict_reader_reads_them(text):
    found = split_quoted(text, ",")
    if not text:
        assert found == [""]
        return
    limit = csv.field_size_limit(1 << 30)
    try:
        expected = next(csv.reader([text], strict=True))
    except csv.Error:
        expected = None
    finally:
        csv.field_size_limit(limit)
    assert found == expected


@pytest.mark.parametrize(
    "options",
    [
        {"separator": ";", "decimal": ","},
        {"separator": "\t"},
        {"separator": "|", "encoding": "latin-1"},
        {"separator": "^", "encoding": "cp1252"},
        {"encoding": "ascii"},
        {"encoding": "iso-8859-15", "missing": ("", "Zoë", "7,5", "a")},
    ],
)
def test_formats_are_those_of_the_schema(options, parser):
    file = FileFormat(**({"missing": ("", "NA", "-99")} | options))
    columns = tuple(
        replace(c, categories=("b b", "k", "l")) if c.name == "group" else c for c in SCHEMA.columns
    )
    schema = replace(SCHEMA, file=file, columns=columns)
    rng = np.random.default_rng(3)
    mark = file.separator.encode()
    lines = [each.replace(b",", mark) for each in random_lines(rng, 400)]
    decimals = [each.replace(b",", mark).replace(b".", file.decimal.encode()) for each in
                usual_lines(rng, 100)]  # fmt: skip
    data = HEADER.replace(b",", mark) + b"\r\n".join(lines + decimals)
    same_bits(encode(data, schema), encode_slowly(data, schema))


@pytest.mark.parametrize("odd", [b"7", b'"', b'"x"', b"x", b"1_", b"\xc2\xa0", b"\r"])
def test_a_cell_of_a_megabyte_is_a_cell(odd, parser):
    rng = np.random.default_rng(0)
    lines = usual_lines(rng, 30)
    cells = lines[7].split(b",")
    for place in range(len(cells)):
        lines[7] = b",".join([*cells[:place], odd * (1 << 20), *cells[place + 1 :]])
        data = HEADER + b"\n".join(lines)
        same_bits(encode(data), encode_slowly(data, SCHEMA))


def test_blocks_end_where_lines_end():
    data = b"ab\nc\n\n" + b"d" * 100 + b"\ne\r\nf"
    for size in range(1, 120):
        blocks = list(read_blocks(io.BytesIO(data), size))
        assert b"".join(blocks) == data
        assert all(block.endswith(b"\n") for block in blocks[:-1])
        assert all(blocks)


@pytest.mark.parametrize(
    ("body", "n"),
    [(b"", 0), (b"\n", 1), (b"a", 1), (b"a\n", 1), (b"a\nb", 2), (b"\n\n\n", 3), (b"a\rb\r\n", 1)],
)
def test_rows_are_lines(body, n, parser):
    source = CsvFile(io.BytesIO(HEADER + body))
    assert source.count_rows() == n
    assert len(encode_table(SCHEMA, source)) == n
    assert sum(map(len, encode_batches(SCHEMA, source))) == n


def test_a_byte_order_mark_is_no_part_of_the_first_name(parser):
    data = b"\xef\xbb\xbf" + HEADER + b"\n".join(usual_lines(np.random.default_rng(0), 5))
    assert CsvFile(io.BytesIO(data)).names == NAMES
    same_bits(encode(data), encode_slowly(data, SCHEMA))


def test_one_column_has_blank_lines(parser):
    schema = Schema.from_toml(
        'veilspan_schema = 1\nname = "one"\n[columns.a]\ntype = "number"\nrange = [0, 10]\n'
        'source = "made up"\nmissing_column = true\n'
    )
    data = b'a\n1\n\n"3"\n""\n"\n,\n\r\n4\r\n5'
    same_bits(encode(data, schema), encode_slowly(data, schema))


def wide_schema(columns):
    names = [f"c{i}" for i in range(columns)]
    text = "".join(
        f'[columns.{name}]\ntype = "number"\nrange = [0, 1]\nsource = "made up"\n' for name in names
    )
    return Schema.from_toml(f'veilspan_schema = 1\nname = "wide"\n{text}'), names


def test_two_thousand_columns(parser):
    schema, names = wide_schema(2000)
    row = ",".join(str(i / 2000) for i in range(2000))
    data = "\n".join([",".join(names), row, row.replace("0.5", "half"), row + ","]).encode()
    same_bits(encode(data, schema), encode_slowly(data, schema))


def test_very_wide_tables_are_compared_with_their_schema_in_time():
    """A set made anew for each name took minutes; hints for all names took hours."""
    schema, names = wide_schema(20_000)
    start = time.perf_counter()
    check_names(SimpleNamespace(names=tuple(names), label="X"), schema, needed=schema.columns)
    misnamed = SimpleNamespace(names=tuple(f"{name}_" for name in names), label="X")
    with pytest.raises(SchemaError) as told:
        check_names(misnamed, schema, needed=schema.columns)
    assert len(told.value.problems) == 40_001
    assert time.perf_counter() - start < 10


def test_a_block_too_large_for_pyarrow_is_read_all_the_same(monkeypatch):
    """pyarrow counts bytes by 32 bits, and somebody's cell must not decide whether a fit ends."""
    arrow_csv = pytest.importorskip("pyarrow.csv")

    def refuse(*args, **options):
        raise OverflowError("value too large to convert to int32_t")

    monkeypatch.setattr(arrow_csv, "ReadOptions", refuse)
    data = HEADER + b"\n".join(usual_lines(np.random.default_rng(0), 9))
    same_bits(encode(data), encode_slowly(data, SCHEMA))


def test_memory_does_not_grow_with_the_rows(parser, tmp_path, monkeypatch):
    use(parser, monkeypatch, 50_000)
    path = tmp_path / "table.csv"
    chunk = b"\n".join(usual_lines(np.random.default_rng(0), 1000)) + b"\n"
    peaks = []
    for times in (4, 16):
        path.write_bytes(HEADER + chunk * times)
        tracemalloc.start()
        for _ in encode_batches(SCHEMA, CsvFile(path)):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]


def test_a_table_that_grew_after_it_was_counted_is_read_to_its_end():
    class Growing(CsvFile):
        def count_rows(self):
            return 2

    data = HEADER + b"\n".join(usual_lines(np.random.default_rng(0), 9))
    encoded = encode_table(SCHEMA, Growing(io.BytesIO(data)))
    same_bits(encoded, encode_slowly(data, SCHEMA))


def test_walks_over_a_kept_stream_do_not_disturb_each_other():
    data = HEADER + b"\n".join(usual_lines(np.random.default_rng(0), 100))
    source = CsvFile(KeptStream(io.BytesIO(data)))
    n = 0
    for batch in encode_batches(SCHEMA, source):
        assert source.count_rows() == 100
        n += len(batch)
    assert n == 100


# Errors of form, before any cell.


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"\n1,2\n", "begins with an empty line"),
        (b"\xff\xfea\0\n\0", "UTF-16"),
        (b'a,"b\n1,2\n', "quotes of its header"),
        (b"name,age\rJoe,41\rAnn,42\r", "carriage return alone"),
        (b"name,age\rJoe,41\r\nAnn,42\r\n", "carriage return alone"),
        (b"," * 2_000_000 + b"\n", "2,000,001 columns"),
    ],
)
def test_headers_that_are_none(data, words):
    with pytest.raises(TableError, match=words):
        _ = CsvFile(io.BytesIO(data)).names


def test_all_wrong_names_are_told_at_once():
    names = [*NAMES[2:], "numbr", "extra", NAMES[3]]
    with pytest.raises(SchemaError, match="each by another name"):
        _ = CsvFile(io.BytesIO(",".join(names).encode())).names
    with pytest.raises(SchemaError) as told:
        encode((",".join(names[:-1]) + "\nSECRET\n").encode())
    text = str(told.value)
    for part in ('no column "number". Did you mean "numbr"?', 'no column "whole"', '"extra" that',
                 'role = "ignore"', 'Its columns are "level"'):  # fmt: skip
        assert part in text
    assert "SECRET" not in text


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_another_separator_is_named(separator):
    with pytest.raises(SchemaError, match="is separated by"):
        encode(HEADER.replace(b",", separator.encode()) + b"1;2\n")


def test_targets_may_be_absent_in_new_rows():
    data = b"number,whole,level,group,kind,flag,day\n1,2,3,a,k,yes,2022-02-03\n"
    encoded = encode_table(SCHEMA, CsvFile(io.BytesIO(data)), target=False)
    assert encoded.y is None
    assert encoded.present is None
    with pytest.raises(SchemaError, match='no column "result"'):
        encode(data)


def test_the_reference_is_strict():
    assert cells_of('"a"b,c', ",", 2) is None
    assert cells_of('a"b,c', ",", 2) == ['a"b', "c"]
