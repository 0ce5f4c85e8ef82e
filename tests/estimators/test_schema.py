"""Estimators with a schema: ordinary tables as they are, from any source, by the same promise."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import veilspan
from veilspan import (
    PCA,
    LinearSVC,
    LogisticRegression,
    MatrixCompletion,
    Ridge,
    RobustPCA,
    Schema,
    SubspaceTracker,
    open_table,
)
from veilspan.curator.row_places import place_by_coins
from veilspan.datasets import make_ward
from veilspan.privacy.errors import RowCountWarning

WARD = make_ward(600)
FRAME = pd.DataFrame(WARD.columns)
RATINGS = """
veilspan_schema = 1
name = "films"

[columns.who]
role = "user"

[columns.film]
role = "item"
type = "category"
categories = ["Alien", "Brazil", "Casablanca"]
source = "The catalogue"

[columns.stars]
role = "rating"
type = "number"
range = [1, 5]
source = "The form"

[columns.day]
role = "time"
type = "date"
range = [2020-01-01, 2020-12-31]
source = "The year"
"""


def without_count(toml):
    return Schema.from_toml("\n".join(x for x in toml.splitlines() if not x.startswith("count")))


def number_schema(target="age"):
    """The ward's schema, with a number as its target."""
    text = WARD.schema_toml.replace('role       = "target"', "")
    text = text.replace('categories = ["no", "yes"]', 'categories = ["no", "yes"]\nother = true')
    head, tail = text.split(f"[columns.{target}]\n")
    return Schema.from_toml(
        f'{head}[columns.{target}]\nrole = "target"\n{tail}'.replace("fill   = 50\n", "")
    )


ALL = {
    "PCA": lambda **more: PCA(2, schema=WARD.schema, **more),
    "RobustPCA": lambda **more: RobustPCA(2, schema=WARD.schema, **more),
    "LogisticRegression": lambda **more: LogisticRegression(schema=WARD.schema, **more),
    "LinearSVC": lambda **more: LinearSVC(schema=WARD.schema, **more),
    "Ridge": lambda **more: Ridge(schema=number_schema(), **more),
}


@pytest.mark.parametrize("name", ALL)
def test_an_ordinary_table_is_fitted_without_a_bound(name, tmp_path):
    path = tmp_path / "ward.csv"
    path.write_text(WARD.to_csv())
    model = ALL[name]()
    planned = model.plan()
    fitted = model.fit(open_table(path))
    assert fitted.plan_ == planned  # no argument was needed, and no other shape came out
    assert fitted.privacy_.schema["digest"] == model.schema.digest
    assert fitted.privacy_.unit == "one patient: one row of the table"
    assert fitted.n_features_in_ == len(model.schema.columns_out)
    rows = (fitted.predict if hasattr(fitted, "predict") else fitted.transform)(FRAME)
    assert len(rows) == 600
    assert bool(fitted.privacy_.verify())
    again = clone(fitted)
    assert again.schema is fitted.schema
    fitted.save(tmp_path / "release")
    loaded = veilspan.load(tmp_path / "release")
    assert loaded.schema == fitted.schema
    same = (loaded.predict if hasattr(loaded, "predict") else loaded.transform)(FRAME)
    assert (np.asarray(same) == np.asarray(rows)).all()


def test_the_same_seed_gives_the_same_model_whatever_the_table_is(tmp_path):
    path = tmp_path / "ward.csv"
    path.write_text(WARD.to_csv())
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    arrow.parquet = pytest.importorskip("pyarrow.parquet")
    parquet = tmp_path / "ward.parquet"
    arrow.parquet.write_table(arrow.table(WARD.columns), parquet)
    tables = [
        open_table(path), FRAME, WARD.columns, polars.DataFrame(WARD.columns),
        arrow.table(WARD.columns), open_table(parquet),
    ]  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [
            LogisticRegression(schema=WARD.schema, features="waves", random_state=3).fit(t)
            for t in tables
        ]
    for model in models[1:]:
        assert (model.feature_map_.theta == models[0].feature_map_.theta).all()


def test_a_missing_target_counts_and_contributes_nothing():
    schema = without_count(WARD.schema_toml)
    blank = FRAME.assign(readmitted=np.where(np.arange(600) < 200, "not asked", FRAME.readmitted))
    other = blank.assign(age=np.where(np.arange(600) < 200, "99", blank.age))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = [LogisticRegression(epsilon=math.inf, schema=schema).fit(t) for t in (blank, other)]
    assert (fits[0].feature_map_.theta == fits[1].feature_map_.theta).all()
    assert fits[0].plan_.n_rows == 600


