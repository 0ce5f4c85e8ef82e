import math

import numpy as np
import pytest

from solvers.completion.cases import asked, prepare, problem, shares
from veilspan.queries.completion.rating_rows import RatingRule
from veilspan.solvers.completion.base import choose_row_norm
from veilspan.solvers.completion.by_name import SOLVERS, completion_solver
from veilspan.solvers.completion.covariance import (
    CovarianceCompletion,
    decompose_off_diagonal,
    keep_factors_above_noise,
)


def symmetric_noise(rng, n, std):
    entries = std * rng.standard_normal((n, n))
    return (entries + entries.T) / 2


@pytest.mark.parametrize("rank", [1, 3])
def test_the_diagonal_plays_no_part(rank):
    rng = np.random.default_rng(rank)
    factors = rng.standard_normal((60, rank))
    matrix = factors @ factors.T + np.diag(rng.uniform(-500, 500, 60))
    values, vectors = decompose_off_diagonal(matrix, rank, 60)
    np.testing.assert_allclose(
        (vectors.T * values) @ vectors, factors @ factors.T, rtol=0, atol=1e-10
    )


def test_inflation_is_removed_as_the_spiked_model_says():
    """Two spikes at 2 and 4 times the root of n s^2 / 2; deviations are of order n^-1/2."""
    rng = np.random.default_rng(0)
    n, std = 1500, 0.7
    half = math.sqrt(n * std**2 / 2)
    spikes = np.array([4.0, 2.0]) * half
    basis = np.linalg.qr(rng.standard_normal((n, 2)))[0]
    noisy = (basis * spikes) @ basis.T + symmetric_noise(rng, n, std)
    values, vectors = np.linalg.eigh(noisy)
    found = keep_factors_above_noise(values[::-1][:2], vectors.T[::-1][:2], std)
    power = spikes * (1 - half**2 / spikes**2)
    lengths = np.sum(found**2, axis=0) / n
    np.testing.assert_allclose(lengths, power / power[0], rtol=0.1)


def test_pure_noise_has_no_factors():
    rng = np.random.default_rng(1)
    kept = []
    for _ in range(20):
        values, vectors = np.linalg.eigh(symmetric_noise(rng, 200, 3.0))
        kept.append(keep_factors_above_noise(values[::-1][:5], vectors.T[::-1][:5], 3.0).shape[1])
    # The largest eigenvalue fluctuates around the edge: one factor in 20 tables of this seed.
    assert np.mean(kept) <= 0.2
    assert keep_factors_above_noise(np.zeros(2), np.eye(2, 5), 0.0).shape == (5, 0)
    assert keep_factors_above_noise(np.array([-1.0]), np.eye(1, 5), 0.0).shape == (5, 0)


def test_shares_are_planned_as_said():
    both = prepare(CovarianceCompletion(bias_share=0.2), problem())
    assert asked(both) == [("item statistics", 1), ("covariance", 1)]
    assert shares(both) == pytest.approx([0.2, 0.8])
    bias = prepare(CovarianceCompletion(bias_share=1.0), problem())
    assert asked(bias) == [("item statistics", 1)]


@pytest.mark.parametrize("share", [0.0, -0.1, 1.5])
def test_bad_shares(share):
    with pytest.raises(ValueError, match="bias_share"):
        prepare(CovarianceCompletion(bias_share=share), problem())


def test_too_many_items_are_refused_before_anything_is_asked():
    with pytest.raises(ValueError, match="30000 items"):
        prepare(CovarianceCompletion(), problem(30_000))
    prepare(CovarianceCompletion(bias_share=1.0), problem(30_000))


def test_the_norm_scales_with_the_ratings():
    wide = problem(rule=RatingRule(-10.0, 10.0, 20))
    assert choose_row_norm(wide) == pytest.approx(5 * choose_row_norm(problem()))
    assert choose_row_norm(problem(n_items=5)) == pytest.approx(choose_row_norm(problem()) / 2)


def test_solvers_by_name():
    assert isinstance(completion_solver("covariance"), CovarianceCompletion)
    for name in SOLVERS:
        assert prepare(completion_solver(name), problem()).events
    with pytest.raises(ValueError, match="solver must be one of auto"):
        completion_solver("magic")
    with pytest.raises(TypeError, match="lacks name, prepare, run"):
        completion_solver(3)
