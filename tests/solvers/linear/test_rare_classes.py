"""Balanced weights and thresholds: within the plan, nothing but answers, rare rows are found."""

import math
import warnings

import numpy as np
import pytest

from solvers.linear.runs import replayed, run
from veilspan import Budget, LinearSVC, LogisticRegression
from veilspan.losses.class_weights import ClassWeighted
from veilspan.losses.linear import Logistic, Multinomial
from veilspan.losses.penalties import NoPenalty
from veilspan.privacy.accounting import epsilon_spent
from veilspan.solvers.linear.base import LinearProblem
from veilspan.solvers.linear.gradient_descent import GradientDescent
from veilspan.solvers.linear.newton import PrivateNewton
from veilspan.solvers.linear.objective_perturbation import ObjectivePerturbation
from veilspan.solvers.linear.rare_classes import around_solver as rare_classes
from veilspan.solvers.linear.rare_classes.around_solver import HISTOGRAM, SHARES, RareClasses
from veilspan.solvers.linear.rare_classes.operating_point import find_operating_point

RELATIONS = pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
SIMULATED = pytest.mark.filterwarnings(
    "ignore::veilspan.privacy.errors.NotPrivateWarning",
    "ignore::veilspan.privacy.errors.RareClassWarning",  # tests/estimators/linear/test_class_shares
)
DESCENT = GradientDescent(steps=3)
WHITE = PrivateNewton(3, clip=0.3, whiten=True)


def making(classes=2):
    loss = Logistic() if classes == 2 else Multinomial(classes)

    def make_problem(n_rows, weights=(1.0,) * classes):
        return LinearProblem(ClassWeighted(loss, weights), NoPenalty(), 4, n_rows, 40)

    return make_problem


# ---------------------------------------------------------------- the plan


@RELATIONS
@pytest.mark.parametrize("inner", [DESCENT, ObjectivePerturbation()])
def test_all_questions_are_within_one_budget(inner, neighbors):
    budget = Budget(1.0, 1e-6)
    problem = making()(1000 if neighbors == "replace-one" else None)
    ready = RareClasses(inner, True, "f1").prepare(problem, budget, neighbors)
    names = [event.name for event in ready.events]
    assert names[0] == SHARES
    assert names[-1] == HISTOGRAM
    spent = epsilon_spent(ready.events, budget.delta, neighbors=neighbors)
    assert 0.999 < spent <= 1.0
    alone = inner.prepare(problem, budget, neighbors).events
    assert len(ready.events) == len(alone) + 2


def test_the_solver_is_fixed_before_a_row_is_read():
    """The largest weight is exactly 1, whatever the counts: slopes keep their bound."""
    plain = Logistic()
    for counts in ([3.0, 1e6], [5.0, 5.0], [1e-3, 7.0]):
        weights = tuple((min(counts) / np.array(counts)).tolist())
        loss = ClassWeighted(plain, weights)
        assert loss.slope_bound == plain.slope_bound
        assert loss.smoothness == plain.smoothness


# ---------------------------------------------------------------- nothing but answers leaves


@RELATIONS
@pytest.mark.parametrize("inner", [DESCENT, ObjectivePerturbation(lam=3.0), WHITE])
def test_replay(inner, neighbors, some_of):
    reports = list(replayed(RareClasses(inner, True, "f1"), making(), neighbors, pick=some_of))
    assert [report.findings for report in reports if not report.ok] == []
    assert max(report.realised_mu for report in reports) <= Budget(5.0, 1e-6).mu


@RELATIONS
def test_replay_of_several_classes(neighbors, some_of):
    solver = RareClasses(DESCENT, True)
    reports = list(replayed(solver, making(3), neighbors, classes=3, pick=some_of))
    assert [report.findings for report in reports if not report.ok] == []


class HalfNoise(rare_classes.ScoreHistogram):
    """A broken copy: half of the votes that an exchange moves."""

    def sensitivity(self, neighbors):
        return super().sensitivity(neighbors) / 2


class HalfCounts(rare_classes.ClassCounts):
    """The same for counts."""

    def sensitivity(self, neighbors):
        return super().sensitivity(neighbors) / 2


@RELATIONS
@pytest.mark.parametrize(
    ("name", "broken"), [("ScoreHistogram", HalfNoise), ("ClassCounts", HalfCounts)]
)
def test_too_little_noise_is_caught(monkeypatch, neighbors, name, broken):
    monkeypatch.setattr(rare_classes, name, broken)
    reports = replayed(RareClasses(DESCENT, True, "f1"), making(), neighbors)
    assert any(not report.ok for report in reports)