def test_score_leaves_out_rows_without_a_target():
    model = LogisticRegression(schema=WARD.schema).fit(FRAME)
    known = FRAME.readmitted.isin(["yes", "no"]).to_numpy()
    right = model.predict(FRAME)[known] == FRAME.readmitted.to_numpy()[known]
    assert model.score(FRAME) == pytest.approx(right.mean())
    with pytest.raises(ValueError, match="no row of the table has a target"):
        model.score(FRAME.assign(readmitted="?"))
    with pytest.raises(ValueError, match="target column"):
        model.score(FRAME, FRAME.readmitted)


def test_rows_are_placed_by_coins_and_one_place_changes():
    x = np.arange(12.0).reshape(6, 2)
    y = np.arange(6.0)
    for count in (3, 6, 9):
        for seed in range(20):
            one = place_by_coins(x, y, None, count, np.random.default_rng(seed))
            moved = x.copy()
            moved[4] = -1.0
            two = place_by_coins(moved, y, None, count, np.random.default_rng(seed))
            assert len(one[0]) == len(two[0]) == count
            assert (one[0] != two[0]).any(axis=1).sum() <= 1
            present = np.ones(count, bool) if one[2] is None else one[2]
            kept = one[0][present]
            assert len(kept) == min(count, 6)
            assert len(set(map(tuple, kept))) == len(kept)
            assert set(map(tuple, kept)) <= set(map(tuple, x))


@pytest.mark.parametrize("n", [3, 4])
def test_adding_a_row_changes_one_place_in_distribution(n):
    """Both laws of places, enumerated: a coupling with one differing place exists.

    The placements of n + 1 rows, with one of them replaced by an absent one (n < count) or left
    out in favour of another (n >= count), have the law of the placements of n rows. Checked here by
    counting: 8,000 draws of each, chi-square below its 1e-9 quantile by Wilson and Hilferty.
    """
    count = 4
    draws = 8_000

    def law(rows, drop):
        seen = {}
        rng = np.random.default_rng(rows)
        x = np.arange(1.0, rows + 1)[:, None]
        for _ in range(draws):
            placed, _, _ = place_by_coins(x, None, None, count, rng)
            names = [int(v) for v in placed[:, 0]]
            if drop in names:
                place = names.index(drop)
                left = [v for v in range(1, rows) if v not in names]
                names[place] = int(rng.choice(left)) if left else 0
            seen[tuple(names)] = seen.get(tuple(names), 0) + 1
        return seen

    one, two = law(n, None), law(n + 1, n + 1)
    assert set(one) == set(two)
    k = len(one) - 1
    chi = sum((one[key] - two[key]) ** 2 / (one[key] + two[key]) for key in one)
    limit = k * (1 - 2 / (9 * k) + 6.0 * math.sqrt(2 / (9 * k))) ** 3
    assert chi < limit


@pytest.mark.parametrize("rows", [200, 600, 900])
def test_the_count_of_the_schema_is_what_is_planned(rows):
    model = PCA(2, schema=WARD.schema)
    frame = pd.concat([FRAME, FRAME])[:rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RowCountWarning)
        assert model.fit(frame).plan_.n_rows == 600


def forms_of(frame, folder):
    """A table as a file of lines and as a data frame."""
    frame.to_csv(folder / "ward.csv", index=False)
    return open_table(folder / "ward.csv"), frame


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (200, "the table has 200 rows, the schema says 600: 400 rows are taken as missing."),
        (601, "the table has 601 rows, the schema says 600: 1 row is left out, chosen at random."),
    ],
)
def test_a_count_that_is_not_the_number_of_rows_is_told_of(rows, words, tmp_path):
    frame = pd.concat([FRAME, FRAME])[:rows]
    for table in forms_of(frame, tmp_path):
        for epsilon in (1.0, math.inf):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                LogisticRegression(schema=WARD.schema, epsilon=epsilon).fit(table)
            (told,) = [one for one in caught if one.category is RowCountWarning]
            assert str(told.message).startswith(words)
            assert told.filename == __file__
    # Nothing is told where the number of rows is private, or whose rows they are.
    private = WARD.schema_toml.replace("count    = 600", 'neighbors = "add-remove"')
    PCA(2, schema=Schema.from_toml(private), neighbors="add-remove").fit(frame)


