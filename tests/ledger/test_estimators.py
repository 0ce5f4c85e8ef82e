"""Every estimator charges its account: before any row is read, once, wherever it runs."""

import math
import multiprocessing
import os
import pickle
import threading
import warnings
from dataclasses import replace

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import veilspan
from contracts.tables import ESTIMATORS, REAPER
from ledger.requests import plan_of
from veilspan import (
    PCA,
    BudgetExceededError,
    ElasticNet,
    LeadingSubspace,
    LogisticRegression,
    MatrixCompletion,
    NotPrivateWarning,
    PrivacyError,
    PrivacyStatement,
    RobustPCA,
    SubspaceTracker,
    minimize,
)
from veilspan.curator import rows
from veilspan.curator.tape import recording
from veilspan.geometry import Sphere
from veilspan.ledger import Ledger, LedgerError, current_dataset
from veilspan.ledger.costs import cost_of
from veilspan.privacy.budget import Budget
from veilspan.solvers.subspace.unbounded.stretched_pca import StretchedPCA

X = np.random.default_rng(0).standard_normal((60, 4))
Y = (X[:, 0] > 0).astype(int)


@pytest.fixture
def data(file_ledger):
    return file_ledger.dataset("d", 1000, 1e-6)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_is_charged_what_its_plan_costs(data, name):
    kind, parameters = ESTIMATORS[name]
    model = kind(**parameters, ledger=data).fit(X)
    said = model.privacy_.ledger
    charge = data.history()[1]
    assert said == {"dataset": "d", "entry": charge.seq, "head": f"{charge.seq}:{charge.mac}"}
    spent = data.spent()
    assert spent.account.spent == cost_of(model.plan_, spent.rules)
    assert [spent.charges, spent.released] == [1, 1]
    assert charge.content["method"] == model.plan_.method
    assert PrivacyStatement.from_dict(data.history()[2].content["statement"]) == model.privacy_


def fits():
    """What else can be charged: name -> function of an account, or of None in a session."""
    ratings = np.random.default_rng(1).integers(1, 6, (40, 6)).astype(float)
    stream = {"epsilon": 1.0, "block_size": 30}
    return {
        "LogisticRegression": lambda ledger: LogisticRegression(
            row_norm=2.0, classes=[0, 1], solver="objective", ledger=ledger
        ).fit(X, Y),
        "ElasticNet": lambda ledger: ElasticNet(
            row_norm=2.0, target_range=(-3, 3), solver="gd", ledger=ledger
        ).fit(X, X[:, 1]),
        "private ranges": lambda ledger: LogisticRegression(
            bounds="private", classes=[0, 1], solver="gd", ledger=ledger
        ).fit(X, Y),
        "MatrixCompletion": lambda ledger: MatrixCompletion(
            rating_range=(1, 5), n_components=2, ledger=ledger
        ).fit(ratings),
        "SubspaceTracker": lambda ledger: SubspaceTracker(2, **stream, ledger=ledger).fit(X),
        "minimize": lambda ledger: minimize(
            LeadingSubspace(Sphere(4)), X, budget=Budget(1.0, 1e-6), ledger=ledger
        ),
    }


@pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.LoudNoiseWarning")
@pytest.mark.parametrize("name", fits())
def test_everything_else_is_charged_as_well(file_ledger, name):
    fit = fits()[name]
    unit = "user" if name == "MatrixCompletion" else "row"
    data = file_ledger.dataset("d", 1000, 1e-6, unit=unit)
    made = fit(data)
    plan = made.plan if name == "minimize" else made.plan_
    statement = made.privacy if name == "minimize" else made.privacy_
    assert statement.ledger["entry"] == 3
    assert data.spent().account.spent == cost_of(plan, data.spent().rules)
    assert data.entry(3).content["unit"] == unit
    with file_ledger.session("d"):
        fit(None)
    assert [data.spent().charges, data.spent().released] == [2, 2]
    fit(None)  # without an account
    assert data.spent().charges == 2
    assert file_ledger.verify()


def test_no_row_is_read_before_the_charge(data, monkeypatch):
    """The door to the rows opens when the charge is in the ledger, and not if it is refused."""
    charged = []

    class Watched(rows.Rows):
        def __init__(self, *args):
            charged.append(data.spent().charges)
            super().__init__(*args)

    monkeypatch.setattr(rows, "Rows", Watched)
    PCA(2, ledger=data).fit(X)
    assert charged == [1]
    with pytest.raises(BudgetExceededError):
        PCA(2, epsilon=5000.0, ledger=data).fit(X)
    assert charged == [1]


