"""Audits on curved spaces: nothing but answers leaves, and broken gradients are caught."""

import warnings

import numpy as np
import pytest

from geometry.cases import rng
from privacy.affordable import budget_for
from veilspan import (
    RGD,
    RSGD,
    RSVRG,
    Budget,
    CalibratedDescent,
    FrechetLoss,
    FrechetMean,
    GaussianEvent,
    LeadingSubspace,
    NotPrivateWarning,
    Plan,
    minimize,
)
from veilspan.audit.bounds import choose_test
from veilspan.audit.replay import replay
from veilspan.curator.curator import Curator
from veilspan.curator.rows import Rows
from veilspan.geometry import SPD, Ball, Grassmann, PoincareBall, Sphere
from veilspan.privacy.noise import SeededNoise
from veilspan.privacy.spaces import SymmetricSpace, TangentSpace
from veilspan.queries.manifold.tangent_gradient import TangentGradient

RELATIONS = ("replace-one", "add-remove")
ALPHA = 5e-9  # of each game: see test_error_budget.py
SOLVERS = {
    "calibrated": CalibratedDescent(),
    "rgd": RGD(steps=3, step=0.7, average=True),
    "rsgd": RSGD(steps=3, step=0.7, batch_rate=0.3),
    "rsvrg": RSVRG(1, 2, 0.3, step=0.7, anchor_share=0.5, output="random"),
}
BALLS = {
    "spd": Ball.from_eigenvalues(SPD(2), 0.1, 10.0),
    "spd-bures": Ball.from_eigenvalues(SPD(2, metric="bures-wasserstein"), 0.1, 10.0),
    "spd-log": Ball.from_eigenvalues(SPD(2, metric="log-euclidean"), 0.1, 10.0),
    "poincare": Ball.from_norm(PoincareBall(3), 0.9),
    "sphere": Ball(Sphere(3), np.eye(3)[0], 1.2),
}


# ---------------------------------------------------------------- replay


def neighbours(table, other_rows, relation):
    for row in other_rows:
        if relation == "replace-one":
            yield np.concatenate([row[None], table[1:]])
        else:
            yield np.concatenate([table, row[None]])


def check_replay(fit, table, other_rows, relation, budget_mu):
    for other in neighbours(table, other_rows, relation):
        report = replay(fit, table, other)
        assert report.ok, report.findings
        assert report.questions > 0
        assert report.largest_use <= 1 + 1e-9
        assert report.realised_mu <= budget_mu


def extreme_points(ball):
    """The centre, both ends of a geodesic through it at the boundary, and far beyond them."""
    m, center = ball.manifold, ball.center
    u = m.random_tangent(center, 1.0, rng(5))
    u /= m.norm(center, u)
    reach = (0.999 * ball.radius, 1.1 * ball.radius)
    return [center, *(m.exp(center, sign * t * u) for t in reach for sign in (1, -1))]


# Every solver on three spaces; the other metrics differ in nothing that a solver could notice.
MEANS = [
    (name, solver)
    for name in BALLS
    for solver in SOLVERS
    if name in ("spd", "poincare", "sphere") or solver == "calibrated"
]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("name", "solver"), MEANS)
def test_means(name, solver, relation, some_of):
    ball, budget = BALLS[name], Budget(1.0, 1e-6)
    # A row is sampled or not: a sampled step may use more than its accounted average.
    allowed = budget.mu if solver in ("calibrated", "rgd") else np.inf
    settings = {"ball": ball, "neighbors": relation, "random_state": 0}
    rows = extreme_points(ball)

    def fit(points):
        return FrechetMean(ball.manifold, solver=SOLVERS[solver], **settings).fit(points)

    for n, others in ((2, rows[1:]), (30, rows[:1])):
        table = ball.pull_in(ball.manifold.random_point(rng(n), n))
        check_replay(fit, table, some_of(others, 3), relation, allowed)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("m", [Sphere(4), Grassmann(4, 2)], ids=repr)
def test_leading_subspaces(m, solver, relation):
    budget, start = Budget(1.0, 1e-6), m.random_point(rng(9))
    allowed = budget.mu if solver in ("calibrated", "rgd") else np.inf
    along = start.reshape(4, -1)[:, 0]
    across = m.project(start, rng(8).standard_normal(start.shape)).reshape(4, -1)[:, 0]
    across /= np.linalg.norm(across)
    rows = [np.zeros(4), along, along + across, along - across, 1e6 * along, -1e9 * across]

    def fit(table):
        found = minimize(
            LeadingSubspace(m), table, budget=budget, solver=SOLVERS[solver], start=start,
            neighbors=relation, random_state=0,
        )  # fmt: skip
        return found.point, found.trace, found.stopped, found.plan.to_dict()

    for n, others in ((2, rows), (30, rows[2:4])):
        check_replay(fit, rng(n).standard_normal((n, 4)), others, relation, allowed)


# ---------------------------------------------------------------- broken gradients


FAR = np.diag([100.0, 0.01])  # where the metric is nothing like the Euclidean one


class EuclideanClip(TangentGradient):
    """Clips the matrix norm of a gradient, not its Riemannian norm."""

    def norms(self, block, point):
        m = self.loss.manifold
        vectors = m.from_coordinates(point, block[0].reshape(-1, *m.coordinate_shape))
        return np.linalg.norm(vectors.reshape(len(vectors), -1), axis=1)


