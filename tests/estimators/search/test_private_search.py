"""PrivateSearch: one promise for all trials, the best one released, nothing else told."""

import copy
import json
import logging
import math
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone, is_classifier, is_regressor

import veilspan
from veilspan import (
    PCA,
    BudgetExceededError,
    FrechetMean,
    Ledger,
    LinearSVC,
    LogisticRegression,
    PrivateSearch,
    Ridge,
    RobustPCA,
    Schema,
    SearchEvent,
    WithheldError,
)
from veilspan.estimators.search import running
from veilspan.estimators.search.candidates import list_candidates
from veilspan.ledger.errors import LedgerError
from veilspan.privacy.errors import NotPrivateWarning, WeakGuaranteeError, WeakGuaranteeWarning
from veilspan.privacy.noise import SeededNoise

GRID = {"alpha": [1e-3, 1.0, 10.0, 100.0, 1e3, 1e5]}


def make_rows(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 3))
    return x, np.clip(x @ [0.4, -0.3, 0.0] + 0.1 * rng.standard_normal(n), -1, 1)


X, Y = make_rows()


def ridge(**parameters):
    return Ridge(row_norm=1.8, target_range=(-1, 1), **parameters)


@pytest.fixture(scope="module")
def found():
    return PrivateSearch(ridge(), GRID, epsilon=1.5).fit(X, Y)


def test_the_promise_is_one_for_all_of_it(found):
    said = found.privacy_
    assert said.private
    assert 0.97 * 1.5 < said.epsilon <= 1.5
    assert (said.delta, said.asked, said.population) == (1e-6, 1.5, 3000)
    assert said.verify()
    (event,) = said.events
    assert isinstance(event, SearchEvent)
    assert any("not protected" in text and "trials" in text for text in said.assumptions)
    assert found.best_estimator_.privacy_ == said
    assert found.plan_ == found.plan(3000, 3)
    assert found.plan_.decisions["candidates"] == 6


def test_the_best_is_used_like_any_model(found):
    assert found.best_params_ in [{"alpha": value} for value in GRID["alpha"]]
    assert found.best_estimator_.alpha == found.best_params_["alpha"]
    assert found.best_estimator_.epsilon == 1.5
    assert (found.predict(X) == found.best_estimator_.predict(X)).all()
    assert found.score(X, Y) > 0.5
    assert not hasattr(found, "transform")
    assert is_regressor(found)
    assert pickle.loads(pickle.dumps(found)).best_params_ == found.best_params_


def test_it_is_saved_and_loaded_as_a_release(found, tmp_path):
    found.save(tmp_path / "release")
    again = veilspan.load(tmp_path / "release")
    assert type(again) is Ridge
    assert again.privacy_ == found.privacy_
    assert again.plan_ == found.plan_
    assert (again.predict(X) == found.predict(X)).all()
    found.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "secret number of trials" in page
    assert "PrivateSearch of Ridge" in page


def test_without_noise_the_best_candidate_wins():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = PrivateSearch(ridge(), GRID, epsilon=math.inf, method="joint").fit(X, Y)
    scores = {
        value: ridge(alpha=value, epsilon=math.inf).fit(X, Y).score(X, Y) for value in GRID["alpha"]
    }
    best = max(scores.values())
    assert scores[search.best_params_["alpha"]] == pytest.approx(best, abs=1e-3)
    assert not search.privacy_.private


def test_classifiers_and_subspaces_are_searched():
    labels = (Y > 0).astype(int)
    model = LinearSVC(row_norm=1.8, classes=(0, 1), solver="gd")
    search = PrivateSearch(model, {"C": [1e-4, 1.0]}, epsilon=3.0).fit(X, labels)
    assert is_classifier(search)
    assert search.score(X, labels) > 0.6
    rows = np.column_stack([3 * X[:, 0], X[:, 1], 0.1 * X[:, 2]])
    found = PrivateSearch(PCA(1, center="origin"), {"row_norm": [0.01, 1.0, 3.0]}).fit(rows)
    assert abs(found.best_estimator_.components_[0, 0]) > 0.9
    assert found.transform(rows).shape == (3000, 1)
    robust = RobustPCA(1, solver="ggd", center="origin")
    assert PrivateSearch(robust, [{}], epsilon=2.0).fit(rows).best_params_ == {}