def test_what_is_told_of_the_number_of_rows_depends_on_no_cell(tmp_path):
    """Lines that cannot be read are rows; the last line of one column is none, if it is empty."""
    lines = WARD.to_csv().splitlines()[:201]
    told = []
    for last in ("", '"', ",,", "x" * 100, '"' * 9 + ","):
        path = tmp_path / "ward.csv"
        path.write_text("\n".join([*lines[:100], last, *lines[101:]]) + "\n")
        with pytest.warns(RowCountWarning) as caught:
            PCA(2, schema=WARD.schema).fit(open_table(path))
        told.append([str(one.message) for one in caught if one.category is RowCountWarning])
    assert all(each == told[0] for each in told)
    one_column = Schema.from_toml(
        'veilspan_schema = 1\nname = "one"\n[unit]\ncount = 5\nsource = "said"\n'
        '[columns.a]\ntype = "number"\nrange = [0, 1]\nsource = "said"\n'
    )
    for text in ("a\n0.5\n0.5\n1", "a\n0.5\n0.5\n"):
        (tmp_path / "one.csv").write_text(text)
        veilspan.Profile(schema=one_column).fit(open_table(tmp_path / "one.csv"))


@pytest.mark.parametrize("rows", [0, 1])
def test_an_empty_table_is_refused_before_anything_is_charged(rows, tmp_path):
    ledger = veilspan.Ledger(tmp_path / "budget.db", key=tmp_path / "key")
    account = ledger.dataset("ward", epsilon=3, delta=1e-5, schema=WARD.schema)
    for table in forms_of(FRAME[:rows], tmp_path):
        for kind in (LogisticRegression, veilspan.Profile):
            with pytest.raises(ValueError, match="at least 2 rows"):
                kind(schema=WARD.schema, ledger=account).fit(table)
    assert account.spent().charges == 0


def test_under_add_remove_nothing_is_counted():
    text = WARD.schema_toml.replace("count    = 600", "expected = 500")
    schema = Schema.from_toml(text.replace("[unit]", '[unit]\nneighbors = "add-remove"'))
    model = LogisticRegression(schema=schema, neighbors="add-remove").fit(FRAME)
    assert model.plan_.n_rows is None
    assert "rows" not in str(model.plan())[:40] or "600" not in str(model.plan())
    one = LogisticRegression(schema=schema, neighbors="add-remove").fit(FRAME[:1])
    none = LogisticRegression(schema=schema, neighbors="add-remove").fit(FRAME[:0])
    assert one.plan_ == none.plan_ == model.plan_
    with pytest.raises(ValueError, match="neighbors='add-remove'"):
        LogisticRegression(schema=schema).fit(FRAME)


def test_a_plan_without_a_count_says_where_it_is_said():
    with pytest.raises(ValueError, match=r"count = \.\.\. in the schema's \[unit\]"):
        PCA(2, schema=without_count(WARD.schema_toml)).plan()


def test_a_file_is_counted_once(tmp_path, monkeypatch):
    WARD.save(tmp_path / "ward.csv", tmp_path / "ward.toml")
    counted = []
    source = open_table(tmp_path / "ward.csv")
    count = type(source).count_rows
    monkeypatch.setattr(type(source), "count_rows", lambda self: counted.append(1) or count(self))
    PCA(2, schema=without_count(WARD.schema_toml)).fit(source)
    assert len(counted) == 1


def test_what_the_schema_says_is_not_said_twice():
    for twice in ({"classes": ["a", "b"]}, {"feature_range": (0, 1)}, {"bounds": "private"}):
        with pytest.raises(ValueError, match="schema"):
            LogisticRegression(schema=WARD.schema, **twice).fit(FRAME)
    with pytest.raises(ValueError, match="schema"):
        Ridge(schema=number_schema(), target_range=(0, 1)).fit(FRAME)
    with pytest.raises(ValueError, match="target column"):
        LogisticRegression(schema=WARD.schema).fit(FRAME, FRAME.readmitted)
    with pytest.raises(ValueError, match="leave it out"):
        PCA(2, schema=WARD.schema).plan(600, 22)
    with pytest.raises(TypeError, match=r"Schema\.load\('ward.toml'\)"):
        PCA(2, schema="ward.toml").fit(FRAME)


def test_wrong_kinds_of_target_are_refused():
    with pytest.raises(ValueError, match="holds numbers"):
        LogisticRegression(schema=number_schema()).fit(FRAME)
    with pytest.raises(ValueError, match="predicts numbers"):
        Ridge(schema=WARD.schema).fit(FRAME)
    no_target = Schema.from_toml(WARD.schema_toml.replace('"target"', '"ignore"'))
    with pytest.raises(ValueError, match="needs a target"):
        LogisticRegression(schema=no_target).fit(FRAME)


