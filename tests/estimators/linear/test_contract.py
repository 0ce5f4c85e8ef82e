"""What every private linear model promises, beyond what it computes."""

import json
import math
import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from estimators.linear.cases import MODELS, WIDTH, data_for, is_regression, make
from veilspan import (
    LoudNoiseWarning,
    NotPrivateWarning,
    PrivacyStatement,
    PublicLabelsWarning,
    WeakGuaranteeError,
    WeakGuaranteeWarning,
)
from veilspan.estimators.linear.classification import LinearSVC, LogisticRegression
from veilspan.estimators.linear.regression import LinearRegression
from veilspan.solvers.linear.gradient_descent import GradientDescent

everyone = pytest.mark.parametrize("name", MODELS)
# Sampled plans take seconds to calibrate: they are in the tests where sampling matters.
unsampled = pytest.mark.parametrize("name", [name for name in MODELS if "sampled" not in name])
relations = pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
SECRET = "Alice Secret"
# Small tables show little above the noise of private ranges, which is said.
pytestmark = pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.LoudNoiseWarning")


#: The two whose contract is checked in every run; ``--all`` checks all of them.
FIRST = (LogisticRegression, LinearRegression)


def scikit_learn_instances(wanted):
    # Tables of the suite are small and it asks for accuracy: little noise, bounds that fit them.
    loose = {"epsilon": 1e4, "solver": GradientDescent(steps=100)}
    own = {
        LogisticRegression: {"row_norm": 20.0},
        LinearSVC: {"row_norm": 20.0, "hinge_width": 2.0},
    }
    regression = {"row_norm": 5.0, "target_range": (-5, 5)}
    kinds = dict.fromkeys(kind for kind, _ in MODELS.values())
    return [kind(**loose, **own.get(kind, regression)) for kind in kinds if wanted(kind)]


# No check is expected to fail: with the seed that the suite sets, fits repeat.
@pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.NotPrivateWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(scikit_learn_instances(lambda kind: kind in FIRST))
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.NotPrivateWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(scikit_learn_instances(lambda kind: kind not in FIRST))
def test_scikit_learn_contract_of_the_others(estimator, check):
    check(estimator)


def model_asks(name):
    return make(name)._asks_ranges


@everyone
@relations
def test_the_statement_is_true_and_complete(name, neighbors):
    fitted = make(name, neighbors=neighbors).fit(*data_for(name))
    statement = fitted.privacy_
    assert statement.private
    assert statement.verify()
    assert statement.epsilon == pytest.approx(fitted.epsilon, rel=1e-3)
    assert statement.epsilon <= fitted.epsilon * (1 + 1e-9)
    assert statement.neighbors == neighbors
    where = "feature ranges were estimated" if model_asks(name) else "set without the rows"
    assert any(where in line for line in statement.assumptions)
    wanted = "target" if is_regression(name) else "class labels"
    assert any(wanted in line for line in statement.assumptions)
    assert PrivacyStatement.from_dict(json.loads(statement.to_json())) == statement


@everyone
@relations
def test_the_plan_is_what_happens(name, neighbors):
    model = make(name, neighbors=neighbors)
    if "three" in name or "labels" in name:
        model.set_params(classes=[0, 1, 2] if "three" in name else [0, 1])
    x, y = data_for(name)
    plan = model.plan(*x.shape)
    fitted = model.fit(x, y)
    assert fitted.privacy_.events == plan.events
    assert fitted.plan_ == plan
    assert plan.epsilon == pytest.approx(model.epsilon, rel=1e-3)
    json.dumps(plan.to_dict())
    assert type(model).__name__ in repr(plan)


@unsampled
def test_a_seed_is_a_simulation(name):
    x, y = data_for(name)
    with pytest.warns(NotPrivateWarning, match="simulation"):
        first = make(name, random_state=3).fit(x, y)
    with pytest.warns(NotPrivateWarning):
        second = clone(first).fit(x, y)
    np.testing.assert_array_equal(first.coef_, second.coef_)
    assert not first.privacy_.private
    assert "seed" in first.privacy_.why_not_private


