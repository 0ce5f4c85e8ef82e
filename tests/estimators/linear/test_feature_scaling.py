import math

import numpy as np
import pytest

from estimators.linear.cases import HIGH, LOW, PUBLIC, QUICK, SAMPLED, TARGETS, table
from veilspan.estimators.linear.classification import LogisticRegression
from veilspan.estimators.linear.regression import LinearRegression
from veilspan.losses.penalties import L2
from veilspan.solvers.linear.gradient_descent import GradientDescent
from veilspan.solvers.linear.selection import Candidate

PRIVATE = {"bounds": "private", "classes": [False, True]}


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
def test_an_eighth_of_the_budget_pays_for_ranges(neighbors):
    plan = LogisticRegression(**PRIVATE, solver=QUICK, neighbors=neighbors).plan(500, 4)
    shares = {event.name: event.mu**2 / plan.budget.mu**2 for event in plan.events}
    wanted = {"ranges": 0.07, "finer ranges": 0.02, "narrow columns": 0.015, "length": 0.01}
    assert {name: shares[name] for name in wanted} == pytest.approx(wanted, rel=1e-6)
    assert sum(shares.values()) == pytest.approx(1.0, rel=1e-4)
    assert plan.epsilon <= plan.budget.epsilon


def test_events_that_are_not_gaussian_share_the_budget_as_well():
    plan = LogisticRegression(**PRIVATE, solver=SAMPLED).plan(500, 4)
    assert plan.epsilon <= plan.budget.epsilon
    assert plan.epsilon == pytest.approx(plan.budget.epsilon, rel=1e-3)


def test_ranges_without_noise_hold_the_rows():
    x, scores = table(500)
    free = {"epsilon": math.inf, "solver": "gd"}
    found = LogisticRegression(**PRIVATE, **free, C=20.0).fit(x, scores > 0.1)
    told = LogisticRegression(feature_range=(LOW, HIGH), **free, C=20.0).fit(x, scores > 0.1)
    assert np.mean(found.predict(x) == told.predict(x)) > 0.99  # all of them
    assert found.privacy_.events[0].name == "ranges"


@pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.NotPrivateWarning")
def test_private_ranges_cost_little_accuracy():
    """Four seeded fits on 20,000 rows at epsilon 2: a simulation, so it repeats; 5e-6 is lost."""
    x, scores = table(20_000)
    target = 6 * scores + 3
    scores_of = {"public": [], "private": []}
    for seed in range(4):
        for kind, bounds in (
            ("public", {"feature_range": (LOW, HIGH)}),
            ("private", {"bounds": "private"}),
        ):
            model = LinearRegression(
                **bounds, target_range=TARGETS, epsilon=2.0, solver="gd", random_state=seed
            )
            scores_of[kind].append(model.fit(x, target).score(x, target))
    assert np.mean(scores_of["private"]) > np.mean(scores_of["public"]) - 1e-3


def test_a_selection_takes_names_solvers_and_penalties():
    x, scores = table(200)
    candidates = ["gd", GradientDescent(steps=5), Candidate(QUICK, L2(0.1))]
    model = LogisticRegression(**PUBLIC, selection=candidates)
    fitted = model.fit(x, scores > 0.1)
    assert fitted.plan_.method == "LogisticRegression (selection)"
    assert fitted.trace_[-1]["chosen"] in (0, 1, 2)
    assert fitted.privacy_.verify()
    with pytest.raises(ValueError, match="2 candidates"):
        LogisticRegression(**PUBLIC, selection=["gd"]).plan(100, 4)
    with pytest.raises(ValueError, match="clip"):
        LogisticRegression(**PUBLIC, selection=["gd", "sgd"], clip=0.2).plan(100, 4)


def test_a_selection_prefers_what_is_right():
    """A candidate that never moves against one that does, without noise."""
    x, scores = table(400)
    still = GradientDescent(steps=1, step=1e-9)
    model = LogisticRegression(
        feature_range=(LOW, HIGH), selection=[still, "gd"], epsilon=math.inf
    ).fit(x, scores > 0.1)
    assert model.trace_[-1]["chosen"] == 1


def test_a_refused_fit_says_neither_how_many_rows_nor_which_labels():
    x, y = np.zeros((30, 2)), np.array(["secret", "other"] * 15)
    model = LogisticRegression(feature_range=(-1, 1), neighbors="add-remove")
    with pytest.raises(ValueError, match="different numbers of rows") as refused:
        model.fit(x, y[:-1])
    assert "30" not in str(refused.value)
    with pytest.raises(ValueError, match="statistics"):
        model.set_params(solver="statistics").fit(x, y)
    assert not hasattr(model, "classes_")
