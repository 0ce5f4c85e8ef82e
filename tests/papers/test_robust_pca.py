"""Maunu, Yu & Lerman (2022) as printed, beside what is true: what docs/papers_errata.md rests on.

Everything is deterministic (seeds are fixed, and no outcome hangs on them).
"""

import math
import warnings

import numpy as np
import pytest

from veilspan import (
    PCA,
    Budget,
    SampledGaussianEvent,
    WeakGuaranteeWarning,
    calibrate_noise,
    epsilon_spent,
)
from veilspan.curator.rows import Block
from veilspan.nonprivate.diagnostics import ggd_stability, pca_stability
from veilspan.privacy.gdp import epsilon_of
from veilspan.privacy.spaces import SymmetricSpace
from veilspan.queries.subspace.reaper_gradient import ReaperGradient
from veilspan.solvers.subspace.reaper import project_capped_simplex


def unit_rows(n, d, seed=0):
    rows = np.random.default_rng(seed).standard_normal((n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_minibatch_noise_of_theorem_6_is_too_small_by_n_over_b():
    """Theorem 6: c_2 (B/N)^2 T log(1/delta) / (epsilon^2 N^2), c_2 = 1, as in Fig. 1."""
    n, batch, steps, epsilon, delta = 2000, 20, 2000, 0.8, 1 / math.sqrt(2000)
    std_of_mean = (batch / n) * math.sqrt(steps * math.log(1 / delta)) / (epsilon * n)
    printed = SampledGaussianEvent("step", batch / n, std_of_mean * batch, steps)
    assert epsilon_spent([printed], delta) > 100_000
    (needed,) = calibrate_noise(Budget(epsilon, delta), [printed])
    assert epsilon_spent([needed], delta) <= epsilon
    assert 50 < needed.noise_multiplier / printed.noise_multiplier < 400  # N / B is 100


def test_theorem_8_prints_noise_that_is_more_than_enough():
    """Theorem 8, c_2 B^2 T log(1/delta) / (epsilon^2 N^2), in the same setting; sqrt(2) apart."""
    n, batch, steps, epsilon, delta = 2000, 20, 2000, 0.8, 1 / math.sqrt(2000)
    std_of_mean = batch * math.sqrt(steps * math.log(1 / delta)) / (epsilon * n)
    one_row = ReaperGradient(1e-9).sensitivity("replace-one")
    printed = SampledGaussianEvent("step", batch / n, std_of_mean * batch / one_row, steps)
    assert epsilon_spent([printed], delta) == pytest.approx(0.0017, abs=2e-4)
    # Theorem 6 has the same variance times 1 / N^2, for another batch mean of the same length.


@pytest.mark.parametrize("size", [10, 50])
def test_the_proof_of_theorem_8_drops_the_size_of_the_noise(size):
    """Appendix B.4: E |B|^2 is sigma^2 M, M the number of entries, and the bound is without M."""
    std = 0.3
    squares = (std * np.random.default_rng(0).standard_normal((400, size, size))) ** 2
    energy = squares.sum(axis=(1, 2)).mean()
    assert energy == pytest.approx(std**2 * size**2, rel=0.02)
    # sqrt(2/T) R D with R^2 = 1 + energy, against the printed 1 + sigma^2.
    assert math.sqrt(1 + energy) > 0.25 * size * math.sqrt(1 + std**2)


def test_theorem_12_bounds_a_distance_and_not_its_square():
    """Theorem 12, S = 1 and an excess e: the nuclear norm is at most e, d = theta may be e/2.

    So d / e has a limit as e falls, and d^2 / e, the rate of Theorem 9, has none.
    """
    ratios, squares = [], []
    for excess in (1e-1, 1e-2, 1e-3):
        theta = math.asin(excess / 2)  # projections on lines theta apart: nuclear norm 2 sin theta
        turned = np.array([math.cos(theta), math.sin(theta)])
        gap = np.outer(turned, turned) - np.diag([1.0, 0])
        assert np.linalg.norm(gap, "nuc") == pytest.approx(excess)
        ratios.append(theta / excess)
        squares.append(theta**2 / excess)
    assert np.allclose(ratios, 0.5, rtol=1e-2)
    assert squares[-1] < squares[0] / 50


def test_theorem_10_is_about_one_lucky_table():
    """Theorem 10: a table meets (4.8) and its answer stays; for another one it moves."""
    truth = np.eye(3)[:1]
    lucky = np.vstack([np.tile(truth, (12, 1)), [[0, 1.0, 0]]])
    is_inlier = np.arange(13) < 12

    def leading(rows):
        return np.linalg.svd(rows)[2][0]

    for i in range(13):
        rest, mask = np.delete(lucky, i, axis=0), np.delete(is_inlier, i)
        assert pca_stability(rest, mask, truth, 0.75) > 0
        assert ggd_stability(rest, mask, truth, 0.75).lower > 0
        assert abs(leading(rest) @ truth[0]) == pytest.approx(1)  # the lucky table
    unlucky = unit_rows(13, 3)
    angles = [abs(leading(np.delete(unlucky, i, axis=0)) @ leading(unlucky)) for i in range(13)]
    # Certain under one table and impossible under its neighbour: no epsilon, whatever delta < 1.
    assert max(angles) < 1 - 1e-6


def test_subgradient_4_1_lacks_the_mean():
    """Eq. (4.1) is a sum over all rows, of a loss that is a mean."""
    rows, p = unit_rows(40, 4), 0.5 * np.eye(4)
    residuals = rows @ (np.eye(4) - p)
    weights = 1 / np.linalg.norm(residuals, axis=1)
    half = (residuals * weights[:, None]).T @ rows
    printed = -(half + half.T) / 2

    def loss(at):
        return np.linalg.norm(rows @ (np.eye(4) - at), axis=1).mean()

    rng = np.random.default_rng(1)
    for _ in range(5):
        move = rng.standard_normal((4, 4))
        move = (move + move.T) / 2
        slope = (loss(p + 1e-6 * move) - loss(p - 1e-6 * move)) / 2e-6
        assert np.sum(printed * move) == pytest.approx(40 * slope, rel=1e-6, abs=1e-8)
        assert np.sum(printed / 40 * move) == pytest.approx(slope, rel=1e-6, abs=1e-8)
    query, block = ReaperGradient(1e-9), Block(rows)
    ready = query.prepare(block, p)
    assert np.allclose(query.weighted_sum(ready, np.ones(40), p), printed)


def test_noise_of_a_mean_on_the_sum_of_4_1():
    """Appendix A: 32 T log^2(T/delta) / (epsilon^2 N^2), the noise of a mean, on the sum (4.1)."""
    n, epsilon = 2000, 0.8
    steps, delta = 2 * n, 1 / math.sqrt(n)
    std = math.sqrt(32 * steps) * math.log(steps / delta) / (epsilon * n)
    one_row = ReaperGradient(1e-9).sensitivity("replace-one")
    assert epsilon_of(math.sqrt(steps) * one_row / std, delta) > 600
    assert epsilon_of(math.sqrt(steps) * one_row / n / std, delta) < epsilon


def test_the_printed_start_is_not_feasible():
    """Algorithms 1 and 2, line 1: entries N(1, 0.01). The trace is near D^2 and must be r."""
    size, rank = 20, 2
    a = 1 + 0.1 * np.random.default_rng(2).standard_normal((size, size))
    start = a.T @ a
    assert np.trace(start) > 100 * rank
    assert np.linalg.eigvalsh(start)[-1] > 100  # must be at most 1
    values, vectors = np.linalg.eigh(start)
    repaired = (vectors * project_capped_simplex(values, rank)) @ vectors.T
    for feasible in (repaired, rank / size * np.eye(size)):
        found = np.linalg.eigvalsh(feasible)
        assert found.min() > -1e-9
        assert found.max() < 1 + 1e-9
        assert found.sum() == pytest.approx(rank)


def test_mirrored_iid_noise_is_more_than_a_symmetric_answer_needs():
    """Algorithms 1 and 2, line 4: B = B^T. What counts is the least variance over directions."""
    d = 4
    ours = np.array([SymmetricSpace(d).project(e).ravel() for e in np.eye(d * d)]).T
    upper = [(i, j) for i in range(d) for j in range(i, d)]
    mirrored = np.zeros((d * d, len(upper)))
    for k, (i, j) in enumerate(upper):
        mirrored[[i * d + j, j * d + i], k] = 1
    least, energy = {}, {}
    for name, sampler in (("printed", mirrored), ("ours", ours)):
        values = np.linalg.eigvalsh(sampler @ sampler.T)
        values = values[values > 1e-9]
        assert len(values) == d * (d + 1) // 2
        least[name], energy[name] = values[0], values.sum()
    assert least["printed"] == pytest.approx(1)  # as private ...
    assert least["ours"] == pytest.approx(1)
    assert energy["printed"] == pytest.approx(d * d)  # ... with up to twice the energy
    assert energy["ours"] == pytest.approx(d * (d + 1) / 2)


def test_delta_of_one_over_root_n_allows_publishing_rows():
    """Section 5.1, delta = 1/sqrt(N): publishing each of 2,000 rows with probability delta."""
    rows = unit_rows(2000, 3)
    assert len(rows) / math.sqrt(len(rows)) > 44
    with pytest.warns(WeakGuaranteeWarning, match="publishing a random row"):
        PCA(1, delta=1 / math.sqrt(len(rows)), allow_weak=True).fit(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakGuaranteeWarning)
        PCA(1, delta=1e-6).fit(rows)


def test_shares_in_b_14_are_exchanged():
    """Eq. (B.14): a share a of inliers (alpha_1) has E (1/m) X_in X_in^T = a Sigma_in."""
    share_in, cov_in = 0.8, np.diag([2.0, 1.0])
    root = np.sqrt(cov_in)
    # All outcomes of a batch of one row: in (both signs of both axes, equally likely) or out.
    corners = [np.sqrt(2) * sign * root[k] for k in range(2) for sign in (1, -1)]
    expected = sum(share_in / 4 * np.outer(x, x) for x in corners)
    assert np.allclose(expected, share_in * cov_in)
    assert not np.allclose(expected, (1 - share_in) * cov_in)  # as printed


def test_the_distance_is_one_minus_a_cosine():
    """The proof of Theorem 7 sets cos(theta_1) equal to d_r^2 = 1 - sigma_r(V^T V')."""
    v = np.eye(5)[:, :2]
    same = 1 - np.linalg.svd(v.T @ v)[1][-1]
    assert same == 0 != np.cos(0.0)
    turned = v @ np.diag([1, np.cos(0.3)]) + np.outer(np.eye(5)[2], [0, np.sin(0.3)])
    assert 1 - np.linalg.svd(v.T @ turned)[1][-1] == pytest.approx(1 - np.cos(0.3))


def test_theorem_1_bounds_the_wrong_ball():
    """Theorem 1: (3.1) holds for a small gamma, and PCA is further away than gamma."""
    weight = 0.95
    angle = np.arccos(-weight) / 2
    rows = np.array([[1.0, 0], np.sqrt(weight) * np.array([np.cos(angle), np.sin(angle)])])
    found = np.linalg.svd(rows)[2][0]
    gap = 1 - abs(found[0])
    gamma = 0.05
    assert 2 * np.sin(np.arccos(gamma)) * 1 - weight > 0  # so d_r^2 < 0.05 is promised
    assert gap > 0.15
    # Corrected: positive only if the ball d_r^2 < 1 - gamma holds the answer.
    arguments = rows, np.array([True, False]), np.eye(2)[:1]
    for gamma in (0.72, 0.8, 0.9, 0.99):
        assert pca_stability(*arguments, gamma) < 0 or gap < 1 - gamma
    assert pca_stability(*arguments, 1 - gap - 1e-3) > 0


def test_alignment_must_be_divided_by_all_rows():
    """Section 3.2, S_gamma: one outlier in 1,001 rows weighs as much as if all were outliers."""
    inliers = np.tile(np.eye(3)[:2], (500, 1))
    outlier = np.array([[0.6, 0, 0.8]])
    rows, mask = np.vstack([inliers, outlier]), np.arange(1001) < 1000
    ours = ggd_stability(rows, mask, np.eye(3)[:2], 0.9)
    assert ours.lower > 0
    alone = ggd_stability(outlier, np.array([False]), np.eye(3)[:2], 0.9)  # divided by one row
    printed = 0.9 * 500 / 1001 + alone.upper
    assert printed < 0  # "not stable", because of one row in 1,001
