"""Under add-remove the number of rows is private: none and one are fitted like two."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from veilspan import LinearRegression, LogisticRegression
from veilspan.estimators.linear.regression import HuberRegressor, Ridge

SAID = {"neighbors": "add-remove", "expected_rows": 50, "random_state": 0}
KNOWN = {"feature_range": (-1, 1)}
NUMBERS = {**KNOWN, "target_range": (-2, 2)}
MODELS = {
    "numbers": (LinearRegression, NUMBERS),
    "curves": (LinearRegression, {**NUMBERS, "features": "auto"}),
    "no bounds": (LinearRegression, {}),
    "ridge": (Ridge, {**NUMBERS, "alpha": 1.0}),
    "huber": (HuberRegressor, NUMBERS),
    "classes": (LogisticRegression, {**KNOWN, "classes": [0, 1]}),
    "balanced": (
        LogisticRegression, {**KNOWN, "classes": [0, 1], "class_weight": "balanced"}
    ),
    **{
        solver: (LogisticRegression, {**KNOWN, "classes": [0, 1], "solver": solver})
        for solver in ("gd", "sgd", "objective", "newton", "svrg", "accmd", "frank-wolfe")
    },
    "statistics": (LinearRegression, {**NUMBERS, "solver": "statistics"}),
}  # fmt: skip


def outcome_of(kind, settings, x, y):
    """What is seen of a fit beside its numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = kind(**SAID, **settings).fit(x, y)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return sorted(name for name in vars(model) if name.endswith("_"))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", MODELS)
def test_no_row_and_one_are_fitted_like_two(name, form):
    kind, settings = MODELS[name]
    x = np.random.default_rng(0).uniform(-1, 1, (4, 3))
    y = np.array([0, 1, 0, 1])
    seen = [outcome_of(kind, settings, form(x[:n]), y[:n]) for n in (3, 2, 1, 0)]
    assert seen[1:] == seen[:-1]
    sees = name == "frank-wolfe" or (name == "curves" and form is not np.asarray)
    assert isinstance(seen[0], str) is sees  # refused, whatever the number of rows


def test_a_row_alone_is_one_row():
    """Without noise: what is beside it is nobody."""
    x, y = np.array([[0.5, -0.25]]), np.array([1.0])
    said = {**SAID, **NUMBERS, "epsilon": np.inf, "solver": "gd"}
    alone = LinearRegression(**said).fit(x, y)
    twice = LinearRegression(**said).fit(np.vstack([x, x]), np.append(y, y))
    np.testing.assert_allclose(alone.predict(x), twice.predict(x), atol=1e-3)


def test_replace_one_needs_two_rows():
    with pytest.raises(ValueError, match="minimum of 2"):
        LinearRegression(**NUMBERS).fit([[0.5]], [1.0])


def test_a_table_without_columns_is_refused_without_its_number_of_rows():
    seen = {outcome_of(LinearRegression, NUMBERS, np.zeros((n, 0)), np.zeros(n)) for n in (7, 8)}
    (said,) = seen
    assert "minimum of 1" in said
