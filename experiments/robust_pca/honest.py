"""The same methods through the curator: correct noise, and a private start that is charged.

A plan is made by `RobustPCA` for the stated budget, and a solver of the library runs under it. The
iterates are looked at by a curator that notes the public point of every question; that is fine
here, where the truth is known and the rows are simulated.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from veilspan import RobustPCA
from veilspan.curator.curator import Curator
from veilspan.curator.rows import Rows
from veilspan.privacy.noise import SeededNoise
from veilspan.solvers.steps import STEP, DecreasingSteps, PaperSteps
from veilspan.solvers.subspace.base import SubspaceProblem
from veilspan.solvers.subspace.by_name import subspace_solver
from veilspan.solvers.subspace.descent import SubspaceDescent
from veilspan.solvers.subspace.geodesic_gradient import GeodesicGradientDescent
from veilspan.solvers.subspace.reaper import ReaperDescent

from .common import Watch, checkpoints, error_of

#: Far below the default: with exact inliers residuals shrink to 1e-12 before rounding matters.
EXACT_GUARD = 1e-12
#: Of minibatches: the rounding of all rows is covered by noise, and grows with one over the guard.
#: At 1e-12 it takes 5 (500 x 10) to 500 (4,000 x 200) times the noise that epsilon needs, at 1e-8
#: at most 5 % more; a distance below 1e-8, log10 d^2 below -16, is then found more slowly.
SAMPLED_GUARD = 1e-8
#: Names of the library's solvers for the paper's methods.
NAMES = {
    "GGD": "ggd",
    "SGGD": "sggd",
    "GD-REAP": "reaper-gd",
    "SGD-REAP": "reaper-sgd",
    "MD-REAP": "reaper-md",
    "SMD-REAP": "reaper-smd",
}


def paper_solver(method, steps, rate=None):
    """The library's solver with the paper's number of steps and step sizes.

    The library's mirror step holds the factor 4 that is missing in print: a quarter of the size.
    """
    rate = float(rate) if method.startswith("S") else None
    if method.endswith("GGD"):
        schedule = PaperSteps()
        guard = EXACT_GUARD if rate is None else SAMPLED_GUARD
        return GeodesicGradientDescent(
            steps=steps, step_schedule=schedule, sampling_rate=rate, guard=guard
        )
    mirror = "MD" in method
    return ReaperDescent(
        geometry="mirror" if mirror else "euclidean",
        steps=steps,
        sampling_rate=rate,
        step_schedule=DecreasingSteps(2.0 if mirror else 8.0),
    )


def our_solver(method):
    """The library's own settings: 40 steps, of GGD up to 60 by the number of rows."""
    return subspace_solver(NAMES[method])


def plan_for(solver, shape, epsilon, delta):
    """The plan of `RobustPCA`; solvers that ask equally often, of equal samples, share one."""
    if isinstance(solver, SubspaceDescent):
        solver = GeodesicGradientDescent(
            steps=solver.steps, sampling_rate=solver.sampling_rate, start_share=solver.start_share
        )
    return replace(_plan(solver, shape[0], epsilon, delta), n_features=shape[1])


@cache
def _plan(solver, n_rows, epsilon, delta):
    # Rows of these figures are centred: what a paper calls auto is the solver alone.
    model = RobustPCA(1, epsilon=epsilon, delta=delta, solver=solver, center="origin")
    return model.plan(n_rows, 2)


@dataclass
class TappedCurator:
    """A curator that shows the point of every step to a watch before it answers."""

    curator: Curator
    watch: Watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self.curator, name)

    def answer(self, query, point=None, *, event, noise_multiplier=None):
        if event == STEP:
            self.watch(point)
        return self.curator.answer(query, point, event=event, noise_multiplier=noise_multiplier)


def run_honest(solver, data, *, epsilon, delta, seed):
    """One run of a solver (or of its name) under a plan for its steps."""
    n, d = data.rows.shape
    solver = subspace_solver(solver)
    if isinstance(solver, SubspaceDescent):
        solver = solver.for_rows(n)
    plan = plan_for(solver, (n, d), epsilon, delta)
    steps = solver.steps if isinstance(solver, SubspaceDescent) else 0
    watch = Watch(data.subspace, checkpoints(steps))
    curator = TappedCurator(Curator(Rows(data.rows), plan, SeededNoise(seed)), watch)
    result = solver.run(curator, SubspaceProblem(n, d, len(data.subspace)))
    return watch.curve(error_of(result.basis, data.subspace)), result.basis


def begin_honest(solver, data, *, epsilon, delta, seed):
    """The private start of a descent, and the noise of its mean gradients, under its whole plan."""
    n, d = data.rows.shape
    points = []
    plan = plan_for(solver, (n, d), epsilon, delta)
    curator = TappedCurator(Curator(Rows(data.rows), plan, SeededNoise(seed)), points.append)
    one = replace(solver, steps=1)
    result = one.run(curator, SubspaceProblem(n, d, len(data.subspace)))
    return points[0], result.trace[0]["noise_std"]
