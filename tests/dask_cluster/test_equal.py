"""Every estimator learns the same from a table on a cluster as from one in memory."""

import math
import warnings

import dask.array as da
import numpy as np
import pytest
from scipy import sparse

from estimators.linear.cases import MODELS, data_for, make
from veilspan import (
    PCA,
    RGD,
    Budget,
    FrechetMean,
    HuberRegressor,
    LeadingSubspace,
    LinearRegression,
    LogisticRegression,
    Loss,
    MatrixCompletion,
    Ridge,
    RobustPCA,
    minimize,
)
from veilspan.datasets import make_ratings, make_spd
from veilspan.estimators.base import ON_A_CLUSTER
from veilspan.geometry import SPD, Ball, Euclidean, PoincareBall, Sphere
from veilspan.solvers.linear.gradient_descent import GradientDescent
from veilspan.solvers.subspace.geodesic_gradient import GeodesicGradientDescent
from veilspan.solvers.subspace.reaper import ReaperDescent

from .tables import far, parts, rows

CLOSE = 1e-6
INF = math.inf


def projector(model):
    return model.components_.T @ model.components_


SUBSPACES = {
    "PCA": PCA(2, epsilon=INF),
    "PCA, private centre, add-remove": PCA(
        2, epsilon=INF, center="private", neighbors="add-remove"
    ),
    "PCA, public centre": PCA(2, epsilon=INF, center=np.full(6, 0.1), row_norm=2.0),
    "RobustPCA": RobustPCA(2, epsilon=INF),
    "RobustPCA, rank unknown": RobustPCA(epsilon=INF),
    "RobustPCA, private centre": RobustPCA(2, epsilon=INF, center="private"),
    "RobustPCA, ggd": RobustPCA(
        2, epsilon=INF, solver=GeodesicGradientDescent(steps=5, halvings=1)
    ),
    "RobustPCA, reaper-gd": RobustPCA(2, epsilon=INF, solver=ReaperDescent(steps=4)),
    "RobustPCA, mirror": RobustPCA(
        2, epsilon=INF, solver=ReaperDescent(geometry="mirror", steps=4)
    ),
}


@pytest.mark.parametrize("name", SUBSPACES)
def test_subspaces(client, name):
    from sklearn.base import clone

    x, model = rows(), SUBSPACES[name]
    here, there = clone(model).fit(x), clone(model).fit(parts(x))
    assert far(projector(here), projector(there)) <= CLOSE
    assert far(here.mean_, there.mean_) <= CLOSE
    assert vars(there.plan_) == vars(here.plan_)
    said = [{**model.privacy_.to_dict(), "release_id": ""} for model in (here, there)]
    assert ON_A_CLUSTER not in said[0]["assumptions"]
    assert ON_A_CLUSTER in said[1]["assumptions"]
    said[1]["assumptions"] = type(said[0]["assumptions"])(
        each for each in said[1]["assumptions"] if each != ON_A_CLUSTER
    )
    assert said[0] == said[1]


def test_pairs_find_the_same_plane(client):
    """Rows are paired within parts, so the differences are others; the plane is not."""
    x = rows(6000)
    lazy = da.from_array(x + 5.0, chunks=(1500, 6))
    here, there = (RobustPCA(2, epsilon=INF, center="pairs").fit(t) for t in (x + 5.0, lazy))
    assert far(projector(here), projector(there)) < 0.05
    with pytest.raises(ValueError, match="too small to pair"):
        RobustPCA(2, epsilon=INF, center="pairs").fit(da.from_array(x[:40], chunks=(1, 6)))


POINTS = {
    "SPD": (SPD(3), Ball.from_eigenvalues(SPD(3), 0.01, 100.0)),
    "sphere": (Sphere(4), None),
    "Poincaré ball": (PoincareBall(3), None),
    "Euclidean": (Euclidean(4), Ball.from_norm(Euclidean(4), 2.0)),
}


@pytest.mark.parametrize("name", POINTS)
def test_means_of_points(client, name):
    manifold, ball = POINTS[name]
    points = make_spd(300, 3, random_state=0).points
    if name != "SPD":
        rng = np.random.default_rng(1)
        points = np.array([0.2, 0.1, 0.1, 0.9])[: manifold.point_shape[0]] + 0.1 * (
            rng.standard_normal((300, *manifold.point_shape))
        )
        points = points / np.linalg.norm(points, axis=1, keepdims=True)
        points = points if name == "sphere" else 0.7 * points
    settings = {"ball": ball, "epsilon": INF, "solver": RGD(steps=6)}
    lazy = parts(points, (100, 0, 1, 199))
    here = FrechetMean(manifold, **settings).fit(points)
    there = FrechetMean(manifold, **settings).fit(lazy)
    assert far(here.mean_, there.mean_) <= CLOSE
    moved = there.transform(lazy)
    assert far(moved.compute(), here.transform(points)) <= CLOSE
    back = there.inverse_transform(moved)
    assert isinstance(back, da.Array)
    assert far(back.compute(), points) <= 1e-5


