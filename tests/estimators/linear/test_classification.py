import math

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize
from sklearn.linear_model import LogisticRegression as PlainLogistic
from sklearn.svm import SVC
from sklearn.svm import LinearSVC as PlainSVC

from estimators.linear.cases import DIVISOR, HIGH, LOW, PUBLIC, QUICK, scaled, scaled_at_zero, table
from veilspan.estimators.linear.classification import LinearSVC, LogisticRegression
from veilspan.losses.linear import SmoothedHinge
from veilspan.solvers.linear.gradient_descent import GradientDescent

EXACT = {"feature_range": (LOW, HIGH), "epsilon": math.inf, "solver": "gd"}
#: Where both minimisers stop: scores, up to 22, differ by 5e-6 at most.
STOPPED = 2e-5
NAMES = np.array(["no", "perhaps", "yes"])


@pytest.mark.parametrize("cuts", [[0.1], [-0.5, 0.7]], ids=["two classes", "three classes"])
@pytest.mark.parametrize("weight", [None, {"no": 3.0}], ids=["plain", "weighted"])
def test_without_noise_it_is_scikit_learns_logistic_regression(cuts, weight):
    x, scores = table(400)
    y = NAMES[np.digitize(scores, cuts)]
    ours = LogisticRegression(C=20.0, class_weight=weight, **EXACT).fit(x, y)
    plain = PlainLogistic(C=20.0, tol=1e-10, class_weight=weight, max_iter=5000).fit(scaled(x), y)
    np.testing.assert_allclose(
        ours.decision_function(x), plain.decision_function(scaled(x)), atol=STOPPED
    )
    np.testing.assert_allclose(ours.predict_proba(x), plain.predict_proba(scaled(x)), atol=STOPPED)
    np.testing.assert_array_equal(ours.predict(x), plain.predict(scaled(x)))
    np.testing.assert_array_equal(ours.classes_, plain.classes_)
    assert ours.coef_.shape == plain.coef_.shape
    assert ours.intercept_.shape == plain.intercept_.shape
    np.testing.assert_allclose(ours.coef_ * DIVISOR, plain.coef_, atol=STOPPED)
    assert ours.score(x, y) == plain.score(scaled(x), y)


@pytest.mark.parametrize(("penalty", "ratio"), [("l1", 1.0), ("elasticnet", 0.3)])
def test_sparse_penalties_are_scikit_learns(penalty, ratio):
    x, scores = table(400)
    y = scores > 0.1
    ours = LogisticRegression(penalty, C=5.0, l1_ratio=0.3, **EXACT).fit(x, y)
    plain = PlainLogistic(C=5.0, l1_ratio=ratio, solver="saga", tol=1e-9, max_iter=20_000)
    plain.fit(scaled(x), y)
    np.testing.assert_allclose(
        ours.decision_function(x), plain.decision_function(scaled(x)), atol=1e-4
    )


