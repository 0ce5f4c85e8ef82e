"""What one cell means, written out: the definition that all else is compared with."""

import datetime
import math
import time

import numpy as np
import pytest

from veilspan.tables.cell_rules import CellReader, DateReader, Scale, read_cell
from veilspan.tables.columns import (
    BooleanColumn,
    CategoryColumn,
    DateColumn,
    NumberColumn,
    clean_text,
)
from veilspan.tables.file_format import FileFormat

FILE = FileFormat(missing=("", "NA", "-99"))
COMMAS = FileFormat(separator=";", decimal=",", missing=("k.A.",))
NUMBER = NumberColumn("x", range=(0.0, 10.0), fill=2.5, missing_column=True, source="s")
WHOLE = NumberColumn("x", range=(0.0, 10.0), fill=3.0, integer=True, source="s")
LOG = NumberColumn("x", range=(1.0, 100.0), scale="log", fill=10.0, source="s")
OTHER = CategoryColumn("x", categories=("a", "Zoë", "7"), other=True, source="s")
FILLED = CategoryColumn("x", categories=("a", "b"), fill="b", missing_column=True, source="s")
FLAG = BooleanColumn("x", true=("yes", "1"), false=("no", "0"), source="s")
DAY = DateColumn(
    "x",
    range=(datetime.date(2020, 1, 1), datetime.date(2020, 12, 31)),
    parts=("days", "weekday", "month"),
    fill=datetime.date(2020, 7, 1),
    source="s",
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 0.0), (" 5 ", 0.0), ("+5", 0.0), ("5.", 0.0), ("05", 0.0), (".5e1", 0.0),
        ("50E-1", 0.0), ("0", -1.0), ("10", 1.0), ("11", 1.0), ("-3", -1.0), ("1e300", 1.0),
        ("\u00a05", 0.0),
    ],
)  # fmt: skip
def test_numbers(text, value):
    assert read_cell(NUMBER, text, FILE) == (value, 0.0)


@pytest.mark.parametrize(
    "text",
    [
        None, "", " ", "NA", " NA ", "-99", "-99.0", "-9.9e1", "nan", "inf", "1e400", "1_000",
        "5,5", "1,000", "0x5", "５", "5 5", "--5", "e5", ".", "5e", "five", "5\0", "\ufeff5",
    ],
)  # fmt: skip
def test_what_is_no_number_is_missing(text):
    assert read_cell(NUMBER, text, FILE) == (-0.5, 1.0)


def test_the_decimal_mark_is_the_declared_one():
    assert read_cell(NUMBER, "7,5", COMMAS) == (0.5, 0.0)
    assert read_cell(NUMBER, "7.5", COMMAS) == (-0.5, 1.0)
    assert read_cell(NUMBER, 7.5, COMMAS) == (0.5, 0.0)
    assert read_cell(NUMBER, "NA", COMMAS) == read_cell(NUMBER, "k.A.", COMMAS) == (-0.5, 1.0)


@pytest.mark.parametrize(("text", "value"), [("2.5", 2), ("3.5", 4), ("-0.4", 0), ("x", 3)])
def test_integers_are_rounded_half_to_even(text, value):
    assert read_cell(WHOLE, text, FILE) == pytest.approx((value / 5 - 1,))


def test_a_log_scale():
    found = [read_cell(LOG, text, FILE)[0] for text in ("1", "10", "100", "0", "-5", "1000", "x")]
    assert found == pytest.approx([-1, 0, 1, -1, -1, 1, 0], abs=1e-15)


@pytest.mark.parametrize(
    ("cell", "place"),
    [
        ("a", 0), (" a\t", 0), ("Zoë", 1), ("Zoe\u0308", 1), ("7", 2), (7, 2), (7.0, 2),
        (np.float32(7), 2), ("7.0", 3), ("A", 3), ("", 3), (None, 3), ("(other)", 3), (True, 3),
        (b"a", 3), (-99, 3), (float("nan"), 3),
    ],
)  # fmt: skip
def test_categories(cell, place):
    assert read_cell(OTHER, cell, FILE) == tuple(float(i == place) for i in range(4))


