"""Charts put numbers where they belong."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veilspan.reports.charts import matrix_chart, scatter_chart, small_bar, spectrum_chart
from veilspan.reports.learned import heat_table
from veilspan.reports.svg import HEIGHT, WIDTH, Frame, linear_axis, log_axis


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6))
def test_a_linear_axis_covers_its_range_with_few_ticks(low, width):
    axis = linear_axis(low, low + width, "x")
    slack = 1e-6 * (abs(low) + width)
    assert axis.low <= low + slack
    assert axis.high >= low + width - slack
    assert 2 <= len(axis.ticks) <= 9
    assert list(axis.ticks) == sorted(set(axis.ticks))


@given(st.floats(1e-200, 1e-3))
def test_a_log_axis_covers_its_range_with_few_ticks(low):
    axis = log_axis(low, 1.0, "x")
    assert axis.low <= low * (1 + 1e-6)
    assert axis.high == 1.0
    assert len(axis.ticks) <= 7


def test_places():
    frame = Frame(linear_axis(0, 10, "x"), log_axis(1e-4, 1.0, "y"))
    left, bottom = frame.at(0, 1e-4)
    right, top = frame.at(10, 1.0)
    assert frame.at(5, 1e-2) == (
        pytest.approx((left + right) / 2),
        pytest.approx((top + bottom) / 2),
    )
    assert frame.at(99, 0) == (right, bottom)  # outside stays at the border


def test_bars_above_and_below_the_noise_look_different():
    chart = spectrum_chart(np.array([3.0, 2.0, 0.5, 0.2, -0.1]), 3, 1.0, "variance")
    classes = re.findall(r'class="bar (\w+)"', chart)
    assert classes == ["ours", "ours", "weak", "rest", "rest"]
    assert chart.count('class="edge"') == 2  # the line, and its key
    assert "1 of these are below the noise edge" in chart


@pytest.mark.parametrize("values", [np.zeros(3), np.array([1e-9]), np.full(500, 0.1)])
def test_odd_spectra_stay_inside_the_frame(values):
    chart = spectrum_chart(values, 1, None, "variance")
    for x, y, width, height in re.findall(
        r'<rect x="([\d.-]+)" y="([\d.-]+)" width="([\d.]+)" height="([\d.]+)"', chart
    ):
        assert 0 <= float(x) <= WIDTH - float(width) + 1e-6
        assert 0 <= float(y) <= HEIGHT - float(height) + 1e-6
    assert "nan" not in chart


def test_large_matrices_are_cut():
    chart = matrix_chart(np.eye(200), "m", "Mean")
    assert chart.count("<rect") == 40 * 40
    assert "200 x 200" in chart


def test_cells_follow_sign_and_size():
    made = heat_table("column", ["1", "2"], [("a", -2.0, 1.0), ("b", 0.0, 0.01)], "Loadings")
    assert re.findall(r'<span(?: class="(\w+)")?>', made) == ["n9", "p4", "", ""]


@pytest.mark.parametrize(("value", "start", "width"), [(2.0, "0", "100"), (-1.0, "-50", "50")])
def test_bars_of_tables(value, start, width):
    assert f'<rect x="{start}" y="0" width="{width}"' in small_bar(value, 2.0, signed=True)


def test_groups_differ_by_form_too():
    groups = {str(i): np.full((1, 2), float(i)) for i in range(6)}
    marks = re.findall(r'<(circle|path) [^>]*class="mark (g\d)"', scatter_chart(groups, ("a", "b")))
    assert [group for _, group in marks] == [f"g{i}" for i in range(6)]


def test_equal_points_can_be_drawn():
    assert "nan" not in scatter_chart({"a": np.zeros((3, 2))}, ("a", "b"))


def test_numbers_of_a_table_share_their_decimals():
    made = heat_table("column", ["1", "2"], [("a", -2.0, 1.23456), ("b", 0.0, -1e-5)], "Loadings")
    assert re.findall(r"<span[^>]*>([^<]*)", made) == ["−2.00", "1.23", "0.00", "0.00"]
    tiny = heat_table("column", ["1"], [("a", 2.5e-9)], "Loadings")
    assert "10⁻⁹" in tiny
