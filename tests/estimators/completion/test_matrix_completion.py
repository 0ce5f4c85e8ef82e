import json
import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from veilspan import (
    LocalPredictor,
    LoudNoiseWarning,
    MatrixCompletion,
    NotPrivateWarning,
    PrivacyStatement,
    WeakGuaranteeError,
    WeakGuaranteeWarning,
)
from veilspan.audit.replay import replay
from veilspan.datasets.ratings import make_ratings
from veilspan.metrics.ranking import rmse
from veilspan.queries.completion.rating_moments import ItemStatistics, RatingCovariance
from veilspan.solvers.completion.by_name import SOLVERS
from veilspan.solvers.completion.covariance import CovarianceCompletion
from veilspan.solvers.completion.frank_wolfe import FrankWolfeCompletion
from veilspan.solvers.completion.svd import SVDCompletion

simulated = pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.NotPrivateWarning")
both = pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
ITEMS = 6


def make(**changes):
    shared = {"solver": "covariance", "rating_range": (1, 5), "max_ratings_per_user": 4}
    return MatrixCompletion(**{**shared, **changes})


@pytest.fixture(scope="module")
def small():
    return make_ratings(200, ITEMS, 1, ratings_per_user=4)


# What every private estimator promises.


@both
def test_the_statement_is_true_and_complete(neighbors, small):
    fitted = make(neighbors=neighbors).fit(small.train)
    statement = fitted.privacy_
    assert statement.private
    assert statement.verify()
    assert statement.epsilon == pytest.approx(1.0, rel=1e-3)
    assert statement.epsilon <= 1 + 1e-9
    assert any(text.startswith("joint DP") for text in statement.assumptions)
    assert PrivacyStatement.from_dict(json.loads(statement.to_json())) == statement


@pytest.mark.parametrize("solver", [*SOLVERS, CovarianceCompletion(bias_share=1.0)])
@both
def test_the_plan_is_what_happens(solver, neighbors, small):
    model = make(solver=solver, neighbors=neighbors)
    plan = model.plan(*small.train.shape)
    assert model.fit(small.train).privacy_.events == plan.events
    assert model.plan_ == plan
    json.dumps(plan.to_dict())


def test_a_seed_is_a_simulation(small):
    with pytest.warns(NotPrivateWarning, match="simulation"):
        first = make(random_state=3).fit(small.train)
    with pytest.warns(NotPrivateWarning):
        second = clone(first).fit(small.train)
    np.testing.assert_array_equal(first.item_bias_, second.item_bias_)
    assert "seed" in first.privacy_.why_not_private
    fits = [make().fit(small.train).item_bias_ for _ in range(2)]
    assert not np.array_equal(*fits)


@pytest.mark.parametrize("solver", SOLVERS)
@both
def test_infinite_epsilon_is_the_same_method_without_noise(solver, neighbors, small):
    model = make(solver=solver, epsilon=math.inf, neighbors=neighbors, random_state=0)
    fits = [clone(model).fit(small.train) for _ in range(2)]
    np.testing.assert_array_equal(fits[0].item_factors_, fits[1].item_factors_)
    assert "NOT PRIVATE" in repr(fits[0].privacy_)


def test_a_pickle_carries_no_rows():
    marker = 2.123456789
    table = sparse.csr_array(np.full((50, ITEMS), marker))
    fitted = make().fit(table)
    data = pickle.dumps(fitted)
    assert np.float64(marker).tobytes() not in data
    assert len(data) < 6000
    np.testing.assert_array_equal(pickle.loads(data).predict(table), fitted.predict(table))


SECRET = "Alice Secret"


