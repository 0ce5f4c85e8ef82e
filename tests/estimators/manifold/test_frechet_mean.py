"""Fréchet means: without privacy exact, under privacy finite, and never telling about a row."""

import math
import subprocess
import warnings

import numpy as np
import pytest

from geometry.cases import WITH_LOG, rng, tangent
from geometry.test_oracles import PYTHON
from veilspan import RGD, RSGD, RSVRG, CalibratedDescent, FrechetMean
from veilspan.datasets import make_spd
from veilspan.geometry import (
    SPD,
    Ball,
    Euclidean,
    Grassmann,
    Lorentz,
    PoincareBall,
    Sphere,
    Stiefel,
)
from veilspan.geometry.errors import UnavailableOperationError

#: The largest gradient that descents without noise may leave: they stop near 1e-13.
STOPPED = 1e-11
METRICS = ("affine-invariant", "bures-wasserstein", "log-euclidean")


def exact_mean(manifold, points, **options):
    return FrechetMean(manifold, epsilon=math.inf, **options).fit(points).mean_


def left_over(manifold, mean, points):
    """Length of the mean gradient at the mean: the distance to the true one, to first order."""
    return float(manifold.norm(mean, manifold.log(mean, points).mean(axis=0)))


def spread_points(m, count=40, length=0.5):
    center = m.random_point(rng(7))
    base = np.broadcast_to(center, (count, *center.shape))
    return m.exp(base, tangent(m, base, 1, length))


# ---------------------------------------------------------------- without privacy


@pytest.mark.parametrize("metric", METRICS)
def test_log_normal_matrices(metric):
    m, points = SPD(11, metric=metric), make_spd(1000, 11).points
    assert left_over(m, exact_mean(m, points), points) < STOPPED


def test_the_sample_mean_of_pairs_is_known():
    sample = make_spd(200, 5, paired=True)
    assert SPD(5).dist(exact_mean(SPD(5), sample.points), sample.center) < STOPPED


@pytest.mark.parametrize("name", WITH_LOG)
def test_every_manifold_with_a_logarithm(name):
    m, points = WITH_LOG[name], spread_points(WITH_LOG[name])
    mean = exact_mean(m, points)
    assert m.contains(mean)
    assert left_over(m, mean, points) < STOPPED


@pytest.mark.skipif(not PYTHON.exists(), reason="no oracle environment, see test_oracles.py")
def test_agreement_with_pyriemann(tmp_path):
    points = make_spd(200, 6).points
    np.save(tmp_path / "points.npy", points)
    script = (
        "import sys, numpy as np; from pyriemann.geometry import mean as rm; "
        "x = np.load(sys.argv[1]); np.savez(sys.argv[2], "
        "ai=rm.mean_riemann(x, tol=1e-12, maxiter=200), le=rm.mean_logeuclid(x), "
        "bw=rm.mean_wasserstein(x, tol=1e-12, maxiter=200))"
    )
    command = [PYTHON, "-W", "ignore", "-c", script, tmp_path / "points.npy", tmp_path / "m.npz"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "m.npz") as theirs:
        for name, metric in zip(("ai", "bw", "le"), METRICS):
            m = SPD(6, metric=metric)
            assert m.dist(exact_mean(m, points), theirs[name]) < 1e-9, metric


def test_flat_space_has_the_arithmetic_mean():
    points = rng(0).standard_normal((100, 3, 2))
    np.testing.assert_allclose(exact_mean(Euclidean(3, 2), points), points.mean(axis=0), atol=1e-12)


def test_log_euclidean_means_are_arithmetic_means_of_logarithms():
    m, points = SPD(4, metric="log-euclidean"), make_spd(100, 4).points
    from scipy.linalg import logm

    lam, p = np.linalg.eigh(np.mean([logm(x) for x in points], axis=0))
    np.testing.assert_allclose(exact_mean(m, points), (p * np.exp(lam)) @ p.T, rtol=1e-10)


def test_congruent_matrices_have_the_congruent_mean():
    points, g = make_spd(100, 4).points, rng(3).standard_normal((4, 4))
    turned = g @ points @ g.T
    turned = (turned + np.swapaxes(turned, 1, 2)) / 2
    expected = g @ exact_mean(SPD(4), points) @ g.T
    assert SPD(4).dist(exact_mean(SPD(4), turned), expected) < STOPPED


def test_the_two_models_of_hyperbolic_space_agree():
    points = PoincareBall(3).random_point(rng(0), 60)
    squared = np.sum(points**2, axis=1, keepdims=True)
    lifted = np.hstack([1 + squared, 2 * points]) / (1 - squared)
    mean = exact_mean(Lorentz(4), lifted)
    np.testing.assert_allclose(
        mean[1:] / (1 + mean[0]), exact_mean(PoincareBall(3), points), atol=1e-9
    )


