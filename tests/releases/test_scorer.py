import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from cli.commands import refused, run
from estimators.linear.cases import QUICK
from veilspan import HuberRegressor, LinearRegression, LinearSVC, LogisticRegression, Schema
from veilspan.datasets import make_ward

ROOT = Path(__file__).resolve().parents[2]
KINDS = ["auto", "linear", "bins", "waves", "fourier"]
WARD = make_ward(400)
#: Cells as nobody should write them, and borders of what can be read.
HOSTILE = [
    "", " ", "NA", "-99", "-99.0", "-9.9e1", "1e400", "-1e400", "inf", "nan", "0x10", "1_000",
    "+.5", "5.", ".", "1,5", "\u0663", "\uff11\uff12", "\u00a042\u00a0", "1e2", "-0.4", "2.5",
    "3.5", "yes", "no", "YES", "female", "femal\u0065\u0301", "A", " B ", "2024-02-30",
    "2024-02-29", "2020-01-01", "0000-01-01", "9999-12-31", "1990-05-05", "2024-1-5", "x" * 2000,
    "e\u0301" * 600, "\u200b", "1e308", None,
]  # fmt: skip
RNG = np.random.default_rng(0)
ROWS = RNG.uniform(-1, 1, (400, 3))
CURVE = 3 * ROWS[:, 0] ** 2 + np.sin(3 * ROWS[:, 1]) - 1
pytestmark = pytest.mark.filterwarnings(
    "ignore::veilspan.privacy.errors.NotPrivateWarning",
    "ignore::veilspan.LoudNoiseWarning",
)


@cache
def reader():
    """The reader of the documentation, and nothing of veilspan."""
    page = ROOT / "docs" / "howto" / "scorer.md"
    if not page.exists():
        pytest.skip("the documentation is part of the repository, not of the package")
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.S | re.M)
    (code,) = [block for block in blocks if "def read(" in block]
    assert "veilspan" not in code
    assert "numpy" not in code
    names: dict = {}
    exec(compile(code, "scorer.md", "exec"), names)
    return names


@cache
def ward_model(features):
    model = LogisticRegression(
        schema=WARD.schema, random_state=0, features=features, solver=QUICK, epsilon=10.0
    )
    return model.fit(WARD.columns)


def hostile_rows(columns, names, n=300):
    rng = np.random.default_rng(1)
    rows = []
    for i in range(n):
        cells = {name: columns[name][i] for name in names}
        for name in names:
            if rng.random() < 0.4:
                cells[name] = HOSTILE[rng.integers(len(HOSTILE))]
        rows.append(cells)
    return rows


def compare(model, rows):
    table = {name: [row[name] for row in rows] for name in rows[0]}
    document = json.loads(model.to_json())
    found = [reader()["predict"](document, row) for row in rows]
    assert [label for label, _ in found] == model.predict(table).tolist()
    if found[0][1] is not None:
        wanted = model.predict_proba(table)
        np.testing.assert_allclose([p for _, p in found], wanted, atol=1e-9)


@pytest.mark.parametrize("features", KINDS)
def test_the_reader_says_what_the_model_says_of_hostile_cells(features):
    names = [column.name for column in WARD.schema.features]
    compare(ward_model(features), hostile_rows(WARD.columns, names))


ODD = """
veilspan_schema = 1
name = "odd"
[file]
decimal = ","
separator = ";"
missing = ["", "-1"]
[columns.amount]
type = "number"
range = [-100, 900]
missing_column = true
source = "made up"
[columns.count]
type = "integer"
range = [0, 40]
source = "made up"
[columns.kind]
type = "category"
categories = ["a", "b", "c\u00e9"]
fill = "b"
missing_column = true
source = "made up"
[columns.when]
type = "date"
format = "%d. %B %y"
range = [1990-01-01, 2030-12-31]
as = ["month", "days", "weekday"]
missing_column = true
source = "made up"
[columns.day]
type = "date"
format = "%Y/%j"
range = [2020-01-01, 2024-12-31]
source = "made up"
[columns.label]
role = "target"
type = "category"
categories = ["low", "middle", "high"]
source = "made up"
"""
DATES = ["31. December 99", "1. January 01", "29. february 68", "5. MAY 69", "30. February 20"]
DAYS = ["2020/366", "2021/366", "2021/1", "2023/045", "1999/12", "2024/000"]


