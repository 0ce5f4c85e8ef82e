"""One small release of every kind, fitted once."""

import functools

import numpy as np

from veilspan import (
    PCA,
    Budget,
    ElasticNet,
    FrechetMean,
    HuberRegressor,
    Lasso,
    LeadingSubspace,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    MatrixCompletion,
    Ridge,
    RobustPCA,
    SubspaceTracker,
    minimize,
)
from veilspan.datasets import make_haystack, make_histories, make_ratings, make_spd
from veilspan.geometry import SPD, Ball, Sphere
from veilspan.reports import report_html
from veilspan.solvers.subspace.geodesic_gradient import GeodesicGradientDescent

RNG = np.random.default_rng(0)
ROWS = make_haystack(1000, 6, 2, noise=0.05, random_state=0).rows
X = RNG.uniform(-0.4, 0.4, (1000, 5))
Y = np.clip(X @ [1.0, -1.0, 0.5, 0.0, 0.0], -1, 1)
REGRESSION = {"row_norm": 1.0, "target_range": (-1.0, 1.0)}
SAMPLED = GeodesicGradientDescent(steps=3, halvings=1, sampling_rate=0.2)


def _tracker():
    return SubspaceTracker(2, epsilon=1.0, block_size=300).partial_fit(ROWS)


def _sphere():
    points = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
    center = np.eye(6)[0]
    ball = Ball(Sphere(6), center, 1.0)
    return FrechetMean(Sphere(6), ball=ball).fit(points)


def _matrices():
    ball = Ball.from_eigenvalues(SPD(3), 0.01, 100.0)
    return FrechetMean(SPD(3), ball=ball).fit(make_spd(500, 3, random_state=0).points)


def _ratings():
    return MatrixCompletion("covariance", rating_range=(1, 5), epsilon=5.0).fit(
        make_ratings(1000, 12, random_state=0).train
    )


def _lists():
    return MatrixCompletion(task="rank", epsilon=8.0).fit(make_histories(1000, 60).train)


def _classes(kind, **more):
    return kind(feature_range=(-0.4, 0.4), **more)


# name: (how to make it, words that only its page has)
KINDS = {
    "PCA": (lambda: PCA(2).fit(ROWS), ("Spectrum", "Loadings", "noise alone")),
    "PCA, centred": (lambda: PCA(2, center="private", row_norm=3.0).fit(ROWS), ("Centre", "mean")),
    "RobustPCA": (
        lambda: RobustPCA(2, neighbors="add-remove").fit(ROWS),
        ("eigenvalue", "Loadings", "which may have been there or not", "within a filter"),
    ),
    "RobustPCA, sampled": (
        lambda: RobustPCA(2, epsilon=3.0, solver=SAMPLED).fit(ROWS),
        ("over a random sample", "privacy loss distribution", "0.2"),
    ),
    "SubspaceTracker": (_tracker, ("Loadings", "all rows of one person")),
    "FrechetMean, matrices": (_matrices, ("Mean on SPD", "3 × 3 released numbers")),
    "FrechetMean, sphere": (_sphere, ("Mean on Sphere(6)", "All 6 coordinates")),
    "MatrixCompletion": (_ratings, ("Items", "Item factors", "one user (all of her ratings)")),
    "MatrixCompletion, lists": (_lists, ("Popular items", "Coverage and popularity of lists")),
    "LogisticRegression": (
        lambda: _classes(LogisticRegression, classes=[0, 1]).fit(X, (Y > 0).astype(int)),
        ("Coefficients", "Positive speaks for 1", "Intercept"),
    ),
    "LogisticRegression, objective": (
        lambda: _classes(LogisticRegression, classes=["a", "b"], solver="objective").fit(
            X, np.where(Y > 0, "a", "b")
        ),
        ("randomly tilted objective", "Positive speaks for b"),
    ),
    "LogisticRegression, three classes": (
        lambda: _classes(LogisticRegression, classes=["u", "v", "w"]).fit(
            X, np.array(["u", "v", "w"])[np.digitize(Y, [-0.1, 0.1])]
        ),
        ("(intercept)", '<th scope="col" class="number">w</th>'),
    ),
    "LinearSVC": (
        lambda: _classes(LinearSVC, classes=[0, 1]).fit(X, (Y > 0).astype(int)),
        ("Coefficients",),
    ),
    "LinearRegression": (lambda: LinearRegression(**REGRESSION).fit(X, Y), ("Coefficients",)),
    "Ridge": (lambda: Ridge(**REGRESSION).fit(X, Y), ("Coefficients",)),
    "Lasso": (lambda: Lasso(**REGRESSION).fit(X, Y), ("Coefficients",)),
    "ElasticNet": (lambda: ElasticNet(**REGRESSION).fit(X, Y), ("Coefficients",)),
    "HuberRegressor": (lambda: HuberRegressor(**REGRESSION).fit(X, Y), ("Coefficients",)),
    "minimize": (
        lambda: minimize(LeadingSubspace(Sphere(6)), ROWS, budget=Budget(1.0, 1e-6)),
        ("Point", "All 6 coordinates"),
    ),
}


@functools.cache
def fitted(name):
    """The release of a kind; the same object every time."""
    return KINDS[name][0]()


@functools.cache
def page_of(name):
    """The page of that release."""
    return report_html(fitted(name))
