"""Running a manifold solver by hand: plan, curator, run."""

from privacy.affordable import budget_for
from veilspan.curator.curator import Curator
from veilspan.curator.rows import Rows
from veilspan.curator.tape import recording
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import with_noise
from veilspan.privacy.noise import SeededNoise
from veilspan.privacy.plan import Plan
from veilspan.solvers.manifold.base import ManifoldProblem

BUDGET = Budget(1.0, 1e-6)


def run(solver, loss, rows, start, *, noise=0.0, bound=10.0, seed=0, ball=None):
    """Run with one noise multiplier for all events; return result, spent events and the tape."""
    flat = rows.reshape(len(rows), -1)
    problem = ManifoldProblem(loss, bound, start, len(rows), ball)
    prepared = solver.prepare(problem, BUDGET, "replace-one")
    events = tuple(with_noise(event, noise) for event in prepared.events)
    plan = Plan(
        method="test",
        budget=budget_for(events),
        neighbors="replace-one",
        n_rows=len(rows),
        n_features=flat.shape[1],
        events=events,
    )
    curator = Curator(Rows(flat), plan, SeededNoise(seed))
    with recording() as tape:
        result = prepared.run(curator).result
    return result, curator.spent, tape
