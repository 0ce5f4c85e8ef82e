"""Rates of DP-RSVRG: a tiny run, and formulas on many seeds beside those of the library."""

import json
import math

import numpy as np
import pytest

from experiments.riemannian import rate_runs, rates
from veilspan import Budget, geometry


def test_a_tiny_run_writes_its_files(tiny_job):
    job = tiny_job("riemannian-rates")
    rates.run(job)
    record = json.loads(job.file("json").read_text())
    assert job.file("png").stat().st_size > 10_000
    words = [claim["claim"].split(" ")[:2] for claim in record["claims"]]
    assert words[:4] == [["Claim", "5:"], ["Theorem", "6"], ["Theorem", "7"], ["Theorem", "8"]]
    assert all(cost["true"] > cost["claimed"] for cost in record["costs"])


@pytest.mark.parametrize(
    ("kind", "manifold"),
    [(rate_runs.Hyperboloid, geometry.Lorentz(5)), (rate_runs.Sphere, geometry.Sphere(5))],
)
def test_formulas_are_those_of_the_library(kind, manifold):
    problem, rng = kind(50, 4, 0), np.random.default_rng(0)
    start = problem.start(3)
    tangent = 0.3 * problem.noise(start, rng)
    ends = problem.exp(start, tangent)
    carried = problem.carry(start, ends, tangent)
    for a, b, v, c in zip(start, ends, tangent, carried):
        np.testing.assert_allclose(manifold.exp(a, v), b, atol=1e-9)
        np.testing.assert_allclose(manifold.transport(a, b, v), c, atol=1e-9)
    singles = np.stack([problem.gradients(ends, np.full(3, k)) for k in range(50)])
    np.testing.assert_allclose(singles.mean(axis=0), problem.mean_gradient(ends), atol=1e-9)
    lengths = [math.sqrt(manifold.inner(b, g, g)) for row in singles for b, g in zip(ends, row)]
    assert max(lengths) <= problem.clip
    # The gradient is the derivative of the excess.
    step = 1e-5 * problem.noise(ends, rng)
    change = (
        problem.excess(problem.exp(ends, step)) - problem.excess(problem.exp(ends, -step))
    ) / 2
    slope = [manifold.inner(b, g, s) for b, g, s in zip(ends, problem.mean_gradient(ends), step)]
    np.testing.assert_allclose(change, slope, atol=1e-9)


@pytest.mark.parametrize("kind", [rate_runs.Hyperboloid, rate_runs.Sphere])
def test_without_noise_both_methods_arrive(kind):
    problem, rng = kind(40, 3, 0), np.random.default_rng(0)
    start = problem.start(2)
    ends, squares = rate_runs.rgd(problem, start, 0.5, 200, 0.0, rng)
    assert problem.excess(ends).max() < 1e-8
    assert squares.min() > 0
    ends, chosen, _ = rate_runs.rsvrg(problem, start, 0.1, 40, 40, 0.0, rng)
    assert problem.excess(ends).max() < 1e-6
    assert (problem.excess(chosen) > -1e-12).all()


def test_a_row_that_is_drawn_is_seen():
    """One step of a table of one row is a plain Gaussian: epsilon near its loss or above."""
    assert rates.counted_epsilon(1, 1, 0.01) == pytest.approx(5000)
    assert rates.counted_epsilon(1000, 3000, 0.01) > 10 * 5000


def test_the_noise_of_dp_rgd_is_private():
    for epsilon in (0.25, 1.0, rate_runs.LARGEST):
        exact = 2 * 0.5 * math.sqrt(7) / (100 * Budget(epsilon, 1e-6).mu)
        assert rate_runs.exact_std(100, epsilon, 7, 0.5) >= exact * (1 - 1e-9)
