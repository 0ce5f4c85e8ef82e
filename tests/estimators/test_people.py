"""People with several rows: fitted, planned, counted, predicted, and what is refused."""

import math
import warnings
from pathlib import Path

import numpy as np
import pytest

from veilspan import (
    PCA,
    LogisticRegression,
    MatrixCompletion,
    RobustPCA,
    Schema,
    SchemaError,
    SubspaceTracker,
    load,
)
from veilspan.datasets import make_visits
from veilspan.estimators.by_person import ByPerson
from veilspan.privacy.budget import Budget
from veilspan.privacy.errors import PeopleCountWarning
from veilspan.tables.persons.trade_off import noise_factor, share_used, spread_of_mean

VISITS = make_visits(400)
TABLE = VISITS.columns
EXAMPLE = Path(__file__).parents[1] / "tables" / "ward.toml"
IDS = [name for name in dict.fromkeys(TABLE["patient_id"]) if name not in ("", "NA")]


def schema_with(**changes):
    text = VISITS.schema_toml
    for before, after in changes.values():
        assert before in text
        text = text.replace(before, after)
    return Schema.from_toml(text)


NONE = {
    "unit": ('combine   = "mean"', 'combine   = "none"'),
    "target": ('combine    = "any"\n', ""),
}
PRIVATE = {
    "relation": ('neighbors = "replace-one"', 'neighbors = "add-remove"'),
    "count": ("count     = 400", "expected  = 400"),
}


def test_the_example_schema_runs_whole(tmp_path):
    """Units included: the example of the format as it stands, on a table of visits."""
    schema = Schema.load(EXAMPLE)
    assert (schema.unit.id, schema.unit.combine, schema.count) == ("patient_id", "mean", 61_000)
    with pytest.warns(PeopleCountWarning, match="the schema says 61,000"):
        model = LogisticRegression(epsilon=1.0, schema=schema).fit(TABLE)
    assert model.privacy_.private
    assert model.privacy_.verify()
    assert model.privacy_.unit == "one patient: all rows of one patient_id"
    assert model.plan() == model.plan_
    assert "one patient exchanged for any other" in repr(model.privacy_)
    assert any("at most 8 rows of each are used" in text for text in model.privacy_.assumptions)
    model.save(tmp_path / "release")
    again = load(tmp_path / "release")
    one, two = (each.predict(TABLE, by_person=True) for each in (model, again))
    assert one.ids.tolist() == two.ids.tolist() == IDS
    assert one.values.tolist() == two.values.tolist()
    with pytest.warns(PeopleCountWarning):
        assert RobustPCA(2, epsilon=1.0, schema=schema).fit(TABLE).components_.shape == (2, 22)


@pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.LoudNoiseWarning")
@pytest.mark.parametrize("changes", [{}, PRIVATE])
def test_without_noise_people_are_fitted_as_their_means(changes):
    """At an infinite epsilon: what scikit-learn makes of one mean row a person."""
    from sklearn.decomposition import PCA as PlainPCA

    schema = schema_with(**changes, most=("max_rows  = 8\n", ""))
    model = PCA(2, epsilon=math.inf, schema=schema, neighbors=schema.neighbors, row_norm=9.0)
    rows = schema.encode(TABLE).x
    names = np.array(TABLE["patient_id"])
    means = np.array([rows[names == name].mean(axis=0) for name in IDS])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model.fit(TABLE)
    wanted = PlainPCA(2).fit(means)
    if changes:  # nobody is filled up: the centre is the mean of those who are there
        overlap = np.abs(np.sum(found.components_ * wanted.components_, axis=1))
        np.testing.assert_allclose(overlap, 1, atol=1e-6)
    answers = found.transform(TABLE, by_person=True)
    assert isinstance(answers, ByPerson)
    assert answers.ids.tolist() == IDS
    by_hand = (means - found.mean_) @ found.components_.T
    np.testing.assert_allclose(answers.values, by_hand, atol=1e-9)
    assert found.transform(TABLE).shape == (len(rows), 2)


