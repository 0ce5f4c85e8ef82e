"""Error bars by noise alone: they hold as often as they say, and say why where there are none.

Coverage is counted on generated rows against the same fit without noise. With fixed seeds a test
gives the same answer every time; its threshold would be missed once in a million by bars that are
right.
"""

import warnings

import numpy as np
import pytest
from scipy.stats import binom

from veilspan import (
    PCA,
    FrechetMean,
    Lasso,
    LinearRegression,
    LogisticRegression,
    MatrixCompletion,
    RobustPCA,
    SubspaceTracker,
    load,
)
from veilspan.datasets import make_haystack, make_spd
from veilspan.estimators.noise.tracked_angle import find_tracked_angle
from veilspan.geometry import SPD, Ball
from veilspan.metrics import principal_angles
from veilspan.solvers.linear.tables.noise_response import DescentNoise
from veilspan.solvers.subspace.unbounded.component_angles import (
    angle_of_spectrum,
    angles_of_components,
)

pytestmark = pytest.mark.filterwarnings("ignore::veilspan.NotPrivateWarning")
RUNS = 60
#: Of so many runs with 95 % each, fewer hold once in a million.
LEAST = int(binom.ppf(1e-6, RUNS, 0.95))
RNG = np.random.default_rng(7)
X = RNG.uniform(-1, 1, (4000, 4))
T = np.clip(X @ np.array([0.5, -0.3, 0.0, 0.1]) + 0.1 * RNG.standard_normal(4000), -1, 1)
RANGES = {"feature_range": (-1, 1), "target_range": (-1, 1)}


def angle(one, other):
    return np.degrees(np.arccos(np.clip(abs(float(one @ other)), 0, 1)))


def test_coefficients_are_covered():
    exact = LinearRegression(**RANGES, epsilon=np.inf).fit(X, T)
    held = np.zeros(5)
    for seed in range(RUNS):
        model = LinearRegression(**RANGES, epsilon=1.0, random_state=seed).fit(X, T)
        off = np.append(model.coef_ - exact.coef_, model.intercept_ - exact.intercept_)
        held += np.abs(off) <= model.coef_bars()
    assert held.min() >= LEAST


def test_bars_are_no_wider_than_they_need_be():
    found = [
        LinearRegression(**RANGES, epsilon=1.0, random_state=seed).fit(X, T) for seed in range(RUNS)
    ]
    spread = np.std([m.coef_ for m in found], axis=0)
    told = np.mean([m.coef_bars()[:-1] for m in found], axis=0) / 1.96
    assert np.all(told < 1.6 * spread)
    assert np.all(told > 0.7 * spread)


def test_predictions_are_covered():
    exact = LinearRegression(**RANGES, epsilon=np.inf).fit(X, T).predict(X[:20])
    held = np.zeros(20)
    for seed in range(RUNS):
        model = LinearRegression(**RANGES, epsilon=1.0, random_state=seed).fit(X, T)
        held += np.abs(model.predict(X[:20]) - exact) <= model.predict_bars(X[:20])
    assert held.min() >= LEAST


def test_descent_is_covered_by_what_is_called_at_most():
    """Against the mean of many fits: stopping early is a bias, which is not in the bars."""
    labels = (T > 0).astype(int)
    found = [
        LogisticRegression(feature_range=(-1, 1), solver="gd", epsilon=1.0, random_state=s)
        .fit(X, labels)
        for s in range(RUNS)
    ]  # fmt: skip
    off = np.abs([m.coef_[0] - np.mean([m.coef_[0] for m in found], axis=0) for m in found])
    held = np.sum(off <= np.array([m.coef_bars()[:-1] for m in found]), axis=0)
    assert held.min() >= LEAST
    assert found[0].coef_noise_told_.startswith("at most")


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
def test_noise_of_descent_is_largest_where_nothing_bends(momentum):
    noise = DescentNoise(1.0, momentum, (1.0,) * 50, 25, 1000.0, 1.0)
    values = noise.variances(np.linspace(0.0, 1.0, 101))
    assert values.argmax() == 0