def test_weights_of_exact_counts_are_caught(monkeypatch):
    """A broken copy: counts without a charge, as a careless "balanced" would take them."""

    def exact(curator, problem):
        counts = np.zeros(2)
        for block in curator._rows.blocks(1000):
            counts += [(block.y <= 0).sum(), (block.y > 0).sum()]
        counts = np.maximum(counts, 1.0)
        curator.answer(rare_classes.ClassCounts(problem.loss), event=SHARES)
        return tuple((counts.min() / counts).tolist())

    monkeypatch.setattr(rare_classes, "_weights", exact)
    reports = replayed(RareClasses(DESCENT, True), making(), "replace-one")
    assert any(not report.ok for report in reports)


# ---------------------------------------------------------------- what comes out


@SIMULATED
def test_a_threshold_ranks_rare_rows_better_than_descent_did():
    """4 % positives on cubes of uniform numbers; average precision of .32 beside .22, by seeds."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        x = rng.random((40_000, 20)) ** 3
        y = rng.logistic(size=len(x)) < 4 * (x[:, 0] - x[:, 1] + 0.7 * x[:, 2]) - 5.2
        said = {"feature_range": (0, 1), "classes": [False, True], "threshold": "f1"}
        auto, descent = (
            LogisticRegression(**said, epsilon=1.0, random_state=seed, solver=solver)
            .fit(x[:20_000], y[:20_000])
            .measure_ranking(x[20_000:], y[20_000:])["average_precision"]
            for solver in ("auto", "gd")
        )
        assert auto > descent + 0.05


def test_weights_are_those_of_the_counts_without_noise():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-0.4, 0.4, (400, 4)), np.where(np.arange(400) < 40, 1.0, -1.0)
    result = run(RareClasses(GradientDescent(steps=5), True), making()(400), x, y)
    np.testing.assert_allclose(result.weights, (40 / 360, 1.0))
    assert result.operating is None


def rare_table(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    x = np.clip(rng.standard_normal((n, 6)), -3, 3)
    scores = 1.5 * x @ np.array([1.0, -1.0, 0.5, 0.0, 0.0, 0.0]) - 5.9
    return x, (rng.logistic(size=n) < scores).astype(int)


@SIMULATED
def test_two_percent_are_found_at_epsilon_one():
    x, y = rare_table()
    assert 0.015 < y.mean() < 0.03
    common = {"feature_range": (-3, 3), "classes": [0, 1], "epsilon": 1.0, "random_state": 0}
    plain = LogisticRegression(**common).fit(x, y)
    aimed = LogisticRegression(**common, threshold="f1").fit(x, y)
    balanced = LogisticRegression(**common, class_weight="balanced").fit(x, y)
    found = [float(model.predict(x)[y == 1].mean()) for model in (plain, aimed, balanced)]
    assert found[0] < 0.1
    assert found[1] > 0.2
    assert found[2] > 0.5
    # Probabilities speak of the classes as frequent as they are, with weights and without.
    for model in (aimed, balanced):
        assert model.predict_proba(x)[:, 1].mean() == pytest.approx(y.mean(), abs=0.015)
    ranking = aimed.measure_ranking(x, y)
    assert ranking["auc"] > 0.8
    assert ranking["average_precision"] > 3 * y.mean()
    assert set(vars(aimed)) >= {"threshold_", "calibration_"}
    assert "threshold_" not in vars(plain)


@SIMULATED
def test_probabilities_of_a_rare_class_are_about_as_frequent_as_it_is():
    """Paid ranges, noise of 21 rows a count, 400 positives of 20,000."""
    near, scores = 0, []
    for seed in range(12):
        x, y = rare_table(seed=seed)
        model = LogisticRegression(
            epsilon=1.0, classes=[0, 1], threshold="f1", random_state=seed
        ).fit(x, y)
        said, ratio = model.predict(x), model.predict_proba(x)[:, 1].mean() / y.mean()
        near += 1 / 1.7 < ratio < 1.7
        scores.append(2 * float((said & y).sum()) / float(said.sum() + y.sum()))
    assert near >= 11
    assert np.mean(scores) > 0.33  # 0.30 with the sums over all of 97 knots of before


@SIMULATED
@pytest.mark.parametrize("weights", ["balanced", {0: 0.05, 1: 1.0}])
def test_weights_are_taken_off_where_there_is_a_threshold(weights):
    x, y = rare_table()
    for epsilon in (1.0, 20.0):
        model = LogisticRegression(
            feature_range=(-3, 3), classes=[0, 1], epsilon=epsilon, random_state=0,
            class_weight=weights, threshold="f1", solver="newton",
        ).fit(x, y)  # fmt: skip
        said = model.predict_proba(x)[:, 1].mean()
        assert said == pytest.approx(y.mean(), rel=0.4 if epsilon == 1.0 else 0.05)


def normal_counts(n_knots, line, rows=1e6, mean=-5.4, spread=1.8, reach=8.0):
    """Expected counts of normal log-odds that are a line of the score."""
    knots = np.linspace(-reach, reach, n_knots)
    odds = mean + spread * np.linspace(-6, 6, 40_001)
    weights = np.exp(-0.5 * ((odds - mean) / spread) ** 2)
    weights *= rows / weights.sum()
    place = np.clip((odds - line[1]) / line[0], -reach, reach)
    place = (place + reach) * ((n_knots - 1) / (2 * reach))
    votes = np.maximum(0.0, 1.0 - np.abs(np.arange(n_knots)[:, None] - place))
    second = 1 / (1 + np.exp(-odds))
    return knots, np.array([votes @ (weights * (1 - second)), votes @ (weights * second)])


@pytest.mark.parametrize("n_knots", [25, 97])
@pytest.mark.parametrize("line", [(1.0, 0.0), (1.2, 0.4), (3.0, -1.5)])
def test_without_noise_the_line_is_found(n_knots, line):
    knots, counts = normal_counts(n_knots, line)
    point = find_operating_point(knots, counts, 0.0, "f1")
    assert point.slope == pytest.approx(line[0], rel=0.01)
    assert point.offset == pytest.approx(line[1], abs=0.05)


def test_empty_knots_do_not_drown_a_rare_class():
    """400 positives of 20,000 beside noise of 21 rows on each of 25 knots."""
    knots, counts = normal_counts(25, (1.2, 0.0), rows=20_000)
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(20):
        noisy = rng.poisson(counts) + 21 * rng.standard_normal(counts.shape)
        point = find_operating_point(knots, noisy, 21.0, "f1")
        said = 1 / (1 + np.exp(-point.slope * knots - point.offset))
        shares.append(said @ counts.sum(axis=0) / counts[1].sum())
    assert np.mean(np.abs(np.log(shares))) < 0.35


@pytest.mark.parametrize("aim", ["accuracy", "balanced", "f1"])
def test_without_noise_thresholds_are_the_best_ones(aim):
    x, y = rare_table(8000)
    model = LogisticRegression(
        feature_range=(-3, 3), classes=[0, 1], epsilon=math.inf, threshold=aim
    ).fit(x, y)
    scores = model.decision_function(x)

    def value(at):
        said = scores > at
        right = float((said & (y == 1)).sum())
        if aim == "accuracy":
            return float((said == y).mean())
        if aim == "f1":
            return 2 * right / (said.sum() + y.sum())
        return (right / y.sum() + float((~said & (y == 0)).sum()) / (y == 0).sum()) / 2

    best = max(value(at) for at in np.linspace(scores.min(), scores.max(), 300))
    assert value(model.threshold_) > best - 0.02


def test_a_histogram_of_noise_changes_little():
    knots = np.linspace(-2, 2, 97)
    noise = 50 * np.random.default_rng(0).standard_normal((2, 97))
    for aim in ("accuracy", "balanced", "f1"):
        point = find_operating_point(knots, noise, 50.0, aim)
        assert 0.05 <= point.slope < 4
        assert math.isfinite(point.offset)
        assert math.isfinite(point.threshold)


@SIMULATED
def test_a_second_fit_forgets_the_threshold():
    x, y = rare_table(500)
    model = LogisticRegression(
        feature_range=(-3, 3), classes=[0, 1], threshold="balanced", random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x, y)
    assert "threshold_" in vars(model)
    model.set_params(threshold=None, epsilon=8.0).fit(x, y)
    assert "threshold_" not in vars(model)
    assert np.array_equal(model.predict(x), (model.decision_function(x) > 0).astype(int))


def test_what_is_refused():
    with pytest.raises(ValueError, match="for two classes"):
        LogisticRegression(row_norm=1.0, classes=[0, 1, 2], threshold="f1").plan(1000, 3)
    with pytest.raises(ValueError, match='"accuracy", "balanced" or "f1"'):
        LinearSVC(row_norm=1.0, classes=[0, 1], threshold="best").plan(1000, 3)
    x, y = rare_table(300)
    model = LogisticRegression(feature_range=(-3, 3), classes=[0, 1], epsilon=math.inf).fit(x, y)
    with pytest.raises(ValueError, match="rows of every class"):
        model.measure_ranking(x, np.zeros(300, dtype=int))
