"""Errors of input name columns and say what to do, and quote no cell."""

import warnings

import numpy as np
import pandas as pd
import pytest

from veilspan import PCA, LinearRegression, LogisticRegression, Schema

pytestmark = [
    pytest.mark.filterwarnings("ignore::veilspan.NotPrivateWarning"),
    pytest.mark.filterwarnings("ignore::veilspan.LoudNoiseWarning"),
]


def frame(n=60):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"age": rng.integers(18, 90, n), "hours": rng.normal(40, 9, n)})


def refused(call):
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    assert caught.value.__context__ is None
    return str(caught.value)


SAID = {"random_state": 0, "feature_range": (0, 100)}


@pytest.mark.parametrize("kind", [LogisticRegression, LinearRegression, PCA])
@pytest.mark.parametrize("dtype", ["object", "category", "string"])
def test_columns_of_texts_are_named_and_no_cell_is(kind, dtype):
    table = frame()
    table["job"] = np.where(table.age > 50, "SECRET", "b")
    table["job"] = table["job"].astype(dtype)
    said = {"n_components": 1, "random_state": 0} if kind is PCA else SAID
    text = refused(lambda: kind(**said).fit(table, table.age > 50))
    assert "'job'" in text
    assert "'age'" not in text
    assert "schema" in text
    assert "SECRET" not in text


def test_names_of_columns_are_told():
    table = frame()
    twice = table[["age", "hours", "age"]]
    text = refused(lambda: LogisticRegression(**SAID).fit(twice, table.age > 50))
    assert "of one name: 'age'" in text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(**SAID).fit(table, table.age > 50)
    assert "now missing:\n- hours" in refused(lambda: model.predict(table[["age"]]))
    assert "same order" in refused(lambda: model.predict(table[["hours", "age"]]))
    more = table.rename(columns={"age": "years"})
    assert "unseen at fit time:\n- years" in refused(lambda: model.predict(more))


def test_missing_entries_come_with_what_to_do():
    table = frame()
    y = table.age / 100
    holed = table.mask(table.age == table.age[0])
    for call in (
        lambda: LinearRegression(**SAID).fit(holed, y),
        lambda: LinearRegression(**SAID).fit(table, y.mask(y == y[0])),
    ):
        text = refused(call)
        assert "contains NaN. Fill or drop" in text
        assert "schema" in text
    far = table.replace(table.hours[0], np.inf)
    assert "contains infinity" in refused(lambda: LinearRegression(**SAID).fit(far, y))


def test_targets_of_texts_and_labels_in_another_spelling_are_told_of():
    table = frame()
    texts = np.where(table.age > 50, "SECRET", "b")
    text = refused(lambda: LinearRegression(**SAID).fit(table, texts))
    assert "y could not be read as real numbers" in text
    assert "SECRET" not in text
    text = refused(lambda: LogisticRegression(**SAID, classes=["a", "b"]).fit(table, texts))
    assert "spelled otherwise" in text
    assert len(text) < 300


ROW = """
veilspan_schema = 1
name = "v"
[unit]
protects = "person"
neighbors = "replace-one"
[columns.age]
type = "number"
range = [0, 100]
source = "people"
[columns.old]
type = "boolean"
role = "target"
source = "people"
"""


def test_one_row_is_told_how_to_be_a_table():
    table = frame(400)[["age"]]
    model = LogisticRegression(schema=Schema.from_toml(ROW), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(table.assign(old=table.age > 50))
    for row in ({"age": 36}, {"age": "36"}):
        assert '{"age": [36], ...}' in refused(lambda row=row: model.predict(row))
    assert "df.iloc[[0]]" in refused(lambda: model.predict(table.iloc[0]))
    assert model.predict({"age": [36]}) == model.predict(table.iloc[[0]].assign(age=36))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = LogisticRegression(**SAID).fit(table, table.age > 50)
    assert "pandas.DataFrame([X])" in refused(lambda: plain.predict({"age": 36}))


def test_what_curves_need_is_asked_before_labels_are_spoken_of():
    table = frame().to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="needs feature_range"):
            LogisticRegression(features="auto").fit(table, table[:, 0] > 50)
