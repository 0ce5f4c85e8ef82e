"""The distinguishing game at mu = 3 with 4,000 runs, for every query of the contract suite.

The two tables differ in the pair of rows that moves the exact answer the farthest; the score is
the released answer along that move, with a threshold known in advance. A new query joins by its
line in ``contracts.tables``.
"""

import numpy as np
import pytest

from contracts.tables import QUERIES
from privacy.affordable import budget_for
from veilspan import GaussianEvent, Plan
from veilspan.audit.bounds import error_rates
from veilspan.curator.curator import Curator
from veilspan.curator.rows import Rows
from veilspan.curator.tape import recording
from veilspan.privacy.noise import SeededNoise

ALPHA = 1e-9  # of each game: see test_error_budget.py
MU = 3.0
RUNS = 2000  # on each table
CASES = [
    pytest.param(query, width, point, id=f"{name}, point {place}")
    for name, (query, width, points, _) in QUERIES.items()
    for place, point in enumerate(points[:1])
]


def curator(table, seed):
    event = GaussianEvent("q", 1 / MU, RUNS + 1)
    plan = Plan(
        method="audit",
        budget=budget_for((event,)),
        neighbors="replace-one",
        n_rows=len(table),
        n_features=table.shape[1],
        events=(event,),
    )
    return Curator(Rows(table), plan, SeededNoise(seed))


def exact_answer(query, point, table):
    with recording() as tape:
        curator(table, 0).answer(query, point, event="q")
    return tape.entries[0].exact


def candidate_rows(width):
    """Axes, corners and ordinary rows, short, of length 1, and far too long."""
    axes = np.eye(width)
    rng = np.random.default_rng(0)
    rows = [*axes, *-axes, np.ones(width), -np.ones(width), *rng.standard_normal((8, width))]
    pairs = [axes[0] + axes[i] for i in range(1, width)] + [axes[0] - axes[1]]
    return [np.zeros(width), *(scale * row for row in (*rows, *pairs) for scale in (1.0, 1e6))]


def farthest_tables(query, point, width):
    """Two tables that differ in one row, and how far apart their answers are."""
    base = np.zeros((1, width))
    tables = [np.vstack([row, base]) for row in candidate_rows(width)]
    answers = np.stack([exact_answer(query, point, table) for table in tables])
    distances = np.linalg.norm(answers[:, None] - answers[None], axis=2)
    one, two = np.unravel_index(np.argmax(distances), distances.shape)
    return (tables[one], answers[one]), (tables[two], answers[two]), distances[one, two]


def released(query, point, width, table, seed):
    """Answers in coordinates, one a row."""
    asked, space = curator(table, seed), query.space(width, point)
    given = (asked.answer(query, point, event="q").value for _ in range(RUNS))
    return np.stack([space.embed(value) for value in given])


@pytest.mark.parametrize(("query", "width", "point"), CASES)
def test_mu_is_not_refuted_and_a_quarter_less_noise_is(query, width, point):
    first, second, distance = farthest_tables(query, point, width)
    use = distance / query.sensitivity("replace-one")
    assert use <= 1 + 1e-9
    shift = second[1] - first[1]
    threshold = float(shift @ (first[1] + second[1])) / 2
    noise = [
        (released(query, point, width, table, seed) - exact) @ shift
        for seed, (table, exact) in enumerate((first, second), 1)
    ]

    def bound(factor):
        scores = [factor * n + exact @ shift for n, (_, exact) in zip(noise, (first, second))]
        return error_rates(*scores, threshold, ALPHA).mu

    assert bound(1.0) <= MU
    assert bound(1.0) > 0.8 * MU * use - 0.35  # the game has power
    if use > 0.98:
        assert bound(0.75) > MU


def test_most_queries_are_played_at_their_full_sensitivity():
    uses = [
        farthest_tables(query, points[0], width)[2] / query.sensitivity("replace-one")
        for query, width, points, _ in QUERIES.values()
    ]
    assert np.median(uses) > 0.98
