"""Replay every estimator on neighbouring tables: what leaves is a function of the answers alone."""

import math

import numpy as np
import pytest

from contracts.tables import COMBINATIONS, ESTIMATORS, uses_pairs
from veilspan import RobustPCA
from veilspan.audit.replay import replay
from veilspan.queries.subspace.sphered import SphericalMoment
from veilspan.queries.subspace.whitened_blocks import TylerBlock, WhitenedBlocks

WIDTH = 4
EXTREME_ROWS = (
    np.zeros(WIDTH),
    np.eye(WIDTH)[0],
    -np.eye(WIDTH)[-1],
    1e6 * np.ones(WIDTH),
    -1e-9 * np.ones(WIDTH),
)


def neighboring_pairs(neighbors, smallest):
    rng = np.random.default_rng(0)
    for n in (smallest, 5, 40, 300):
        for scale in (1.0, 1e-6) if n < 40 else (1.0,):
            x = scale * rng.standard_normal((n, WIDTH))
            for row in (*EXTREME_ROWS, -x[0]):
                if neighbors == "replace-one":
                    yield x, np.vstack([row, x[1:]])
                else:
                    yield x, np.vstack([x, row])


@pytest.mark.parametrize(("name", "neighbors"), COMBINATIONS)
def test_nothing_but_answers_leaves(name, neighbors, some_of):
    kind, parameters = ESTIMATORS[name]

    def fit(x):
        return kind(**parameters, neighbors=neighbors, random_state=0).fit(x)

    plan = kind(**parameters, neighbors=neighbors).plan(100, WIDTH)
    pairs = neighboring_pairs(neighbors, 4 if uses_pairs(name) else 2)
    for x, other in some_of(pairs, 5):  # of six rows a table
        report = replay(fit, x, other)
        assert report.ok, report.findings
        assert report.questions > 0
        # A row is sampled or not: a sampled step may use more than its accounted average.
        if all(event.sampling_rate == 1 for event in plan.events):
            assert report.realised_mu <= plan.budget.mu


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_recorded_fit_says_that_it_is_not_private(name):
    from veilspan import NotPrivateWarning
    from veilspan.curator.tape import recording

    kind, parameters = ESTIMATORS[name]
    with recording(), pytest.warns(NotPrivateWarning):
        fitted = kind(**parameters, random_state=0).fit(np.eye(WIDTH))
    assert "recorded" in fitted.privacy_.why_not_private


@pytest.mark.parametrize(
    ("query", "half"),
    [(WhitenedBlocks, math.sqrt(0.5)), (TylerBlock, math.sqrt(0.5)), (SphericalMoment, 0.7)],
)
def test_a_sensitivity_declared_too_small_is_caught(query, half, monkeypatch):
    """A deliberately broken copy of each query of the default robust solver."""
    monkeypatch.setattr(query, "sensitivity", lambda self, neighbors: half)
    rng = np.random.default_rng(1)
    x = rng.standard_normal((3000, 6)) * [5, 5, 1, 1, 1, 1]
    caught = False
    for row in (np.eye(6)[0], np.eye(6)[5], 3 * np.ones(6), np.array([1.0, 0, 0.3, 0, 0, 0])):
        for opposite in (-row * [1, 1, -1, -1, -1, -1], np.eye(6)[1], row * [1, 1, -1, -1, -1, -1]):
            one, two = (np.vstack([first, x[1:]]) for first in (row, opposite))
            fit = RobustPCA(2, epsilon=20.0, random_state=0).fit
            caught |= not replay(fit, one, two).ok
    assert caught
