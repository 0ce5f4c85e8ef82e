"""Labels of classifiers: which are public, and how ensembles of scikit-learn hand them on."""

import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier

from veilspan import LinearSVC, LogisticRegression, PublicLabelsWarning
from veilspan.estimators.linear.classifier import _sorted_labels

both = pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
ROWS = np.random.default_rng(0).standard_normal((400, 3))
ANSWERS = np.where(ROWS[:, 0] > 0, "yes", "no")


def make(kind, **changes):
    return kind(**{"epsilon": 5.0, "row_norm": 2.0, **changes})


@both
def test_labels_that_nobody_said_to_be_public_are_warned_of(kind):
    with pytest.warns(PublicLabelsWarning, match="classes=\\[...\\]"):
        fitted = make(kind).fit(ROWS, ANSWERS)
    assert any("read off y" in line for line in fitted.privacy_.assumptions)


@both
@pytest.mark.parametrize("classes", [["no", "yes"], "observed"])
def test_a_user_who_says_it_is_not_warned(kind, classes):
    with warnings.catch_warnings():
        warnings.simplefilter("error", PublicLabelsWarning)
        fitted = make(kind, classes=classes).fit(ROWS, ANSWERS)
    assert fitted.classes_.tolist() == ["no", "yes"]
    seen = any("read off y" in line for line in fitted.privacy_.assumptions)
    assert seen == (classes == "observed")


def test_the_warning_names_the_line_of_the_fit():
    with pytest.warns(PublicLabelsWarning) as told:
        make(LogisticRegression).fit(ROWS, ANSWERS)
    assert told[0].filename == __file__


def test_a_word_is_no_list_of_labels():
    with pytest.raises(ValueError, match='"observed"'):
        make(LogisticRegression, classes="yes").fit(ROWS, ANSWERS)


def test_ensembles_that_hand_on_places_of_labels():
    """They give their parts numbers: strings among ``classes`` are refused, with what to do."""
    parts = [("a", make(LogisticRegression, classes=range(2)))]
    voting = VotingClassifier(parts, voting="soft").fit(ROWS, ANSWERS)
    assert voting.score(ROWS, ANSWERS) > 0.9
    assert set(voting.predict(ROWS)) == {"no", "yes"}
    strings = [("a", make(LogisticRegression, classes=["no", "yes"]))]
    for kind in (VotingClassifier, StackingClassifier):
        with pytest.raises(ValueError, match=r"say classes=range\(k\)"):
            kind(strings).fit(ROWS, ANSWERS)


def test_calibration_keeps_strings():
    model = CalibratedClassifierCV(make(LogisticRegression, classes=["no", "yes"]), cv=2)
    assert model.fit(ROWS, ANSWERS).score(ROWS, ANSWERS) > 0.9


@pytest.mark.parametrize(
    "labels", [[3, 1, 2], [1, 2, 3], ["a", "b"], ["b", "a", "b"], [True], [2.0, np.nan, 1.0], [1j]]
)
def test_labels_are_sorted_in_silence(labels):
    """A warning about one that is no number would tell of the row that has it."""
    labels = np.array(labels)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        found = _sorted_labels(labels)
    np.testing.assert_array_equal(found, np.unique(labels))
    assert found.dtype == np.unique(labels).dtype
    assert not np.shares_memory(found, labels)


def test_labels_of_several_parts_are_sorted():
    pairs = np.array([(1, 2.0), (0, 1.0), (1, 2.0)], dtype=[("a", int), ("b", float)])
    assert _sorted_labels(pairs).tolist() == [(0, 1.0), (1, 2.0)]