def test_minimize(client):
    x = rows()
    losses = (
        LeadingSubspace(Sphere(6), row_norm=1.0),
        Loss(Sphere(6), lambda z, w: -(z @ w)[:, None] * z + ((z @ w) ** 2)[:, None] * w),
    )
    for loss in losses:
        settings = {"solver": RGD(steps=5, step=0.3), "clip": 1.0, "start": np.full(6, 6**-0.5)}
        here, there = (
            minimize(loss, table, budget=Budget(INF, 1e-6), **settings) for table in (x, parts(x))
        )
        assert far(here.point, there.point) <= CLOSE


@pytest.mark.parametrize("name", [name for name in MODELS if "sampled" not in name])
def test_linear_models(client, name):
    x, y = data_for(name, 200)
    lazy, targets = parts(x, (90, 0, 1, 109)), parts(y, (100, 100))
    here = make(name, epsilon=INF, random_state=0).fit(x, y)
    there = make(name, epsilon=INF, random_state=0).fit(lazy, targets)
    assert far(here.coef_, there.coef_) <= CLOSE * max(1.0, float(np.abs(here.coef_).max()))
    assert far(here.intercept_, there.intercept_) <= CLOSE * max(1.0, far(here.intercept_, 0))
    predicted = there.predict(lazy)
    assert isinstance(predicted, da.Array)
    assert predicted.dtype == here.predict(x).dtype
    np.testing.assert_allclose(predicted.compute(), here.predict(x), rtol=1e-5)


SOLVERS = {
    "objective": LogisticRegression(feature_range=(-1, 1), solver="objective", C=1.0),
    "objective, three": LogisticRegression(feature_range=(-1, 1), solver="objective", C=1.0),
    "statistics": Ridge(feature_range=(-1, 1), target_range=(-3, 3), solver="statistics"),
    "huber, objective": HuberRegressor(
        feature_range=(-1, 1), target_range=(-3, 3), solver="objective"
    ),
    "long": LogisticRegression(feature_range=(-1, 1), solver=GradientDescent(steps=40)),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_of_linear_models(client, name):
    from sklearn.base import clone

    x = rows()
    scores = x @ np.arange(6.0) / 3 + 0.1
    y = np.digitize(scores, [-0.5, 0.5] if "three" in name else [0.0])
    if "target_range" in SOLVERS[name].get_params() and SOLVERS[name].target_range:
        y = scores
    model = clone(SOLVERS[name]).set_params(epsilon=INF)
    here = clone(model).fit(x, y)
    there = clone(model).fit(parts(x), da.from_array(y, chunks=450))
    assert far(here.coef_, there.coef_) <= CLOSE * max(1.0, float(np.abs(here.coef_).max()))


@pytest.mark.parametrize("form", ["CSR", "dense with gaps"])
def test_recommendations(client, form):
    ratings = make_ratings(400, 20, random_state=0).train
    table = ratings
    if form != "CSR":
        table = np.full(ratings.shape, np.nan)
        stored = sparse.coo_array(ratings)
        table[stored.coords] = stored.data
    lazy = parts(sparse.csr_matrix(table), (150, 0, 1, 249)) if form == "CSR" else None
    lazy = da.from_array(table, chunks=(150, 7)) if lazy is None else lazy
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = [
            MatrixCompletion(rating_range=(1, 5), epsilon=INF, random_state=0).fit(t)
            for t in (table, lazy)
        ]
    here, there = fits
    assert far(here.item_bias_, there.item_bias_) <= CLOSE
    assert far(*(m.item_factors_ @ m.item_factors_.T for m in fits)) <= CLOSE
    assert far(there.predict(lazy).compute(), here.predict(table)) <= 1e-5


def test_without_a_cluster(threads):
    x = rows()
    y = np.where(x[:, 0] > 0, "yes", "no")
    lazy = parts(x)
    here, there = (RobustPCA(2, epsilon=INF).fit(t) for t in (x, lazy))
    assert far(projector(here), projector(there)) <= CLOSE
    model = LogisticRegression(row_norm=1.0, epsilon=INF, solver=GradientDescent(steps=5))
    here = LogisticRegression(**model.get_params()).fit(x, y)
    there = LogisticRegression(**model.get_params()).fit(lazy, da.from_array(y, chunks=300))
    assert far(here.coef_, there.coef_) <= CLOSE


def test_curves_without_a_cluster(threads):
    """A model of curves asks through four maps of the same parts, targets included."""
    x = rows()
    y = np.cos(3 * x[:, 0])
    model = LinearRegression(
        feature_range=(-1, 1), target_range=(-1, 1), features="auto", epsilon=INF,
        solver=GradientDescent(steps=5),
    )  # fmt: skip
    here = LinearRegression(**model.get_params()).fit(x, y)
    lazy = da.from_array(y, chunks=300)
    there = LinearRegression(**model.get_params()).fit(parts(x), lazy)
    assert far(here.predict(x), there.predict(x)) <= CLOSE