def test_answers_about_people_and_about_rows():
    model = LogisticRegression(epsilon=3.0, schema=VISITS.schema).fit(TABLE)
    n, people = len(TABLE["age"]), len(IDS)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        rows, found = getattr(model, method)(TABLE), getattr(model, method)(TABLE, by_person=True)
        assert len(rows) == n
        assert len(found) == len(found.values) == people
        assert rows.shape[1:] == found.values.shape[1:]
        again = getattr(model, method)(TABLE, by_person=True)
        assert found.values.tolist() == again.values.tolist()  # a table has one answer
    assert dict(model.predict(TABLE, by_person=True))[IDS[0]] in ("no", "yes")
    assert 0 <= model.score(TABLE, by_person=True) <= 1
    assert model.score(TABLE) != model.score(TABLE, by_person=True)
    new = {name: cells for name, cells in TABLE.items() if name != "readmitted"}
    assert len(model.predict(new, by_person=True)) == people
    nobody = {name: ["NA"] for name in TABLE}
    assert len(model.predict(nobody, by_person=True)) == 0
    without_ids = {name: cells for name, cells in TABLE.items() if name != "patient_id"}
    assert len(model.predict(without_ids)) == n
    with pytest.raises(SchemaError, match="patient_id"):
        model.predict(without_ids, by_person=True)


def test_who_is_right_by_person_is_counted_by_person():
    model = LogisticRegression(epsilon=3.0, schema=VISITS.schema).fit(TABLE)
    found = dict(model.predict(TABLE, by_person=True))
    # Of those with more than eight visits some are not used: they are left out here.
    truth, rows = {}, {}
    for name, label in zip(TABLE["patient_id"], TABLE["readmitted"]):
        rows[name] = rows.get(name, 0) + 1
        if label in ("no", "yes"):
            truth[name] = "yes" if label == "yes" or truth.get(name) == "yes" else "no"
    few = [name for name in IDS if name in truth and rows[name] <= 8]
    right = np.mean([found[name] == truth[name] for name in few])
    assert model.score(TABLE, by_person=True) == pytest.approx(right, abs=0.02)


def test_answers_by_person_need_ids():
    plain = PCA(2).fit(np.eye(5))
    with pytest.raises(ValueError, match="whose row it is"):
        plain.transform(np.eye(5), by_person=True)
    model = PCA(2, epsilon=3.0, schema=schema_with(**NONE)).fit(TABLE)
    with pytest.raises(ValueError, match="an answer for each row"):
        model.transform(TABLE, by_person=True)
    dask = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    lazy = dask.from_pandas(pandas.DataFrame(TABLE), npartitions=2)
    mean = PCA(2, epsilon=3.0, schema=VISITS.schema).fit(lazy)
    assert any("gathered by id" in text for text in mean.privacy_.assumptions)
    assert mean.transform(lazy).compute().shape == (len(TABLE["age"]), 2)
    with pytest.raises(TypeError, match="compute"):
        mean.transform(lazy, by_person=True)
    with pytest.raises(ValueError, match="pairs"):
        RobustPCA(2, center="pairs", schema=VISITS.schema).fit(lazy)


# The number of people.


def test_a_right_count_says_nothing_and_a_wrong_one_is_told():
    quiet = PCA(2, epsilon=1.0, schema=VISITS.schema)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PeopleCountWarning)
        for _ in range(3):
            quiet.fit(TABLE)
    for count, word in ((3000, "left empty"), (40, "left out")):
        wrong = schema_with(count=("count     = 400", f"count     = {count}"))
        with pytest.warns(PeopleCountWarning, match=word) as told:
            PCA(2, epsilon=5.0, schema=wrong).fit(TABLE)
        (text,) = [str(w.message) for w in told if w.category is PeopleCountWarning]
        assert f"the schema says {count:,}" in text