def test_another_schema_is_refused_after_the_fit():
    model = PCA(2, schema=WARD.schema).fit(FRAME)
    model.schema = Schema.from_toml(WARD.schema_toml.replace("[0, 110]", "[0, 120]"))
    with pytest.raises(ValueError, match="fitted with the schema 'ward'"):
        model.transform(FRAME)


@pytest.mark.parametrize("kind", [PCA, RobustPCA, LogisticRegression])
def test_a_schema_that_was_lost_after_the_fit_is_missed(kind):
    model = kind(schema=WARD.schema).fit(FRAME)
    use = model.transform if hasattr(model, "transform") else model.predict
    model.schema = None
    with pytest.raises(ValueError, match="give it its schema back"):
        use(np.zeros((3, len(WARD.schema.columns_out))))


def test_a_schema_that_came_after_the_fit_is_refused():
    width = len(WARD.schema.columns_out)
    rows = np.random.default_rng(0).random((600, width))
    model = PCA(2, row_norm=float(width)).fit(rows)
    model.schema = WARD.schema
    with pytest.raises(ValueError, match="fitted without a schema"):
        model.transform(FRAME)


def test_an_array_without_names_is_refused():
    model = PCA(2, schema=WARD.schema)
    with pytest.raises(TypeError, match="names of columns"):
        model.fit(np.zeros((600, 3)))