@pytest.mark.parametrize("settings", [{}, {"row_norm": 8.0, "center": "origin"}])
def test_components_are_covered(settings):
    rows = RNG.standard_normal((4000, 6)) * np.array([4.0, 2.5, 1, 1, 1, 1])
    exact = PCA(2, epsilon=np.inf, **settings).fit(rows).components_
    held = np.zeros(2)
    for seed in range(RUNS):
        pca = PCA(2, epsilon=0.5, random_state=seed, **settings).fit(rows)
        off = [angle(a, b) for a, b in zip(pca.components_, exact, strict=True)]
        held += np.array(off) <= pca.component_angles_
    assert held.min() >= LEAST


def test_robust_subspaces_are_covered():
    rows = make_haystack(4000, 8, 2, noise=0.1, random_state=3).rows
    exact = RobustPCA(2, epsilon=np.inf).fit(rows).components_
    held = 0
    for seed in range(RUNS):
        pca = RobustPCA(2, epsilon=0.3, random_state=seed).fit(rows)
        off = np.degrees(np.max(principal_angles(pca.components_, exact)))
        held += off <= pca.subspace_angle_
    assert held >= LEAST


def test_means_are_covered():
    manifold = SPD(2)
    ball = Ball.from_eigenvalues(manifold, 0.1, 10.0)
    points = make_spd(3000, 2, random_state=1).points
    exact = FrechetMean(manifold, ball=ball, epsilon=np.inf).fit(points).mean_
    held = 0
    for seed in range(RUNS):
        found = FrechetMean(manifold, ball=ball, epsilon=0.5, random_state=seed).fit(points)
        held += float(manifold.dist(found.mean_, exact)) <= found.mean_radius_
    assert held >= LEAST


def test_where_there_are_none_it_says_why():
    labels = (T > 0).astype(int)
    tilted = LogisticRegression(feature_range=(-1, 1), solver="objective", epsilon=1.0)
    tilted.fit(X, labels)
    with pytest.raises(AttributeError, match="curvature that was not released"):
        tilted.coef_bars()
    assert "not known" in str(tilted.summary())
    assert "curvature that was not released" in str(tilted.summary())
    sparse = Lasso(**RANGES, alpha=0.01, epsilon=1.0).fit(X, T)
    with pytest.raises(AttributeError, match="not known from released numbers"):
        sparse.predict_bars(X)
    several = LogisticRegression(feature_range=(-1, 1), epsilon=1.0, classes=(0, 1, 2))
    assert "score 3" in str(several.fit(X, np.arange(4000) % 3).summary())


def test_without_noise_there_is_nothing_to_add():
    model = LinearRegression(**RANGES, epsilon=np.inf).fit(X, T)
    assert not hasattr(model, "coef_noise_")
    assert "Without noise there is nothing to add." in str(model.summary())


def test_a_refit_forgets(tmp_path):
    model = LinearRegression(**RANGES, epsilon=1.0).fit(X, T)
    model.save(tmp_path / "one")
    again = load(tmp_path / "one")
    assert np.array_equal(again.coef_bars(), model.coef_bars())
    assert str(again.summary()) == str(model.summary())
    model.set_params(epsilon=np.inf).fit(X, T)
    with pytest.raises(AttributeError):
        model.coef_bars()
    pca = PCA(1, epsilon=1.0).fit(X)
    pca.save(tmp_path / "two")
    assert np.array_equal(load(tmp_path / "two").component_angles_, pca.component_angles_)