class EuclideanNoise(TangentGradient):
    """Sums the entries of the gradients; their noise is isotropic for the matrix norm."""

    def weighted_sum(self, block, weights, point):
        total = super().weighted_sum(block, weights, point)
        return self.loss.manifold.from_coordinates(point, total)

    def space(self, n_features, point):
        return SymmetricSpace(len(point))


class NoiseOfTheIdentity(TangentGradient):
    """Takes coordinates of the identity: at 100 I their noise is too small by 100."""

    def weighted_sum(self, block, weights, point):
        m, total = self.loss.manifold, super().weighted_sum(block, weights, point)
        return m.to_coordinates(np.eye(len(point)), m.from_coordinates(point, total))

    def space(self, n_features, point):
        return TangentSpace(self.loss.manifold, np.eye(len(point)))


class PrintedPoincareNoise(TangentGradient):
    """(1 - |w|^2) / 4 times normals, as printed; it must be half of 1 - |w|^2."""

    def space(self, n_features, point):
        return QuarterScale(self.loss.manifold, point)


class QuarterScale(TangentSpace):
    def embed(self, value):
        return 2 * super().embed(value)

    def project(self, coordinates):
        return super().project(coordinates / 2)


def printed_clip(norms, bound):
    """min(|v| / tau, 1), as printed: shortens what is short and leaves what is long."""
    return np.minimum(norms / bound, 1.0)


def claimed_and_found(query_kind, m, point, direction, length, runs=1000, mu=3.0, alpha=ALPHA):
    """Tell points at opposite ends of a geodesic apart by one gradient with noise for mu = 3."""
    direction = direction / m.norm(point, direction)
    query = query_kind(FrechetLoss(m), 1.0)
    scores = []
    for seed, sign in enumerate((-1, 1)):
        table = np.stack([point, point, m.exp(point, -sign * length * direction)])
        event = GaussianEvent("q", 1 / mu, runs)
        plan = Plan(
            method="audit",
            budget=budget_for((event,)),
            neighbors="replace-one",
            n_rows=3,
            n_features=point.size,
            events=(event,),
        )
        curator = Curator(Rows(table.reshape(3, -1)), plan, SeededNoise(seed))
        answers = [curator.answer(query, point, event="q").value for _ in range(runs)]
        scores.append(m.inner(point, np.stack(answers), direction))
    return mu, choose_test(scores[0], scores[1], alpha).mu


LOG = SPD(2, metric="log-euclidean")
LARGE, SMALL = np.diag([1.0, 0.0]), np.diag([0.0, 1.0])
OUT = np.array([0.8, 0.0])

# A false alarm of one of these has a probability of at most ALPHA.
HONEST = [
    pytest.param(SPD(2), FAR, LARGE, 5.0, id="spd, large eigenvalue"),
    pytest.param(SPD(2), FAR, SMALL, 5.0, id="spd, small eigenvalue"),
    pytest.param(LOG, 100 * np.eye(2), LARGE, 5.0, id="spd-log"),
    pytest.param(PoincareBall(2), OUT, np.array([0.0, 1.0]), 1.0, id="poincare"),
]
BROKEN = [
    pytest.param(EuclideanClip, SPD(2), FAR, SMALL, 5.0, id="Euclidean clip"),
    pytest.param(EuclideanNoise, SPD(2), FAR, LARGE, 5.0, id="Euclidean noise"),
    pytest.param(NoiseOfTheIdentity, LOG, 100 * np.eye(2), LARGE, 5.0, id="noise of the identity"),
    pytest.param(PrintedPoincareNoise, PoincareBall(2), OUT, OUT, 1.0, id="printed Poincaré noise"),
]


@pytest.mark.parametrize(("m", "point", "direction", "length"), HONEST)
def test_a_gradient_keeps_its_promise(m, point, direction, length):
    claimed, found = claimed_and_found(TangentGradient, m, point, direction, length)
    assert found <= claimed
    assert found > 0.5 * claimed  # the game has power


@pytest.mark.parametrize(("kind", "m", "point", "direction", "length"), BROKEN)
def test_a_broken_gradient_is_caught(kind, m, point, direction, length):
    claimed, found = claimed_and_found(kind, m, point, direction, length)
    assert found > claimed


def test_the_printed_clip_is_caught(monkeypatch):
    monkeypatch.setattr("veilspan.curator.rows.clip_weights", printed_clip)
    claimed, found = claimed_and_found(TangentGradient, SPD(2), FAR, LARGE, 5.0)
    assert found > claimed


@pytest.mark.parametrize("kind", [EuclideanClip, EuclideanNoise])
def test_broken_copies_look_right_at_the_identity(kind):
    """There both are correct: only a far point tells."""
    claimed, found = claimed_and_found(kind, SPD(2), np.eye(2), LARGE, 5.0)
    assert found <= claimed


def test_the_printed_clip_is_caught_by_replay(monkeypatch):
    """Deterministic: two far rows move the sum by more than declared."""
    monkeypatch.setattr("veilspan.curator.rows.clip_weights", printed_clip)
    rows = SPD(2).random_point(rng(0), 10)
    far, near = (np.concatenate([x[None], rows[1:]]) for x in (1e5 * np.eye(2), 1e-5 * np.eye(2)))

    def fit(table):
        return minimize(
            FrechetLoss(SPD(2)), table, budget=Budget(1.0, 1e-6), clip=1.0, solver=RGD(steps=1),
            random_state=0,
        ).point  # fmt: skip

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        assert not replay(fit, far, near).ok
