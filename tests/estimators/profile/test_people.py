"""A profile of people with several rows: they share one person's weight, whatever they are."""

import math
import warnings

import numpy as np
import pytest

from veilspan import Profile, Schema
from veilspan.audit.replay import replay
from veilspan.privacy.errors import PeopleCountWarning

TOML = """
veilspan_schema = 1
name = "visits"
[unit]
protects = "patient"
id = "pid"
max_rows = 4
keep = "random"
combine = "{combine}"
{count}
[columns.pid]
role = "id"
[columns.age]
type = "integer"
range = [0, 100]
source = "made up"
[columns.sex]
type = "category"
categories = ["f", "m"]
other = true
source = "made up"
"""
COUNT = 'count = {n}\nsource = "made up"'


def make_schema(n=20, combine="mean", neighbors="replace-one"):
    count = COUNT.format(n=n) if neighbors == "replace-one" else f'neighbors = "{neighbors}"'
    return Schema.from_toml(TOML.format(combine=combine, count=count))


def make_visits(people=20, seed=0, first_has=None):
    rng = np.random.default_rng(seed)
    table = {"pid": [], "age": [], "sex": []}
    for person in range(people):
        visits = int(rng.integers(1, 7)) if person or first_has is None else first_has
        cells = rng.integers(0, 101, 7), rng.choice(["f", "m", ""], 7)
        for i in range(visits):
            table["pid"].append(f"P{person}")
            table["age"].append(str(cells[0][i % 7]))
            table["sex"].append(str(cells[1][i % 7]))
    return table


def fit(table, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Profile(**{"schema": make_schema(), "random_state": 0, **more}).fit(table)


def test_whoever_has_many_rows_counts_as_much_as_whoever_has_one():
    table = {
        "pid": ["a"] * 4 + ["b"],
        "age": ["10"] * 4 + ["90"],
        "sex": ["f", "f", "m", "m", "m"],
    }
    profile = fit(table, schema=make_schema(2), epsilon=math.inf)
    shares = profile["sex"].shares
    assert shares["f"].value == pytest.approx(0.25)
    assert shares["m"].value == pytest.approx(0.75)
    assert profile["age"].mean.value == pytest.approx(50.0, abs=1e-4)


@pytest.mark.parametrize("combine", ["mean", "sum", "none"])
def test_what_models_make_of_rows_does_not_matter(combine):
    shares = [
        fit(make_visits(), schema=make_schema(combine=how), epsilon=math.inf)["sex"].all_shares.raw
        for how in ("mean", combine)
    ]
    np.testing.assert_allclose(shares[0].sum(), 1.0)
    np.testing.assert_allclose(shares[1].sum(), 1.0)
    plan = Profile(schema=make_schema(combine=combine)).plan()
    assert plan.n_rows == 20  # people, not slots


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
@pytest.mark.parametrize("rows", [0, 1, 500])
def test_a_person_with_500_rows_and_one_with_none_leave_the_same_shapes(neighbors, rows):
    schema = make_schema(neighbors=neighbors)

    def run(table):
        return fit(table, schema=schema, neighbors=neighbors)

    report = replay(run, make_visits(first_has=3), make_visits(first_has=rows))
    assert report.ok, report.findings
    assert report.largest_use <= 1 + 1e-9
    assert run(make_visits(first_has=rows)).counts_.shape == run(make_visits()).counts_.shape


def test_a_wrong_count_is_told_by_what_was_paid_for():
    schema = make_schema(5000)
    with pytest.warns(PeopleCountWarning, match="about"):
        Profile(schema=schema, epsilon=5.0).fit(make_visits(600))


def test_the_public_number_of_people_is_needed():
    def profile():
        schema = Schema.from_toml(TOML.format(combine="mean", count=""))
        return Profile(schema=schema).fit(make_visits())

    with pytest.raises(ValueError, match="count"):
        profile()


def test_a_table_without_ids_is_refused_before_anything_is_read():
    table = {name: cells for name, cells in make_visits().items() if name != "pid"}
    with pytest.raises(ValueError, match="pid"):
        Profile(schema=make_schema()).fit(table)


@pytest.mark.parametrize("combine", ["mean", "sum", "none"])
def test_the_plan_speaks_of_the_rows_that_a_profile_counts(combine):
    """Whatever the schema does with rows for models, and at most sixteen of them."""
    schema = Schema.from_toml(make_schema(combine=combine).to_toml().replace("= 4", "= 40"))
    said = str(Profile(schema=schema).plan())
    assert "mean of at most 16 rows" in said
    assert "max_rows = 16 (chosen)" in said
    assert "has noise" not in said