def test_what_happens_in_between_is_charged(data, monkeypatch):
    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(StretchedPCA, "run", fail)
    with pytest.raises(KeyboardInterrupt):
        PCA(2, ledger=data).fit(X)
    assert [data.spent().charges, data.spent().released] == [1, 0]


def test_not_private_runs_are_refused_or_tests(file_ledger, data):
    rehearsal = file_ledger.dataset("rehearsal", 1, 1e-6, test=True)
    for model in (PCA(2, random_state=0), PCA(2, epsilon=math.inf)):
        with pytest.raises(LedgerError, match="is not private and is refused"):
            clone(model).set_params(ledger=data).fit(X)
    with recording(), pytest.raises(LedgerError, match="tape"):
        PCA(2, ledger=data).fit(X)
    with pytest.warns(NotPrivateWarning):
        seeded = PCA(2, random_state=0, ledger=rehearsal).fit(X)
    PCA(2, epsilon=math.inf, ledger=rehearsal).fit(X)
    with recording():
        PCA(2, ledger=rehearsal).fit(X)
    assert seeded.privacy_.ledger["test"] is True
    assert data.spent().charges == 0
    assert [rehearsal.spent().charges, rehearsal.spent().tests] == [3, 3]
    assert rehearsal.spent().epsilon == 0


def test_an_estimator_of_another_relation_is_refused(data):
    with pytest.raises(LedgerError, match="accounted under replace-one"):
        PCA(2, neighbors="add-remove", ledger=data).fit(X)


@pytest.mark.parametrize("wrong", ["d", 3, Ledger("x.db")])
def test_only_a_dataset_is_an_account(wrong):
    with pytest.raises(TypeError, match="ledger must be a dataset of a ledger"):
        PCA(2, ledger=wrong).fit(X)


def test_what_is_left_feeds_the_next_plan(file_ledger):
    data = file_ledger.dataset("small", 2, 1e-6)
    RobustPCA(2, epsilon=1.0, ledger=data).fit(X)
    rest = PCA(2, epsilon=data.left(), delta=1e-6, center="private", ledger=data)
    assert rest.plan(60, 4).epsilon == pytest.approx(data.left(), rel=1e-6)
    rest.fit(X)
    assert data.spent().fraction > 0.9999
    for adaptive in (RobustPCA(2, epsilon=0.1, ledger=data), PCA(2, epsilon=0.1, ledger=data)):
        with pytest.raises(BudgetExceededError, match="Nothing was charged"):
            adaptive.fit(X)


def score(model, X, y=None):
    return -float(np.square(X - model.inverse_transform(model.transform(X))).mean())


GRID = {"epsilon": [0.5, 1.0, 2.0, 4.0], "n_components": [1, 2]}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_grid_search_of_sixteen_fits_is_sixteen_charges(data, jobs):
    search = GridSearchCV(PCA(ledger=data), GRID, scoring=score, cv=2, refit=False, n_jobs=jobs)
    search.fit(X)
    spent = data.spent()
    assert [spent.charges, spent.released] == [16, 16]
    mus = [Budget(epsilon, 1e-6).mu for epsilon in GRID["epsilon"]]
    assert spent.account.spent[0] / 1e12 == pytest.approx(4 * sum(mu**2 for mu in mus), rel=1e-6)


def test_a_session_reaches_into_processes_and_threads(file_ledger, data):
    pipeline = make_pipeline(PCA(2))
    with file_ledger.session("d"):
        search = GridSearchCV(
            pipeline, {"pca__epsilon": [1.0, 2.0]}, scoring=score, cv=2, refit=False, n_jobs=2
        )
        search.fit(X)
        joblib.Parallel(n_jobs=2)(joblib.delayed(PCA(2).fit)(X) for _ in range(2))
        copied = clone(PCA(2))
        thread = threading.Thread(target=PCA(2).fit, args=(X,))
        thread.start()
        thread.join()
    assert data.spent().charges == 7
    assert copied.ledger == data
    assert clone(PCA(2)).ledger is None
    assert current_dataset() is None


