"""Cells of columns: every value falls into exactly one, by public facts alone."""

import datetime
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veilspan.tables.columns import BooleanColumn, CategoryColumn, DateColumn, NumberColumn
from veilspan.tables.profiling.column_cells import cells_of
from veilspan.tables.profiling.edges import day_edges, log_edges, round_edges, whole_edges

bins = st.integers(1, 40)
ends = st.floats(-1e9, 1e9)


@given(ends, st.floats(1e-6, 1e9), bins)
def test_edges_of_numbers_are_increasing_and_few(low, width, most):
    high = low + width
    if not high > low + 1e-9 * abs(low):
        return
    edges = round_edges(low, high, most)
    assert edges[0] == low
    assert edges[-1] == high
    assert (np.diff(edges) > 0).all()
    assert len(edges) - 1 <= most


@given(st.floats(1e-6, 1e3), st.floats(1.01, 1e9), bins)
def test_edges_of_ratios(low, ratio, most):
    edges = log_edges(low, low * ratio, most)
    assert (np.diff(edges) > 0).all()
    assert len(edges) - 1 <= most


@given(st.integers(-1000, 1000), st.integers(1, 5000), bins)
def test_whole_numbers_lie_inside_bins(low, width, most):
    edges = whole_edges(float(low), float(low + width), most)
    assert (np.diff(edges) > 0).all()
    assert len(edges) - 1 <= max(most, 1)
    if width > 1:
        assert edges[0] == low + 0.5
        assert edges[-1] == low + width - 0.5


@given(st.dates(datetime.date(2, 1, 1), datetime.date(9000, 1, 1)), st.integers(1, 300_000), bins)
def test_edges_of_days(first, days, most):
    last = min(first.toordinal() + days, datetime.date.max.toordinal())
    edges = day_edges(first, datetime.date.fromordinal(last), most)
    assert (np.diff(edges) >= 0).all()


COLUMNS = {
    "number": NumberColumn("x", range=(-3.5, 12.0), source="s"),
    "log": NumberColumn("x", range=(20.0, 1500.0), scale="log", source="s"),
    "integer": NumberColumn("x", range=(0.0, 110.0), integer=True, source="s"),
    "two values": NumberColumn("x", range=(0.0, 1.0), integer=True, source="s"),
    "date": DateColumn(
        "x", range=(datetime.date(2020, 1, 1), datetime.date(2025, 12, 31)), source="s"
    ),
    "category": CategoryColumn("x", categories=("a", "b"), other=True, source="s"),
    "boolean": BooleanColumn("x", true=("y",), false=("n",), source="s"),
}


@pytest.mark.parametrize("kind", COLUMNS)
@given(value=st.one_of(st.just(math.nan), st.floats(allow_nan=False, allow_infinity=False)))
def test_every_value_has_one_cell(kind, value):
    cells = cells_of(COLUMNS[kind], 7)
    (code,) = cells.codes_of(np.array([value]))
    assert code == int(code)
    assert 0 <= code < cells.size
    if math.isnan(value):
        assert code == cells.missing
    elif cells.has_range:
        low, high = cells.range
        rounded = np.rint(value) if kind in ("integer", "two values") else value
        assert (code == 0) == (rounded <= low)
        assert (code == cells.size - 2) == (rounded >= high)
        if low < rounded < high:
            edges = cells.edges
            assert edges[int(code) - 1] <= rounded <= edges[int(code)]


def test_labels_are_words():
    assert cells_of(COLUMNS["integer"], 12).labels[:3] == ("0 or less", "1 to 9", "10 to 19")
    assert cells_of(COLUMNS["date"], 12).labels[0] == "2020-01-01 or earlier"
    assert cells_of(COLUMNS["category"], 3).labels == ("a", "b", "(other or missing)")
    assert cells_of(COLUMNS["two values"], 3).labels == ("0 or less", "1 or more", "(missing)")