def test_trials_that_are_not_gaussian_keep_the_budget():
    model = LogisticRegression(row_norm=1.8, classes=(0, 1), solver="objective")
    grid = {"C": [0.1, 10.0]}
    for method in ("joint", "random"):
        search = PrivateSearch(model, grid, epsilon=2.0, method=method)
        search.fit(X, (Y > 0).astype(int))
        assert 0.9 < search.privacy_.epsilon <= 2.0
        assert search.privacy_.verify()


def test_add_remove_and_schemas():
    assert PrivateSearch(ridge(neighbors="add-remove", expected_rows=3000), GRID).fit(X, Y).plan_
    schema = Schema.from_toml(
        """
veilspan_schema = 1
name = "made up"
[unit]
count = 3000
source = "made up"
[columns.a]
type = "number"
range = [-1, 1]
source = "made up"
[columns.y]
type = "number"
range = [-1, 1]
role = "target"
source = "made up"
"""
    )
    frame = pd.DataFrame({"a": X[:, 0], "y": Y})
    search = PrivateSearch(Ridge(schema=schema), {"alpha": [1.0, 10.0, 1e3]}).fit(frame)
    assert search.privacy_.schema["name"] == "made up"
    assert search.plan_ == search.plan()


def test_people_with_all_their_rows_need_sums_over_all_of_them():
    column = '[columns.{0}]\ntype="number"\nrange=[-1,1]\nsource="s"\n'
    text = (
        'veilspan_schema = 1\nname="x"\n[unit]\nprotects="patient"\nid="p"\nmax_rows=3\n'
        'combine="none"\ncount=1000\nsource="s"\n[columns.p]\nrole="id"\n'
    )
    text += column.format("a") + column.format("t") + 'role="target"\n'
    for solver in ("sgd", "objective"):
        model = Ridge(schema=Schema.from_toml(text), solver=solver)
        with pytest.raises(ValueError, match=f"the solver '{solver}' samples rows or perturbs"):
            PrivateSearch(model, {"alpha": [1.0, 2.0]}, method="random").plan()


def test_few_candidates_are_all_tried_and_many_are_drawn():
    for count, word in ((1, "joint"), (2, "joint"), (3, "joint"), (5, "random"), (30, "random")):
        grid = {"alpha": list(np.geomspace(1e-2, 1e4, count))}
        plan = PrivateSearch(ridge(), grid).plan(3000, 3)
        assert plan.decisions["search"].startswith(word)
    forced = PrivateSearch(ridge(), GRID, method="joint").plan(3000, 3)
    assert len(forced.events) == 6 * 3
    assert forced.epsilon == pytest.approx(1.0, rel=1e-3)


def test_more_candidates_cost_little():
    def ratio(count, **options):
        grid = {"alpha": list(np.geomspace(1e-2, 1e4, count))}
        plan = PrivateSearch(ridge(), grid, method="random", **options).plan(3000, 3)
        return plan.decisions["mu of a trial over that of one fit"]

    assert ratio(10) == pytest.approx(0.579, abs=2e-3)
    assert ratio(100) > 0.4
    assert ratio(10, tried=0.9) == pytest.approx(0.513, abs=2e-3)


def test_candidates_are_lists_grids_or_draws():
    drawn = PrivateSearch(ridge(), {"alpha": stats.loguniform(1e-2, 1e2)}, draws=7)
    assert drawn.plan(3000, 3).decisions["candidates"] == 7
    assert drawn.plan(3000, 3) == clone(drawn).plan(3000, 3)
    listed = PrivateSearch(ridge(), [{"alpha": 1.0}, {"alpha": 2.0, "fit_intercept": False}])
    assert listed.plan(3000, 3).decisions["candidates"] == 2


def test_numbers_of_numpy_become_plain_ones():
    grid = {"alpha": np.array([1.0, 2.0]), "fit_intercept": [np.True_], "row_norm": [np.int64(9)]}
    for one in list_candidates(Ridge(), grid, 10):
        assert [type(one[name]) for name in grid] == [float, bool, int]
    drawn = list_candidates(Ridge(), {"alpha": stats.loguniform(1, 2)}, 3)
    assert {type(one["alpha"]) for one in drawn} == {float}


