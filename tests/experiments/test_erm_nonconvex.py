"""Section 6 of the paper on linear models: a tiny run, and what its shortcuts rest on."""

import json
import math

import numpy as np
import pytest

from experiments.erm import costs, nonconvex
from veilspan.curator.curator import Curator
from veilspan.curator.rows import Rows
from veilspan.losses.penalties import NoPenalty
from veilspan.privacy.budget import Budget
from veilspan.privacy.noise import noise_source
from veilspan.privacy.plan import Plan
from veilspan.solvers.linear.base import LinearProblem
from veilspan.solvers.linear.gradient_descent import GradientDescent


def test_a_tiny_run_writes_its_files(tiny_job):
    job = tiny_job("erm-nonconvex")
    nonconvex.run(job)
    record = json.loads(job.file("json").read_text())
    assert job.file("png").stat().st_size > 10_000
    assert len(record["claims"]) == 5
    assert {"pl_rows", "random_columns"} <= set(record["facts"]["powers"])
    assert record["costs"][0]["true"] > 1.0 == record["costs"][0]["claimed"]


def test_the_noise_is_private_and_exact_at_the_largest_epsilon():
    for epsilon in (0.5, 1.0, nonconvex.LARGEST):
        exact = 2 * nonconvex.LOSS.slope_bound * math.sqrt(50) / (1000 * Budget(epsilon, 1e-6).mu)
        used = nonconvex.noise_of(1000, epsilon, 50)
        assert used >= exact * (1 - 1e-9)
        if epsilon == nonconvex.LARGEST:
            assert used == pytest.approx(exact)
    assert costs.constant(0.5) < costs.constant(1.0) < costs.constant(nonconvex.LARGEST)


def test_the_descent_is_that_of_the_public_solver():
    """Without noise step by step; with noise the library draws as much of it."""
    rows, y, _ = nonconvex.rows_of(300, 4, 0)
    _, ends, _ = nonconvex.descend(rows, y, 7, 0.0, 1, np.random.default_rng(0))
    task = LinearProblem(nonconvex.LOSS, NoPenalty(), 4, 300, None, False)
    bound = nonconvex.LOSS.slope_bound
    solver = GradientDescent(steps=7, step=1.0, clip=bound, output="last", tolerance=0.0)
    for epsilon in (math.inf, nonconvex.LARGEST):
        budget = Budget(epsilon, 1e-6)
        events = solver.prepare(task, budget, "replace-one").events
        plan = Plan(
            method="test", budget=budget, neighbors="replace-one", n_rows=300, n_features=4,
            events=events,
        )  # fmt: skip
        found = solver.run(Curator(Rows(rows, y), plan, noise_source(0)), task)
        if math.isinf(epsilon):
            np.testing.assert_allclose(found.theta, ends[:, 0], atol=1e-9)
        else:
            std = nonconvex.noise_of(300, epsilon, 7)
            assert found.trace[0]["noise_std"] == pytest.approx(std, rel=1e-3)


def test_a_pl_constant_is_that_of_a_parabola(monkeypatch):
    """F = |theta|^2 / 2 has mu = 1 everywhere."""
    thetas = np.random.default_rng(0).standard_normal((3, 5))
    monkeypatch.setattr(nonconvex, "risks", lambda rows, y, t: 0.5 * np.sum(t**2, axis=0))
    assert nonconvex.pl_constant(None, None, thetas, thetas, 0.0) == pytest.approx(1.0)


def test_two_lines_have_two_minima():
    rows, y, truth = nonconvex.rows_of(4000, 5, 0, nonconvex.OPPOSITE)
    both = nonconvex.polish(rows, y, np.column_stack([truth, -truth]))
    assert np.abs(nonconvex.slopes_of(rows, y, both)).max() < 1e-6
    assert both[:, 0] @ both[:, 1] < 0
