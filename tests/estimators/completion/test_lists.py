"""``MatrixCompletion(task="rank")``: lists that beat popularity, and what they promise."""

import json
import math
import pickle
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from veilspan import (
    LocalPredictor,
    MatrixCompletion,
    NotPrivateWarning,
    PrivacyStatement,
    Schema,
    load,
)
from veilspan.audit.replay import replay
from veilspan.datasets import make_histories
from veilspan.estimators.charging import asked_parameters
from veilspan.metrics.ranking import recall_at_k
from veilspan.solvers.completion.ranking import RankingCompletion

both = pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
TASTES = RankingCompletion(popularity_share=0.2, width=20)


def make(**changes):
    return MatrixCompletion(**{"task": "rank", "epsilon": 3.0, **changes})


def simulate(table, **changes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return make(random_state=0, **changes).fit(table)


@pytest.fixture(scope="module")
def data():
    return make_histories(4000, 80, items_per_user=15)


@pytest.fixture(scope="module")
def fitted(data):
    return simulate(data.train, rating_range=data.rating_range)


# What it promises.


@both
def test_the_statement_is_true_and_complete(neighbors, data):
    model = make(neighbors=neighbors).fit(data.train[:500])
    statement = model.privacy_
    assert statement.private
    assert statement.verify()
    assert statement.epsilon <= 3 + 1e-9
    assert statement.epsilon == pytest.approx(3.0, rel=1e-3)
    assert any(text.startswith("joint DP") for text in statement.assumptions)
    assert PrivacyStatement.from_dict(json.loads(statement.to_json())) == statement


@both
@pytest.mark.parametrize("solver", ["auto", TASTES])
def test_nothing_but_the_answers_is_used(neighbors, solver, data):
    table = data.train[:60].toarray()
    other = table.copy()
    other[7] = 0
    other[7, 3] = 5.0
    pairs = (table, other) if neighbors == "replace-one" else (table, np.delete(table, 7, axis=0))
    model = make(neighbors=neighbors, solver=solver, random_state=0, epsilon=8.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        found = replay(lambda x: clone(model).fit(x), *pairs)
    assert found.ok, found.findings
    assert found.questions >= 1


def test_the_default_task_is_the_one_that_was():
    assert MatrixCompletion().task == "rate"
    assert "task" not in asked_parameters(MatrixCompletion(rating_range=(1, 5)))
    assert asked_parameters(make())["task"] == "rank"
    with pytest.raises(ValueError, match='"rate" or "rank"'):
        make(task="lists").fit(np.ones((3, 3)))


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"max_ratings_per_user": 10}, "max_ratings_per_user is for ratings"),
        ({"n_components": 2}, "n_components is for ratings"),
        ({"center": "middle"}, "center is for ratings"),
        ({"solver": "als"}, "RankingCompletion"),
    ],
)
def test_settings_of_ratings_are_refused(setting, words, data):
    with pytest.raises(ValueError, match=words):
        make(**setting).fit(data.train)


# How good it is.


def recall(model, data):
    return model.score(data.train, data.test)


def test_lists_beat_popularity(fitted, data):
    popular = simulate(
        data.train, rating_range=(1, 5), solver=RankingCompletion(popularity_share=1.0)
    )
    assert len(fitted.top_items_) > 20
    assert recall(fitted, data) > recall(popular, data) + 0.03
    exact = simulate(data.train, rating_range=(1, 5), epsilon=math.inf)
    assert recall(exact, data) > recall(popular, data) + 0.03


def test_the_score_is_the_recall_of_dense_scores(fitted, data):
    dense = recall_at_k(fitted.predict(data.train), data.test, 20, seen=data.train)
    assert recall(fitted, data) == pytest.approx(dense)


def test_few_users_get_the_list_of_popularity():
    small = make_histories(60, 30, items_per_user=6)
    model = simulate(small.train)
    assert len(model.top_items_) == 0
    best = np.argsort(-model.popularity_, kind="stable")[:4]
    assert model.recommend(None, k=4) == best.tolist()


# Lists.


