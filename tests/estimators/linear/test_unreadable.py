"""Cells that are no numbers, of fits and of own rows: refused, and never quoted."""

import traceback

import numpy as np
import pytest

from veilspan import LinearRegression, LogisticRegression

pytestmark = pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.NotPrivateWarning")

X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
SAID = {"feature_range": (-1, 1), "random_state": 0}
SECRETS = {
    "texts": np.array(["SECRET"] * 200),
    "objects": np.array([1.0] * 199 + ["SECRET"], dtype=object),
    "bytes": np.array([b"SECRET"] * 200),
    "list": ["SECRET"] * 200,
}


def refusal_of(call, *given):
    """All that an error shows, with what it hangs on."""
    with pytest.raises((TypeError, ValueError)) as caught:
        call(*given)
    assert caught.value.__context__ is None
    return "".join(traceback.format_exception_only(caught.value))


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("ranges", [{}, {**SAID, "target_range": (-2, 2)}])
def test_targets_that_are_no_numbers_are_not_quoted(kind, ranges):
    model = LinearRegression(**ranges)
    assert "SECRET" not in refusal_of(model.fit, X, SECRETS[kind])


@pytest.mark.parametrize("kind", SECRETS)
def test_a_score_quotes_no_target_and_no_weight(kind):
    numbers = LinearRegression(target_range=(-2, 2), **SAID).fit(X, X[:, 0])
    classes = LogisticRegression(classes=[0, 1], **SAID).fit(X, (X[:, 0] > 0).astype(int))
    assert "SECRET" not in refusal_of(numbers.score, X, SECRETS[kind])
    assert "SECRET" not in refusal_of(classes.score, X, SECRETS[kind])
    for model, y in ((numbers, X[:, 0]), (classes, (X[:, 0] > 0).astype(int))):
        assert "SECRET" not in refusal_of(model.score, X, y, SECRETS[kind])
        assert "SECRET" not in refusal_of(model.predict, np.array(SECRETS[kind])[:, None])


def test_numbers_in_other_forms_are_taken_as_ever():
    y = X[:, 0] + 1
    model = LinearRegression(target_range=(-2, 4), **SAID).fit(X, y)
    for form in (str, object):
        again = LinearRegression(target_range=(-2, 4), **SAID).fit(X, y.astype(form))
        np.testing.assert_array_equal(again.coef_, model.coef_)
        assert model.score(X, y.astype(form)) == model.score(X, y)
    assert model.score(X, y, np.ones(200)) == pytest.approx(model.score(X, y))