def test_without_an_intercept_nothing_is_appended():
    x, scores = table(400)
    y = scores > 0.1
    ours = LogisticRegression(C=20.0, fit_intercept=False, **EXACT).fit(x, y)
    rows = scaled_at_zero(x)
    plain = PlainLogistic(C=20.0, fit_intercept=False, tol=1e-10).fit(rows, y)
    np.testing.assert_allclose(ours.decision_function(x), plain.decision_function(rows), atol=1e-4)


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_without_noise_linear_svc_is_the_penalised_hinge(weight):
    x, scores = table(300)
    y = np.where(scores > 0.1, "b", "a")
    ours = LinearSVC(C=10.0, hinge_width=0.3, class_weight={"b": weight}, **EXACT).fit(x, y)
    rows, signs = np.hstack([scaled(x), np.ones((300, 1))]), np.where(y == "b", 1.0, -1.0)
    factors, hinge = np.where(y == "b", weight, 1.0), SmoothedHinge(0.3)

    def objective(theta):
        u = rows @ theta
        inside = np.append(theta[:-1], 0.0)
        value = 10.0 * factors @ hinge.value(u, signs) + inside @ inside / 2
        return value, 10.0 * rows.T @ (factors * hinge.slope(u, signs)) + inside

    best = scipy_minimize(objective, np.zeros(5), jac=True, method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(ours.decision_function(x), rows @ best.x, atol=STOPPED)


def test_without_noise_linear_svc_is_scikit_learns_at_the_same_penalty():
    """``SVC(kernel="linear")`` spares the intercept too; its hinge has a sharp corner."""
    x, scores = table(400)
    y = scores + 0.3 * np.random.default_rng(3).standard_normal(400) > 0.1
    ours = LinearSVC(C=2.0, hinge_width=0.02, **EXACT).fit(x, y)
    plain = SVC(kernel="linear", C=2.0, tol=1e-8).fit(scaled(x), y)
    theirs = plain.decision_function(scaled(x))
    np.testing.assert_allclose(ours.decision_function(x), theirs, atol=0.02, rtol=0.02)
    assert np.mean(ours.predict(x) == plain.predict(scaled(x))) > 0.99


def test_without_noise_several_classes_are_crammer_and_singers():
    """scikit-learn's ``multi_class="crammer_singer"``, without an intercept, which it penalises."""
    rng = np.random.default_rng(0)
    x, scores = table(600)
    y = np.digitize(scores + 0.2 * rng.standard_normal(600), [-0.2, 0.3])
    ours = LinearSVC(C=1.0, hinge_width=0.02, fit_intercept=False, **EXACT).fit(x, y)
    rows = scaled_at_zero(x)
    plain = PlainSVC(multi_class="crammer_singer", C=1.0, fit_intercept=False, tol=1e-8,
                     max_iter=100_000).fit(rows, y)  # fmt: skip
    mine, theirs = ours.decision_function(x), plain.decision_function(rows)
    centred = [part - part.mean(axis=1, keepdims=True) for part in (mine, theirs)]
    np.testing.assert_allclose(*centred, atol=0.05)
    assert np.mean(ours.predict(x) == plain.predict(rows)) > 0.98


def test_labels_of_any_kind_come_back():
    x, scores = table(60)
    for labels in (np.array(["a", "b"]), np.array([False, True]), np.array([-7, 3])):
        y = labels[(scores > 0.1).astype(int)]
        fitted = LogisticRegression(**PUBLIC, classes=labels).fit(x, y)
        assert fitted.predict(x).dtype == labels.dtype
        assert set(fitted.predict(x)) <= set(labels)


def test_classes_that_are_public_need_not_occur():
    x, scores = table(60)
    y = (scores > 0.1).astype(int)
    fitted = LogisticRegression(**PUBLIC, classes=[2, 0, 1]).fit(x, y)
    assert fitted.classes_.tolist() == [0, 1, 2]
    assert fitted.predict_proba(x).shape == (60, 3)
    np.testing.assert_allclose(fitted.predict_proba(x).sum(axis=1), 1.0)
    LogisticRegression(**PUBLIC, classes=[0, 1]).fit(x, np.zeros(60, dtype=int))


def test_the_statement_says_where_labels_came_from():
    x, scores = table(60)
    y = scores > 0.1
    seen = LogisticRegression(**PUBLIC).fit(x, y).privacy_.assumptions
    told = LogisticRegression(**PUBLIC, classes=[False, True]).fit(x, y).privacy_.assumptions
    assert any("read off y" in line for line in seen)
    assert not any("read off y" in line for line in told)
    assert any("no other label occurs" in line for line in told)


SECRET = "Alice Secret"


@pytest.mark.parametrize(
    ("y", "changes", "message"),
    [
        (np.full(60, SECRET), {}, "1 class"),
        (np.array([SECRET, "a"] * 30), {"classes": ["a", "b"]}, "not among classes"),
        (np.array([SECRET, "a"] * 30), {"classes": [0, 1]}, "not among classes"),
        (np.array([SECRET, "a"] * 30), {"class_weight": "even"}, 'or "balanced"'),
        (np.array([SECRET, "a"] * 30), {"threshold": "best"}, "threshold must be"),
        (np.array([SECRET, "a"] * 30), {"class_weight": {"c": 2.0}}, "not among the classes"),
        (np.array([SECRET, "a"] * 30), {"class_weight": {"a": -1.0}}, "class_weight"),
        (np.array([SECRET, 1] * 30, dtype=object), {}, "one type"),
        (np.linspace(0, 98765.4321, 60), {}, "Unknown label type: continuous"),
        (np.array([0, 1] * 30), {"penalty": "l3"}, "penalty"),
        (np.array([0, 1] * 30), {"penalty": 7}, "penalty"),
        (np.array([0, 1] * 30), {"penalty": "l1"}, "needs C"),
        (np.array([0, 1] * 30), {"C": -1.0}, "C must be positive"),
    ],
)
def test_bad_labels_and_parameters(y, changes, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        LogisticRegression(**PUBLIC, **changes).fit(table(60)[0], y)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert "98765" not in str(caught.value)


def test_support_vectors_of_three_classes():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (3000, 4))
    y = (x @ rng.standard_normal((4, 3))).argmax(axis=1)
    bounds = {"feature_range": (-1, 1), "classes": [0, 1, 2]}
    exact = LinearSVC(**bounds, epsilon=np.inf).fit(x, y)
    assert exact.coef_.shape == (3, 4)
    assert exact.score(x, y) > 0.95
    assert LinearSVC(**bounds, epsilon=3.0).fit(x, y).score(x, y) > 0.85


def test_c_needs_a_number_of_rows():
    model = LogisticRegression(**PUBLIC, C=1.0, neighbors="add-remove")
    with pytest.raises(ValueError, match="expected_rows"):
        model.plan(None, 4)
    assert model.set_params(expected_rows=1000).plan(None, 4).n_rows is None


def test_a_clip_goes_to_the_solver():
    model = LogisticRegression(**PUBLIC, clip=0.25)
    assert model._draft(50, 4)[1].solver == GradientDescent(steps=QUICK.steps, clip=0.25)
    with pytest.raises(ValueError, match='solver="statistics" has no clip'):
        LinearSVC(**PUBLIC | {"solver": "statistics"}, clip=0.5).plan(50, 4)


def test_auto_hands_a_clip_on_to_what_it_chooses():
    plan, prepared = LogisticRegression(**PUBLIC | {"solver": "auto"}, clip=0.25)._draft(50, 4)
    assert prepared.solver.clip == 0.25
    assert plan.method == "LogisticRegression (gd)"


def test_plans_of_several_classes_before_a_fit():
    three = LogisticRegression(**PUBLIC, classes=["a", "b", "c"]).plan(100, 4)
    assert three.decisions["loss"] == "multinomial"
    assert LogisticRegression(**PUBLIC).plan(100, 4).decisions["loss"] == "logistic"


def test_log_probabilities_do_not_overflow():
    x, scores = table(60)
    fitted = LogisticRegression(**PUBLIC).fit(x, scores > 0.1)
    far = fitted.predict_log_proba(1e100 * x)
    assert np.isfinite(far).all()
    assert (far <= 0).all()


@pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.NotPrivateWarning")
@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_private_accuracy(kind):
    """Eight seeded fits on 5000 rows at epsilon 1: a simulation, so it repeats; nothing is lost."""
    x, scores = table(5000)
    y = scores > 0.1
    best = (y == (scaled(x) @ [4.0, -2.0, 1.0, 0.0] > -0.1)).mean()
    found = [
        kind(feature_range=(LOW, HIGH), solver="gd", random_state=seed).fit(x, y).score(x, y)
        for seed in range(8)
    ]
    assert np.mean(found) > best - 0.005