@pytest.mark.parametrize("features", ["auto", "linear", "bins"])
def test_decimal_commas_dates_and_several_classes(features):
    schema = Schema.from_toml(ODD)
    rng = np.random.default_rng(2)
    n = 300
    amounts, counts = rng.normal(100, 90, n), rng.integers(-3, 50, n)
    columns = {
        "amount": [f"{value:.2f}".replace(".", ",") for value in amounts],
        "count": [str(value) for value in counts],
        "kind": rng.choice(["a", "b", "c\u00e9", "ce\u0301", "zz"], n).tolist(),
        "when": rng.choice(DATES, n).tolist(),
        "day": rng.choice(DAYS, n).tolist(),
        "label": rng.choice(["low", "middle", "high"], n).tolist(),
    }
    model = LogisticRegression(schema=schema, random_state=0, features=features, solver=QUICK)
    compare(model.fit(columns), hostile_rows(columns, ["amount", "count", "kind", "when", "day"]))


@pytest.mark.parametrize("features", KINDS)
@pytest.mark.parametrize("kind", [LinearRegression, HuberRegressor])
def test_numbers_of_plain_arrays(kind, features):
    model = kind(
        feature_range=(-1, 1), random_state=0, target_range=(-3, 4), features=features,
        solver="newton", epsilon=3.0,
    )  # fmt: skip
    model.fit(ROWS, CURVE)
    document = json.loads(model.to_json())
    own = np.vstack([ROWS[:40], 2 * ROWS[:40]])
    found = [reader()["predict"](document, row.tolist())[0] for row in own]
    np.testing.assert_allclose(found, model.predict(own), atol=1e-9)


@pytest.mark.parametrize("features", ["linear", "auto"])
def test_public_ranges_are_kept_to_by_the_reader(features):
    """Rows a thousand times too long, and a range of targets that predictions would leave."""
    model = LinearRegression(
        feature_range=(-0.5, 1), target_range=(-0.2, 0.3), random_state=0, features=features
    )
    document = json.loads(model.fit(ROWS, CURVE).to_json())
    own = np.vstack([ROWS[:40], 1000 * ROWS[:40]])
    found = [reader()["predict"](document, row.tolist())[0] for row in own]
    np.testing.assert_allclose(found, model.predict(own), atol=1e-9)
    assert min(found) >= -0.2
    assert max(found) <= 0.3


def test_a_document_says_where_it_is_from():
    model = ward_model("auto")
    document = json.loads(model.to_json())
    assert document["privacy"]["release_id"] == model.privacy_.release_id
    assert document["schema"]["digest"] == WARD.schema.digest
    assert (document["format"], document["version"]) == ("veilspan scorer", 1)
    assert "patient_id" not in model.to_json()


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_straight_classes_as_scikit_learn_has_them(kind):
    labels = np.where(CURVE > 0, "up", "down")
    model = kind(feature_range=(-1, 1), classes=["down", "up"], random_state=0, solver=QUICK)
    plain = model.fit(ROWS, labels).to_sklearn()
    assert type(plain).__module__.startswith("sklearn.")
    np.testing.assert_array_equal(plain.predict(ROWS), model.predict(ROWS))
    np.testing.assert_allclose(plain.decision_function(ROWS), model.decision_function(ROWS))
    if kind is LogisticRegression:
        np.testing.assert_allclose(plain.predict_proba(ROWS), model.predict_proba(ROWS))


def test_straight_numbers_and_several_classes_as_scikit_learn_has_them():
    said = {"feature_range": (-1, 1), "random_state": 0, "solver": QUICK}
    numbers = HuberRegressor(target_range=(-3, 4), **said).fit(ROWS, CURVE)
    np.testing.assert_allclose(numbers.to_sklearn().predict(ROWS), numbers.predict(ROWS))
    three = LogisticRegression(classes=[0, 1, 2], **said).fit(ROWS, np.digitize(CURVE, [-1, 1]))
    plain = three.to_sklearn()
    np.testing.assert_allclose(plain.predict_proba(ROWS), three.predict_proba(ROWS))
    encoded = WARD.schema.encode(WARD.columns).x
    by_schema = ward_model("linear")
    found = by_schema.to_sklearn().predict_proba(encoded)
    np.testing.assert_allclose(found, by_schema.predict_proba(WARD.columns))


def test_curves_are_refused_with_the_way_out():
    with pytest.raises(ValueError, match=r"to_json\(\)"):
        ward_model("auto").to_sklearn()