def test_the_count_that_is_told_is_noisy():
    wrong = schema_with(count=("count     = 400", "count     = 3000"))
    said = set()
    for _ in range(6):
        with pytest.warns(PeopleCountWarning) as told:
            PCA(2, epsilon=1.0, schema=wrong).fit(TABLE)
        said |= {str(w.message) for w in told if w.category is PeopleCountWarning}
    # Six draws of a Gaussian of std 42, rounded to whole numbers: all equal once in 1e9 or less.
    assert len(said) > 1


def test_under_add_remove_nothing_is_counted_for_a_warning():
    schema = schema_with(**PRIVATE)
    model = PCA(2, epsilon=1.0, schema=schema, neighbors="add-remove")
    plan = model.plan()
    assert "people" not in [event.name for event in plan.events]
    with warnings.catch_warnings():
        warnings.simplefilter("error", PeopleCountWarning)
        fitted = model.fit({name: cells[:30] for name, cells in TABLE.items()})
    assert fitted.plan_ == plan
    assert fitted.privacy_.verify()


# Rows that are not combined.


def test_a_group_of_rows_has_the_noise_of_a_group():
    """The same plan for rows at mu/k; what is charged is k times that, which is mu."""
    schema = schema_with(**NONE)
    plan = PCA(2, epsilon=1.0, schema=schema).plan()
    assert plan.n_rows == 400 * 8
    mu = Budget(1.0, 1e-6).mu
    assert sum(event.mu**2 for event in plan.events) == pytest.approx(mu**2, rel=1e-6)
    one = PCA(2, epsilon=1.0, schema=VISITS.schema).plan()
    by_name = {event.name: event.noise_multiplier for event in one.events}
    for event in plan.events:  # multipliers are relative to k times the sensitivity of a row
        if event.name in by_name:
            assert event.noise_multiplier == pytest.approx(by_name[event.name], rel=0.02)
    fitted = PCA(2, epsilon=1.0, schema=schema).fit(TABLE)
    assert fitted.privacy_.verify()
    # Noise of 8 rows on sums over the rows that are kept, 2.6 a person: about three times as much.
    # At epsilon 100 the noisy number of rows, by which sums are divided, is right to 1 %.
    one, eight = (PCA(2, epsilon=100.0, schema=each).fit(TABLE) for each in (VISITS.schema, schema))
    assert 2 < eight.noise_edge_ / one.noise_edge_ < 5


def test_the_centre_of_slots_does_not_count_empty_ones():
    schema = schema_with(**NONE)
    model = PCA(2, epsilon=math.inf, schema=schema).fit(TABLE)
    encoded = schema.encode(TABLE).x
    known = ~np.isin(TABLE["patient_id"], ["", "NA"])
    np.testing.assert_allclose(model.mean_, encoded[known].mean(axis=0), atol=0.05)


def test_adaptive_solvers_see_what_is_left_row_by_row():
    schema = schema_with(**NONE)
    model = RobustPCA(2, epsilon=1.0, schema=schema).fit(TABLE)
    assert model.privacy_.verify()
    spent = sum(event.mu**2 for event in model.privacy_.events)
    assert spent <= Budget(1.0, 1e-6).mu ** 2 * (1 + 1e-9)
    assert spent > 0.9 * Budget(1.0, 1e-6).mu ** 2  # and it is used


# What is shown.


