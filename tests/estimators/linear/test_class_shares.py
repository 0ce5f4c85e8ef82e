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


LABELS = np.where(Y == "yes", "rare", np.where(X[:, 0] > 0, "a", "b"))
THREE = {**COMMON, "classes": ["a", "b", "rare"], "epsilon": 5.0}


@pytest.mark.parametrize(
    ("kind", "way"),
    [(LogisticRegression, 'threshold="balanced"'), (LinearSVC, 'class_weight="balanced"')],
)
def test_of_several_classes_the_better_way_is_named(kind, way):
    with pytest.warns(RareClassWarning, match="'rare'") as caught:
        kind(**THREE).fit(X, LABELS)
    text = str(caught[-1].message)
    assert ("class_weight" in text) == (kind is LinearSVC)
    assert way in text


@pytest.mark.parametrize("epsilon", [5.0, np.inf])
def test_several_classes_are_balanced_by_their_shares(epsilon, tmp_path):
    """The plan, the coefficients and the probabilities are those of a default fit."""
    said = {**THREE, "epsilon": epsilon}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        plain = LogisticRegression(**said).fit(X, LABELS)
        warnings.simplefilter("error", RareClassWarning)
        model = LogisticRegression(**said, threshold="balanced").fit(X, LABELS)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    by_hand = model.predict_proba(X) / model.class_shares_
    assert (model.predict(X) == model.classes_[by_hand.argmax(axis=1)]).all()
    assert (model.predict(X[Y == "yes"]) == "rare").mean() > 0.4
    assert (plain.predict(X[Y == "yes"]) == "rare").mean() < 0.2
    if epsilon == 5.0:
        assert model.plan_.events == plain.plan_.events
        np.testing.assert_array_equal(model.class_shares_, plain.class_shares_)
    model.save(tmp_path / "release")
    again = load(tmp_path / "release")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    for leave in (model.to_json, model.to_sklearn):
        with pytest.raises(ValueError, match="no place in a scorer, nor in scikit-learn"):
            leave()
    assert "threshold_" not in vars(plain)


def test_a_class_that_nobody_has_is_not_predicted_for_everybody():
    said = {**THREE, "classes": ["a", "b", "none", "rare"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for seed in range(5):  # dividing by hand as the warning says decides alike
            divided = LogisticRegression(**{**said, "random_state": seed}, threshold="balanced")
            divided.fit(X, LABELS)
            floored = np.maximum(divided.class_shares_, 2 * divided.class_shares_std_)
            by_hand = divided.predict_proba(X) / floored
            assert (divided.predict(X) == divided.classes_[by_hand.argmax(axis=1)]).all()
        for epsilon in (1.0, np.inf):
            said["epsilon"] = epsilon
            model = LogisticRegression(**said, threshold="balanced").fit(X, LABELS)
            assert np.isfinite(model.threshold_).all()
            assert (model.predict(X) == "none").mean() < 0.5


def test_what_several_classes_cannot_be_aimed_at():
    for kind, said in (
        (LogisticRegression, {"threshold": "f1"}),
        (LogisticRegression, {"threshold": "balanced", "class_weight": "balanced"}),
        (LinearSVC, {"threshold": "balanced"}),
    ):
        with pytest.raises(ValueError, match="several"):
            kind(**THREE, **said).plan(1000, 6)


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
        table["back"][:100] = ""  # a few without a label are no reason to speak
        model.fit(table)
    table["back"][:1000] = ""
    with pytest.warns(UnreadLabelsWarning, match="about 7. % of the rows have a label"):
        model.fit(table)


def test_one_word_in_another_spelling_is_no_rare_class():
    """A word of two: what helps against rare classes would be paid for nothing."""
    rng = np.random.default_rng(0)
    table = {
        "age": rng.uniform(0, 100, 8000),
        "back": np.where(rng.random(8000) < 0.25, "Yes.", "no"),
    }
    said = YES_OR_NO + 'true = ["yes"]\nfalse = ["no"]'
    model = LogisticRegression(random_state=0, schema=Schema.from_toml(said))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(table)
    assert not any(issubclass(one.category, RareClassWarning) for one in caught)
    (text,) = (str(one.message) for one in caught if one.category is UnreadLabelsWarning)
    assert "Only about 7" in text
    assert "hardly any of them is True" in text
    assert "in another way than the schema" in text


def test_a_rare_class_beside_missing_labels_is_told_of():
    rng = np.random.default_rng(0)
    back = np.where(rng.random(30_000) < 0.25, "", "no")
    back[:700] = "yes"
    table = {"age": rng.uniform(0, 100, 30_000), "back": back}
    said = YES_OR_NO + 'true = ["yes"]\nfalse = ["no"]'
    model = LogisticRegression(random_state=0, schema=Schema.from_toml(said))
    rare = pytest.warns(RareClassWarning, match="% of the rows are True")
    with rare, pytest.warns(UnreadLabelsWarning, match="others count as missing"):
        model.fit(table)


def test_a_class_that_nobody_has_may_be_written_in_another_way():
    rng = np.random.default_rng(0)
    table = {"age": rng.uniform(0, 100, 8000), "back": np.full(8000, "no")}
    said = YES_OR_NO + 'true = ["yes"]\nfalse = ["no"]'
    model = LogisticRegression(random_state=0, schema=Schema.from_toml(said))
    with pytest.warns(RareClassWarning, match="are True, or the table writes it in another way"):
        model.fit(table)