@unsampled
def test_without_a_seed_every_fit_draws_its_own_noise(name):
    x, y = data_for(name)
    one, two = (clone(make(name)).fit(x, y) for _ in range(2))
    # The lasso may keep every coefficient at zero, never an intercept.
    moved = [np.append(model.coef_, model.intercept_) for model in (one, two)]
    assert not np.array_equal(*moved)


@unsampled
def test_a_pickle_carries_no_rows(name):
    x, y = data_for(name)
    x[:, 1] = marker = 0.123456789
    fitted = make(name).fit(x, y)
    data = pickle.dumps(fitted)
    assert np.float64(marker).tobytes() not in data
    assert len(data) < 8000
    np.testing.assert_array_equal(pickle.loads(data).predict(x), fitted.predict(x))


@unsampled
def test_sparse_and_small_dtypes_give_the_same_answer(name):
    x, y = data_for(name)
    whole = np.rint(x).astype(np.int8)
    settings = {"epsilon": math.inf, "random_state": 0, "center": "zero"}
    dense = make(name, **settings).fit(whole, y)
    for other in (whole.astype(np.float32), sparse.csr_matrix(whole), sparse.csr_array(whole)):
        fitted = make(name, **settings).fit(other, y)
        np.testing.assert_allclose(fitted.coef_, dense.coef_, atol=1e-10)
        np.testing.assert_allclose(fitted._scores(other), dense._scores(whole), atol=1e-9)


@unsampled
def test_a_large_delta_is_refused_or_allowed_and_warned_about(name):
    with pytest.raises(WeakGuaranteeError, match="1/n"):
        make(name, delta=0.05).fit(*data_for(name))
    with pytest.warns(WeakGuaranteeWarning, match="1/n"):
        make(name, delta=0.05, allow_weak=True).fit(*data_for(name))
    private = make(name, delta=0.05, neighbors="add-remove")
    if private.expected_rows is not None:  # a public guess stands for n
        with pytest.raises(WeakGuaranteeError, match="1/n"):
            private.fit(*data_for(name))
        return
    with warnings.catch_warnings():  # under add-remove the warning would tell something about n
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LoudNoiseWarning)
        warnings.simplefilter("ignore", PublicLabelsWarning)
        private.fit(*data_for(name))


@pytest.mark.parametrize("name", ["LogisticRegression", "LinearSVC", "Lasso"])
@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": 0},
        {"epsilon": -1.0},
        {"epsilon": math.nan},
        {"epsilon": "1"},
        {"delta": 0.0},
        {"neighbors": "swap"},
        {"noise": "none"},
        {"random_state": "seed"},
        {"clip": 0.0},
        {"solver": "adam"},
        {"intercept_scaling": 0.0},
        {"expected_rows": 0},
        {"row_norm": -1.0},
        {"center": "mean"},
        {"feature_range": (1.0, 0.0)},
        {"feature_range": (0.0, math.inf)},
        {"feature_range": (np.zeros(3), np.ones(3))},
        {"feature_range": "wide"},
        {"bounds": "public"},
        {"bounds": "private"},
        {"selection": "gd"},
    ],
    ids=str,
)
def test_bad_parameters_are_refused_with_their_name(name, changes):
    with pytest.raises((ValueError, TypeError), match=next(iter(changes))):
        make(name, **changes).fit(*data_for(name))


@pytest.mark.parametrize("name", ["LogisticRegression", "LinearRegression"])
def test_bounds_that_nobody_gives_are_paid_for(name):
    fitted = make(name, feature_range=None).fit(*data_for(name))
    names = [event.name for event in fitted.plan_.events]
    assert names[:4] == ["ranges", "finer ranges", "narrow columns", "length"]
    assert any("noisy histograms" in line for line in fitted.privacy_.assumptions)
    assert fitted.feature_range_.shape == (2, WIDTH)
    assert fitted.columns_used_.shape == (WIDTH,)


@unsampled
def test_sample_weights_are_refused_with_a_reason(name):
    x, y = data_for(name)
    with pytest.raises(TypeError, match="one row moves the model"):
        make(name).fit(x, y, sample_weight=np.ones(len(y)))
    with pytest.raises(TypeError, match="unexpected"):
        make(name).fit(x, y, groups=1)
    make(name).fit(x, y, sample_weight=None)


