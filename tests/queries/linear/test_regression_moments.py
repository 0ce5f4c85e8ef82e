"""Sufficient statistics of least squares: the contract, the sensitivities, their noise."""

import math

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize_scalar

from veilspan import check_query
from veilspan.curator.check_query import QueryCheckError, adversarial_rows
from veilspan.curator.rows import Block, clipped_block_sum
from veilspan.queries.linear.regression_moments import RegressionMoments, best_weight


def with_targets(rng, count):
    rows = adversarial_rows(rng, 3).x
    rows = np.concatenate([rows, rows])
    return Block(rows, rng.choice([-1.0, 1.0, 0.0, 0.4, 1e9, -7.0], len(rows)))


def slow(row, point):
    x, y = row.x[0], float(np.clip(row.y[0], -1, 1))
    x = x / max(1.0, np.linalg.norm(x))
    return np.array([[a * b for b in x] for a in x]), x * y


@pytest.mark.parametrize("weight", [0.2, 0.6, 1.0])
def test_the_contract_of_queries(weight):
    query = RegressionMoments(weight)
    report = check_query(query, 3, reference=slow, make_rows=with_targets)
    assert report.add_remove > 0.999
    assert report.replace_one > 0.999


@pytest.mark.parametrize("weight", [0.1, 0.5, 1.0])
def test_the_sensitivity_under_replace_one_is_met(weight):
    query = RegressionMoments(weight)
    turn = math.acos(-(weight**2))
    rows = np.array([[1.0, 0.0], [math.cos(turn), math.sin(turn)]])
    space = query.space(2, None)
    one, two = (
        space.embed(clipped_block_sum(query, Block(rows[[i]], np.ones(1)), None)) for i in (0, 1)
    )
    assert np.linalg.norm(one - two) == pytest.approx(query.sensitivity("replace-one"))


class ForgetsTheTarget(RegressionMoments):
    """Declares what the Gram matrix alone would need."""

    def sensitivity(self, neighbors):
        return math.sqrt(2) if neighbors == "replace-one" else 1.0


class TrustsTargets(RegressionMoments):
    """Leaves targets as they are: the clip keeps add-remove, but not sqrt(2) (1 + w^2)."""

    def prepare(self, block, point):
        prepared = super().prepare(block, point)
        object.__setattr__(prepared, "y", block.y)
        return prepared


@pytest.mark.parametrize("broken", [ForgetsTheTarget, TrustsTargets])
def test_broken_copies_are_caught(broken):
    with pytest.raises(QueryCheckError, match="sensitivity"):
        check_query(broken(0.6), 3, make_rows=with_targets)


def test_sparse_rows_give_the_same_sums():
    rng = np.random.default_rng(0)
    x = np.where(rng.random((9, 4)) < 0.5, rng.standard_normal((9, 4)), 0.0)
    y = rng.uniform(-1, 1, 9)
    query = RegressionMoments(0.5)
    dense = clipped_block_sum(query, Block(x, y), None)
    thin = clipped_block_sum(query, Block(sparse.csr_array(x), y), None)
    for one, two in zip(dense, thin):
        np.testing.assert_allclose(one, two, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
@pytest.mark.parametrize("length", [0.7, 3.0, 20.0])
def test_the_weight_has_the_least_noise(neighbors, length):
    def noise(v):
        return RegressionMoments(math.sqrt(v)).sensitivity(neighbors) ** 2 * (length**2 + 1 / v)

    found = minimize_scalar(noise, bounds=(1e-4, 2.0), method="bounded", options={"xatol": 1e-8})
    best = best_weight(length, neighbors) ** 2
    assert noise(best) <= found.fun * (1 + 1e-7)
    for other in (length / 2, length * 2):
        assert math.sqrt(noise(best_weight(other, neighbors) ** 2) / noise(best)) < 1.06


def test_targets_are_needed():
    with pytest.raises(ValueError, match="needs targets"):
        RegressionMoments(0.5).prepare(Block(np.eye(3)), None)
    with pytest.raises(ValueError, match="weight must be"):
        RegressionMoments(0.0)
