"""Curves of columns as pictures and in the report."""

import re
from functools import cache

import numpy as np
import pytest

from estimators.linear.cases import QUICK
from veilspan import LinearRegression, LogisticRegression
from veilspan.datasets import make_ward
from veilspan.estimators.linear.shapes.shapes import Shape, Shapes
from veilspan.reports import report_html
from veilspan.reports.shapes.charts import (
    LETTERS,
    MOST_BARS,
    describe,
    drawn_scores,
    score_axis,
    shape_chart,
)
from veilspan.reports.shapes.labels import shorten, width_of
from veilspan.reports.shapes.section import shapes_part

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
    one = ward_model().shapes_.plot("age", across=1)
    assert one.svg == ward_model().shapes_.plot(["age"], across=1).svg
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


def test_what_is_sure_is_said_once_and_truly():
    """A straight fit's words on bars stand in one place; curves have bands only where they do."""
    straight = LogisticRegression(
        schema=make_ward(400).schema, features="linear", solver="objective", epsilon=10.0,
        random_state=0,
    )  # fmt: skip
    page = report_html(straight.fit(make_ward(400).columns))
    assert page.count("o error bars: the solver perturbs the objective") == 1
    assert "How sure</h3><p" not in page
    assert "with their bands" in report_html(ward_model())
    several = LogisticRegression(
        feature_range=(-1, 1), classes=[0, 1, 2], random_state=0, features="waves", solver=QUICK
    )
    page = report_html(several.fit(ROWS, np.digitize(ROWS[:, 0], [-0.3, 0.3])))
    assert "with their bands" not in page
    assert "the report draws them, without bands" in page


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


def number_shape(values, scores, errors=None, **more):
    scores = np.asarray(scores, dtype=float).reshape(len(values), -1)
    errors = None if errors is None else np.asarray(errors, dtype=float)[:, None]
    values = np.asarray(values, dtype=float)
    return Shape("x", "number", values, scores, errors, "it is so", **more)


def bar_shape(scores, errors=None):
    names = np.array([f"v{i}" for i in range(len(scores))], dtype=object)
    scores = np.asarray(scores, dtype=float)[:, None]
    errors = None if errors is None else np.asarray(errors, dtype=float)[:, None]
    return Shape("c", "categories", names, scores, errors, "it is so")


def drawn(shape, scores=("y",)):
    """Marks of one chart, and its words."""
    places = drawn_scores([shape])
    y = score_axis([shape], places, "added")
    return "".join(shape_chart(shape, places, y)[0]), describe(shape, scores, places, y)


def test_a_long_band_is_cut_and_does_not_set_the_scale():
    curve = number_shape([0, 1, 2], [-1, 0, 1], [0.1, 0.1, 60])
    y = score_axis([curve], [0], "added")
    assert -2.5 < y.low < y.high < 2.5
    assert "Its band is cut at the border" in drawn(curve)[1]
    assert "Whiskers are cut" in drawn(bar_shape([-1, 1], [0.1, 60]))[1]
    modest = number_shape([0, 1, 2], [-1, 0, 1], [0.1, 0.1, 0.2])
    assert "border" not in drawn(modest)[1]
    assert score_axis([modest], [0], "added").high > 1.4


def test_of_many_classes_the_farthest_are_drawn_and_all_are_told():
    """Class 1 is flat: it is the one that is left out, and said to be."""
    names = tuple(f"class {k}" for k in range(7))
    slopes = np.array([1.0, 0.0, 2.0, 3.0, -6.0, -1.0, 1.0])
    curve = number_shape([0, 1], np.outer([-0.5, 0.5], slopes))
    shapes = Shapes((curve,), names, False, False)
    page = str(shapes_part(shapes))
    assert drawn_scores([curve]) == [0, 2, 3, 4, 5, 6]
    assert "the 6 of 7 classes whose curves reach farthest" in page
    keys, _, rest = page.partition("</ul>")
    assert "class 1" not in keys
    assert rest.count("class 1") == 1  # heads a column of the table
    assert "class 4: lowest −3 at 1, highest 3 at 0." in drawn(curve, names)[1]
    assert "6 of 7 classes" in shapes.plot().svg
    assert len(shapes.to_dict()["columns"]["x"]["scores"][0]) == 7


def test_of_many_categories_those_beyond_their_noise_are_drawn():
    loud = [9.0] * 10
    marks, words = drawn(bar_shape([*loud, *range(1, MOST_BARS + 1)], [9.0] * 10 + [0.1] * 7))
    assert ">v9<" not in marks
    assert ">v10<" in marks
    assert "Of 17 categories the 7 farthest out of their noise. Lowest 1 at v10" in words
    assert "7 largest" in drawn(bar_shape(range(9)))[1]


def test_a_spike_of_rows_is_seen():
    """Nearly all rows at one value of a hundred thousand: a step three units wide."""
    values = np.array([0, 1, 2, 50_000, 100_000])
    curve = number_shape(values, values / 1e5, share_below=np.array([0, 0.94, 0.95, 0.98, 1.0]))
    (steps,) = re.findall('<path d="([^"]*)" class="rows">', drawn(curve)[0])
    points = [tuple(map(float, point)) for point in re.findall(r"[ML](\S+) (\S+)", steps)]
    tall = [(x, y) for x, y in points if y == min(y for _, y in points)]
    assert tall[-1][0] - tall[0][0] >= 3


def test_numbers_below_a_million_are_plain():
    marks, words = drawn(number_shape([0, 99_999], [0, 1], unit="m"))
    assert "highest 1 at 99,999 m" in words
    assert ">20,000<" in marks
    assert "10⁴" not in marks
    years = drawn(number_shape([1990, 2020], [0, 1]))
    assert ">2000<" in years[0]
    assert "1990" in years[1]


def test_names_are_shortened_to_their_room():
    for name in ("Outlying-US(Guam-USVI-etc)", "MMMMMMMMMMMMMMMMMM", "東京都千代田区丸の内一丁目"):
        short = shorten(name, 103, LETTERS)
        assert short.endswith("…")
        assert width_of(short, LETTERS) <= 103
    assert shorten("Exec-managerial", 103, LETTERS) == "Exec-managerial"
