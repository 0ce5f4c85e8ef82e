"""The solver of PCA, and the count and the centre that all subspace solvers ask alike."""

import math

import numpy as np
import pytest

from veilspan.curator.curator import Curator
from veilspan.curator.rows import Rows
from veilspan.privacy.budget import Budget
from veilspan.privacy.noise import SeededNoise
from veilspan.privacy.plan import Plan
from veilspan.solvers.subspace.analyze_gauss import AnalyzeGauss
from veilspan.solvers.subspace.base import SubspaceProblem, find_rows_and_center
from veilspan.solvers.subspace.by_name import SOLVERS

BUDGET = Budget(1.0, 1e-6)
CASES = [
    ("replace-one", None, []),
    ("replace-one", 1.0, ["mean"]),
    ("add-remove", None, ["count"]),
    ("add-remove", 1.0, ["count", "mean"]),
]
SHARES = {"count": 0.02, "mean": 0.1}


def problem(neighbors, private_center=None, n_rows=100):
    public = n_rows if neighbors == "replace-one" else None
    return SubspaceProblem(public, 4, 2, private_center=private_center)


def door(rows, prepared, neighbors, seed=0):
    plan = Plan(
        method="test",
        budget=prepared.budget,
        neighbors=neighbors,
        n_rows=prepared.problem.n_rows,
        n_features=rows.shape[1],
        events=prepared.events,
        adaptive=prepared.adaptive,
    )
    return Curator(Rows(rows), plan, SeededNoise(seed))


@pytest.mark.parametrize("solver", [AnalyzeGauss(), *(SOLVERS[n].make() for n in ("rspca", "ggd"))])
@pytest.mark.parametrize(("neighbors", "private_center", "names"), CASES)
def test_count_and_centre_come_first_with_their_shares(solver, neighbors, private_center, names):
    prepared = solver.prepare(problem(neighbors, private_center), BUDGET, neighbors)
    first = prepared.events[: len(names)]
    assert [event.name for event in first] == names
    for event in first:
        assert event.mu**2 == pytest.approx(SHARES[event.name] * BUDGET.mu**2)
    if not prepared.adaptive:
        assert sum(e.mu**2 for e in prepared.events) == pytest.approx(BUDGET.mu**2)


@pytest.mark.parametrize(("neighbors", "private_center", "names"), CASES)
def test_what_is_not_public_is_asked_for_and_nothing_else(neighbors, private_center, names):
    rows = np.random.default_rng(0).uniform(0.1, 0.5, (100, 4))
    prepared = AnalyzeGauss().prepare(
        problem(neighbors, private_center), Budget(math.inf, 1e-6), neighbors
    )
    curator = door(rows, prepared, neighbors)
    n_rows, center = find_rows_and_center(curator, prepared.problem)
    assert [event.name for event in curator.spent] == names
    assert n_rows == pytest.approx(100)
    if private_center is None:
        assert center is None
    else:
        np.testing.assert_allclose(center, rows.mean(axis=0))


def test_a_public_centre_is_taken_as_it_is():
    given = SubspaceProblem(100, 4, 2, center=np.arange(4.0))
    prepared = AnalyzeGauss().prepare(given, BUDGET, "replace-one")
    curator = door(np.zeros((100, 4)), prepared, "replace-one")
    assert find_rows_and_center(curator, given)[1] is given.center


def test_components_and_variances_are_those_of_the_second_moment():
    rows = np.random.default_rng(0).standard_normal((200, 4)) * [0.4, 0.3, 0.2, 0.1]
    rows /= np.maximum(1, np.linalg.norm(rows, axis=1))[:, None]
    every = SubspaceProblem(200, 4, None)
    prepared = AnalyzeGauss().prepare(every, Budget(math.inf, 1e-6), "replace-one")
    found = prepared.run(door(rows, prepared, "replace-one")).result
    values = np.linalg.eigvalsh(rows.T @ rows / 200)[::-1]
    np.testing.assert_allclose(found.variances, values)
    np.testing.assert_allclose(found.ratios, values / values.sum())
    np.testing.assert_allclose(found.components @ found.components.T, np.eye(4), atol=1e-12)
    assert found.noise_edge == 0
    assert found.stopped == "done"
