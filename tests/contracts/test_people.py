"""The contracts of an estimator, on tables in which a person has several rows.

For both relations one person's rows are exchanged: for 500 hostile ones, for other ones, for none.
The fit succeeds, nothing is said, the same questions are asked, sums stay within their bounds, and
what comes out has the same form to the last shape. Broken twins of what keeps to it are caught.
"""

import io
import json
import logging
import warnings
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest

from contracts.test_schema_tables import COLUMNS, LABELS, SECRET, USES_SCHEMA, make_lines
from veilspan import Schema
from veilspan.audit.replay import replay
from veilspan.curator import group_curator, people_count
from veilspan.estimators import people_plan
from veilspan.privacy.errors import (
    LoudNoiseWarning,
    NotPrivateWarning,
    PeopleCountWarning,
    PrivacyError,
)
from veilspan.privacy.events import GaussianEvent
from veilspan.tables.persons import kept_rows

HEAD = """
veilspan_schema = 1
name = "visits"
[unit]
protects = "person"
id = "who"
max_rows = 3
keep = "{keep}"
combine = "{combine}"
order_by = "day"
neighbors = "{neighbors}"
{number}
source = "made up"
[file]
missing = ["", "NA", "-99"]
[columns.who]
role = "id"
"""
KINDS = {n: k for n, k in USES_SCHEMA.items() if k.reads not in ("ratings", "stream")}
RELATIONS = ("replace-one", "add-remove")
TARGETS = {"labels": "any", "numbers": "mean"}
PEOPLE = 30


def make_schema(reads, neighbors, combine="mean", keep="random"):
    number = f"count = {PEOPLE}" if neighbors == "replace-one" else f"expected = {PEOPLE}"
    columns = COLUMNS.format(label=LABELS[reads])
    if combine != "none" and reads in TARGETS:
        columns += f'combine = "{TARGETS[reads]}"\n'
    head = HEAD.format(neighbors=neighbors, combine=combine, keep=keep, number=number)
    return Schema.from_toml(head + columns)


def make_people():
    """Lines with an id in front; one to six a person, some without an id."""
    rng = np.random.default_rng(1)
    who = [f"p{i}" for i in range(PEOPLE)] + [f"p{i % 11}" for i in range(40)] + ["", "NA"]
    return [[name, *line] for name, line in zip(rng.permutation(who), make_lines(len(who)))]


def changed(what):
    """The table with other rows of one person."""
    lines = make_people()
    mine = [line for line in lines if line[0] == "p3"]
    others = [line for line in lines if line[0] != "p3"]
    if what == "no rows":
        return others
    if what == "500 rows":
        hostile = [["p3", *[SECRET] * 5], ["p3", "1e400", "", "c", "2020-02-30", "yes"]]
        return [*hostile * 125, *others, *hostile * 125]
    assert len(mine) > 1
    ends = {
        "one end": ["p3", "5", "100", "b", "2020-12-31", "yes"],
        "other end": ["p3", "-5", "1", "a", "2020-01-01", "no"],
    }
    return [*others, *[ends[what]] * 3]


CHANGES = ("one end", "500 rows", "no rows")


def make_table(lines):
    names = ("who", "number", "dose", "kind", "day", "label")
    return dict(zip(names, (list(cells) for cells in zip(*lines))))


def make_model(name, neighbors, combine="mean", **more):
    kind = KINDS[name]
    said = ("row_norm", "classes", "target_range", "schema", "neighbors")
    settings = {k: v for k, v in kind.small_settings().items() if k not in said}
    if combine == "none" and kind.reads in TARGETS:
        settings["solver"] = "gd"
    schema = make_schema(kind.reads, neighbors, combine)
    return kind.load_class()(
        **settings, neighbors=neighbors, **{"epsilon": 2.0, "schema": schema, **more}
    )


def replayed(name, neighbors, what, combine="mean"):
    """A replay on tables that differ in one person: exchanged, or there in one of them only."""

    def fit(table):
        return make_model(name, neighbors, combine, random_state=0).fit(table)

    before = changed("other end") if what == "one end" else make_people()
    if neighbors == "add-remove" and what != "no rows":
        before = changed("no rows")
    return replay(fit, make_table(before), make_table(changed(what)))


CASES = [(n, r, c) for n in KINDS for r in RELATIONS for c in CHANGES]
UNCOMBINED = [
    (n, r, c) for n in ("PCA", "LogisticRegression", "LinearRegression") for r in RELATIONS
    for c in CHANGES
]  # fmt: skip


@pytest.mark.parametrize(("name", "neighbors", "what"), CASES)
def test_one_person_is_one_unit(name, neighbors, what, caplog):
    said = io.StringIO()
    with caplog.at_level(logging.DEBUG), redirect_stdout(said), redirect_stderr(said):
        report = replayed(name, neighbors, what)
    assert report.ok, report.findings
    assert report.questions > 0
    assert said.getvalue() == ""
    assert not caplog.records


@pytest.mark.parametrize(("name", "neighbors", "what"), UNCOMBINED)
def test_rows_that_are_not_combined_are_a_group(name, neighbors, what):
    report = replayed(name, neighbors, what, "none")
    assert report.ok, report.findings