def test_anybody_gets_a_list(fitted, data):
    own = data.train[[0]]
    history = dict(zip(own.indices.tolist(), own.data.tolist()))
    listed = fitted.recommend(history, k=7)
    assert len(set(listed)) == 7
    assert not set(listed) & set(history)
    assert fitted.recommend({}, k=3) == fitted.recommend(None, k=3) == fitted.recommend([], k=3)
    assert fitted.recommend({**history, "unknown": 5.0}, k=7) == listed
    # Somebody who brings items alone, with all of them liked alike.
    liked = fitted.recommend(list(history), k=7)
    assert liked == fitted.recommend(dict.fromkeys(history, 4.0), k=7)
    assert liked == fitted.recommend((list(history), [2.0] * len(history)), k=7)


def test_a_list_ends_where_items_end(fitted):
    assert sorted(fitted.recommend({0: 5.0}, k=500)) == list(range(1, 80))


def test_reasons_add_up_to_the_score(fitted, data):
    own = data.train[[1]]
    history = dict(zip(own.indices.tolist(), own.data.tolist()))
    item = next(i for i in fitted.recommend(history, k=5) if i in fitted.top_items_)
    reasons = fitted.explain(history, item, most=100)
    assert {reason.item for reason in reasons} <= set(history)
    assert all(a.adds >= b.adds > 0 for a, b in pairwise(reasons))
    place = int(np.flatnonzero(fitted.top_items_ == item)[0])
    without = fitted.predict(sparse.csr_array((1, 80)))[0, item]
    against = fitted.predict(own)[0, item] - without - sum(r.adds for r in reasons)
    assert against <= 1e-6  # what speaks against it is not told
    assert fitted.weights_.shape[0] > place
    assert fitted.explain({}, item) == []
    with pytest.raises(ValueError, match="no such item"):
        fitted.explain(history, "unknown")


def test_coverage_is_of_simulated_users_and_always_the_same(fitted):
    one, two = fitted.list_statistics(), fitted.list_statistics()
    assert one == two
    assert 0 < one.coverage <= 1
    assert one.reachable == len(fitted.top_items_) / 80
    assert 0 <= one.head_share <= 1
    popular = simulate(np.eye(30), solver=RankingCompletion(popularity_share=1.0))
    assert popular.list_statistics(5).reachable == 0
    with pytest.raises(ValueError, match='task="rank"'):
        MatrixCompletion(rating_range=(1, 5)).fit(np.eye(4) + 1).list_statistics()


# Forms of input.


def test_ratings_are_not_needed(data):
    pattern = data.train[np.diff(data.train.indptr) > 0].copy()  # triples know no other users
    pattern.data[:] = 1
    sparse_model = simulate(pattern)
    dense = simulate(pattern.toarray())
    assert np.array_equal(sparse_model.popularity_, dense.popularity_)
    user, item = pattern.nonzero()
    triples = simulate_triples(user, item)
    assert np.array_equal(sparse_model.weights_, triples.weights_)
    pd = pytest.importorskip("pandas")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        frame = pd.DataFrame({"who": user, "what": item})
        framed = make(random_state=0).fit_frame(frame, ("who", "what"), items=list(range(80)))
    assert np.array_equal(framed.weights_, triples.weights_)
    with pytest.raises(ValueError, match="rating is missing"):
        MatrixCompletion(rating_range=(1, 5)).fit_triples([1, 2], [1, 2], items=[1, 2])


def simulate_triples(user, item):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return make(random_state=0).fit_triples(user, item, items=list(range(80)))


LONG = """
veilspan_schema = 1
name = "shop"
[columns.who]
role = "user"
[columns.what]
role = "item"
type = "category"
categories = ["a", "b", "c", "d"]
source = "the shop's list"
"""
STARS = """
[columns.stars]
role = "rating"
type = "number"
range = [1, 5]
source = "the form"
"""


@pytest.mark.parametrize("rated", [True, False])
def test_long_tables_by_a_schema(rated):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 400
    frame = pd.DataFrame({"who": rng.integers(0, 90, n), "what": rng.choice(list("abcd"), n)})
    if rated:
        frame["stars"] = rng.integers(1, 6, n)
    schema = Schema.from_toml(LONG + (STARS if rated else ""))
    model = make(schema=schema, epsilon=20.0, solver=RankingCompletion(0.3, width=4)).fit(frame)
    assert model.item_ids_ == ("a", "b", "c", "d")
    assert len(model.recommend({"a": 5.0}, k=2)) == 2
    assert 0 <= model.score(frame, frame) <= 1
    assert model.local_predictor().rating_range == ((1.0, 5.0) if rated else None)
    if not rated:
        with pytest.raises(ValueError, match="has no ratings"):
            MatrixCompletion(schema=schema).fit(frame)


