import inspect

import numpy as np
import pytest

from veilspan.datasets import make_haystack
from veilspan.metrics import largest_angle_gap
from veilspan.nonprivate import diagnostics
from veilspan.nonprivate.diagnostics import (
    alignment,
    ggd_stability,
    pca_stability,
    permeance,
    reaper_alignment,
    reaper_permeance,
    reaper_stability,
)

EASY = [{"inlier_share": 0.9}, {"inlier_share": 0.5}, {"inlier_share": 0.95, "outliers": "cone"}]
HARD = [{"inlier_share": 0.3, "outliers": "line"}, {"inlier_share": 0.4, "outliers": "cone"}]


def arguments(size=(1000, 20, 2), seed=1, **kwargs):
    data = make_haystack(*size, random_state=seed, **kwargs)
    return data.rows, data.is_inlier, data.subspace


@pytest.mark.parametrize("kwargs", EASY, ids=str)
def test_easy_problems_are_proven_stable(kwargs):
    args = arguments(**kwargs)
    assert ggd_stability(*args, 0.9, n_tries=20).lower > 0
    assert pca_stability(*args, 0.9) > 0
    assert reaper_stability(*args).lower > 0


@pytest.mark.parametrize("kwargs", HARD, ids=str)
def test_hard_problems_are_proven_unstable(kwargs):
    args = arguments(**kwargs)
    assert ggd_stability(*args, 0.9, n_tries=50).upper < 0
    assert pca_stability(*args, 0.9) < 0
    assert reaper_stability(*args).upper < 0


def test_few_inliers_are_an_open_case():
    """Neither bound decides, and the sufficient conditions of PCA and REAPER fail."""
    args = arguments(inlier_share=0.1)
    low, high = ggd_stability(*args, 0.9, n_tries=20)
    assert low < 0 < high
    assert pca_stability(*args, 0.9) < 0
    assert reaper_stability(*args).upper < 0


def gradient(x, components):
    """The printed formula, row by row, with the sign that descends."""
    total = np.zeros((x.shape[1], len(components)))
    rest = np.eye(x.shape[1]) - components.T @ components
    for row in x:
        size = np.linalg.norm(rest @ row)
        if size > 0:
            total += np.outer(rest @ row, row @ components.T) / size
    return np.linalg.norm(total, 2)