@pytest.mark.parametrize(("asked", "shown"), [(0.05, 0.2016), (0.5, 0.5)])
def test_the_chance_that_is_shown_is_the_true_one(asked, shown):
    grid = {"alpha": [1.0, 2.0, 3.0, 4.0, 5.0]}
    search = PrivateSearch(ridge(), grid, tried=asked, method="random", epsilon=math.inf)
    plan = search._plan(search._lead(), 3000, 3)
    assert plan.plan.decisions["chance that a candidate is tried"] == pytest.approx(shown, abs=1e-4)
    source, met = SeededNoise(3), 0
    for number in range(600):
        trials = running.draw_trials(plan, running.make_source(source, number))
        met += any(trial.params["alpha"] == 3.0 for trial in trials)
    assert met / 600 == pytest.approx(shown, abs=5 * math.sqrt(shown * (1 - shown) / 600))


def test_copies_in_a_session_are_fitted_and_charged(tmp_path):
    ledger = Ledger(tmp_path / "ledger.db", key=tmp_path / "key")
    people = ledger.dataset("people", epsilon=9.0, delta=1e-4)
    other = ledger.dataset("other", epsilon=9.0, delta=1e-4)
    search = PrivateSearch(ridge(), {"alpha": stats.loguniform(0.1, 9)}, draws=2)
    with ledger.session("people"):
        copies = clone(search), pickle.loads(pickle.dumps(search)), copy.deepcopy(search)
        elsewhere = clone(clone(search).set_params(ledger=other))
        wrong = clone(PrivateSearch(ridge(ledger=other), GRID))
    for each in copies:
        assert each.ledger == people
        assert each.estimator.ledger is None
        each.fit(X, Y)
    assert people.spent().charges == 3
    assert elsewhere.fit(X, Y).privacy_.ledger["dataset"] == "other"
    with pytest.raises(ValueError, match="the search has ledger"):
        wrong.fit(X, Y)
    assert search.ledger is None
    assert search.estimator.ledger is None
    asked = [entry.content["question"] for entry in people.history() if "plan" in entry.content]
    assert len(set(asked)) == 1  # the same candidates are drawn, so the same is asked


def test_warnings_point_at_the_line_that_called_fit(tmp_path):
    people = Ledger(tmp_path / "l.db", key=tmp_path / "key").dataset("people", 90.0, 1e-4)
    for ledger in (None, people):
        search = PrivateSearch(ridge(), [{}, {"alpha": 2.0}], epsilon=30.0, ledger=ledger)
        with pytest.warns(WeakGuaranteeWarning, match="hardly a promise") as caught:
            search.fit(X, Y)
        assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"candidates": []}, ValueError, "no candidates"),
        ({"candidates": {"alpha": 1.0}}, ValueError, r"write \[value\]"),
        ({"candidates": {"alpha": "abc"}}, ValueError, r"write \[value\]"),
        ({"candidates": "alpha"}, TypeError, "list of dicts"),
        ({"candidates": ["alpha"]}, TypeError, "dict of parameters"),
        ({"candidates": {"beta": [1]}}, ValueError, "no parameter 'beta'"),
        ({"candidates": {"epsilon": [1]}}, ValueError, "the search has the budget"),
        ({"candidates": {"target_range": [(0, 1)]}}, ValueError, "errors are measured"),
        ({"candidates": {"alpha": list(range(600))}}, ValueError, "at most 512"),
        ({"method": "best"}, ValueError, "method must be"),
        ({"tried": 1.0}, ValueError, "tried must"),
        ({"share": 0}, ValueError, "share must"),
        ({"epsilon": -1}, ValueError, "epsilon must be positive"),
        ({"estimator": 3}, TypeError, "an estimator of veilspan"),
        ({"estimator": ridge(random_state=1)}, ValueError, "give it to PrivateSearch"),
        ({"estimator": RobustPCA(1, solver="rspca"), "candidates": [{}]}, ValueError, "as it goes"),
        ({"estimator": PCA(1, scale="private"), "candidates": [{}]}, ValueError, "scaled columns"),
    ],
)
def test_what_cannot_be_searched_is_refused(change, error, words):
    settings = {"estimator": ridge(), "candidates": GRID, **change}
    with pytest.raises(error, match=words):
        PrivateSearch(**settings).plan(3000, 3)