def shapes(value):
    if isinstance(value, dict):
        return {key: shapes(entry) for key, entry in value.items()}
    return np.shape(value) if isinstance(value, np.ndarray) else type(value).__name__


@pytest.mark.parametrize("combine", ["mean", "none"])
@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("name", ["PCA", "LogisticRegression"])
def test_five_hundred_rows_and_none_leave_the_same_shapes(name, neighbors, combine, tmp_path):
    left = []
    for what in ("500 rows", "no rows"):
        model = make_model(name, neighbors, combine)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for public in (LoudNoiseWarning, NotPrivateWarning, PeopleCountWarning):
                warnings.simplefilter("ignore", public)
            model.fit(make_table(changed(what)))
        statement = model.privacy_.to_dict()
        assert statement.pop("release_id")
        fitted = {k: v for k, v in vars(model).items() if k not in ("privacy_", "trace_")}
        told = json.dumps(statement) + repr(model) + repr(model.plan_)
        assert SECRET not in told
        model.save(tmp_path / what)
        files = [(p.name.partition("-")[0]) for p in sorted((tmp_path / what).iterdir())]
        left.append((shapes(fitted), statement, model.plan_, files))
        assert model.privacy_.private
        assert model.privacy_.verify()
        assert model.plan() == model.plan_
    assert left[0] == left[1]


def test_what_is_planned_is_what_is_spent():
    for combine in ("mean", "none"):
        model = make_model("PCA", "replace-one", combine, epsilon=1.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(make_table(make_people()))
        assert model.privacy_.events == model.plan_.events
        assert model.plan_.events[0].name == "people"
        (people,) = [e for e in model.plan_.events if e.name == "people"]
        share = people.mu**2 / sum(e.mu**2 for e in model.plan_.events)
        assert share == pytest.approx(people_plan.COUNT_SHARE, rel=1e-6)


# Broken twins.


def caught(name, what, combine="mean", neighbors="replace-one"):
    try:
        return not replayed(name, neighbors, what, combine).ok
    except PrivacyError:
        return True


def test_rows_that_are_not_paid_for_are_caught(monkeypatch):
    """A curator that takes a group of k rows for one."""

    class OneRow(group_curator.GroupCurator):
        def __init__(self, *parts, **more):
            super().__init__(*parts, **more)
            self._rows_moved = 1

    monkeypatch.setattr(people_plan, "GroupCurator", OneRow)
    assert caught("PCA", "one end", "none")


def test_a_budget_of_rows_is_caught(monkeypatch):
    """A plan that forgets to divide by k: its events cost more than the budget."""
    monkeypatch.setattr(people_plan, "rows_per_unit", lambda schema: 1)
    assert caught("PCA", "one end", "none")


def test_a_count_that_is_not_charged_is_seen(monkeypatch):
    def count_for_nothing(curator, found):
        return float(found), 1.0

    monkeypatch.setattr(people_plan, "count_people", count_for_nothing)
    model = make_model("PCA", "replace-one")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(make_table(make_people()))
    assert model.privacy_.events != model.plan_.events  # what the test above holds them to
    monkeypatch.setattr(people_plan, "FAR_SHARE", 0.0)
    monkeypatch.setattr(people_plan, "FAR_STDS", 0.0)
    assert caught("PCA", "no rows")  # the warning tells the exact number


def test_a_count_of_larger_sensitivity_is_caught(monkeypatch):
    """Rows counted in the place of people: one person moves the number by hundreds."""
    honest = people_count.count_people
    monkeypatch.setattr(
        people_plan, "count_people", lambda curator, found: honest(curator, 500 * found)
    )
    assert caught("PCA", "no rows")


def test_all_rows_of_a_person_kept_are_caught(monkeypatch):
    """A sum over more rows than it is divided by."""
    honest = kept_rows.choose_rows

    def keep_all(rows, rules, coins):
        from dataclasses import replace

        return honest(rows, replace(rules, max_rows=None), coins)

    monkeypatch.setattr("veilspan.tables.persons.gathering.choose_rows", keep_all)
    schema = make_schema("rows", "replace-one", "sum")
    from veilspan.tables.encoding import Encoder
    from veilspan.tables.persons import gather_people
    from veilspan.tables.sources.frames import ArrayColumns

    source = ArrayColumns(make_table(changed("500 rows")))
    coins = np.random.default_rng(0)
    (units,) = gather_people(source, Encoder(schema), schema.unit, coins)
    assert np.linalg.norm(units.x, axis=1).max() > schema.row_norm
    monkeypatch.undo()
    (units,) = gather_people(source, Encoder(schema), schema.unit, coins)
    assert np.linalg.norm(units.x, axis=1).max() <= schema.row_norm


def test_only_gaussian_plans_open_a_curator_of_groups():
    model = make_model("LogisticRegression", "replace-one", "none")
    for solver in ("sgd", "objective"):
        model.set_params(solver=solver)
        with pytest.raises(ValueError, match=r'solver="gd".*combine = "mean"'):
            model.plan()
    plan = make_model("LogisticRegression", "replace-one", "none").plan()
    assert all(isinstance(event, GaussianEvent) for event in plan.events)