def test_a_summary_is_text_html_and_a_dict():
    model = LinearRegression(**RANGES, epsilon=1.0)
    names = ["<b>", "b", "c", "d"]
    pandas = pytest.importorskip("pandas")
    summary = model.fit(pandas.DataFrame(X, columns=names), T).summary()
    assert "± (95 %)" in str(summary)
    assert "intercept" in str(summary)
    assert "<b></td>" not in summary._repr_html_()
    assert len(summary.to_dict()["lines"]) == 5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rated = MatrixCompletion(rating_range=(1, 5)).fit(np.array([[1.0, 2], [3, 4], [5, 1]]))
    assert "no error bars" in str(rated.summary())


def test_angles_at_the_ends():
    assert angles_of_components(np.array([0.0]), np.array([0.0]), 1.0)[0] == 90
    assert angles_of_components(np.array([5.0]), np.array([1.0]), 0.0)[0] == 0
    assert angle_of_spectrum(np.array([1.0, 0.1, 0.1]), 10.0, 1) == 90
    assert angle_of_spectrum(np.array([1.0, 0.1]), 0.01, 2) == 0


def test_reports_show_them(tmp_path):
    model = LinearRegression(**RANGES, epsilon=1.0).fit(X, T)
    model.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "How sure" in page
    assert "By noise alone, from released numbers" in page
    tilted = LogisticRegression(feature_range=(-1, 1), solver="objective", epsilon=1.0)
    tilted.fit(X, (T > 0).astype(int)).report(tmp_path / "why.html")
    assert "curvature that was not released" in (tmp_path / "why.html").read_text()


@pytest.mark.slow
def test_tracked_subspaces_are_covered():
    rng = np.random.default_rng(21)
    held = 0
    for seed in range(RUNS):
        true = np.linalg.qr(rng.standard_normal((8, 2)))[0]
        rows = rng.standard_normal((2000, 2)) @ true.T + 0.1 * rng.standard_normal((2000, 8))
        tracker = SubspaceTracker(2, epsilon=2.0, block_size=500, row_norm=3.0, random_state=seed)
        off = np.degrees(np.max(principal_angles(tracker.partial_fit(rows).components_, true.T)))
        held += off <= tracker.subspace_angle_
        assert tracker.subspace_angle_ < 20
    assert held >= LEAST
    assert "turned by" in str(tracker.summary())


def test_a_tracker_without_privacy_has_no_noise_to_tell_of():
    tracker = SubspaceTracker(1).partial_fit(RNG.standard_normal((50, 3)))
    for ask in (tracker.summary, lambda: tracker.subspace_angle_):
        with pytest.raises(AttributeError, match="not private"):
            ask()
    assert find_tracked_angle(0.0, 5, 2) == 90
    assert find_tracked_angle(1.0, 2, 2) == 0


@pytest.mark.slow
def test_item_factors_are_covered(tmp_path):
    rng = np.random.default_rng(22)
    tastes = rng.standard_normal((8000, 2)) * [1.0, 0.8] @ rng.standard_normal((2, 20))
    ratings = np.clip(3 + tastes + 0.5 * rng.standard_normal((8000, 20)), 1, 5)
    ratings[rng.random(ratings.shape) > 0.5] = np.nan
    settings = {"rating_range": (1, 5), "n_components": 2, "solver": "covariance"}

    def span(factors):
        return np.linalg.qr(factors)[0].T

    exact = MatrixCompletion(**settings, epsilon=np.inf).fit(ratings)
    assert not hasattr(exact, "subspace_angle_")
    held, runs = 0, 30
    for seed in range(runs):
        model = MatrixCompletion(**settings, epsilon=2.0, random_state=seed).fit(ratings)
        off = principal_angles(span(model.item_factors_), span(exact.item_factors_))
        held += np.degrees(np.max(off)) <= model.subspace_angle_
        assert model.subspace_angle_ < 10
    assert held >= int(binom.ppf(1e-6, runs, 0.95))
    assert "item factors" in str(model.summary())
    model.save(tmp_path / "kept")
    assert load(tmp_path / "kept").subspace_angle_ == model.subspace_angle_
