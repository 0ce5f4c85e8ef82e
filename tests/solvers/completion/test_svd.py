import math

import numpy as np
import pytest

from solvers.completion.cases import RELATIONS, asked, errors, fitted, prepare, problem, replayed
from veilspan.datasets.ratings import make_ratings
from veilspan.queries.completion.rating_moments import RatingCovariance
from veilspan.solvers.completion.svd import SVDCompletion


def test_one_release_has_all_of_the_budget():
    prepared = prepare(SVDCompletion(), problem())
    assert asked(prepared) == [("second moment", 1)]
    assert prepared.events[0].noise_multiplier == pytest.approx(1 / prepared.budget.mu)
    assert prepared.decisions["largest number of factors"] == 8
    few = prepare(SVDCompletion(), problem(n_components=3))
    assert few.decisions["largest number of factors"] == 3


def test_structure_is_found_without_an_item_bias():
    for epsilon in (1.0, math.inf):
        error, alone = errors(SVDCompletion(), epsilon)
        assert error < 0.8 * alone
    data = make_ratings(500, 12, 1, ratings_per_user=8)
    model = fitted("svd", data.train)
    assert not model.item_bias_.any()
    assert model.plan_.method.endswith("(SVDCompletion)")


def test_a_rank_one_table_is_recovered():
    """Centred rows u v^T with v of mean 0, all entries seen: only the diagonal's loss remains."""
    rng = np.random.default_rng(0)
    v = rng.choice([-1.0, 1.0], 40)
    v[:20], v[20:] = 1.0, -1.0
    table = 3 + np.outer(rng.uniform(-1, 1, 300), v)
    factors = fitted(SVDCompletion(), table, n_components=1, center="middle").item_factors_[:, 0]
    assert abs(factors @ v) / np.linalg.norm(factors) / math.sqrt(40) > 1 - 1e-6


@pytest.mark.filterwarnings("ignore:R has:UserWarning")
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_nothing_but_the_answers_is_used(neighbors):
    reports, mu = replayed(SVDCompletion(row_norm=1.0), neighbors)
    assert [report.findings for report in reports if not report.ok] == []
    assert max(report.realised_mu for report in reports) <= mu
    assert max(report.largest_use for report in reports) > 0.8


@pytest.mark.filterwarnings("ignore:R has:UserWarning")
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_a_sensitivity_declared_too_small_is_caught(neighbors, monkeypatch):
    honest = RatingCovariance.sensitivity
    monkeypatch.setattr(
        RatingCovariance, "sensitivity", lambda self, relation: 0.6 * honest(self, relation)
    )
    reports, _ = replayed(SVDCompletion(row_norm=1.0), neighbors)
    assert not all(report.ok for report in reports)
