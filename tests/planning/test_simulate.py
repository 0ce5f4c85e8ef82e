"""What noise costs, simulated: who can be, what it concludes, and that few rows stand for many."""

import itertools
import json
import math
import warnings

import numpy as np
import pytest

from veilspan import (
    PCA,
    FrechetMean,
    LogisticRegression,
    MatrixCompletion,
    Ridge,
    RobustPCA,
)
from veilspan.catalogue import ESTIMATORS
from veilspan.datasets import make_ward
from veilspan.geometry import SPD, Ball, Sphere
from veilspan.planning import NotSimulatedError, UtilityCurve, simulate, simulate_utility
from veilspan.planning.made_up_cells import fill_columns, narrow_schema
from veilspan.planning.trials import make_trial
from veilspan.planning.utility_curve import GOOD_ENOUGH, STRENGTHS, round_rows
from veilspan.privacy.budget import Budget

WARD = make_ward(10).schema
BALL = Ball.from_eigenvalues(SPD(2), 0.1, 10.0)
RATINGS = {"rating_range": (1, 5)}
RANGES = {"feature_range": (-1, 1)}


@pytest.fixture
def quick(monkeypatch):
    """Few fits, for tests that do not look at the numbers."""
    for name, value in (("GRID", 2), ("MOST_REPEATS", 2), ("ROWS_IN_ALL", 0), ("MOST_STEPS", 1)):
        monkeypatch.setattr(simulate, name, value)


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (PCA(1), {"n_features": 4}),
        (PCA(0.9, row_norm=2.0, center=np.ones(4)), {"n_features": 4}),
        (PCA(schema=WARD), {}),
        (RobustPCA(1), {"n_features": 4}),
        (LogisticRegression(**RANGES, classes=("no", "yes"), C=1.0), {"n_features": 3}),
        (LogisticRegression(row_norm=1.0, classes=(0, 1, 2)), {"n_features": 3}),
        (LogisticRegression(), {"n_features": 3, "schema": WARD}),
        (
            LogisticRegression(**RANGES, neighbors="add-remove", expected_rows=500),
            {"n_features": 3},
        ),
        (Ridge(**RANGES, target_range=(10, 20), alpha=1.0), {"n_features": 3}),
        (FrechetMean(SPD(2), ball=BALL), {}),
        (FrechetMean(Sphere(3), ball=Ball(Sphere(3), np.eye(3)[0], 1.0)), {}),
        (MatrixCompletion(**RATINGS), {"n_features": 12}),
        (MatrixCompletion(task="rank"), {"n_features": 40}),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, dict) else "",
)
def test_every_kind_that_can_be(model, shape, quick):
    calls = []
    curve = simulate_utility(model, n=500, **shape, progress=lambda *now: calls.append(now))
    assert UtilityCurve.from_json(curve.to_json()) == curve
    assert len(curve.epsilons) == 61
    for strength in STRENGTHS:
        values = curve.utility[strength]
        assert all(0 <= a <= b <= 1 for a, b in itertools.pairwise(values))
    assert curve.utility["strong"][-1] > curve.utility["strong"][0]
    assert curve.conclusion.startswith("With 500 rows")
    assert calls[-1][0] == calls[-1][1]
    assert [c[0] for c in calls] == sorted(c[0] for c in calls)


def test_everything_in_the_catalogue_is_simulated_or_says_why_not():
    for name in ("SubspaceTracker", "Profile"):
        with pytest.raises(NotSimulatedError, match=f"{name} cannot be simulated"):
            simulate_utility(ESTIMATORS[name].make_small(), n=100, n_features=4)
    with pytest.raises(NotSimulatedError, match="no made-up tables to judge int"):
        simulate_utility(3, n=100, n_features=4)
    with pytest.raises(NotSimulatedError, match="more than 500 columns"):
        simulate_utility(PCA(1), n=100, n_features=501)
    with pytest.raises(NotSimulatedError, match="one direction only"):
        simulate_utility(PCA(1), n=100, n_features=1)
    with pytest.raises(NotSimulatedError, match="give ball="):
        simulate_utility(FrechetMean(SPD(2)), n=100)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"n": 1, "n_features": 4}, "at least 2"),
        ({"n": True, "n_features": 4}, "at least 2"),
        ({"n": 100}, "number of columns"),
        ({"n": 100, "n_features": 0}, "at least 1"),
        ({"n": 100, "n_features": 4, "epsilons": [1.0]}, "two or more"),
        ({"n": 100, "n_features": 4, "epsilons": [2.0, 1.0]}, "increasing"),
        ({"n": 100, "n_features": 4, "epsilons": [1.0, math.nan]}, "increasing"),
    ],
)
def test_what_is_wrong_is_said(more, words):
    with pytest.raises(ValueError, match=words):
        simulate_utility(PCA(1), **more)