@pytest.mark.parametrize(
    "bad",
    [
        np.array([[SECRET, 1.0], [2.0, 3.0]], dtype=object),
        np.array([98765.4321, 1.0]),
        np.array([[98765.4321 + 1j, 1.0], [0, 0]]),
        np.array([[98765.4321, np.inf], [0, 0]]),
        [[98765.4321, 1], [0]],
        [[98765.4321]],
        sparse.csr_array(np.array([[98765.4321, np.nan], [1.0, 2.0]])),
        "98765.4321",
        98765.4321,
        None,
    ],
    ids=lambda bad: type(bad).__name__,
)
def test_no_error_prints_a_value_of_the_data(bad):
    with pytest.raises((ValueError, TypeError)) as caught:
        make().fit(bad)
    error = caught.value
    while error is not None:
        assert "98765" not in str(error)
        assert SECRET not in str(error)
        error = error.__cause__ or error.__context__


def test_a_large_delta_is_refused_or_allowed_and_warned_about(small):
    with pytest.raises(WeakGuaranteeError, match="1/n"):
        make(delta=0.05).fit(small.train)
    with pytest.warns(WeakGuaranteeWarning, match="1/n"):
        make(delta=0.05, allow_weak=True).fit(small.train)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(delta=0.05, neighbors="add-remove").fit(small.train)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rating_range": (5, 1)}, "rating_range"),
        ({"rating_range": (1, math.inf)}, "rating_range"),
        ({"rating_range": 5}, "rating_range"),
        ({"max_ratings_per_user": 0}, "max_ratings_per_user"),
        ({"max_ratings_per_user": 2.5}, "max_ratings_per_user"),
        ({"n_components": 7}, "n_components"),
        ({"center": "item"}, "center"),
        ({"solver": "magic"}, "solver"),
        ({"epsilon": 0}, "epsilon"),
        ({"neighbors": "swap"}, "neighbors"),
        ({"noise": "none"}, "noise"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused_with_their_name(changes, message, small):
    with pytest.raises((ValueError, TypeError), match=message):
        make(**changes).fit(small.train)


def test_too_many_items_are_refused():
    with pytest.raises(ValueError, match="1,048,576 items"):
        make().plan(10_000_000, 2**20 + 1)


# The audit.

EXTREME_USERS = ([], [(0, 5.0), (1, 1.0)], [(j, 1e9 * (-1) ** j) for j in range(ITEMS)], [(5, 1.0)])


def table_of(users):
    starts = np.concatenate([[0], np.cumsum([len(user) for user in users])])
    items = np.array([j for user in users for j, _ in user], dtype=np.int64)
    ratings = np.array([r for user in users for _, r in user], dtype=float)
    return sparse.csr_array((ratings, items, starts), shape=(len(users), ITEMS))


def random_users(rng, n):
    return [
        [(int(j), float(rng.uniform(0, 6))) for j in np.flatnonzero(rng.random(ITEMS) < 0.7)]
        for _ in range(n)
    ]


@pytest.mark.filterwarnings("ignore:R has:UserWarning")
@pytest.mark.parametrize("solver", [*SOLVERS, CovarianceCompletion(row_norm=0.3)])
@both
def test_nothing_but_answers_leaves(solver, neighbors):
    rng = np.random.default_rng(0)
    model = make(solver=solver, neighbors=neighbors, random_state=0)
    for n in (2, 5, 40, 300):
        users = random_users(rng, n)
        for extreme in EXTREME_USERS:
            other = [*users, extreme] if neighbors == "add-remove" else [extreme, *users[1:]]
            report = replay(lambda table: clone(model).fit(table), table_of(users), table_of(other))
            assert report.ok, report.findings
            assert report.realised_mu <= model.plan(n, ITEMS).budget.mu


@pytest.mark.parametrize("query", [RatingCovariance, ItemStatistics])
@both
def test_a_sensitivity_declared_too_small_is_caught(query, neighbors, monkeypatch):
    honest = query.sensitivity
    monkeypatch.setattr(query, "sensitivity", lambda self, relation: 0.6 * honest(self, relation))
    users = random_users(np.random.default_rng(1), 10)
    ends = [(0, 5.0), (1, 1.0), (2, 1.0), (3, 5.0)], [(0, 1.0), (1, 5.0), (4, 1.0), (5, 5.0)]
    one = [*users, ends[0]]
    two = users if neighbors == "add-remove" else [*users, ends[1]]
    fit = make(solver=CovarianceCompletion(row_norm=1.0), neighbors=neighbors, random_state=0).fit
    assert not replay(fit, table_of(one), table_of(two)).ok


def test_a_value_that_did_not_pass_the_curator_is_caught():
    class Leaky(MatrixCompletion):
        def _fit_table(self, table, item_ids):
            super()._fit_table(table, item_ids)
            self.density_ = table.nnz / table.shape[0]
            return self

    users = random_users(np.random.default_rng(2), 30)

    def fit(table):
        return Leaky(rating_range=(1, 5), random_state=0).fit(table)

    report = replay(fit, table_of(users), table_of([[], *users[1:]]))
    assert any("density_" in text for text in report.findings)


# What it learns.


@simulated
def test_structure_is_found():
    """Best possible error 0.5 (the noise); the users' means alone give 0.82.

    Facts of this seed: 0.581 without noise, 0.599 at epsilon 1.
    """
    data = make_ratings(4000, 40, 2, ratings_per_user=20)
    errors = {}
    for epsilon in (1.0, 10.0, math.inf):
        model = MatrixCompletion(rating_range=(1, 5), epsilon=epsilon, random_state=0)
        errors[epsilon] = -model.fit(data.train).score(data.train, data.test)
    means = np.array([row.data.mean() if row.nnz else 3.0 for row in data.train])
    alone = rmse(np.repeat(means[:, None], 40, axis=1), data.test)
    assert errors[math.inf] < errors[1.0]
    assert errors[math.inf] < 0.73 * alone
    assert errors[1.0] < 0.75 * alone


@simulated
def test_the_bias_is_that_of_the_items():
    data = make_ratings(5000, 12, 1, ratings_per_user=8, popularity=0.0)
    model = make(max_ratings_per_user=12, epsilon=5.0, random_state=0).fit(data.train)
    centred = data.item_bias - data.item_bias.mean()
    assert np.corrcoef(model.item_bias_, centred)[0, 1] > 0.995  # 0.998


def test_the_number_of_factors_is_limited(small):
    assert make(n_components=1, epsilon=math.inf).fit(small.train).n_components_ <= 1


def test_local_halves_agree(small):
    model = make(epsilon=math.inf).fit(small.train)
    dense = model.predict(small.train)
    phone = model.local_predictor()
    for i in (0, 7, 150):
        row = small.train[[i]]
        np.testing.assert_allclose(phone.predict((row.indices, row.data)), dense[i])
    assert dense.min() >= 1
    assert dense.max() <= 5
    with pytest.raises(ValueError, match="features"):
        model.predict(np.full((2, ITEMS + 1), 3.0))


def test_the_local_half_depends_on_its_own_row_only(small):
    model = make(epsilon=math.inf).fit(small.train)
    changed = small.train.copy()
    changed.data[changed.indptr[1] :] = 1.0
    np.testing.assert_allclose(model.predict(small.train)[0], model.predict(changed)[0])


def test_users_without_ratings_are_rows(small):
    empty = sparse.csr_array((4, ITEMS))
    model = make().fit(sparse.vstack([small.train, empty]))
    prediction = model.predict(empty)
    np.testing.assert_allclose(
        prediction[0], np.clip(3 + model.item_bias_, 1, 5), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_no_ratings_at_all(solver):
    empty = sparse.csr_array((50, ITEMS))
    for epsilon in (1.0, np.inf):
        nobody = make(solver=solver, epsilon=epsilon).fit(empty)
        assert np.isfinite(nobody.predict(empty)).all()


def test_one_user_is_too_few():
    with pytest.raises(ValueError, match="minimum of 2"):
        make(neighbors="add-remove").fit(sparse.csr_array(np.ones((1, ITEMS))))


def test_transposed_tables_are_noticed(small):
    with pytest.warns(UserWarning, match="transposed"):
        make(max_ratings_per_user=4).fit(sparse.csr_array(small.train.T))
    with warnings.catch_warnings():  # under add-remove it would tell something about n
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LoudNoiseWarning)  # by released numbers
        make(neighbors="add-remove").fit(sparse.csr_array(small.train.T))


# Forms of input.


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_all_forms_of_input_are_the_same_table(seed):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    table = table_of(random_users(rng, 30))
    # Which ratings of a long row are kept is a hash of the row: float32 must not change a digit.
    table.data = table.data.astype(np.float32).astype(float)
    model = make(epsilon=math.inf, random_state=0)
    expected = clone(model).fit(table).predict(table)
    dense = np.full(table.shape, np.nan)
    coo = table.tocoo()
    dense[coo.row, coo.col] = coo.data
    shuffle = rng.permutation(table.nnz)
    names = [f"film {j}" for j in range(ITEMS)]
    triples = (
        [f"user {i}" for i in coo.row[shuffle]],
        [names[j] for j in coo.col[shuffle]],
        coo.data[shuffle],
    )
    frame = pandas.DataFrame(dict(zip(("user", "item", "rating"), triples)))
    forms = [
        clone(model).fit(dense),
        clone(model).fit(table.tocsc()),
        clone(model).fit(sparse.csr_matrix(table)),
        clone(model).fit(table.astype(np.float32)),
    ]
    for fitted in forms:
        np.testing.assert_array_equal(fitted.predict(table), expected)
    listed = clone(model).fit_triples(*triples, items=names)
    framed = clone(model).fit_frame(frame, items=names)
    assert listed.item_ids_ == framed.item_ids_ == tuple(names)
    np.testing.assert_allclose(framed.item_bias_, listed.item_bias_)
    if np.diff(table.indptr).all():
        np.testing.assert_allclose(listed.item_bias_, forms[0].item_bias_, rtol=0, atol=1e-12)


def test_of_two_ratings_the_later_counts():
    twice = sparse.csr_array(
        (np.array([1.0, 5.0, 2.0, 2.0]), np.array([1, 1, 0, 2]), [0, 3, 4]), shape=(2, 3)
    )
    once = sparse.csr_array(
        (np.array([2.0, 5.0, 2.0]), np.array([0, 1, 2]), [0, 2, 3]), shape=(2, 3)
    )
    fits = [make(epsilon=math.inf, random_state=0).fit(table) for table in (twice, once)]
    np.testing.assert_array_equal(fits[0].item_bias_, fits[1].item_bias_)
    triples = make(epsilon=math.inf, random_state=0).fit_triples(
        ["a", "a", "a", "b"], [1, 1, 0, 2], [1.0, 5.0, 2.0, 2.0], items=range(3)
    )
    np.testing.assert_array_equal(triples.item_bias_, fits[1].item_bias_)


def test_the_list_of_items_is_public():
    users, items, ratings = ["a", "b", "c"], ["x", "y", "new"], [1.0, 5.0, 3.0]
    with pytest.raises(ValueError, match="public list of items"):
        make().fit_triples(users, items, ratings)
    model = make().fit_triples(users, items, ratings, items=["x", "y", "z"])
    assert model.item_ids_ == ("x", "y", "z")
    assert model.plan_.n_rows == 3  # the user of the unlisted item stays
    observed = make().fit_triples(users, items, ratings, items="observed")
    assert set(observed.item_ids_) == {"x", "y", "new"}
    assert list(observed.local_predictor().predict({"unknown": 5.0}).shape) == [3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], ["x", "y"], [1.0], ["x"]), "same length"),
        ((["a", "b"], ["x", "y"], ["98765", SECRET], ["x", "y"]), "real numbers"),
        (([["a"], ["b"]], ["x", "y"], [1, 2], ["x", "y"]), "hashable"),
        ((["a", "b"], ["x", "y"], [1, 2], ["x", "x"]), "twice"),
        ((["a", "b"], ["x", "y"], [1, 2], []), "at least one"),
    ],
)
def test_bad_triples(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        make().fit_triples(*arguments)
    assert caught.value.__context__ is None


def test_bad_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"user": ["a", "b"], "film": ["x", "y"], "rating": [1.0, 2.0]})
    with pytest.raises(ValueError, match="'item'"):
        make().fit_frame(frame, items=["x", "y"])
    with pytest.raises(ValueError, match="in order"):
        make().fit_frame(frame, columns=("user", "film"), items=["x", "y"])
    make().fit_frame(frame, columns=("user", "film", "rating"), items=["x", "y"])


