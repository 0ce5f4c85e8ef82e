"""Curves of columns as pictures and in the report."""

import re
from functools import cache

import numpy as np
import pytest

from estimators.linear.cases import QUICK
from veilspan import LinearRegression, LogisticRegression
from veilspan.datasets import make_ward
from veilspan.reports import report_html

pytestmark = pytest.mark.filterwarnings(
    "ignore::veilspan.privacy.errors.NotPrivateWarning",
    "ignore::veilspan.LoudNoiseWarning",
)
RNG = np.random.default_rng(0)
ROWS = RNG.uniform(-1, 1, (600, 3))
NASTY = '"><script>alert(1)</script>'


@cache
def ward_model(features="auto"):
    """With names of columns and categories that a careless page would take for markup."""
    ward = make_ward(400)
    text = ward.schema_toml.replace("ward]", '"w<b>ard"]').replace('"diverse"', '"di<i>verse"')
    from veilspan import Schema

    columns = {("w<b>ard" if name == "ward" else name): c for name, c in ward.columns.items()}
    model = LogisticRegression(
        schema=Schema.from_toml(text),
        random_state=0,
        features=features,
        solver=QUICK,
        epsilon=10.0,
    )
    return model.fit(columns)


def well_formed(svg):
    from xml.etree import ElementTree

    return ElementTree.fromstring(svg)


def test_a_picture_is_one_file_that_loads_nothing(tmp_path):
    picture = ward_model().shapes_.plot()
    root = well_formed(picture.svg)
    assert root.tag.endswith("svg")
    assert "<b>ard" not in picture.svg
    assert "script" not in picture.svg
    outside = re.findall(r"(?:href|src|url)\W", picture.svg)
    assert outside == []
    place = picture.save(tmp_path / "shapes.svg")
    assert place.read_text() == picture.svg
    with pytest.raises(ValueError, match=r"\.svg"):
        picture.save(tmp_path / "shapes.png")
    with pytest.raises(ValueError, match="column at least"):
        ward_model().shapes_.plot([])
    one = ward_model().shapes_.plot(["age"], across=1)
    assert len(one.svg) < len(picture.svg)
    assert "SVG" in repr(one)


def test_the_report_draws_every_column_once():
    page = report_html(ward_model())
    assert page.count('id="shape-') == 2 * 7  # title and description
    assert "Curves of columns" in page
    assert "two standard deviations of the noise" in page
    assert "di&lt;i&gt;verse" in page
    straight = report_html(ward_model("linear"))
    assert "Lines of columns" in straight
    assert "Curves of columns" not in straight
    assert "straight lines" in straight


def test_interactions_and_error_bars_are_said_in_the_report():
    assert "no single column" in report_html(ward_model("fourier"))
    model = LinearRegression(
        feature_range=(-1, 1), target_range=(-1, 1), random_state=0, features="waves",
        solver="newton", epsilon=3.0,
    )  # fmt: skip
    page = report_html(model.fit(ROWS, ROWS[:, 0] ** 2))
    assert 'class="area"' in page
    assert "deviations of the noise" in page


def test_several_classes_have_keys():
    model = LogisticRegression(
        feature_range=(-1, 1), classes=["a", "b", NASTY], random_state=0, features="bins",
        solver=QUICK,
    )  # fmt: skip
    model.fit(ROWS, np.array(["a", "b", NASTY])[np.digitize(ROWS[:, 0], [-0.3, 0.3])])
    page, picture = report_html(model), model.shapes_._repr_html_()
    for text in (page, picture):
        assert NASTY not in text
    assert page.count('class="swatch c') == 3
    well_formed(model.shapes_.plot().svg)
    assert "<style>" in picture
