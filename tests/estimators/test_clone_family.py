"""Fits of one family of clones are counted, without a ledger and without touching estimators."""

import copy
import gc
import math
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from veilspan import (
    PCA,
    GaussianEvent,
    Ledger,
    LogisticRegression,
    PrivateSearch,
    RepeatedFitsWarning,
    Ridge,
    SampledGaussianEvent,
    Schema,
    SearchEvent,
)
from veilspan.estimators import clone_family
from veilspan.privacy.accounting import epsilon_spent, gaussian_mu
from veilspan.privacy.gdp import epsilon_of
from veilspan.privacy.renyi import renyi_divergences

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


def test_what_is_remembered_does_not_grow_with_the_number_of_fits():
    model = pca()
    for _ in range(5):
        model.fit(ROWS)
    family = clone_family.family_of(model)
    (spent,) = family.spent.values()
    assert family.fits == spent.fits == 5
    assert spent.others == ()  # all of PCA's events are Gaussian: one number holds them
    assert spent.mu_squared == pytest.approx(5 * gaussian_mu(model.privacy_.events) ** 2, rel=1e-12)


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


def test_add_remove_counts_for_two_steps_where_relations_are_mixed():
    first = pca(neighbors="add-remove").fit(ROWS)
    with pytest.warns(RepeatedFitsWarning, match="under replace-one, where fits under add-remove"):
        second = clone(first).set_params(neighbors="replace-one").fit(ROWS)
    mus = [event.mu * 2 for event in first.privacy_.events]
    mus += [event.mu for event in second.privacy_.events]
    together = epsilon_of(math.hypot(*mus), 1e-6)
    assert f"epsilon = {together:.4g} at delta" in note_of(second)
    third = clone(second).set_params(neighbors="add-remove").fit(ROWS)
    mus += [event.mu * 2 for event in third.privacy_.events]
    assert f"epsilon = {epsilon_of(math.hypot(*mus), 1e-6):.4g} at delta" in note_of(third)


def test_fits_under_add_remove_alone_stay_under_it():
    first = pca(neighbors="add-remove").fit(ROWS)
    with pytest.warns(RepeatedFitsWarning) as caught:
        second = clone(first).fit(ROWS)
    events = [*first.privacy_.events, *second.privacy_.events]
    alone = epsilon_spent(events, 1e-6, neighbors="add-remove")
    assert f"they spend epsilon = {alone:.4g} at delta" in str(caught[0].message)
    assert "they spend epsilon" in note_of(second)


@pytest.mark.parametrize("q", [0.02, 0.3])
def test_an_exchange_is_no_cheaper_than_group_privacy_allows_and_no_dearer(q):
    # The Rényi divergence of two steps, by the weak triangle inequality (p = 2), bounds what the
    # event costs under replace-one; and one exchange costs at least one addition.
    event = SampledGaussianEvent("step", q, noise_multiplier=1.5, count=50)
    orders = np.array([2.0, 4.0, 8.0])

    def divergence(at, neighbors):
        return renyi_divergences([event], at, neighbors=neighbors)

    exchanged = divergence(orders, "replace-one")
    two_steps = (orders - 0.5) / (orders - 1) * divergence(2 * orders, "add-remove")
    two_steps += divergence(2 * orders - 1, "add-remove")
    assert (exchanged <= two_steps).all()
    assert (exchanged >= divergence(orders, "add-remove")).all()
    gaussian = GaussianEvent("sum", 4.0)
    search = SearchEvent(name="s", trials=((gaussian, event),), eta=1.0, gamma=0.1)
    counted = clone_family._for_exchange(search)
    assert counted.trials == ((GaussianEvent("sum", 2.0), event),)


def test_other_units_are_named_and_not_added():
    text = """
veilspan_schema = 1
name = "made up"
[unit]
protects = "{unit}"
count = 400
source = "made up"
[columns.a]
type = "number"
range = [-1, 1]
source = "made up"
[columns.b]
type = "number"
range = [-1, 1]
source = "made up"
"""
    table = pd.DataFrame(ROWS, columns=["a", "b"])
    rows, visits = (Schema.from_toml(text.format(unit=unit)) for unit in ("row", "visit"))
    model = PCA(1, schema=rows).fit(table)
    with pytest.warns(RepeatedFitsWarning, match="2 fits of PCA") as caught:
        other = clone(model).set_params(schema=visits).fit(table)
    said = str(caught[0].message)
    assert "1 of them for the unit 'visit'" in said
    assert "other units ('row') are not in it and come on top" in said
    assert "together" not in said
    more = clone(other).fit(table)
    events = [*other.privacy_.events, *more.privacy_.events]
    assert "2 of them for the unit 'visit'" in note_of(more)
    assert f"epsilon = {epsilon_spent(events, 1e-6):.4g} at" in note_of(more)
