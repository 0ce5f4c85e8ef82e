"""Running a subspace solver by hand: plan, curator, run."""

import dataclasses

import numpy as np

from privacy.affordable import budget_for
from veilspan.audit.replay import replay
from veilspan.curator.curator import Curator
from veilspan.curator.rows import Rows
from veilspan.geometry import Grassmann
from veilspan.privacy.budget import Budget
from veilspan.privacy.calibration import calibrate_noise
from veilspan.privacy.events import with_noise
from veilspan.privacy.noise import SeededNoise
from veilspan.privacy.plan import Plan
from veilspan.solvers.subspace.base import SubspaceTask


def run(solver, rows, rank, events, neighbors="replace-one", seed=0, n_rows=None):
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
    result = solver.run(curator, SubspaceTask(n_rows or n, n_features, rank))
    assert curator.spent == tuple(events)  # all of the plan is used, and nothing else
    return result


def private(solver, rows, rank, epsilon, seed=0, neighbors="replace-one"):
    events, shares = solver.schedule(neighbors)
    budget = Budget(epsilon, 1e-6)
    events = calibrate_noise(budget, events, neighbors=neighbors, weights=shares)
    return run(solver, rows, rank, events, neighbors, seed)


def with_multiplier(solver, noise, neighbors="replace-one"):
    return tuple(with_noise(event, noise) for event in solver.schedule(neighbors)[0])


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
    """Replay reports of a solver over all pairs; the number it divides by is public."""
    events = with_multiplier(solver, 3.0, neighbors)

    def fit(rows):
        return dataclasses.asdict(run(solver, rows, 2, events, neighbors, n_rows=10.0))

    return [replay(fit, x, other) for x, other in neighbouring_tables(neighbors)]
