import math

import numpy as np
import pytest

from nonprivate.completion_baselines import frank_wolfe_fit
from solvers.completion.cases import (
    RELATIONS,
    asked,
    errors,
    fitted,
    prepare,
    problem,
    replayed,
    shares,
)
from veilspan.datasets.ratings import make_ratings
from veilspan.queries.completion.residual_moment import ResidualMoment
from veilspan.solvers.completion.frank_wolfe import FrankWolfeCompletion, undo_inflation

STEPS = ("classic", "line-search", "refit")


def test_every_round_is_planned_and_none_is_empty():
    both = prepare(FrankWolfeCompletion(rounds=4, bias_share=0.25), problem())
    assert asked(both) == [("item statistics", 1), ("round", 4)]
    assert shares(both) == pytest.approx([0.25, 0.75])
    alone = prepare(FrankWolfeCompletion(bias_share=0), problem(n_components=2))
    assert asked(alone) == [("round", 2)]
    assert prepare(FrankWolfeCompletion(), problem()).decisions["rounds"] == 3


def test_without_noise_it_is_frank_wolfe():
    """Directions and eigenvalues of the non-private twin; rows are rounded to c/1024."""
    data = make_ratings(400, 15, 2, ratings_per_user=10, random_state=3)
    twin = frank_wolfe_fit(data.train, 60.0, rounds=4)
    solver = FrankWolfeCompletion(
        rounds=4, nuclear_norm=60.0, bias_share=0, row_norm=8.0, local="classic"
    )
    found = fitted(solver, data.train).item_factors_
    found = found / np.linalg.norm(found, axis=0)
    cosines = np.abs(np.sum(found * twin.item_factors, axis=0))
    assert cosines.min() > 1 - 1e-4  # 6e-5


@pytest.mark.parametrize("local", STEPS)
def test_structure_is_found(local):
    error, alone = errors(FrankWolfeCompletion(local=local))
    # Steps of 2/(t + 1) swing around the optimum in the first rounds; users' own steps do not.
    # Facts of fixed seeds: 0.72 to 0.83 are measured.
    assert error < (0.85 if local == "classic" else 0.78) * alone
    error, alone = errors(FrankWolfeCompletion(local=local), 2.0)
    assert error < 0.85 * alone


def test_without_a_bias_as_in_the_paper():
    error, alone = errors(FrankWolfeCompletion(bias_share=0), 2.0)
    assert error < 0.85 * alone


def test_directions_of_pure_noise_are_not_used():
    """Ratings of one value: the residual moment is exactly zero, and noise has no factors."""
    table = np.full((50, 30), 4.0)
    kept = [
        fitted(FrankWolfeCompletion(rounds=5, nuclear_norm=float(k)), table, 0.5).item_factors_
        for k in range(1, 4)
    ]
    # The largest eigenvalue of noise fluctuates around its edge: it may pass now and then.
    assert np.mean([factors.shape[1] for factors in kept]) <= 1  # never for these seeds
    assert fitted(FrankWolfeCompletion(), table).item_factors_.shape == (30, 0)


def test_inflation_is_that_of_the_spiked_model():
    """A spike of 3 half-edges at n = 800.

    Its eigenvalue is normal with a deviation of 1.8 % after the correction, the squared cosine that
    follows from it has 0.004; more than five of each. The vector's own is within n^-1/2 = 0.035.
    """
    rng = np.random.default_rng(0)
    n, std = 800, 0.3
    spike = 3 * math.sqrt(n * std**2 / 2)
    noise = std * rng.standard_normal((n, n))
    noisy = (noise + noise.T) / 2
    noisy[0, 0] += spike
    values, vectors = np.linalg.eigh(noisy)
    clean, cosine = undo_inflation(float(values[-1]), std, n)
    assert clean == pytest.approx(spike, rel=0.1)
    assert cosine == pytest.approx(1 - 1 / 9, abs=0.022)
    assert vectors[0, -1] ** 2 == pytest.approx(cosine, abs=0.035)
    assert undo_inflation(-1.0, 0.0, 5) == (0.0, 0.0)
    assert undo_inflation(2.0, 0.0, 5) == (2.0, 1.0)


@pytest.mark.filterwarnings("ignore:R has:UserWarning")
@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize(
    "options", [{"local": "line-search"}, {"local": "refit"}, {"bias_share": 0}], ids=str
)
def test_nothing_but_the_answers_is_used(neighbors, options):
    reports, mu = replayed(FrankWolfeCompletion(row_norm=1.0, **options), neighbors)
    assert [report.findings for report in reports if not report.ok] == []
    assert max(report.realised_mu for report in reports) <= mu


@pytest.mark.filterwarnings("ignore:R has:UserWarning")
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_broken_copies_are_caught(neighbors, monkeypatch):
    solver = FrankWolfeCompletion(row_norm=1.0, bias_share=0)
    honest = ResidualMoment.sensitivity
    with monkeypatch.context() as patch:
        patch.setattr(
            ResidualMoment, "sensitivity", lambda self, relation: 0.6 * honest(self, relation)
        )
        assert not all(report.ok for report in replayed(solver, neighbors)[0])
    forgetful = ResidualMoment.prepare

    def remembers(self, block, point):  # a state kept beside the history: the printed algorithm
        self.bound = self.row_norm**2 * (1 + float(np.abs(block.x.data).sum()) / 1e6)
        return forgetful(self, block, point)

    monkeypatch.setattr(ResidualMoment, "prepare", remembers)
    assert not all(report.ok for report in replayed(solver, neighbors)[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounds": 0}, "rounds must be"),
        ({"rounds": 1.5}, "rounds must be"),
        ({"bias_share": 1.0}, "bias_share must lie"),
    ],
)
def test_impossible_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        FrankWolfeCompletion(**options)