def test_lines_are_points_of_the_sphere_up_to_sign():
    """Far from all points both have other stationary points, so a ball says where to begin."""
    points = spread_points(Sphere(4))
    near = Ball(Grassmann(4, 1), points[0][:, None], math.inf)
    line = exact_mean(Grassmann(4, 1), points[:, :, None], ball=near)[:, 0]
    assert abs(line @ exact_mean(Sphere(4), points)) == pytest.approx(1.0, abs=1e-12)


# ---------------------------------------------------------------- tables of points


BALL = Ball.from_eigenvalues(SPD(3), 0.05, 20.0)
SOLVERS = {
    "calibrated": CalibratedDescent(),
    "rgd": RGD(steps=3),
    "rsgd": RSGD(steps=3, batch_rate=0.3),
    "rsvrg": RSVRG(1, 2, 0.3, anchor_share=0.5),
}


def quietly(estimator, points):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a seed simulates and a delta is large
        return estimator.fit(points)


def private(points, **options):
    settings = {"ball": BALL, "random_state": 0, **options}
    return quietly(FrechetMean(SPD(3), **settings), points).mean_


def test_all_forms_of_one_table_give_one_mean():
    points = make_spd(50, 3).points
    exact = private(points)
    for same in (points.reshape(50, 9), points.tolist(), np.asfortranarray(points)):
        np.testing.assert_array_equal(private(same), exact)
    # What float32 loses, 1e-7 a point, is below a step of the grid of answers.
    np.testing.assert_allclose(private(points.astype(np.float32)), exact, atol=1e-5)
    points.flags.writeable = False
    before = points.copy()
    np.testing.assert_array_equal(private(points), exact)
    np.testing.assert_array_equal(points, before)


def test_rounding_is_put_right_and_more_is_refused():
    points = make_spd(50, 3).points
    skew = np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]])
    np.testing.assert_allclose(private(points + 1e-9 * skew), private(points), rtol=1e-12)
    with pytest.raises(ValueError, match="not a point"):
        private(points + 1e-3 * skew)


def bad_tables():
    good = make_spd(20, 3).points
    for kind, row in (
        ("negative", -98765.4321 * np.eye(3)),
        ("singular", np.diag([98765.4321, 1.0, 0.0])),
        ("singular up to rounding", 98765.4321 * np.ones((3, 3)) + 1e-11 * np.eye(3)),
        ("asymmetric", np.array([[98765.4321, 9, 0], [0, 9e4, 0], [0, 0, 9e4]])),
        ("not finite", np.diag([98765.4321, 1.0, np.nan])),
    ):
        yield pytest.param(np.concatenate([good, row[None]]), id=kind)
    yield pytest.param(good[:, :, :2] * 98765.4321, id="(n, m, m - 1)")
    yield pytest.param(good[:, 0] * 98765.4321, id="(n, m)")
    yield pytest.param(good[:1] * 98765.4321, id="one point")
    yield pytest.param(good[:0], id="no point")
    yield pytest.param(good[0] * 98765.4321, id="a matrix")
    yield pytest.param(good.astype(complex) * 98765.4321, id="complex")
    yield pytest.param(np.full((20, 9), "98765.4321x"), id="text")
    yield pytest.param([[[98765.4321, 1], [1]], [[1.0]]], id="ragged")
    yield pytest.param(98765.4321, id="a number")
    yield pytest.param(None, id="None")


@pytest.mark.parametrize("bad", list(bad_tables()))
@pytest.mark.parametrize("epsilon", [1.0, math.inf])
def test_what_is_no_table_of_points_is_refused_without_its_values(bad, epsilon):
    estimators = [FrechetMean(SPD(3), epsilon, ball=BALL)]
    if math.isinf(epsilon):
        estimators.append(FrechetMean(SPD(3), epsilon))
    for estimator in estimators:
        with pytest.raises((ValueError, TypeError)) as caught:
            estimator.fit(bad)
        error = caught.value
        while error is not None:
            assert "98765" not in str(error)
            error = error.__cause__ or error.__context__


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("least", [1e-300, 1e-17, 1e-15, 1e-12, 1e-9])
def test_nearly_singular_matrices_are_refused_or_do_no_harm(metric, least):
    """Never an error in the middle of a run, whichever algorithm finds what eigenvalue."""
    m = SPD(4, metric=metric)
    turn = np.linalg.qr(rng(1).standard_normal((4, 4)))[0]
    points = np.tile(np.eye(4), (10, 1, 1))
    odd = (turn * [1.0, 1.0, 0.5, least]) @ turn.T
    points[3] = (odd + odd.T) / 2
    estimator = FrechetMean(m, ball=Ball.from_eigenvalues(m, 0.1, 10.0), random_state=0)
    if least < 1e-14:
        with pytest.raises(ValueError, match="X holds something"):
            quietly(estimator, points)
    else:
        assert m.contains(quietly(estimator, points).mean_)


