"""Fits of linear models straight through a curator, for tests of their solvers.

All are seeded: accuracies in those tests are facts of the seeds; what was measured is beside them.
"""

import numpy as np

from veilspan import Budget, Plan
from veilspan.curator.curator import Curator
from veilspan.curator.rows import Rows
from veilspan.losses.penalties import NoPenalty
from veilspan.privacy.noise import SeededNoise
from veilspan.solvers.linear.base import LinearProblem

DELTA = 1e-6
BOTH = ("replace-one", "add-remove")


def plan_for(solver, problem, budget, neighbors):
    """The plan of one solver."""
    return Plan(
        method="test",
        budget=budget,
        neighbors=neighbors,
        n_rows=problem.n_rows,
        n_features=problem.n_features,
        events=solver.prepare(problem, budget, neighbors).events,
    )


def problem_for(x, loss, penalty=None, neighbors="replace-one", intercept=False):
    """A problem for a table; under add-remove its length is a guess only."""
    known = x.shape[0] if neighbors == "replace-one" else None
    return LinearProblem(loss, penalty or NoPenalty(), x.shape[1], known, 200, intercept)


def fit(
    solver,
    loss,
    x,
    y,
    *,
    penalty=None,
    epsilon=np.inf,
    neighbors="replace-one",
    intercept=False,
    seed=0,
    kind=Curator,
):
    """Theta of one solver on one table."""
    problem = problem_for(x, loss, penalty, neighbors, intercept)
    plan = plan_for(solver, problem, Budget(epsilon, DELTA), neighbors)
    return solver.run(kind(Rows(x, y), plan, SeededNoise(seed)), problem).theta


def unit_rows(rng, n, p):
    """Rows inside the unit ball."""
    x = rng.standard_normal((n, p))
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1.0)


def neighbor_pairs(neighbors, targets, p=3):
    """Tiny tables with one extreme row changed, or taken away."""
    rng = np.random.default_rng(4)
    extreme = [
        np.zeros(p),
        np.eye(p)[0],
        -np.eye(p)[1],
        np.full(p, 1e6),
        np.full(p, -1e-9),
        rng.standard_normal(p),
    ]
    for n in (3, 12):
        x, y = unit_rows(rng, n, p), rng.choice(targets, n)
        for row in extreme:
            for target in (min(targets), max(targets), 1e9):
                if neighbors == "add-remove":
                    yield (np.vstack([row, x]), np.append(target, y)), (x, y)
                else:
                    other, changed = x.copy(), y.copy()
                    other[0], changed[0] = row, target
                    yield (x, y), (other, changed)
