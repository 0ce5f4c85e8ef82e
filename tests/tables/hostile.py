"""Tables made to break readers, with the schema that they are read by."""

import numpy as np

from veilspan.tables.cell_rules import CellReader
from veilspan.tables.columns import NumberColumn
from veilspan.tables.encoding import Encoder
from veilspan.tables.schema import Schema
from veilspan.tables.sources.csv_lines import ColumnLayout, Layout

SECRET = "SECRET-7391"

TOML = """
veilspan_schema = 1
name = "hostile"

[file]
missing = ["", "NA", "-99"]

[columns.number]
type = "number"
range = [-5, 20]
fill = 1.5
missing_column = true
source = "made up"

[columns.whole]
type = "integer"
range = [0, 110]
source = "made up"

[columns.level]
type = "number"
range = [0.5, 1000]
scale = "log"
source = "made up"

[columns.group]
type = "category"
categories = ["a", "b b", "7", "Zoë", "x,y", "q\\"q", "0.5"]
other = true
source = "made up"

[columns.kind]
type = "category"
categories = ["k", "l"]
fill = "l"
missing_column = true
source = "made up"

[columns.flag]
type = "boolean"
true = ["yes", "1"]
false = ["no", "0"]
missing_column = true
source = "made up"

[columns.day]
type = "date"
format = "%Y-%m-%d"
range = [2020-01-01, 2025-12-31]
as = ["days", "weekday", "month"]
missing_column = true
source = "made up"

[columns.result]
role = "target"
type = "category"
categories = ["sick", "healthy"]
source = "made up"

[columns.note]
role = "ignore"
"""
SCHEMA = Schema.from_toml(TOML)
NAMES = tuple(column.name for column in SCHEMA.columns)
HEADER = ",".join(NAMES).encode() + b"\n"

#: Cells that a careful reader must not stumble over, as bytes of a file.
CELLS = [
    *(b"", b" ", b"NA", b" NA ", b"-99", b"-99.0", b"-9.9e1", b"nan", b"NaN", b"inf", b"-Infinity"),
    *(b"1", b"7", b"7.0", b"+5", b" 5 ", b"\t5", b"5.", b".5", b"1e400", b"-1e400", b"1e-400"),
    *(b"2.5", b"3.5", b"-0", b"-0.4", b"1_000", b"1,000", b"0x10", b"1e5", b"12e", b"--1", b"1d5"),
    *(b"\xef\xbc\x95", b"\xc2\xa05", b"\xef\xbb\xbf5", b"\xff", b"a\xff", b"\xe2\x82", b"\0"),
    *(b"a", b" a ", b"A", b"b b", b"Zo\xc3\xab", b"Zoe\xcc\x88", b"Zo\xeb", b"x,y", b"k", b"l"),
    *(b"yes", b"no", b"YES", b"true", b"2022-02-28", b"2022-02-30", b"1999-01-01", b"9999-12-31"),
    *(b"2022-2-3", b"20220203", b"2022-02-03 10:00", b"sick", b"healthy", b"maybe", b"(other)"),
    *(b'"', b'""', b'"a"', b'"a', b'a"', b'"a""b"', b'"x,y"', b'"q""q"', b'"5"', b'" 5"', b'"a"b'),
    *(b"\r", b"a\rb", b'"a\rb"', b"5\r", b",", b",,", b"'", b"\\", b"\\N"),
    *(b"\x0b7", b"\x1c7", b"\x85", b"5\0", b'q"q', b"2020-01-01", b"2025-12-31"),
    *(b"1" * 400, b"0." + b"3" * 400, SECRET.encode(), b'"' + SECRET.encode(), b"\x00\xff\xfe"),
]  # fmt: skip
#: Whole lines that are no rows of nine cells.
LINES = [
    b"",
    b",",
    b"\r",
    b'"',
    b",,,,,,,,",
    b",,,,,,,,,",
    b" ",
    b'"' + b"," * 8,
    b"1,2,3",
    b"\xff",
]


def random_lines(rng, n):
    """Lines of hostile cells, some of the wrong width."""
    lines = []
    for _ in range(n):
        if rng.random() < 0.1:
            lines.append(LINES[rng.integers(len(LINES))])
            continue
        picks = rng.integers(len(CELLS), size=len(NAMES))
        lines.append(b",".join(CELLS[i] for i in picks))
    return lines


def usual_lines(rng, n):
    """Lines without anything odd."""
    days = np.datetime64("2020-01-01") + rng.integers(0, 2000, n)
    groups, kinds = ["a", "b b", "7", "Zoë"], ["k", "l"]
    return [
        f"{rng.normal():.4f},{rng.integers(0, 120)},{rng.gamma(2) * 100:.3f},"
        f"{groups[rng.integers(4)]},{kinds[rng.integers(2)]},{('yes', 'no')[rng.integers(2)]},"
        f"{days[i]},{('sick', 'healthy')[rng.integers(2)]},note {i}".encode()
        for i in range(n)
    ]


def layout_of(schema):
    """How the lines of a file with the schema's columns are cut."""
    names = [column.name for column in schema.columns]
    columns = tuple(
        ColumnLayout(names.index(c.name), CellReader(c, schema.file), isinstance(c, NumberColumn))
        for c in Encoder(schema).columns
    )
    file = schema.file
    return Layout(len(names), file.separator, file.decimal, file.encoding, columns, file.missing)