def test_the_command_line_exports(tmp_path):
    model = ward_model("auto")
    model.save(tmp_path / "release")
    out, drawn = tmp_path / "model.json", tmp_path / "curves.svg"
    words = ("export", tmp_path / "release", "--out", out, "--shapes", drawn)
    assert "scores rows without veilspan" in run(*words).out
    assert out.read_text() == model.to_json()
    assert drawn.read_text().startswith("<svg")
    out.write_text("mine")
    assert f"{out} exists" in refused(*words)
    out.unlink()
    assert f"{drawn} exists" in refused(*words)
    assert not out.exists()
    facts = run(*words, "--json", "--force").json
    assert facts["bytes"] == out.stat().st_size
    alone = run("export", tmp_path / "release", "--shapes", tmp_path / "alone.svg")
    assert alone.out == f"{tmp_path / 'alone.svg'}: what each column adds to the score\n"
    assert (tmp_path / "alone.svg").read_text() == drawn.read_text()
    assert "say what to write" in refused("export", tmp_path / "release")
    assert ".json" in refused("export", tmp_path / "release", "--out", tmp_path / "model.txt")
    assert ".svg" in refused(*words[:-1], tmp_path / "curves.png", "--force")
    ward_model("linear").save(tmp_path / "straight")
    drawn.unlink()
    words = ("export", tmp_path / "straight", "--out", tmp_path / "lines.json", "--shapes", drawn)
    run(*words)
    assert drawn.read_text().startswith("<svg")
    plain = LogisticRegression(feature_range=(-1, 1), classes=[False, True], epsilon=1.0)
    plain.fit(ROWS[:200], ROWS[:200, 0] > 0).save(tmp_path / "plain")
    words = (
        "export",
        tmp_path / "plain",
        "--out",
        tmp_path / "no.json",
        "--shapes",
        drawn,
        "--force",
    )
    assert "nothing to draw" in refused(*words)
    assert not (tmp_path / "no.json").exists()


def test_other_models_are_refused_by_the_command_line(tmp_path):
    from veilspan import PCA

    PCA(1, random_state=0).fit(ROWS).save(tmp_path / "release")
    words = ("export", tmp_path / "release", "--out", tmp_path / "model.json")
    assert "only linear models" in refused(*words)


SAID = {"feature_range": (-1, 1), "random_state": 0, "solver": QUICK, "epsilon": 3.0}


@pytest.mark.parametrize(
    ("more", "lost"),
    [
        ({"threshold": "f1"}, "threshold"),
        ({"class_weight": "balanced"}, "balanced"),
        ({"feature_range": None, "bounds": "private"}, "ranges"),
    ],
)
def test_what_was_released_beside_the_coefficients_is_kept(more, lost):
    """In the document; scikit-learn's classes have no place for it, which is said."""
    model = LogisticRegression(classes=[0, 1], **{**SAID, **more}).fit(ROWS, CURVE > 1)
    document = json.loads(model.to_json())
    own = np.vstack([ROWS[:40], 3 * ROWS[:40]])
    found = [reader()["predict"](document, row.tolist()) for row in own]
    assert [label for label, _ in found] == model.predict(own).tolist()
    np.testing.assert_allclose([p for _, p in found], model.predict_proba(own), atol=1e-9)
    with pytest.raises(ValueError, match=lost):
        model.to_sklearn()


def test_a_released_range_of_targets_and_several_hinges():
    numbers = LinearRegression(**SAID).fit(ROWS, CURVE)
    own = np.vstack([ROWS[:40], 9 * ROWS[:40]])
    document = json.loads(numbers.to_json())
    found = [reader()["predict"](document, row.tolist())[0] for row in own]
    np.testing.assert_allclose(found, numbers.predict(own), atol=1e-9)
    with pytest.raises(ValueError, match="range"):
        numbers.to_sklearn()
    three = LinearSVC(classes=[0, 1, 2], **SAID).fit(ROWS, np.digitize(CURVE, [-1, 1]))
    document = json.loads(three.to_json())
    found = [reader()["predict"](document, row.tolist()) for row in own]
    assert found == [(label, None) for label in three.predict(own).tolist()]
    inside = np.clip(own, -1, 1)  # a plain estimator clips no row
    np.testing.assert_array_equal(three.to_sklearn().predict(inside), three.predict(own))