# Keeping it.


def test_the_phone_has_the_same_lists(fitted, data, tmp_path):
    fitted.local_predictor().save(tmp_path / "phone.npz")
    for phone in (LocalPredictor.load(tmp_path / "phone.npz"), load(tmp_path / "phone.npz")):
        history = {3: 5.0, 9: 1.0, 40: 4.0}
        assert phone.recommend(history, k=20) == fitted.recommend(history, k=20)
        item = phone.recommend(history, k=1)[0]
        assert phone.explain(history, item) == fitted.explain(history, item)
        assert phone.privacy["epsilon"] == fitted.privacy_.to_dict()["epsilon"]


def test_a_saved_release_makes_the_same_lists(fitted, tmp_path):
    fitted.save(tmp_path / "release")
    again = load(tmp_path / "release")
    assert again.recommend([1, 2, 3], k=10) == fitted.recommend([1, 2, 3], k=10)
    assert pickle.loads(pickle.dumps(fitted)).recommend([1], k=5) == fitted.recommend([1], k=5)


def test_a_refit_is_not_answered_by_the_former_predictor(data):
    model = simulate(data.train[:500])
    before = model.recommend(None, k=80)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        model.fit(data.train[:500, ::-1])
    assert model.recommend(None, k=80) != before


@pytest.mark.parametrize(
    "damage",
    [
        {"top_items": np.array([0, 0, 1])},
        {"top_items": np.array([0, 1, 99])},
        {"weights": np.zeros((2, 3))},
        {"direction": np.array([np.nan, 0.0, 0.0])},
    ],
)
def test_files_that_do_not_fit_together_are_refused(damage):
    arrays = {
        "popularity": np.ones(4),
        "top_items": np.arange(3),
        "direction": np.ones(3),
        "weights": np.eye(3),
    }
    header = {
        "format": 1,
        "task": "rank",
        "item_ids": list("abcd"),
        "rating_range": None,
        "privacy": {},
    }
    assert LocalPredictor.from_parts(header, arrays).recommend(["a"], k=2)
    with pytest.raises(ValueError, match="not a whole local predictor"):
        LocalPredictor.from_parts(header, {**arrays, **damage})


# What an independent reader tripped over.


@pytest.mark.filterwarnings("ignore")
def test_dense_tables_of_what_people_have_score_as_sparse_ones():
    had = (np.random.default_rng(0).random((300, 12)) < 0.3).astype(float)
    kept, held = had.copy(), np.zeros_like(had)
    for user in np.flatnonzero(had.sum(axis=1) > 1):
        item = np.flatnonzero(had[user])[0]
        kept[user, item], held[user, item] = 0.0, 1.0
    model = MatrixCompletion(task="rank", epsilon=math.inf).fit(sparse.csr_array(kept))
    thin = model.score(sparse.csr_array(kept), sparse.csr_array(held))
    assert 0 < thin <= 1
    assert model.score(kept, held) == thin
    with pytest.raises(ValueError, match="a column for each"):
        model.score(sparse.csr_array(kept[:, :5]), sparse.csr_array(held[:, :5]))


@pytest.mark.filterwarnings("ignore")
def test_histories_that_may_mean_two_things_are_refused():
    had = (np.random.default_rng(0).random((300, 12)) < 0.3).astype(float)
    model = MatrixCompletion(task="rank", epsilon=math.inf).fit(sparse.csr_array(had))
    with pytest.raises(TypeError, match="tolist"):
        model.recommend(pd.Series({3: 1.0, 4: 1.0}))
    assert 3 in model.recommend({3: 0.0}, k=12)  # she does not have it
    with pytest.raises(ValueError, match="whole number"):
        model.list_statistics(0)


@pytest.mark.filterwarnings("ignore")
def test_a_refused_fit_leaves_the_names_of_the_earlier_one():
    user, item = np.repeat(np.arange(40), 3), np.tile(["a", "b", "c"], 40)
    model = MatrixCompletion(task="rank", epsilon=math.inf)
    model.fit_triples(user, item, items=["a", "b", "c"])
    model.epsilon = -1.0
    with pytest.raises(ValueError, match="epsilon"):
        model.fit_triples(user, np.tile(["x", "y", "z"], 40), items=["x", "y", "z"])
    assert model.item_ids_ == ("a", "b", "c")