def test_ratings_are_not_copied_or_changed():
    table = make_ratings(100, ITEMS, 1, ratings_per_user=5).train
    before = table.data.copy()
    make().fit(table)
    np.testing.assert_array_equal(table.data, before)


def test_the_score_is_minus_the_error(small):
    model = make(epsilon=math.inf).fit(small.train)
    assert model.score(small.train, small.test) == -rmse(model.predict(small.train), small.test)


@both
def test_exact_noise(neighbors, small):
    model = make(noise="exact", neighbors=neighbors).fit(small.train)
    assert model.privacy_.verify()
    assert np.isfinite(model.item_factors_).all()


def test_whole_numbers_as_ids():
    ids = np.array([30, 10, 30, 20]), np.array([7, 7, 5, 9]), np.array([1.0, 5.0, 2.0, 3.0])
    model = make(epsilon=math.inf, random_state=0).fit_triples(*ids, items=[5, 7, 9])
    dense = np.array([[np.nan, 5.0, np.nan], [np.nan, np.nan, 3.0], [2.0, 1.0, np.nan]])
    expected = make(epsilon=math.inf, random_state=0).fit(dense)
    np.testing.assert_allclose(model.item_bias_, expected.item_bias_)
    assert model.item_ids_ == (5, 7, 9)