# ---------------------------------------------------------------- always a point


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("n", [2, 3])
def test_any_budget_and_any_number_of_points(n, epsilon, neighbors):
    for metric in METRICS:
        m = SPD(3, metric=metric)
        ball = Ball.from_eigenvalues(m, 0.05, 20.0)
        estimator = FrechetMean(m, epsilon, ball=ball, neighbors=neighbors, random_state=0)
        mean = quietly(estimator, make_spd(n, 3).points).mean_
        assert m.contains(mean)
        assert m.dist(ball.center, mean) <= ball.radius * (1 + 1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("radius", [1e-9, 1e-3, 30.0, 1e6])
def test_any_radius(solver, radius):
    """Tiny: everything is pulled to the centre. Huge: noise takes over. Never anything else."""
    for m in (SPD(2), PoincareBall(3), Lorentz(3), Sphere(3), Grassmann(4, 2)):
        ball = Ball(m, m.reference_point, radius)
        settings = {"ball": ball, "solver": SOLVERS[solver], "random_state": 0}
        mean = quietly(FrechetMean(m, **settings), spread_points(m, 12)).mean_
        assert np.isfinite(mean).all()
        assert m.contains(mean, atol=1e-6)


@pytest.mark.parametrize("epsilon", [1.0, math.inf])
def test_equal_points(epsilon):
    points = np.tile(np.diag([1.0, 2.0, 3.0]), (2000, 1, 1))
    mean = private(points, epsilon=epsilon)
    assert SPD(3).dist(mean, points[0]) < (0.3 if math.isfinite(epsilon) else 1e-9)


def test_far_points_count_at_the_boundary():
    far = np.tile(1e12 * np.eye(3), (500, 1, 1))
    at_boundary = BALL.pull_in(far)
    np.testing.assert_array_equal(private(far), private(at_boundary))
    assert SPD(3).dist(private(far, epsilon=math.inf), at_boundary[0]) < 1e-6


# ---------------------------------------------------------------- refusals and coordinates


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ball": None}, "where points live"),
        ({"ball": Ball(SPD(3), np.eye(3), math.inf)}, "where points live"),
        ({"ball": Ball.from_eigenvalues(SPD(2), 0.1, 1.0)}, "ball must be a Ball of"),
        ({"ball": Ball(SPD(3, metric="log-euclidean"), np.eye(3), 1.0)}, "ball must be a Ball of"),
        ({"ball": 3.0}, "ball must be a Ball of"),
    ],
)
def test_a_private_mean_needs_a_ball_of_its_manifold(options, message):
    with pytest.raises(ValueError, match=message):
        FrechetMean(SPD(3), **options).fit(make_spd(20, 3).points)


def test_manifolds_that_have_no_mean_are_refused_before_the_fit():
    with pytest.raises(TypeError, match="manifold must be"):
        FrechetMean("SPD").fit(np.eye(3))
    with pytest.raises(UnavailableOperationError, match="log"):
        FrechetMean(Stiefel(3, 1), math.inf).plan(10, 3)


@pytest.mark.parametrize("name", WITH_LOG)
def test_coordinates_are_isometric_at_the_mean_and_lead_back(name):
    m, points = WITH_LOG[name], spread_points(WITH_LOG[name])
    fitted = FrechetMean(m, math.inf).fit(points)
    flat = fitted.transform(points)
    assert flat.shape == (len(points), len(fitted.get_feature_names_out()))
    np.testing.assert_allclose(
        np.linalg.norm(flat, axis=1), m.dist(fitted.mean_, points), rtol=1e-8, atol=1e-12
    )
    assert m.separation(fitted.inverse_transform(flat), points).max() < 1e-9
    with pytest.raises(ValueError, match="columns"):
        fitted.inverse_transform(flat[:, :-1])


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        ("rgd", r"solver str lacks name, prepare, run; it must be a solver such as RGD\(\)\."),
        (RGD, "solver RGD is a class"),
    ],
)
def test_what_is_no_solver_is_refused_before_anything_is_asked(solver, message):
    with pytest.raises(TypeError, match=message):
        FrechetMean(Sphere(3), math.inf, solver=solver).plan(10, 3)


def test_the_budget_may_be_given_by_position():
    model = FrechetMean(Sphere(3), 2.0, 1e-7)
    assert (model.manifold, model.epsilon, model.delta) == (Sphere(3), 2.0, 1e-7)
