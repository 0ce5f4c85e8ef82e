"""Audits of variance-reduced, accelerated and projection-free linear models, and broken copies."""

import dataclasses

import numpy as np
import pytest

from solvers.linear.runs import replayed, run
from veilspan import Budget
from veilspan.audit.replay import replay
from veilspan.curator.curator import Curator
from veilspan.losses.linear import Logistic, Multinomial
from veilspan.losses.penalties import L2, L1Ball, L2Ball, Simplex
from veilspan.queries.linear.slope_gradient import GradientChange, SlopeGradient
from veilspan.solvers.linear import mirror_descent, svrg
from veilspan.solvers.linear.base import LinearProblem
from veilspan.solvers.linear.frank_wolfe import FrankWolfe
from veilspan.solvers.linear.mirror_descent import AcceleratedMirror, EuclideanGeometry
from veilspan.solvers.linear.svrg import SVRG, SVRGPlus

RELATIONS = pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
SHARE = {"anchor_share": 0.5}
FULL_BATCH = {
    "accmd": (AcceleratedMirror(3), L2Ball(2.0)),
    "accmd, l2 penalty": (AcceleratedMirror(3), L2(0.1)),
    "accmd, entropy": (AcceleratedMirror(3, "entropy"), L1Ball(2.0)),
    "accmd, simplex": (AcceleratedMirror(3, "entropy"), Simplex(2.0)),
    "frank-wolfe": (FrankWolfe(3), L1Ball(2.0)),
    "frank-wolfe, l2": (FrankWolfe(3, momentum=False), L2Ball(2.0)),
}
SAMPLED = {
    "svrg": (SVRG(2, 3, 0.4, **SHARE), L2(0.1)),
    "svrg++": (SVRGPlus(2, 2, 0.4, **SHARE), L2(0.1)),
}


def making(penalty, loss=None, intercept=True):
    def make_problem(n_rows):
        return LinearProblem(loss or Logistic(), penalty, 4, n_rows, 10, intercept)

    return make_problem


# ---------------------------------------------------------------- nothing but answers leaves


@RELATIONS
@pytest.mark.parametrize("name", FULL_BATCH)
def test_full_batches(name, neighbors, some_of):
    solver, penalty = FULL_BATCH[name]
    reports = list(replayed(solver, making(penalty), neighbors, pick=some_of))
    assert [report.findings for report in reports if not report.ok] == []
    assert min(report.questions for report in reports) >= 3
    assert max(report.realised_mu for report in reports) <= Budget(5.0, 1e-6).mu


@RELATIONS
@pytest.mark.parametrize("name", SAMPLED)
def test_samples(name, neighbors, some_of):
    """A row is sampled or not, so only the declared sensitivity can be checked, not mu."""
    solver, penalty = SAMPLED[name]
    reports = list(replayed(solver, making(penalty), neighbors, noise=3.0, pick=some_of))
    assert [report.findings for report in reports if not report.ok] == []
    assert max(report.largest_use for report in reports) > 0.4  # the pairs are hard ones


@RELATIONS
@pytest.mark.parametrize("solver", [SAMPLED["svrg"][0], AcceleratedMirror(2), FrankWolfe(2)])
def test_several_scores(solver, neighbors, some_of):
    make_problem = making(L2Ball(2.0), Multinomial(3))
    settings = {"classes": 3, "noise": 3.0, "pick": some_of}
    reports = list(replayed(solver, make_problem, neighbors, **settings))
    assert [report.findings for report in reports if not report.ok] == []


# ---------------------------------------------------------------- broken copies are caught


class PrintedCurator(Curator):
    """Answers with the exact sum beside the noisy one, as no curator does."""

    def answer(self, query, point=None, *, event, noise_multiplier=None):
        given = super().answer(query, point, event=event, noise_multiplier=noise_multiplier)
        space = query.space(self.n_features, point)
        self.exact = space.project(self._rows.clipped_sum(query, point, space))
        return given


class PrintedSteps(EuclideanGeometry):
    """Algorithm 3 as printed: the y-step uses the gradient without noise."""

    curator: PrintedCurator

    def near(self, point, gradient, size):
        return super().near(point, self.curator.exact / self.curator.n_rows, size)

    def mirror(self, point, gradient, size):
        return super().near(point, gradient, size)


class PrintedMirror(AcceleratedMirror):
    def run(self, curator, problem):
        curator.__class__ = PrintedCurator
        self.seen.append(curator)
        return super().run(curator, problem)

    def _geometry(self, problem):
        space = PrintedSteps(problem)
        space.curator = self.seen[-1] if self.seen else None
        return space

    seen: list = []  # noqa: RUF012 (one for all: the solver is frozen)


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize("penalty", [L2(0.1), L2Ball(0.5)], ids=repr)
def test_the_printed_accelerated_step_is_caught(penalty, steps):
    """One step suffices: y_1 is an exact function of the rows."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((20, 4)) / 4, rng.choice([-1.0, 1.0], 20)
    other = x.copy()
    other[0] = -x[0]

    def report(solver):
        def fit(rows):
            return dataclasses.asdict(run(solver, making(penalty)(20), rows, y, 1.0))

        return replay(fit, x, other)

    assert report(AcceleratedMirror(steps)).ok
    found = report(PrintedMirror(steps))
    assert not found.ok
    wanted = "not a function of the answers" if steps == 1 else "differs between the runs in point"
    assert any(wanted in finding for finding in found.findings)


@RELATIONS
def test_a_change_with_too_small_a_sensitivity_is_caught(neighbors, monkeypatch):
    honest = GradientChange.sensitivity
    monkeypatch.setattr(
        GradientChange, "sensitivity", lambda self, relation: 0.05 * honest(self, relation)
    )
    solver, penalty = SAMPLED["svrg"]
    reports = replayed(solver, making(penalty), neighbors, noise=3.0)
    assert any("times the declared sensitivity" in str(r.findings) for r in reports)


@RELATIONS
@pytest.mark.parametrize(
    ("module", "name"),
    [(mirror_descent, "accmd"), (mirror_descent, "accmd, entropy"), (svrg, "svrg")],
)
def test_a_clip_taken_from_the_rows_is_caught(module, name, neighbors, monkeypatch):
    class LongestGradient(SlopeGradient):
        """A bound that remembers the rows it has seen."""

        def prepare(self, block, point):
            prepared = super().prepare(block, point)
            self.bound = float(np.max(self.norms(prepared, point))) + 1e-9
            return prepared

    monkeypatch.setattr(module, "SlopeGradient", LongestGradient)
    solver, penalty = (FULL_BATCH | SAMPLED)[name]
    assert not all(r.ok for r in replayed(solver, making(penalty), neighbors, noise=3.0))


@RELATIONS
def test_a_stop_by_the_exact_gradient_is_caught(neighbors):
    class Impatient(FrankWolfe):
        def run(self, curator, problem):
            exact = np.zeros(problem.shape)
            query = SlopeGradient(problem.loss, 1.0)
            space = query.space(curator.n_features, exact)
            total = curator._rows.clipped_sum(query, exact, space)
            result = super().run(curator, problem)
            return result if np.linalg.norm(total) > 1 else dataclasses.replace(result, trace=[])

    reports = replayed(Impatient(2), making(L1Ball(1.0)), neighbors)
    assert not all(report.ok for report in reports)