def test_estimators_without_a_score_are_refused():
    from veilspan.catalogue import ESTIMATORS

    mean = ESTIMATORS["FrechetMean"].make_small()
    assert isinstance(mean, FrechetMean)
    with pytest.raises(ValueError, match="no score for FrechetMean"):
        PrivateSearch(mean, [{}]).plan(100, 4)


def test_a_weak_delta_is_refused():
    with pytest.raises(WeakGuaranteeError):
        PrivateSearch(ridge(), GRID, delta=0.1).fit(X, Y)


def test_a_ledger_is_charged_once_and_told_nothing_of_trials(tmp_path, caplog):
    ledger = Ledger(tmp_path / "ledger.db", key=tmp_path / "key")
    people = ledger.dataset("people", epsilon=4.0, delta=1e-5)
    caplog.set_level(logging.DEBUG)
    search = PrivateSearch(ridge(), GRID, epsilon=1.0, ledger=people).fit(X, Y)
    assert people.spent().charges == 1
    assert people.spent().released == 1
    assert search.privacy_.ledger["dataset"] == "people"
    assert search.best_estimator_.ledger is None
    *_, charge, release = people.history()
    assert set(charge.content["plan"]) == set(search.plan_.to_dict())
    assert release.content["statement"] == json.loads(search.privacy_.to_json())
    said = [record.getMessage().split()[0] for record in caplog.records]
    assert said[-2:] == ["charged", "released"]
    assert not any("trial" in record.getMessage() for record in caplog.records)
    with pytest.raises(LedgerError, match="no idempotency key"):
        PrivateSearch(ridge(), GRID, ledger=people.with_key("figure")).fit(X, Y)
    exact = ledger.dataset("others", epsilon=4.0, delta=1e-5, accounting="gdp")
    with pytest.raises(BudgetExceededError, match="random number of trials"):
        PrivateSearch(ridge(), GRID, ledger=exact).fit(X, Y)
    assert PrivateSearch(ridge(), GRID, method="joint", ledger=exact).fit(X, Y).privacy_.ledger


def test_trials_warn_of_nothing_and_failures_are_outcomes(monkeypatch):
    run, seen = running.run_trial, []

    def sometimes(trial, *rest):
        seen.append(trial)
        warnings.warn("trial", UserWarning, stacklevel=1)
        if trial.params["alpha"] > 5:
            raise ValueError("a solver gave up")
        return run(trial, *rest)

    monkeypatch.setattr(running, "run_trial", sometimes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NotPrivateWarning)
        for seed in range(3):  # secure coins would try failing candidates alone in 6 % of all runs
            found = PrivateSearch(ridge(), GRID, tried=0.95, random_state=seed).fit(X, Y)
            assert found.best_params_["alpha"] < 5
    told = repr(vars(found)) + repr(found.privacy_) + repr(found.plan_)
    assert "gave up" not in told
    assert len(seen) > 3


def test_if_all_trials_fail_one_sentence_says_so(monkeypatch):
    def broken(*rest):
        raise ZeroDivisionError("row 17")

    monkeypatch.setattr(running, "run_trial", broken)
    with pytest.raises(WithheldError) as caught:
        PrivateSearch(ridge(), GRID).fit(X, Y)
    assert str(caught.value) == str(WithheldError())
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    with pytest.raises(WithheldError) as simulated, pytest.warns(UserWarning, match="simulation"):
        PrivateSearch(ridge(), GRID, random_state=1).fit(X, Y)
    assert isinstance(simulated.value.__cause__, ZeroDivisionError)


def test_nothing_kept_depends_on_how_many_trials_there_were(found):
    kept = {name for name in vars(found) if name.endswith("_")}
    assert kept == {"best_estimator_", "best_params_", "plan_", "privacy_", "n_features_in_"}
    alone = ridge().fit(X, Y)
    # No bars: those of one fit would be too short for the best of several.
    bars = {"coef_noise_", "coef_sampling_", "coef_sampling_told_"}
    assert set(vars(found.best_estimator_)) == set(vars(alone)) - bars


def test_a_seed_makes_a_simulation_that_repeats():
    def go():
        with pytest.warns(UserWarning, match="simulation"):
            return PrivateSearch(ridge(), GRID, random_state=7).fit(X, Y)

    one, two = go(), go()
    assert one.best_params_ == two.best_params_
    assert (one.best_estimator_.coef_ == two.best_estimator_.coef_).all()
    assert not one.privacy_.private
