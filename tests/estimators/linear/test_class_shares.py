"""A rare class is told of, by a paid count, with the ways to find it."""

import warnings

import numpy as np
import pytest

from veilspan import (
    LinearSVC,
    LogisticRegression,
    RareClassWarning,
    Schema,
    UnreadLabelsWarning,
    load,
)
from veilspan.reports import report_html
from veilspan.solvers.linear.rare_classes.around_solver import SHARES

pytestmark = pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.NotPrivateWarning")
COMMON = {"feature_range": (-3, 3), "classes": ["no", "yes"], "epsilon": 1.0, "random_state": 0}


def rare_rows(n=20_000, offset=-5.9):
    """Some 2 % of the rows say yes."""
    rng = np.random.default_rng(0)
    x = np.clip(rng.standard_normal((n, 6)), -3, 3)
    scores = 1.5 * x @ np.array([1.0, -1.0, 0.5, 0.0, 0.0, 0.0]) + offset
    return x, np.where(rng.logistic(size=n) < scores, "yes", "no")


X, Y = rare_rows()


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_a_rare_class_is_told_of_in_the_users_words(kind):
    with pytest.warns(RareClassWarning, match="of the rows are 'yes'") as caught:
        model = kind(**COMMON).fit(X, Y)
    text = str(caught[-1].message)
    assert 'threshold="f1"' in text
    assert 'class_weight="balanced"' in text
    assert model.class_shares_[1] == pytest.approx((Y == "yes").mean(), abs=0.02)
    assert model.class_shares_.sum() == pytest.approx(1)
    assert 0 < model.class_shares_std_ < 0.01
    assert (model.predict(X) == "yes").mean() < 0.01  # right as often as possible


@pytest.mark.parametrize("said", [{"threshold": "f1"}, {"class_weight": "balanced"}])
def test_what_the_warning_names_finds_some_and_is_silent(said):
    """Facts of this seed: a fifth of the rare rows or more, at epsilon 1."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RareClassWarning)
        model = LogisticRegression(**COMMON, **said).fit(X, Y)
    assert (model.predict(X[Y == "yes"]) == "yes").mean() > 0.2
    assert "class_shares_" not in vars(model)


def test_frequent_classes_are_not_told_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RareClassWarning)
        LogisticRegression(**COMMON).fit(*rare_rows(offset=0.0))
        # Nor a share that noise alone may have made small.
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RareClassWarning)
        LogisticRegression(**COMMON).fit(X[:400], Y[:400])


def test_of_several_classes_weights_alone_are_named():
    labels = np.where(Y == "yes", "rare", np.where(X[:, 0] > 0, "a", "b"))
    said = {**COMMON, "classes": ["a", "b", "rare"], "epsilon": 5.0}
    with pytest.warns(RareClassWarning, match="'rare'") as caught:
        LogisticRegression(**said).fit(X, labels)
    assert "threshold" not in str(caught[-1].message)


def test_the_way_named_fits_the_class_that_is_rare():
    """F1 is that of the second class: where the first is rare, the mean of both shares is named."""
    said = {**COMMON, "classes": ["no", "yes"]}
    with pytest.warns(RareClassWarning, match="of the rows are 'no'") as caught:
        LogisticRegression(**said).fit(X, np.where(Y == "yes", "no", "yes"))
    text = str(caught[-1].message)
    assert 'threshold="balanced"' in text
    assert "f1" not in text
    with warnings.catch_warnings():
        warnings.simplefilter("error", RareClassWarning)
        found = LogisticRegression(**said, threshold="balanced")
        found.fit(X, np.where(Y == "yes", "no", "yes"))
    assert (found.predict(X[Y == "yes"]) == "no").mean() > 0.2


@pytest.mark.parametrize(
    ("shares", "text"),
    [
        ([0.9, 0.0996, 0.0004], "About 0.04 % of the rows are 'c' (by"),
        ([0.999, 0.001, 0.0], "Hardly any of the rows are 'c', about 0.1 % are 'b' (by"),
        ([0.996, 0.001, 0.001, 0.002, 0.0], "about 0.1 % are 'c', 1 more class is as rare (by"),
    ],
)
def test_every_rare_class_is_named_or_counted(shares, text):
    model = LogisticRegression()
    model.classes_ = np.array(list("abcde"[: len(shares)]))
    model.class_shares_, model.class_shares_std_ = np.array(shares), 1e-6
    message = model._find_rare()
    assert text in message
    alone = sum(share < 0.01 for share in shares) == 1
    assert ("predicts it hardly" in message) == alone


def test_the_count_is_planned_charged_and_small():
    plan = LogisticRegression(**COMMON).plan(20_000, 6)
    (event,) = (event for event in plan.events if event.name == SHARES)
    assert (1 / event.noise_multiplier / plan.budget.mu) ** 2 == pytest.approx(0.005)
    for said in ({"threshold": "f1"}, {"class_weight": {"yes": 3.0}}, {"epsilon": np.inf}):
        names = [e.name for e in LogisticRegression(**{**COMMON, **said}).plan(20_000, 6).events]
        assert names.count(SHARES) == 0


def test_a_release_keeps_the_shares(tmp_path):
    with pytest.warns(RareClassWarning):
        model = LogisticRegression(**COMMON).fit(X, Y)
    model.save(tmp_path / "release")
    again = load(tmp_path / "release")
    np.testing.assert_array_equal(again.class_shares_, model.class_shares_)
    assert again.cautions_ == model.cautions_
    assert "hardly ever" in model.cautions_[0]
    for one in (model, again):
        assert "hardly ever. To find such rows" in report_html(one)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RareClassWarning)
        model.set_params(threshold="f1").fit(X, Y)
    assert "class_shares_" not in vars(model)
    assert model.cautions_ == ()


YES_OR_NO = """
veilspan_schema = 1
name = "visits"

[unit]
protects = "patient"
neighbors = "replace-one"

[columns.age]
type = "number"
range = [0, 100]
source = "people"

[columns.back]
type = "boolean"
role = "target"
source = "the form"
"""


def test_words_that_the_schema_does_not_know_are_told_of():
    """A model that learned from nobody must not look like one that learned."""
    rng = np.random.default_rng(0)
    table = {
        "age": rng.uniform(0, 100, 4000),
        "back": np.where(rng.random(4000) < 0.4, "yes", "no"),
    }
    model = LogisticRegression(random_state=0, schema=Schema.from_toml(YES_OR_NO))
    with pytest.warns(UnreadLabelsWarning, match="ardly any of the rows have a label") as caught:
        model.fit(table)
    assert 'true = ["yes"]' in str(caught[-1].message)
    model.schema = Schema.from_toml(YES_OR_NO + 'true = ["yes"]\nfalse = ["no"]')
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnreadLabelsWarning)
        model.fit(table)
        table["back"][:1000] = ""  # a quarter without a label is no reason to speak
        model.fit(table)
