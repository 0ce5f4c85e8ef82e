"""Cells that no schema reads are told of, by paid counts, and nothing else is."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from veilspan import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    Schema,
    UnreadCellsWarning,
    UnreadLabelsWarning,
    load,
)
from veilspan.audit.replay import replay
from veilspan.reports import report_html
from veilspan.solvers.linear.asked import readable_targets
from veilspan.solvers.linear.asked.readable_targets import READABLE

pytestmark = [
    pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.NotPrivateWarning"),
    pytest.mark.filterwarnings("ignore::veilspan.LoudNoiseWarning"),
]
STAYS = """
veilspan_schema = 1
name = "stays"
[unit]
protects = "patient"
neighbors = "{neighbors}"
[columns.age]
type = "number"
range = [0, 100]
source = "people"
[columns.dose]
type = "number"
range = [0, 50]
missing_column = {missing}
source = "the leaflet"
[columns.weeks]
{target}
role = "target"
source = "the form"
"""
HOURS = 'type = "number"\nrange = [0, 40]'
LONG = 'type = "category"\ncategories = ["no", "yes"]'


def schema_of(target=HOURS, neighbors="replace-one", missing="false"):
    return Schema.from_toml(STAYS.format(target=target, neighbors=neighbors, missing=missing))


def stays(n=30_000):
    rng = np.random.default_rng(0)
    age, dose = rng.uniform(0, 100, n), rng.uniform(0, 50, n)
    hours = np.clip(10 + 0.2 * age - 0.1 * dose + rng.standard_normal(n), 0, 40)
    return {"age": age, "dose": dose, "weeks": hours}


def said_of(caught):
    """The words of the warnings that are meant."""
    return " ".join(str(one.message) for one in caught if one.category is UnreadCellsWarning)


def fitted(table, kind=LinearRegression, schema=None, **said):
    model = kind(schema=schema or schema_of(), random_state=0, epsilon=1.0, **said)
    return model.fit(table)


@pytest.mark.parametrize("kind", [LinearRegression, Lasso])
def test_targets_in_another_spelling_are_told_of(kind):
    """A straight fit and one by curves; a few targets in another spelling are not."""
    table = stays()
    plain = table["weeks"].astype("U6")
    table["weeks"] = np.char.add(plain, "h")
    with pytest.warns(UnreadCellsWarning, match="ardly any of the rows have a target") as caught:
        fitted(table, kind)
    assert "A new fit is a new charge" in said_of(caught)
    table["weeks"][:10_000] = plain[:10_000]
    with pytest.warns(UnreadCellsWarning, match="Only about 3"):
        fitted(table, kind)
    table["weeks"][:20_000] = plain[:20_000]
    with pytest.warns(UnreadCellsWarning, match="6. % of the rows .* the others count as missing"):
        fitted(table, kind)
    table["weeks"][:29_000] = plain[:29_000]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnreadCellsWarning)
        fitted(table, kind)


@pytest.mark.parametrize("said", [{"threshold": "f1"}, {"class_weight": "balanced"}])
def test_labels_are_counted_where_classes_are_not(said):
    table = stays()
    table["weeks"] = np.where(table["weeks"] > 20, "JA", "NEIN")
    with pytest.warns(UnreadCellsWarning, match="ardly any of the rows have a target"):
        fitted(table, LogisticRegression, schema_of(LONG), **said)
    with pytest.warns(UnreadLabelsWarning, match="ardly any of the rows have a label"):
        fitted(table, LogisticRegression, schema_of(LONG))


@pytest.mark.parametrize("missing", ["false", "true"])
@pytest.mark.parametrize("cell", ["12,5", "7 mg", "1e9"])
def test_a_column_that_says_nothing_is_named(missing, cell, tmp_path):
    """Cells that cannot be read, and numbers beyond the range."""
    table = stays()
    table["dose"] = np.full(len(table["age"]), cell)
    with pytest.warns(UnreadCellsWarning, match="alike in dose") as caught:
        model = fitted(table, schema=schema_of(missing=missing))
    assert said_of(caught).count("alike in") == 1
    model.save(tmp_path / "release")
    again = load(tmp_path / "release")
    assert again.feature_map_.features.alike.tolist() == [False, True]
    for one in (model, again):
        assert one.cautions_ == tuple(str(c.message) for c in caught if "alike" in str(c.message))
        assert "Nearly all rows are alike in dose" in report_html(one)


def test_ordinary_columns_are_not():
    """Nor one in which a twentieth of the rows is different, nor one that noise hides."""
    table = stays()
    table["dose"][len(table["dose"]) // 20 :] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnreadCellsWarning)
        assert fitted(stays()).cautions_ == ()
        fitted(table)
        for seed in range(5):
            model = LinearRegression(schema=schema_of(), random_state=seed, epsilon=0.5)
            model.fit({name: column[:300] for name, column in table.items()})


def test_who_is_asked():
    """Where a public number of rows is there to compare with, and cells that may be unreadable."""

    def asks(model, *shape):
        return READABLE in [event.name for event in model.plan(*shape).events]

    assert asks(LinearRegression(schema=schema_of()), 1000)
    assert asks(LogisticRegression(schema=schema_of(LONG), threshold="f1"), 1000)
    assert not asks(LogisticRegression(schema=schema_of(LONG)), 1000)  # its classes are counted
    assert not asks(LinearRegression(feature_range=(0, 1), target_range=(0, 1)), 1000, 2)
    free = {"neighbors": "add-remove", "expected_rows": 1000}
    assert not asks(LinearRegression(schema=schema_of(neighbors="add-remove"), **free))
    assert not asks(LinearRegression(schema=schema_of(), epsilon=float("inf")), 1000)


def test_a_count_without_noise_is_caught(monkeypatch):
    """A broken copy: the count is asked and paid for, and what is told is the exact one."""
    table = {name: column[:40] for name, column in stays().items()}
    other = {name: column.copy() for name, column in table.items()}
    other["weeks"][3] = np.nan

    def fit(data):
        model = LinearRegression(schema=schema_of(), random_state=0, features="linear")
        return model.fit(data)

    assert replay(fit, table, other).ok
    shipped = readable_targets.AskReadable.ask

    def peeking(self, curator, problem, result):
        told = shipped(self, curator, problem, result)
        (block,) = curator._rows.blocks(1000)
        here = len(block.y) if block.present is None else block.present.sum()
        return replace(told, readable=replace(told.readable, value=np.array([float(here) / 40])))

    monkeypatch.setattr(readable_targets.AskReadable, "ask", peeking)
    monkeypatch.setattr(LinearRegression, "_keep_unread", keep_what_was_told)
    assert not replay(fit, table, other).ok


def keep_what_was_told(model, row_map, result, plan):
    """So that a count which is far from any limit shows."""
    model.told_ = float(result.readable.value[0])