def test_few_rows_conclude_that_nothing_can_be_learned():
    curve = simulate_utility(PCA(1, epsilon=0.1), n=30, n_features=5)
    assert curve.conclusion.startswith("With 30 rows nothing can be learned at epsilon 0.1; from")
    assert curve.rows_needed > 300
    more = simulate_utility(PCA(1, epsilon=0.1), n=10 * curve.rows_needed, n_features=5)
    assert "noise costs little" in more.conclusion
    assert "100%" not in more.conclusion
    assert more.smallest_good_enough < 0.1
    assert "rows_needed" in json.loads(more.to_json())


@pytest.mark.parametrize(
    ("model", "n", "width"),
    [
        (LogisticRegression(**RANGES, classes=(0, 1), epsilon=1.0), 500, 8),
        (PCA(2, epsilon=0.5), 300, 10),
    ],
    ids=["LogisticRegression", "PCA"],
)
def test_so_many_rows_are_enough_and_half_as_many_are_not(model, n, width):
    """On tables that played no part, of as many rows as are said."""
    rows = simulate_utility(model, n=n, n_features=width).rows_needed
    assert rows > n

    def kept(count):
        case = simulate._make_case(model, count, None, width, 0, None)
        tables = [(make_trial(case, "medium", count, seed), seed) for seed in range(500, 525)]
        private, exact = (
            sum(max(-1.0, table.learn(epsilon, seed, 1.0)) for table, seed in tables)
            for epsilon in (model.epsilon, math.inf)
        )
        return private / exact

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert kept(2 * rows) >= GOOD_ENOUGH
        assert kept(rows // 2) < GOOD_ENOUGH


def test_few_rows_stand_for_many(monkeypatch):
    """A table of 1,000 rows with the noise of 16,000 tells the same as 16,000 rows."""
    kept = {}
    for most in (1000, 16_000):
        monkeypatch.setattr(simulate, "_most_rows", lambda kind, width, most=most: most)
        curve = simulate_utility(PCA(1, epsilon=0.05), n=16_000, n_features=10)
        assert curve.rows_simulated == most
        kept[most] = np.array([curve.utility_at(e, "medium") for e in (0.03, 0.05, 0.1, 1.0)])
    assert np.max(np.abs(kept[1000] - kept[16_000])) < 0.25
    # The same 1,000 rows with their own noise are far from it: the scaling is what helps.
    alone = simulate_utility(PCA(1, epsilon=0.05), n=1000, n_features=10)
    assert kept[16_000][1] - alone.utility_at(0.05) > 0.3


def test_a_fit_that_follows_its_rows_too_closely_is_no_measure(monkeypatch):
    """Curves of few rows learn most with some noise: beside no noise, all noise would be free."""

    class Overfitted:
        def learn(self, epsilon, seed, share):
            return 0.4 if math.isinf(epsilon) else min(0.8, 0.8 * (epsilon / 0.3) ** 0.5)

    monkeypatch.setattr(simulate, "make_trial", lambda *case: Overfitted())
    curve = simulate_utility(PCA(1, epsilon=0.1), n=200, n_features=3)
    assert curve.utility_at(0.1) == pytest.approx((0.1 / 0.3) ** 0.5, abs=0.01)
    assert curve.utility_at(0.3) == pytest.approx(1.0, abs=0.01)
    assert curve.smallest_good_enough > 0.2


def test_what_is_not_learned_without_noise_either_is_a_dash(monkeypatch):
    """0% would say that noise takes it."""

    class Trial:
        def __init__(self, most):
            self.most = most

        def learn(self, epsilon, seed, share):
            return self.most * min(1.0, epsilon)

    def make(case, strength, rows, seed):
        return Trial({"weak": -0.1, "medium": 0.4, "strong": 0.8}[strength])

    monkeypatch.setattr(simulate, "make_trial", make)
    curve = simulate_utility(PCA(1), n=200, n_features=3)
    assert curve.hidden == ("weak",)
    for line in str(curve).splitlines()[2:]:
        assert line.split()[1] == "-"
        assert "-" not in line.split()[2:]
    assert curve.planted["weak"].endswith("; 200 made-up rows do not show it even without noise")
    assert "made-up rows" not in curve.planted["medium"] + curve.planted["strong"]


def test_what_is_learned_is_held_against_the_most_that_less_noise_gives():
    assert simulate._relate([0.2, 0.4, 0.8], 0.8) == (0.25, 0.5, 1.0)
    assert simulate._relate([0.4, 0.8, 0.6, 0.5], 0.3) == (0.5, 1.0, 1.0, 1.0)
    assert simulate._relate([-0.5, 0.04, 0.3], 0.6) == (0.0, pytest.approx(0.04 / 0.6), 0.5)
    assert simulate._relate([0.04, 0.03], -1.0) is None


@pytest.mark.parametrize(
    ("learned", "best", "stops"),
    [
        ([], 0.9, False),
        ([0.5], 0.9, False),
        ([0.9], 0.9, True),
        ([0.7], 0.4, False),  # above no noise: some noise teaches most, so more levels are asked
        ([0.7, 0.71], 0.4, True),
        ([0.5, 0.7], 0.4, False),
        ([0.1, 0.1], 0.06, False),  # may be two draws of nothing
        ([0.01, 0.01], 0.01, False),
    ],
)
def test_larger_epsilons_are_left_out_once_nothing_rises(learned, best, stops):
    assert simulate._rises_no_more(learned, best) is stops


def test_scaled_epsilons_keep_the_noise_of_a_mean():
    for epsilon in (0.03, 1.0, 10.0):
        scaled = simulate.scale_epsilon(epsilon, 1e-6, 40.0)
        assert math.isclose(Budget(scaled, 1e-6).mu, 40 * Budget(epsilon, 1e-6).mu, rel_tol=1e-6)
    assert simulate.scale_epsilon(1.0, 1e-6, 1.0) == 1.0
    assert simulate.scale_epsilon(10.0, 1e-6, 1e12) == 1e9
    assert simulate.scale_epsilon(math.inf, 1e-6, 7.0) == math.inf


def test_the_same_seed_tells_the_same(quick):
    one, two = (simulate_utility(PCA(1), n=200, n_features=3) for _ in range(2))
    assert one == two


def test_the_estimator_is_left_as_it_was(quick):
    model = PCA(1, epsilon=0.7)
    simulate_utility(model, n=200, n_features=3)
    assert vars(model) == vars(PCA(1, epsilon=0.7))


def test_cells_fill_the_whole_schema():
    narrow = narrow_schema(WARD, 50, target=True)
    cells = fill_columns(narrow, np.random.default_rng(0).standard_normal((3000, 6)))
    encoded = narrow.encode({**cells, "readmitted": ["no"] * 3000}).x
    low, high = narrow.bounds_out
    assert np.all(encoded >= low)
    assert np.all(encoded <= high)
    number = narrow.columns_out.index("age")
    assert abs(encoded[:, number].mean()) < 0.1
    assert encoded[:, number].std() > 0.5


def test_a_curve_that_is_none_is_refused():
    with pytest.raises(ValueError, match="no utility curve"):
        UtilityCurve.from_dict({"utility_curve": 7})
    with pytest.raises(ValueError, match="has no estimator"):
        UtilityCurve.from_dict({"utility_curve": 1})
    assert [round_rows(k) for k in (7, 41, 3999, 4001)] == [7, 50, 4000, 5000]
    assert [round_rows(k) for k in (1, 11, 1001, 1500, 1501)] == [1, 15, 1500, 1500, 2000]