# ---------------------------------------------------------------- users with too few ratings


@pytest.mark.parametrize("ridge", [0.0, 1e-20, 1e-3])
@pytest.mark.parametrize("local", ["refit", "line-search"])
def test_a_user_with_too_few_ratings_stops_nobody(ridge, local):
    """A singular system of one user raised for all: whether a fit failed told of her."""
    rng = np.random.default_rng(0)
    ratings = np.where(rng.random((60, 8)) < 0.9, rng.integers(1, 6, (60, 8)).astype(float), np.nan)
    ratings[0], ratings[1] = np.nan, np.nan
    ratings[1, 0] = 5.0
    solver = FrankWolfeCompletion(local=local, ridge=ridge, rounds=3)
    model = MatrixCompletion(solver, rating_range=(1, 5), epsilon=math.inf).fit(ratings)
    assert model.n_components_ == 3  # else no system is singular
    found = model.predict(ratings)
    assert np.isfinite(found).all()
    middle = model.local_predictor().predict({})
    np.testing.assert_array_equal(found[0], middle)
    np.testing.assert_array_equal(model.predict(ratings[2:]), found[2:])


@pytest.mark.parametrize("ridge", [-1.0, math.nan, math.inf, "12", True])
@pytest.mark.parametrize(
    "kind", [FrankWolfeCompletion, CovarianceCompletion, SVDCompletion, LocalPredictor]
)
def test_a_penalty_is_a_number_that_is_not_negative(kind, ridge):
    more = {}
    if kind is LocalPredictor:
        more = {
            "item_bias": np.zeros(2),
            "item_factors": np.zeros((2, 0)),
            "item_ids": (0, 1),
            "rating_range": (1.0, 5.0),
        }
    with pytest.raises((ValueError, TypeError), match="ridge must be"):
        kind(ridge=ridge, **more)