def test_coefficients_and_loadings_are_in_the_users_units():
    """A line that is exact in the user's units comes back in them, without noise."""
    n = 4000
    rng = np.random.default_rng(0)
    schema = Schema.from_toml("""
veilspan_schema = 1
name = "line"
[columns.length]
type = "number"
unit = "m"
range = [10, 30]
source = "a ruler"
[columns.dose]
type = "number"
range = [1, 1000]
scale = "log"
source = "a label"
[columns.when]
type = "date"
range = [2020-01-01, 2021-12-31]
source = "the study"
[columns.yes]
type = "boolean"
source = "a form"
[columns.y]
role = "target"
type = "number"
range = [-100, 100]
source = "a scale"
""")
    length, log2 = rng.uniform(10, 30, n), rng.uniform(0, 9.9, n)
    days, yes = rng.integers(0, 730, n), rng.random(n) < 0.5
    table = {
        "length": length,
        "dose": 2.0**log2,
        "when": np.datetime64("2020-01-01") + days,
        "yes": yes,
        "y": 0.5 * length + 3 * log2 + 2 * days / 365 - 4 * yes,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Ridge(
            alpha=0, epsilon=math.inf, schema=schema, solver="statistics", features="linear"
        ).fit(table)
    told = model.coefficients_
    # A fact of this seed: exact up to the solver's own ridge, measured 2e-9.
    for name, expected in (("length", 0.5), ("dose", 3.0), ("when", 2.0), ("yes", -4.0)):
        assert told[name][0] == pytest.approx(expected, abs=1e-4)
    assert told.units == ("per m", "per doubling", "per year", "if so")
    assert "length" in repr(told)
    assert "<table>" in told._repr_html_()
    assert told.to_pandas().loc["dose", "y"] == pytest.approx(3.0, abs=1e-4)
    loadings = PCA(4, epsilon=math.inf, schema=schema).fit(table).loadings_
    assert loadings.units == ("m", "factor", "days", "share")
    with pytest.raises(AttributeError, match="components_"):
        PCA(2).fit(np.eye(4)).loadings_  # noqa: B018


def test_dask_frames_give_the_rows_of_the_frame():
    dask = pytest.importorskip("dask.dataframe")
    lazy = dask.from_pandas(FRAME, npartitions=3)
    schema = without_count(WARD.schema_toml)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here, there = (
            Ridge(epsilon=math.inf, schema=number_schema(), solver="statistics").fit(table)
            for table in (FRAME, lazy)
        )
    # A constant may move between a group and the intercept, by rounding; predictions stay.
    np.testing.assert_allclose(here.predict(FRAME), there.predict(FRAME), rtol=0, atol=1e-6)
    predicted = there.predict(lazy).compute()
    np.testing.assert_allclose(predicted, there.predict(FRAME), rtol=0, atol=1e-9)
    assert PCA(2, schema=schema).fit(lazy).transform(lazy).compute().shape == (600, 2)
    counted = PCA(2, schema=WARD.schema)
    assert counted.fit(lazy).plan_.n_rows == 600
    short = dask.from_pandas(FRAME[:500], npartitions=2)
    longer = dask.from_pandas(pd.concat([FRAME, FRAME], ignore_index=True), npartitions=4)
    for table, said in ((short, "has 500 rows"), (longer, "has 1,200 rows")):
        with pytest.warns(RowCountWarning, match=said):
            assert counted.fit(table).plan_.n_rows == 600
    with pytest.raises(TypeError, match="names"):
        counted.fit(lazy.to_dask_array(lengths=True))


def test_long_tables_of_ratings():
    rng = np.random.default_rng(0)
    schema = Schema.from_toml(RATINGS)
    films = np.array(["Alien", "Brazil", "Casablanca", "(unknown)"])
    n = 2000
    table = pd.DataFrame({
        "who": rng.integers(400, size=n), "film": films[rng.integers(4, size=n)],
        "stars": rng.choice(["1", "2", "5", "9", "bad"], n),
        "day": np.datetime64("2020-01-01") + rng.integers(366, size=n),
    })  # fmt: skip
    model = MatrixCompletion(schema=schema, epsilon=3.0).fit(table)
    assert model.item_ids_ == ("Alien", "Brazil", "Casablanca")
    assert model.plan_.n_rows == table.who.nunique()
    assert model.privacy_.unit == "one user: all of her ratings"
    assert model.predict(table).shape == (table.who.nunique(), 3)
    assert model.score(table, table) < 0
    assert model.local_predictor().rating_range == (1.0, 5.0)
    with pytest.raises(ValueError, match="rating_range"):
        MatrixCompletion(schema=schema, rating_range=(0, 1)).fit(table)
    with pytest.raises(ValueError, match="has no items"):
        MatrixCompletion(schema=WARD.schema).fit(FRAME)
    model.schema = None
    with pytest.raises(ValueError, match="give it its schema back"):
        model.predict(np.zeros((2, 3)))


def test_the_later_rating_counts_whatever_the_order_of_lines():
    from veilspan.estimators.completion.ratings_with_schema import read_users

    schema = Schema.from_toml(RATINGS)
    lines = [
        ("u", "Alien", "2", "2020-03-01"), ("u", "Alien", "4", "2020-01-01"),
        ("v", "Brazil", "1", ""), ("v", "Brazil", "5", "2020-02-01"), ("", "Brazil", "5", ""),
        ("w", "nothing", "3", ""),
    ]  # fmt: skip
    for order in (lines, lines[::-1]):
        table = dict(zip(("who", "film", "stars", "day"), map(list, zip(*order))))
        found, ids = read_users(schema, table)
        assert sorted(ids) == ["u", "v", "w"]
        assert found[[ids["u"]]].toarray().tolist() == [[2.0, 0.0, 0.0]]
        assert found[[ids["v"]]].toarray().tolist() == [[0.0, 5.0, 0.0]]
        assert found[[ids["w"]]].nnz == 0


def test_trackers_take_tables(tmp_path):
    schema = without_count(WARD.schema_toml)
    tracker = SubspaceTracker(2, schema=schema, epsilon=2.0, block_size=200)
    assert tracker.plan().n_features == len(schema.columns_out)
    tracker.partial_fit(FRAME)
    assert tracker.releases_ == 3
    assert tracker.transform(FRAME).shape == (600, 2)
    assert tracker.privacy_.schema["name"] == "ward"
    plain = SubspaceTracker(2, schema=schema).partial_fit(FRAME[:50])
    assert plain.components_.shape == (2, len(schema.columns_out))
    for each in (tracker, plain):
        path = tmp_path / "stream.npz"
        each.save(path)
        again = SubspaceTracker.load(path)
        assert again.schema == schema
        assert np.array_equal(again.transform(FRAME), each.transform(FRAME))
        again.partial_fit(FRAME)


def test_replay_on_neighbouring_tables_of_texts():
    """One patient's cells exchanged for hostile ones: the same questions, sums within bounds."""
    from veilspan.audit.replay import replay

    schema = without_count(WARD.schema_toml)
    small = FRAME[:40]
    worst = ["\x00", "1e400", '"', "male", "Z", "maybe", "9999-99-99", "yes", "x" * 10_000]
    other = small.copy()
    other.iloc[-1] = worst
    for make in (
        lambda: LogisticRegression(schema=schema, random_state=0),
        lambda: PCA(1, schema=schema, random_state=0),
        lambda: RobustPCA(1, schema=schema, random_state=0),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = replay(lambda table, make=make: make().fit(table), small, other)
        assert found.ok, found
