"""Running a subspace solver by hand: plan, curator, run.

Every run is seeded: bounds of medians are facts of those seeds, with measured values beside them.
"""

import dataclasses
import math

import numpy as np

from privacy.affordable import budget_for
from veilspan.audit.replay import replay
from veilspan.curator.curator import Curator
from veilspan.curator.rows import Rows
from veilspan.geometry import Grassmann
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import with_noise
from veilspan.privacy.noise import SeededNoise
from veilspan.privacy.plan import Plan
from veilspan.solvers.subspace.base import SubspaceProblem


def run(solver, rows, rank, events, neighbors="replace-one", seed=0):
    n, n_features = rows.shape
    plan = Plan(
        method="test",
        budget=budget_for(events, neighbors),
        neighbors=neighbors,
        n_rows=n if neighbors == "replace-one" else None,
        n_features=n_features,
        events=events,
    )
    curator = Curator(Rows(rows), plan, SeededNoise(seed))
    result = solver.run(curator, SubspaceProblem(plan.n_rows, n_features, rank))
    assert curator.spent == tuple(events)  # all of the plan is used, and nothing else
    return result


def prepared(solver, n_rows, n_features, rank, epsilon=1.0, neighbors="replace-one"):
    problem = SubspaceProblem(n_rows, n_features, rank)
    return solver.prepare(problem, Budget(epsilon, 1e-6), neighbors)


def private(solver, rows, rank, epsilon, seed=0, neighbors="replace-one"):
    n_rows = len(rows) if neighbors == "replace-one" else None
    events = prepared(solver, n_rows, rows.shape[1], rank, epsilon, neighbors).events
    return run(solver, rows, rank, events, neighbors, seed)


def with_multiplier(solver, noise, neighbors="replace-one"):
    n_rows = 10 if neighbors == "replace-one" else None
    events = prepared(solver, n_rows, 4, 2, math.inf, neighbors).events
    return tuple(with_noise(event, noise) for event in events)


def squared_distance(basis, subspace):
    """Sum of squared principal angles."""
    return float(Grassmann(*basis.shape).dist(basis, subspace.T)) ** 2


def neighbouring_tables(neighbors):
    """Small tables with a row replaced by, or joined by, an extreme one."""
    rng = np.random.default_rng(0)
    for n in (2, 5, 40):
        x = rng.standard_normal((n, 4))
        for row in (np.zeros(4), -x[0], 1e6 * np.ones(4), [0, 0, 0, 1e-9], [1, 1e-8, 0, 0]):
            other = np.concatenate([x, np.zeros((int(neighbors == "add-remove"), 4))])
            other[-1] = row
            yield x, other


def replayed(solver, neighbors):
    """Replay reports of a solver over all pairs."""
    events = with_multiplier(solver, 3.0, neighbors)

    def fit(rows):
        return dataclasses.asdict(run(solver, rows, 2, events, neighbors))

    return [replay(fit, x, other) for x, other in neighbouring_tables(neighbors)]
