"""Fits of one family of clones are counted, without a ledger and without touching estimators."""

import copy
import gc
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from veilspan import PCA, Ledger, LogisticRegression, PrivateSearch, RepeatedFitsWarning, Ridge
from veilspan.estimators import clone_family
from veilspan.privacy.accounting import epsilon_spent

ROWS = np.random.default_rng(0).uniform(-1, 1, (400, 2))
Y = np.clip(ROWS @ [0.5, 0.2], -1, 1)
pytestmark = pytest.mark.filterwarnings("always::veilspan.privacy.errors.RepeatedFitsWarning")


def pca(**parameters):
    return PCA(1, row_norm=1.5, center="origin", **parameters)


def note_of(model):
    return model.privacy_.assumptions[-1]


def fit_quietly(model, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model.fit(*data)


def test_the_first_fit_says_nothing_and_the_second_adds_up():
    first = pca()
    fit_quietly(first, ROWS)
    assert "fits of" not in note_of(first)
    second = clone(first)
    with pytest.warns(RepeatedFitsWarning, match="2 fits of PCA and its clones"):
        second.fit(ROWS)
    events = [*first.privacy_.events, *second.privacy_.events]
    assert f"epsilon = {epsilon_spent(events, 1e-6):.4g} at delta" in note_of(second)
    assert second.privacy_.epsilon <= 1.0  # its own promise stays what it is
    assert second.privacy_.verify()


def test_it_warns_at_the_second_fourth_and_eighth():
    model, told = pca(), []
    for _ in range(9):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = clone(model).fit(ROWS)
        told.append(any(w.category is RepeatedFitsWarning for w in caught))
    assert [number + 1 for number, warned in enumerate(told) if warned] == [2, 4, 8]
    assert note_of(model).startswith("9 fits of PCA")


def test_a_grid_search_says_seven():
    model = Ridge(row_norm=1.5, target_range=(-1, 1))
    with pytest.warns(RepeatedFitsWarning):
        grid = GridSearchCV(model, {"alpha": [1.0, 10.0]}, cv=3).fit(ROWS, Y)
    assert note_of(grid.best_estimator_).startswith("7 fits of Ridge")
    assert "not 1 (other processes are not counted" in note_of(grid.best_estimator_)


def test_other_families_and_other_copies_are_apart():
    model = pca().fit(ROWS)
    for other in (pca(), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        fit_quietly(other, ROWS)
        assert "fits of" not in note_of(other)


def test_what_promises_nothing_is_not_counted():
    model = pca(random_state=1)
    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = clone(model).fit(ROWS)
    assert clone_family.family_of(model).fits == 0
    without = pca(epsilon=float("inf"))
    for _ in range(2):
        fit_quietly(clone(without), ROWS)
    assert clone_family.family_of(without).fits == 0


def test_a_ledger_counts_itself(tmp_path):
    people = Ledger(tmp_path / "ledger.db", key=tmp_path / "key").dataset("p", 5.0, 1e-5)
    model = pca(ledger=people)
    for _ in range(2):
        model = fit_quietly(clone(model), ROWS)
    assert clone_family.family_of(model).fits == 0


def test_fits_that_are_not_gaussian_and_searches_are_added():
    labels = (Y > 0).astype(int)
    model = LogisticRegression(row_norm=1.5, classes=(0, 1), solver="objective", C=0.1)
    model.fit(ROWS, labels)
    with pytest.warns(RepeatedFitsWarning, match="together they spend epsilon"):
        clone(model).fit(ROWS, labels)
    ridge = Ridge(row_norm=1.5, target_range=(-1, 1)).fit(ROWS, Y)
    with pytest.warns(RepeatedFitsWarning, match="2 fits"):
        search = PrivateSearch(ridge, {"alpha": [1.0, 2.0, 3.0, 4.0, 5.0]}).fit(ROWS, Y)
    assert note_of(search).startswith("2 fits of Ridge")
    assert search.best_estimator_.privacy_ == search.privacy_


def test_estimators_are_left_as_they_are_and_families_are_forgotten():
    model = pca()
    before = dict(vars(model))
    twin = clone(model)
    assert vars(model) == before
    assert set(vars(twin)) == set(before)
    count = len(clone_family._FAMILIES)
    del twin, model
    gc.collect()
    assert len(clone_family._FAMILIES) <= count - 2
