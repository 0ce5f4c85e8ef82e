"""The contracts of an estimator, on a table of texts that a schema reads.

Every estimator of the catalogue that takes a schema is here; a new one joins by what it reads.
For both relations one person's line is exchanged for a hostile one: the fit succeeds with the row
kept, nothing is said or warned, the same questions are asked, sums stay within their bounds, what
is planned is what happens, and the cell is in nothing that leaves.
"""

import io
import json
import logging
import warnings
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest

from veilspan import PrivacyStatement, Schema, SubspaceTracker, catalogue
from veilspan.audit.replay import replay
from veilspan.estimators.linear import feature_choice
from veilspan.privacy.errors import LoudNoiseWarning, NotPrivateWarning

SECRET = "Alice Secret 4711"
HEAD = """
veilspan_schema = 1
name = "small"
[unit]
protects = "person"
neighbors = "{neighbors}"
{guess}
[file]
missing = ["", "NA", "-99"]
"""
COLUMNS = """
[columns.number]
type = "number"
range = [-5, 5]
missing_column = true
source = "made up"
[columns.dose]
type = "number"
scale = "log"
range = [1, 100]
source = "made up"
[columns.kind]
type = "category"
categories = ["a", "b"]
other = true
source = "made up"
[columns.day]
type = "date"
range = [2020-01-01, 2020-12-31]
as = ["days", "weekday"]
source = "made up"
[columns.label]
{label}
source = "made up"
"""
LABELS = {
    "rows": 'type = "category"\ncategories = ["no", "yes"]\nother = true',
    "stream": 'type = "category"\ncategories = ["no", "yes"]\nother = true',
    "cells": 'role = "target"\ntype = "category"\ncategories = ["no", "yes"]',
    "labels": 'role = "target"\ntype = "category"\ncategories = ["no", "yes"]',
    "numbers": 'role = "target"\ntype = "number"\nrange = [-5, 5]',
}
RATINGS = """
[columns.number]
role = "user"
[columns.kind]
role = "item"
type = "category"
categories = ["a", "b"]
source = "made up"
[columns.dose]
role = "rating"
type = "number"
range = [1, 5]
source = "made up"
[columns.day]
role = "time"
type = "date"
range = [2020-01-01, 2020-12-31]
source = "made up"
[columns.label]
role = "ignore"
"""
#: Lines of the table: what one person's may say, in the order of the columns.
HOSTILE = {
    "a secret in every cell": [SECRET] * 5,
    "nothing": [""] * 5,
    "missing in all words": ["NA", "-99", "-99.0", "NA", ""],
    "numbers beyond floats": ["1e400", "-1e400", "inf", "nan", "1e400"],
    "quotes and separators": ['"', '""', ",", "\r", '"a""b'],
    "control characters": ["\x00", "\x1b[2J", "a\x00b", "2020-01-01\x00", "\x7f"],
    "odd numbers": ["1_000", "0x10", "+5", " 5 ", "５"],
    "dates that are none": ["2020-02-30", "2020-13-01", "0000-00-00", "9999-12-31", "20200101"],
    "extremes": ["5", "100", "a", "2020-12-31", "yes"],
    "a long cell": ["9" * 100_000, "x" * 100_000, "a", "b", "no"],
}
USES_SCHEMA = {name: kind for name, kind in catalogue.ESTIMATORS.items() if kind.reads != "points"}
CASES = [
    (name, neighbors)
    for name, kind in USES_SCHEMA.items()
    for neighbors in ("replace-one", "add-remove")
    if not (kind.reads == "stream" and neighbors == "add-remove")
]


def make_schema(reads, neighbors):
    columns = RATINGS if reads == "ratings" else COLUMNS.format(label=LABELS.get(reads))
    # Lasso chooses its penalty by a public guess where the number of rows is private.
    guess = 'expected = 50\nsource = "made up"'
    if neighbors == "replace-one":  # a line without a user is none: the number of users is said
        guess = 'count = 40\nsource = "made up"' if reads == "ratings" else ""
    return Schema.from_toml(HEAD.format(neighbors=neighbors, guess=guess) + columns)