def test_copies_charge_the_same_account(data):
    model = PCA(2, ledger=data)
    for copied in (clone(model), pickle.loads(pickle.dumps(model)), PCA(**model.get_params())):
        copied.fit(X)
    threads = [threading.Thread(target=clone(model).fit, args=(X,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert data.spent().charges == 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_charges_the_same_account(data):
    PCA(2, ledger=data).fit(X)
    context = multiprocessing.get_context("fork")
    child = context.Process(target=PCA(2, ledger=data).fit, args=(X,))
    with warnings.catch_warnings():  # later versions warn of forks beside threads, xdist's too
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    PCA(2, ledger=data).fit(X)
    child.join(60)
    assert child.exitcode == 0
    assert data.spent().charges == 3


# Streams.

STREAM = {"epsilon": 1.0, "block_size": 20}


def test_a_stream_is_charged_once_at_its_first_block(data):
    tracker = SubspaceTracker(2, **STREAM, max_blocks_per_person=3, ledger=data)
    tracker.partial_fit(X[:10])
    assert data.spent().charges == 0  # rows wait, nobody has looked at them
    tracker.partial_fit(X)
    assert tracker.releases_ == 3
    assert [data.spent().charges, data.spent().released] == [1, 1]
    said = tracker.privacy_.ledger
    assert said["entry"] == 3
    for kept in (
        pickle.loads(pickle.dumps(tracker)),
        SubspaceTracker.from_state_dict(tracker.state_dict()),
    ):
        kept.partial_fit(X)
        assert kept.releases_ > 3
        assert kept.privacy_.ledger == said
    assert data.spent().charges == 1
    tracker.fit(X)  # another stream
    assert data.spent().charges == 2


def test_a_stream_keeps_its_account(file_ledger, data):
    other = file_ledger.dataset("other", 5, 1e-6)
    tracker = SubspaceTracker(2, **STREAM, ledger=data).fit(X)
    tracker.set_params(ledger=other)
    with pytest.raises(PrivacyError, match="began with that of 'd'"):
        tracker.partial_fit(X)
    tracker.set_params(ledger=None).partial_fit(X)  # paid for
    free = SubspaceTracker(2, **STREAM).fit(X)
    with pytest.raises(PrivacyError, match="began with no account"):
        free.set_params(ledger=data).partial_fit(X)
    assert [data.spent().charges, other.spent().charges] == [1, 0]


def test_a_stream_that_does_not_fit_releases_nothing(file_ledger):
    small = file_ledger.dataset("small", 0.5, 1e-6)
    tracker = SubspaceTracker(2, **STREAM, ledger=small)
    with pytest.raises(BudgetExceededError):
        tracker.fit(X)
    assert not hasattr(tracker, "components_")
    with pytest.raises(LedgerError, match="not private"):
        SubspaceTracker(2, **STREAM, random_state=0, ledger=small).fit(X)
    with pytest.raises(LedgerError, match="epsilon=None is not private"):
        SubspaceTracker(2, ledger=small).fit(X)
    with file_ledger.session("small"), pytest.raises(LedgerError, match="epsilon=None"):
        SubspaceTracker(2).fit(X)


def test_a_statement_with_an_account_is_written_and_read(data):
    statement = PCA(2, ledger=data).fit(X).privacy_
    assert PrivacyStatement.from_dict(statement.to_dict()) == statement
    assert f"d, entry 3, head {statement.ledger['head'][:1]}" in " ".join(repr(statement).split())
    assert hash(statement) == hash(replace(statement, ledger=None))
    assert "ledger" not in replace(statement, ledger=None).to_dict()


def test_what_an_adaptive_plan_names_is_not_the_price():
    """A solver that spends as it goes may use all of its budget, however little its plan names."""
    rules = veilspan.ledger.filters.rules_for(3.0, 1e-6, "gdp")
    adaptive = RobustPCA(2, epsilon=1.0).plan(1000, 10)
    assert adaptive.adaptive
    assert cost_of(adaptive, rules)[0] >= Budget(1.0, 1e-6).mu ** 2 * 1e12
    fixed = RobustPCA(2, epsilon=1.0, solver=REAPER).plan(1000, 10)
    assert not fixed.adaptive
    assert cost_of(fixed, rules)[0] == pytest.approx(cost_of(plan_of(1.0), rules)[0], rel=1e-6)


def test_a_stream_keeps_the_account_under_which_it_took_its_first_row(ledger):
    from veilspan import SubspaceTracker
    from veilspan.privacy.errors import PrivacyError

    one, two = (ledger.dataset(name, 5, 1e-6) for name in ("stream one", "stream two"))
    rows = np.random.default_rng(0).standard_normal((50, 4))
    tracker = SubspaceTracker(n_components=1, epsilon=1.0, delta=1e-6, block_size=100, ledger=one)
    tracker.partial_fit(rows)  # they wait for a full block, uncharged
    for other in (two, None):
        with pytest.raises(PrivacyError, match="cannot take it over"):
            tracker.set_params(ledger=other).partial_fit(rows)
    tracker.set_params(ledger=one).partial_fit(rows)
    assert (one.spent().charges, two.spent().charges) == (1, 0)