@pytest.mark.parametrize("seed", range(4))
def test_alignment_against_every_line_of_the_plane(seed):
    """The search of the lower bound stops in local maxima: 2 % are granted, none is used here."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((40, 2)) + rng.normal(size=2)
    is_inlier = np.arange(40) < 5
    angles = np.linspace(0, np.pi, 4001)
    truth = max(
        gradient(x[~is_inlier], np.array([[np.cos(t), np.sin(t)]])) for t in angles[::4]
    ) / len(x)
    low, high = alignment(x, is_inlier, np.eye(2)[:1])
    assert 0.98 * truth <= low <= high
    assert high >= truth


@pytest.mark.parametrize("r", [1, 2])
def test_alignment_against_many_subspaces_of_space(r):
    rng = np.random.default_rng(r)
    x = rng.standard_normal((50, 3))
    x[:20] += 2
    is_inlier = np.arange(50) >= 45
    truth = max(
        gradient(x[~is_inlier], np.linalg.qr(rng.standard_normal((3, r)))[0].T) for _ in range(300)
    ) / len(x)
    low, high = alignment(x, is_inlier, np.eye(3)[:r])
    assert 0.95 * truth <= low <= high
    assert high >= truth


def test_permeance_by_hand():
    x = np.array([[3.0, 0, 0], [0, 4, 0], [0, 0, 5]])
    is_inlier = np.array([True, True, False])
    assert permeance(x, is_inlier, np.eye(3)[:2]) == pytest.approx(1)  # diag(3, 4) / 3
    assert reaper_permeance(x, is_inlier, np.eye(3)[:2]).lower == pytest.approx(1)
    assert reaper_alignment(x, is_inlier, np.eye(3)[:2]) == pytest.approx(5 / 3)
    low, high = reaper_stability(x, is_inlier, np.eye(3)[:2])
    assert low == high == pytest.approx(1 / (4 * np.sqrt(2)) - 5 / 3)


@pytest.mark.parametrize("seed", range(5))
def test_reaper_permeance_of_a_plane_is_exact(seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((30, 2)) * [1, 0.3]
    x[3] = 0
    angles = np.linspace(0, np.pi, 20_001)
    truth = np.abs(x @ [np.cos(angles), np.sin(angles)]).sum(axis=0).min() / 30
    low, high = reaper_permeance(x, np.ones(30, dtype=bool), np.eye(2))
    assert low == high
    assert low == pytest.approx(truth, rel=1e-4)  # angles of 1.6e-4
    assert low <= truth + 1e-12


def test_reaper_permeance_in_three_dimensions_is_bracketed():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 3)) * [1, 0.5, 0.2]
    u = rng.standard_normal((3, 200_000))
    truth = np.abs(x @ (u / np.linalg.norm(u, axis=0))).sum(axis=0).min() / 60
    low, high = reaper_permeance(x, np.ones(60, dtype=bool), np.eye(3))
    assert low <= high <= truth * 1.001


def test_one_dimension_needs_no_search():
    x = np.array([[1.0, 0], [-2, 0], [0, 3]])
    low, high = reaper_permeance(x, np.array([True, True, False]), np.eye(2)[:1])
    assert low == high == pytest.approx(1)


def worst_plane(weight):
    """One inlier of weight 1 and an outlier of the given weight where it turns PCA most."""
    angle = np.arccos(-weight) / 2
    return np.array([[1.0, 0], np.sqrt(weight) * np.array([np.cos(angle), np.sin(angle)])])


@pytest.mark.parametrize("weight", [0.3, 0.7, 0.95])
def test_pca_stability_is_sharp_where_the_printed_one_promises_too_much(weight):
    rows, is_inlier, truth = worst_plane(weight), np.array([True, False]), np.eye(2)[:1]
    found = np.linalg.svd(rows)[2][:1]
    angle = np.arcsin(weight) / 2
    assert largest_angle_gap(truth, found) == pytest.approx(1 - np.cos(angle))
    # Positive exactly for balls that hold the answer.
    assert pca_stability(rows, is_inlier, truth, np.cos(angle * 1.001)) > 0
    assert pca_stability(rows, is_inlier, truth, np.cos(angle * 0.999)) < 0
    # The printed statistic accepts a ball that does not.
    assert pca_stability(rows, is_inlier, truth, np.cos(angle * 0.999), as_printed=True) > 0


def test_pca_stability_keeps_its_promise():
    for seed in range(40):
        share = 0.5 + seed / 100
        kind = ["isotropic", "line", "subspace", "cone"][seed % 4]
        rows, is_inlier, truth = arguments((200, 6, 2), seed, inlier_share=share, outliers=kind)
        found = np.linalg.svd(rows, full_matrices=False)[2][:2]
        for gamma in (0.72, 0.8, 0.9, 0.99):
            if pca_stability(rows, is_inlier, truth, gamma) > 0:
                assert largest_angle_gap(truth, found) < 1 - gamma


def test_no_outliers():
    args = arguments((50, 5, 2), inlier_share=1.0)
    assert alignment(*args) == (0, 0)
    assert reaper_alignment(*args) == 0
    assert ggd_stability(*args, 0.5).lower == pytest.approx(0.5 * permeance(*args))


def test_nonsense_is_refused():
    rows, is_inlier, truth = arguments((50, 5, 2))
    for gamma in (0.0, 1.0, np.nan):
        with pytest.raises(ValueError, match="gamma"):
            ggd_stability(rows, is_inlier, truth, gamma)
    with pytest.raises(ValueError, match="45 degrees"):
        pca_stability(rows, is_inlier, truth, 0.5)
    for bad in (
        (rows[0], is_inlier, truth),
        (rows, is_inlier.astype(int), truth),
        (rows, is_inlier[1:], truth),
        (rows, is_inlier, truth[:, 1:]),
        (rows, is_inlier, 2 * truth),
    ):
        with pytest.raises(ValueError):
            permeance(*bad)


def test_nothing_here_is_called_private():
    assert "no guarantee of privacy" in diagnostics.__doc__
    assert "no statement about privacy" in inspect.getmodule(permeance).__doc__