def test_very_many_accents_are_read_in_time():
    """Normalising takes quadratic time there: a cell of a megabyte would take hours."""
    start, accents = time.perf_counter(), "a" + "\u0301\u0316" * 500_000
    for column in (NUMBER, OTHER, FLAG, DAY):
        assert read_cell(column, accents, FILE) == read_cell(column, "?", FILE)
    assert time.perf_counter() - start < 20
    assert clean_text(f" e\u0301{'x' * 998} ") == f"\u00e9{'x' * 998}"
    long = f"e\u0301{'x' * 999}"
    assert clean_text(f" {long} ") == long


def test_unknown_categories_take_the_fill():
    assert read_cell(FILLED, "a", FILE) == (1.0, 0.0, 0.0)
    assert read_cell(FILLED, "c", FILE) == read_cell(FILLED, None, FILE) == (0.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("cell", "value"),
    [("yes", 1), ("1", 1), (1, 1), (1.0, 1), (True, 1), ("no", 0), (False, 0), ("Yes", 0), (2, 0)],
)
def test_booleans(cell, value):
    assert read_cell(FLAG, cell, FILE) == (value,)


def day(month, weekday, days):
    ones = [float(i == weekday) for i in range(7)] + [float(i == month - 1) for i in range(12)]
    return (pytest.approx(days), *ones)


def test_dates():
    assert read_cell(DAY, "2020-01-01", FILE) == day(1, 2, -1)
    assert read_cell(DAY, "2020-12-31", FILE) == day(12, 3, 1)
    assert read_cell(DAY, "2031-05-05", FILE) == day(12, 3, 1)
    assert read_cell(DAY, datetime.date(1900, 1, 1), FILE) == day(1, 2, -1)
    for cell in ("2020-02-30", "x", "", None, 5, "01.02.2020"):
        assert read_cell(DAY, cell, FILE) == day(7, 2, -1 + 2 * 182 / 365)


@pytest.mark.parametrize(
    ("form", "text", "found"),
    [
        ("%Y-%m-%d", "2020-2-3", (2020, 2, 3)),
        ("%d.%m.%y", "03.02.68", (2068, 2, 3)),
        ("%d.%m.%y", "03.02.69", (1969, 2, 3)),
        ("%d %b %Y", "3 feb 2020", (2020, 2, 3)),
        ("%B %d, %Y", "February 3, 2020", (2020, 2, 3)),
        ("%Y/%j", "2020/366", (2020, 12, 31)),
        ("%Y/%j", "2021/366", None),
        ("%Y%m%d", "20200203", (2020, 2, 3)),
        ("%Y-%m-%d %H:%M:%S", "2020-02-03 23:59:59", (2020, 2, 3)),
        ("%Y-%m-%d %H:%M:%S", "2020-02-03 24:00:00", None),
        ("%Y-%m-%d", "2020-02-03 ", None),
        ("%Y-%m-%d", "0000-01-01", None),
        ("%Y-%m-%d", "２０２０-02-03", None),
        ("%d (%m) %Y", "3 (2) 2020", (2020, 2, 3)),
    ],
)
def test_formats_of_dates(form, text, found):
    value = DateReader(form)(text)
    if found is None:
        assert math.isnan(value)
    else:
        assert value == datetime.date(*found).toordinal() - datetime.date(1970, 1, 1).toordinal()


@pytest.mark.parametrize(
    "bounds",
    [(0.0, 5e-324), (-1e300, 1e300), (1e300 * (1 - 1e-16), 1e300), (0.1, 0.3), (-7.0, 3.0)],
)
def test_every_scale_ends_within_its_bounds(bounds):
    scale = Scale(*bounds)
    for value in (*bounds, sum(bounds) / 2, 1.7e308, -1.7e308, 0.0, 5e-324):
        assert -1.0 <= scale.apply(value) <= 1.0


def test_words_for_missing_may_be_categories_of_other_files():
    reader = CellReader(OTHER, FileFormat(missing=("a",)))
    assert math.isnan(reader.read("a"))
    assert math.isnan(reader.read(""))
    assert reader.read("7") == 2.0
