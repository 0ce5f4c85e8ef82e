"""Completion solvers through the estimator: small tables of users and their neighbours."""

import math
import warnings

import numpy as np
from scipy import sparse

from veilspan.audit.replay import replay
from veilspan.datasets.ratings import make_ratings
from veilspan.estimators.completion.matrix_completion import MatrixCompletion
from veilspan.privacy.budget import Budget
from veilspan.privacy.errors import NotPrivateWarning
from veilspan.queries.completion.rating_rows import RatingRule
from veilspan.solvers.completion.base import CompletionProblem

BUDGET = Budget(1.0, 1e-6)
ITEMS = 6
RELATIONS = ("replace-one", "add-remove")
EXTREME_USERS = (
    [],
    [(0, 5.0), (1, 1.0)],
    [(j, 1e9 * (-1) ** j) for j in range(ITEMS)],
    [(5, 1.0)],
    [(0, 5.0), (1, 1.0), (2, 1.0), (3, 5.0)],
)


def problem(n_items=50, **changes):
    facts = {"n_users": 1000, "n_items": n_items, "rule": RatingRule(1.0, 5.0, 20)}
    return CompletionProblem(**{**facts, **changes})


def prepare(solver, problem, budget=BUDGET, neighbors="replace-one"):
    return solver.prepare(problem, budget, neighbors)


def asked(prepared):
    """Names and counts of the planned releases."""
    return [(event.name, event.count) for event in prepared.events]


def shares(prepared):
    """What each planned release spends of mu^2, relative to all."""
    spent = [event.count / event.noise_multiplier**2 for event in prepared.events]
    return [each / math.fsum(spent) for each in spent]


def fitted(solver, table, epsilon=math.inf, **changes):
    model = MatrixCompletion(
        solver, rating_range=(1, 5), epsilon=epsilon, random_state=0, **changes
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return model.fit(table)


def errors(solver, epsilon=math.inf, **changes):
    """Error of a solver and of users' own means on held-out ratings; 0.5 is the least possible."""
    data = make_ratings(4000, 40, 2, ratings_per_user=20)
    model = fitted(solver, data.train, epsilon, **changes)
    held = data.test.tocoo()
    counts = np.diff(data.train.indptr)
    means = np.where(counts > 0, data.train.sum(axis=1) / np.maximum(counts, 1), 3.0)
    alone = math.sqrt(np.mean((means[held.row] - held.data) ** 2))
    found = model.predict(data.train)[held.row, held.col]
    return math.sqrt(np.mean((found - held.data) ** 2)), alone


def table_of(users):
    starts = np.concatenate([[0], np.cumsum([len(user) for user in users])])
    items = np.array([j for user in users for j, _ in user], dtype=np.int64)
    ratings = np.array([r for user in users for _, r in user], dtype=float)
    return sparse.csr_array((ratings, items, starts), shape=(len(users), ITEMS))


def random_users(rng, n):
    return [
        [(int(j), float(rng.uniform(0, 6))) for j in np.flatnonzero(rng.random(ITEMS) < 0.7)]
        for _ in range(n)
    ]


def replayed(solver, neighbors, sizes=(3, 30)):
    """Reports of fits to tables with one user replaced by, or joined by, an extreme one."""
    rng = np.random.default_rng(0)
    model = MatrixCompletion(
        solver,
        rating_range=(1, 5),
        max_ratings_per_user=4,
        epsilon=3.0,
        neighbors=neighbors,
        random_state=0,
    )
    reports = []
    for n in sizes:
        users = random_users(rng, n)
        for extreme in EXTREME_USERS:
            other = [*users, extreme] if neighbors == "add-remove" else [extreme, *users[1:]]
            reports.append(replay(model.fit, table_of(users), table_of(other)))
    return reports, model.plan(30, ITEMS).budget.mu