def bad_inputs():
    x, good = np.zeros((4, WIDTH)), np.array([0, 1, 0, 1])
    text = x.astype(object)
    text[0, 0] = SECRET
    return {
        "text in x": (text, good),
        "nan in x": (np.full((4, WIDTH), np.nan), good),
        "infinite x": (np.full((4, WIDTH), np.inf), good),
        "one row": (x[:1] + 98765.4321, good[:1]),
        "no rows": (x[:0], good[:0]),
        "flat x": (np.full(4, 98765.4321), good),
        "short y": (x, good[:3]),
        "two columns of y": (x, np.full((4, 2), 98765.4321)),
        "nan in y": (x, np.array([0, 1, np.nan, 98765.4321])),
        "infinite y": (x, np.array([0, 1, np.inf, 98765.4321])),
        "complex y": (x, np.array([0, 1, 2, 98765.4321j])),
        "text among numbers in y": (x, np.array([0, 1, SECRET, 98765.4321], dtype=object)),
        "ragged y": (x, [[98765.4321], [1, 2], [3], [4]]),
        "no y": (x, None),
        "dict y": (x, {"a": 98765.4321}),
    }


@pytest.mark.parametrize("name", ["LogisticRegression, labels from y", "LinearRegression"])
@pytest.mark.parametrize("case", bad_inputs())
def test_bad_input_is_refused_and_no_error_prints_it(name, case):
    x, y = bad_inputs()[case]
    with pytest.raises((ValueError, TypeError)) as caught:
        make(name).fit(x, y)
    error = caught.value
    while error is not None:
        assert "98765" not in str(error)
        assert SECRET not in str(error)
        error = error.__cause__ or error.__context__


@unsampled
def test_reprs_frames_and_names(name):
    pandas = pytest.importorskip("pandas")
    x, y = data_for(name)
    frame = pandas.DataFrame(x, columns=list("abcd"))
    fitted = make(name).fit(frame, pandas.Series(y))
    assert list(fitted.feature_names_in_) == list("abcd")
    assert fitted.n_features_in_ == WIDTH
    assert fitted.predict(frame).shape == y.shape
    assert fitted.n_iter_ == len(fitted.trace_) > 0
    assert type(fitted).__name__ in repr(fitted)
    assert "<" in fitted._repr_html_()


@unsampled
def test_huge_values_and_constant_columns_are_harmless(name):
    x, y = data_for(name)
    x[0], x[1], x[2:, 3] = 1e139, -1e139, 0.0
    fitted = make(name).fit(x, y)
    assert np.isfinite(fitted.coef_).all()
    assert np.isfinite(fitted.predict(x[2:])).all() if is_regression(name) else True


@pytest.mark.parametrize("name", ["LogisticRegression", "LinearRegression, private bounds"])
def test_tables_that_are_not_kept_give_the_same_answer(name, monkeypatch):
    x, y = data_for(name, 5000)
    kept = make(name, epsilon=math.inf).fit(x, y)
    monkeypatch.setattr("veilspan.curator.rows.KEPT_BYTES", 0)
    lazy = make(name, epsilon=math.inf).fit(x, y)
    np.testing.assert_allclose(lazy.coef_, kept.coef_, rtol=1e-9)


@pytest.mark.parametrize("kept", [10**9, 0])
def test_a_sparse_table_is_never_made_dense_as_a_whole(kept, monkeypatch):
    """20,000 x 5,000 with 10 entries a row: 3 MB as it is, 800 MB if filled."""
    monkeypatch.setattr("veilspan.curator.rows.KEPT_BYTES", kept)
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(0, 5000, (20_000, 10)), axis=1).ravel()
    starts = np.arange(0, 200_001, 10)
    x = sparse.csr_array((np.ones(200_000), columns, starts), shape=(20_000, 5000))
    y = rng.integers(0, 2, 20_000)
    model = LogisticRegression(row_norm=3.2, classes=[0, 1], solver=GradientDescent(steps=2))
    model.plan(*x.shape)
    tracemalloc.start()
    fitted = model.fit(x, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6
    assert fitted.coef_.shape == (1, 5000)
