"""Fractions near a number that stands for missing cells, and columns of several arrays."""

import numpy as np
import pandas as pd
import pytest

from veilspan import Schema, open_table
from veilspan.tables.cell_rules import read_cell
from veilspan.tables.sources import csv_file
from veilspan.tables.sources.csv_lines import parse_lines

SCHEMA = Schema.from_toml("""
veilspan_schema = 1
name = "near"
[file]
missing = ["", "NA", "-99", "0"]
[columns.a]
type = "integer"
range = [-200, 110]
fill = 50
source = "made up"
[columns.b]
type = "number"
range = [0, 10]
source = "made up"
""")
NEAR = ("-98.6", " -98.6", "-99.4 ", '"-98.6"', "0.4", " 0.4", "-0.4", "-99.0", " -99", "0.0", "7")


@pytest.fixture(params=["pyarrow", "standard library"])
def parser(request, monkeypatch):
    if request.param == "standard library":
        monkeypatch.setattr(csv_file, "choose_parser", lambda: (parse_lines, 1 << 20))


def encode_file(path, lines):
    path.write_text("a,b\n" + "".join(f"{line}\n" for line in lines))
    return SCHEMA.encode(open_table(path)).x


@pytest.mark.parametrize("last", ["1", "x", "+1", " 1", '"1"', "1e400", ""])
def test_no_cell_decides_how_others_are_rounded(tmp_path, parser, last):
    """A cell that cannot be cast sends its block another way, where nothing may differ."""
    x = encode_file(tmp_path / "t.csv", [f"{cell},1" for cell in NEAR] + [f"5,{last}"])
    column = SCHEMA.features[0]
    expected = [read_cell(column, cell.strip('"'), SCHEMA.file)[0] for cell in (*NEAR, "5")]
    assert x[:, 0].tolist() == expected


def test_stored_numbers_obey_the_same_rule():
    numbers = [-98.6, -99.4, 0.4, -0.4, -99.0, 0.0, 7.0]
    expected = [read_cell(SCHEMA.features[0], value, SCHEMA.file)[0] for value in numbers]
    texts = [str(value) for value in numbers]
    for cells in (numbers, texts, np.array(numbers), np.array(texts, dtype=object)):
        frame = pd.DataFrame({"a": cells, "b": 1.0})
        assert SCHEMA.encode(frame).x[:, 0].tolist() == expected
    flags = pd.DataFrame({"a": [True, False], "b": 1.0})
    told = [read_cell(SCHEMA.features[0], value, SCHEMA.file)[0] for value in (True, False)]
    assert SCHEMA.encode(flags).x[:, 0].tolist() == told


@pytest.mark.parametrize("gap", [False, True])
def test_columns_of_two_arrays_are_no_matrix(gap):
    """A view over two allocations made NumPy copy without end."""
    for n in (2, 100, 3000, 20_000):
        a, b = np.full(n, 3.0), np.random.default_rng(0).random(2_000_000)[-n:]
        if gap:
            b[n // 2] = np.nan
        assert SCHEMA.encode({"a": a, "b": b}).x.shape == (n, 2)
    both = np.random.default_rng(0).random((500, 2))
    one = SCHEMA.encode({"a": both[:, 0], "b": both[:, 1]}).x
    two = SCHEMA.encode({"a": both[:, 0].copy(), "b": both[:, 1].copy()}).x
    assert (one == two).all()
