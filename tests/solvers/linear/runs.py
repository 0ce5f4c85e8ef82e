"""Linear problems run through a curator, without an estimator."""

import dataclasses

import numpy as np

from privacy.affordable import budget_for
from veilspan import Budget
from veilspan.audit.replay import replay
from veilspan.curator.curator import Curator
from veilspan.curator.rows import Rows
from veilspan.privacy.events import with_noise
from veilspan.privacy.noise import SeededNoise
from veilspan.privacy.plan import Plan

INTERCEPT = 0.4


def table(n=300, p=4, seed=0, intercept=True):
    """Rows inside the unit ball, the last column constant, and a direction to learn."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, p + intercept)) / np.sqrt(p)
    if intercept:
        x[:, -1] = INTERCEPT
    x /= np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True))
    return x, rng.standard_normal(p + intercept)


def run(solver, problem, x, y, epsilon=np.inf, neighbors="replace-one", seed=0, noise=None):
    """Plan, ask, and give back what was found; the plan is kept to.

    With ``noise`` all events get that multiplier: calibrating samples takes seconds.
    """
    budget = Budget(epsilon, 1e-6)
    if noise is None:
        events = solver.prepare(problem, budget, neighbors).events
    else:
        exact = solver.prepare(problem, Budget(np.inf, 1e-6), neighbors).events
        events = tuple(with_noise(event, noise) for event in exact)
        budget = budget if epsilon == np.inf else budget_for(events, neighbors)
    plan = Plan(
        method="test",
        budget=budget,
        neighbors=neighbors,
        n_rows=problem.n_rows,
        n_features=problem.n_features,
        events=events,
    )
    curator = Curator(Rows(x, y), plan, SeededNoise(seed))
    result = solver.run(curator, problem)
    if "planned" in result.stopped:
        assert curator.spent == plan.events  # all of the plan is used, and nothing else
    return result


def extreme_pairs(added, width, classes):
    """Small neighbouring tables with extreme rows and targets: 15 pairs for each of three sizes."""
    rng = np.random.default_rng(0)
    for n in (2, 5, 40):
        x = rng.standard_normal((n, width))
        y = rng.integers(classes, size=n) if classes > 2 else rng.choice([-1.0, 1.0], n)
        kept = slice(None) if added else slice(1, None)
        order = np.arange(n) if added else np.roll(np.arange(n), -1)
        for row in (np.zeros(width), -x[0], 1e6 * np.ones(width), np.eye(width)[0], -1e-9 * x[0]):
            for target in (0.0, 1.0, -1.0):
                other = np.concatenate([x[kept], row[None]])
                others = np.concatenate([y[kept], [target]])
                yield (x[order], y[order]), (other, others)


def replayed(
    solver, make_problem, neighbors, epsilon=5.0, width=4, classes=2, noise=None, pick=iter
):
    """Replay reports over extreme pairs, or those that ``pick`` leaves of them."""
    added = neighbors == "add-remove"
    for one, two in pick(extreme_pairs(added, width, classes)):
        problem = make_problem(None if added else len(one[1]))

        def fit(pair, problem=problem):
            return dataclasses.asdict(run(solver, problem, *pair, epsilon, neighbors, noise=noise))

        yield replay(fit, one, two)
