"""Linear models with every solver: what ``auto`` takes, minima without noise, replays."""

import math

import numpy as np
import pytest
from sklearn import linear_model as plain

from estimators.linear.cases import CONSTANT, HIGH, LOW, REGRESSION, TARGETS, scaled, table
from veilspan.audit.replay import replay
from veilspan.estimators.linear.classification import LinearSVC, LogisticRegression
from veilspan.estimators.linear.regression import HuberRegressor, Lasso, LinearRegression, Ridge
from veilspan.losses.penalties import L1Ball
from veilspan.privacy.errors import LoudNoiseWarning

BOUNDS = {"feature_range": (LOW, HIGH)}
simulated = pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.NotPrivateWarning")


@pytest.mark.parametrize(
    ("model", "chosen"),
    [
        (LogisticRegression(**BOUNDS), "ObjectivePerturbation"),
        (LogisticRegression(**BOUNDS, classes=[0, 1, 2]), "PrivateNewton"),
        (LinearSVC(**BOUNDS, classes=[0, 1, 2]), "PrivateNewton"),
        (LogisticRegression("l1", C=1.0, **BOUNDS), "GradientDescent"),
        (LinearSVC(**BOUNDS), "ObjectivePerturbation"),
        (LinearRegression(**BOUNDS, target_range=TARGETS), "PrivateNewton"),
        (Lasso(**BOUNDS, target_range=TARGETS), "PrivateNewton"),
        (HuberRegressor(**BOUNDS, target_range=TARGETS), "PrivateNewton"),
    ],
    ids=repr,
)
def test_what_auto_takes_for_many_rows(model, chosen):
    plan = model.plan(200_000, 4)
    assert chosen in plan.decisions["chosen solver"]
    assert plan.epsilon <= 1.0
    assert plan.epsilon == pytest.approx(1.0, rel=1e-3)


def test_auto_says_when_little_can_be_learned():
    x, scores = table(30)
    with pytest.warns(LoudNoiseWarning, match="More rows"):
        LogisticRegression(**BOUNDS, epsilon=0.1).fit(x, scores > 0.1)


@pytest.mark.parametrize("solver", ["gd", "objective", "newton", "accmd", "auto"])
def test_without_noise_solvers_of_the_logistic_loss_agree(solver):
    x, scores = table(400)
    y = scores > 0.1
    model = LogisticRegression(**BOUNDS, C=20.0, solver=solver, epsilon=math.inf).fit(x, y)
    # Objective perturbation holds the intercept as well.
    if solver == "objective":
        rows = np.hstack([scaled(x), np.full((400, 1), CONSTANT / math.hypot(1.0, CONSTANT))])
        theirs = plain.LogisticRegression(C=20.0, fit_intercept=False, tol=1e-10).fit(rows, y)
        wanted = theirs.decision_function(rows)
    else:
        theirs = plain.LogisticRegression(C=20.0, tol=1e-10).fit(scaled(x), y)
        wanted = theirs.decision_function(scaled(x))
    np.testing.assert_allclose(model.decision_function(x), wanted, atol=1e-3)


@pytest.mark.parametrize("solver", ["gd", "statistics", "newton", "auto"])
def test_without_noise_solvers_of_the_squared_loss_agree(solver):
    x, scores = table(400)
    y = 6 * scores + 3
    model = Ridge(3.0, **{**REGRESSION, "solver": solver}, epsilon=math.inf).fit(x, y)
    theirs = plain.Ridge(3.0).fit(scaled(x), (y - 5) / 25)
    np.testing.assert_allclose(model.predict(x), 5 + 25 * theirs.predict(scaled(x)), atol=1e-3)


@simulated
@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
@pytest.mark.parametrize("weights", [None, {1: 3.0}], ids=["plain", "weighted"])
def test_objective_perturbation_under_replay(neighbors, weights):
    """Flipped labels and wild rows, through the second door."""
    x, scores = table(40)
    y = (scores > 0.1).astype(int)
    model = LogisticRegression(
        **BOUNDS,
        classes=[0, 1],
        class_weight=weights,
        solver="objective",
        neighbors=neighbors,
        random_state=0,
    )
    for row in (x[-1], HIGH, 1e100 * np.ones(4)):
        for label in (0, 1):
            if neighbors == "replace-one":
                other, labels = x.copy(), y.copy()
                other[-1], labels[-1] = row, label
            else:
                other, labels = np.vstack([x, row]), np.append(y, label)
            report = replay(lambda data: model.fit(*data), (x, y), (other, labels))
            assert report.ok, report.findings
            assert report.questions > 0


@simulated
@pytest.mark.parametrize(
    ("model", "least"),
    [
        (LogisticRegression(**BOUNDS, random_state=0), 0.88),
        (LinearSVC(**BOUNDS, random_state=0), 0.88),
        (LogisticRegression(**BOUNDS, solver="newton", random_state=0), 0.88),
        (
            LogisticRegression(L1Ball(15.0), **BOUNDS, solver="frank-wolfe", random_state=0),
            0.8,
        ),
    ],
    ids=repr,
)
def test_private_accuracy(model, least):
    """Seeded fits on 20,000 rows at epsilon 1; the best linear rule is right for 91 %."""
    x, scores = table(20_000)
    y = scores > 0.1
    assert (y == (scaled(x) @ [4.0, -2.0, 1.0, 0.0] > -0.1)).mean() > 0.9
    fitted = model.fit(x, y)
    assert fitted.score(x, y) > least
    assert fitted.privacy_.verify()