def test_the_plan_shows_what_max_rows_does():
    text = repr(PCA(2, schema=VISITS.schema).plan())
    assert "400 patients" in text
    assert "max_rows = 8 (chosen) uses" in text
    assert "max_rows = 4 uses" in text
    assert "max_rows = 16 uses" in text
    assert "whatever max_rows is" in text
    none = repr(PCA(2, schema=schema_with(**NONE)).plan())
    assert "8x" in none
    assert [share_used(rows, 8) for rows in (1, 8, 16)] == [1, 1, 0.5]
    assert noise_factor(2, 8, "none") == noise_factor(2, 8, "sum") == 4
    assert noise_factor(2, 8, "mean") == 1
    rng = np.random.default_rng(0)
    rows = rng.standard_normal(16)
    means = [rng.choice(rows, 8, replace=False).mean() for _ in range(4000)]
    assert np.std(means) / rows.std() == pytest.approx(spread_of_mean(16, 8), rel=0.05)


# What is refused.


def test_people_need_a_public_number():
    schema = schema_with(count=("count     = 400\n", ""))
    for ask in (lambda m: m.plan(), lambda m: m.fit(TABLE)):
        with pytest.raises(SchemaError, match="not read off their rows"):
            ask(PCA(2, schema=schema))


def test_a_target_must_say_how_it_is_combined():
    schema = schema_with(target=('combine    = "any"\n', ""))
    with pytest.raises(SchemaError, match="any, majority, first, last"):
        LogisticRegression(schema=schema).fit(TABLE)
    PCA(2, epsilon=3.0, schema=schema).fit(TABLE)  # which has no use for it
    with pytest.raises(SchemaError, match="keeps its own target"):
        schema_with(unit=NONE["unit"])


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ("max_rows  = 8\n", "", "max_rows"),
        ('keep      = "random"', 'keep      = "first"', "order_by"),
        ('protects  = "patient"\n', "", "whose the rows are"),
        ('combine    = "any"', 'combine    = "last"', "order_by"),
    ],
)
def test_units_that_do_not_add_up_are_refused(before, after, what):
    text = VISITS.schema_toml.replace('combine   = "mean"', 'combine   = "sum"')
    with pytest.raises(SchemaError, match=what):
        Schema.from_toml(text.replace(before, after))


def test_trackers_and_recommenders_have_their_own_way_with_people():
    with pytest.raises(ValueError, match="max_blocks_per_person"):
        SubspaceTracker(2, epsilon=1.0, schema=VISITS.schema).partial_fit(TABLE)
    with pytest.raises(ValueError, match="max_blocks_per_person"):
        SubspaceTracker(2, epsilon=1.0, schema=VISITS.schema).plan()
    ratings = Schema.from_toml("""
    veilspan_schema = 1
    name = "films"
    [unit]
    protects = "person"
    id = "household"
    count = 20
    source = "made up"
    [columns.household]
    role = "id"
    [columns.user]
    role = "user"
    [columns.film]
    role = "item"
    type = "category"
    categories = ["a", "b"]
    source = "made up"
    [columns.stars]
    role = "rating"
    type = "number"
    range = [1, 5]
    source = "made up"
    """)
    lines = {"household": ["1"], "user": ["u"], "film": ["a"], "stars": ["3"]}
    for ask in (lambda m: m.fit(lines), lambda m: m.plan()):
        with pytest.raises(ValueError, match="max_ratings_per_user"):
            ask(MatrixCompletion(1, schema=ratings))


def test_too_many_rows_for_the_budget_are_refused():
    schema = schema_with(**NONE, most=("max_rows  = 8", "max_rows  = 90000000"))
    with pytest.raises(ValueError, match="smaller max_rows"):
        PCA(2, epsilon=0.01, delta=1e-3, schema=schema).plan()


def test_ids_are_given_back_as_they_are_however_odd():
    """A NUL at the end tells two people apart, and one long id makes no other longer."""
    model = PCA(1, epsilon=1.0, schema=VISITS.schema, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(TABLE)
    table = {name: list(column[:3]) for name, column in TABLE.items()}
    table["patient_id"] = odd = ["p", "p\0", "x" * 100_000]
    people = model.transform(table, by_person=True)
    assert people.ids.tolist() == odd
    assert people.ids.nbytes < 1000
    assert len(dict(people)) == 3