def make_lines(n=40):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=n).round(2)
    return [
        [
            str(numbers[i]), str(rng.integers(1, 6)), str(rng.choice(["a", "b", "c"])),
            str(np.datetime64("2020-01-01") + rng.integers(366)), str(rng.choice(["yes", "no"])),
        ]
        for i in range(n)
    ]  # fmt: skip


def make_table(lines):
    names = ("number", "dose", "kind", "day", "label")
    return dict(zip(names, (list(cells) for cells in zip(*lines))))


def make_model(name, neighbors, **more):
    kind = USES_SCHEMA[name]
    said = ("row_norm", "classes", "target_range", "rating_range")
    settings = {k: v for k, v in kind.small_settings().items() if k not in (*said, "schema")}
    if kind.reads == "stream":
        settings["block_size"] = 20
    more = {"epsilon": 2.0, "schema": make_schema(kind.reads, neighbors), **more}
    return kind.load_class()(**settings, neighbors=neighbors, **more)


def neighbours(neighbors, hostile):
    lines = make_lines()
    if neighbors == "replace-one":
        return lines, [*lines[:-1], hostile]
    return lines, [*lines, hostile]


@pytest.fixture(autouse=True)
def curves_of_few_rows(monkeypatch):
    """So small tables would be fitted by lines, and curves are what can go wrong."""
    for name in ("LINEAR_NOISE", "CLASSES_NOISE"):
        monkeypatch.setattr(feature_choice, name, np.inf)


def test_every_estimator_of_tables_takes_a_schema():
    for kind in USES_SCHEMA.values():
        assert "schema" in kind.load_class()._get_param_names()
        assert kind.reads in (*LABELS, "ratings")


#: Every kind meets every hostile line with ``--long``, and each third of them in turn without.
HOSTILE_CASES = [
    pytest.param(*case, what, marks=[] if (turn + place) % 3 == 0 else [pytest.mark.long])
    for turn, case in enumerate(CASES)
    for place, what in enumerate(HOSTILE)
]


@pytest.mark.parametrize(("name", "neighbors", "what"), HOSTILE_CASES)
def test_a_hostile_line_is_a_row_like_others(name, neighbors, what, caplog):
    one, two = (make_table(lines) for lines in neighbours(neighbors, HOSTILE[what]))

    def fit(table):
        return make_model(name, neighbors, random_state=0).fit(table)

    said = io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(said), redirect_stderr(said):
        warnings.simplefilter("error")
        for public in (NotPrivateWarning, LoudNoiseWarning):
            warnings.simplefilter("ignore", public)
        with caplog.at_level(logging.DEBUG):
            if USES_SCHEMA[name].reads == "stream":
                fitted = fit(two)
            else:
                report = replay(fit, one, two)
                assert report.ok, report.findings
                assert report.questions > 0
                fitted = fit(two)
    assert said.getvalue() == ""
    assert not caplog.records
    told = json.dumps(fitted.privacy_.to_dict()) + repr(fitted) + repr(fitted.plan_)
    assert SECRET not in told


@pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.LoudNoiseWarning")
@pytest.mark.parametrize(("name", "neighbors"), CASES)
def test_the_plan_needs_no_table_and_is_what_happens(name, neighbors, tmp_path):
    table = make_table(make_lines())
    model = make_model(name, neighbors)
    fitted = model.fit(table)
    spent = fitted.privacy_
    assert spent.private
    assert spent.verify()
    assert spent.schema["digest"] == model.schema.digest
    assert PrivacyStatement.from_dict(json.loads(spent.to_json())) == spent
    if isinstance(model, SubspaceTracker):
        assert model.plan() == fitted.plan_
        return
    if USES_SCHEMA[name].reads != "ratings":  # whose columns are the items
        n_rows = 40 if neighbors == "replace-one" else None
        assert model.plan(n_rows) == fitted.plan_
    from veilspan import load

    fitted.save(tmp_path / "release")
    again = load(tmp_path / "release")
    assert again.schema == model.schema
    if USES_SCHEMA[name].reads == "cells":
        assert again.to_dict() == fitted.to_dict()
        return
    use = "predict" if hasattr(again, "predict") else "transform"
    np.testing.assert_array_equal(getattr(again, use)(table), getattr(fitted, use)(table))
