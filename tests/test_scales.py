"""Public scales: one range, said before any row is read, and kept to inside of it."""

import numpy as np
import pytest

import veilspan as V
from curator.slack_of_sums import rounding_slack
from veilspan.curator.clipping import clip_weights
from veilspan.curator.rows import LARGEST_VALUE, Rows
from veilspan.geometry import Ball, Euclidean, Sphere
from veilspan.queries.moments import RowSum, SecondMoment
from veilspan.solvers.completion.als import ALSCompletion
from veilspan.solvers.completion.covariance import CovarianceCompletion
from veilspan.solvers.completion.frank_wolfe import FrankWolfeCompletion
from veilspan.solvers.completion.svd import SVDCompletion

SMALLEST, LARGEST = 1e-60, 1e60
REGRESSION = {"target_range": (-1.0, 1.0)}
LABELS = {"classes": [0, 1]}

# name: what is planned with a scale of a given size; plans read no row
SCALES = {
    "PCA row_norm": lambda s: V.PCA(1, row_norm=s).plan(50, 3),
    "RobustPCA row_norm": lambda s: V.RobustPCA(1, row_norm=s).plan(50, 3),
    "tracker row_norm": lambda s: V.SubspaceTracker(1, epsilon=1.0, row_norm=s).plan(3),
    "regression row_norm": lambda s: V.LinearRegression(**REGRESSION, row_norm=s).plan(50, 3),
    "feature_range": lambda s: V.LinearRegression(**REGRESSION, feature_range=(0, s)).plan(50, 3),
    "feature_range, classes": lambda s: V.LogisticRegression(**LABELS, feature_range=(-s, s)).plan(
        50, 3
    ),
    "target_range": lambda s: V.Ridge(target_range=(-s, s), row_norm=1.0).plan(50, 3),
    "intercept_scaling": lambda s: V.Ridge(**REGRESSION, row_norm=1.0, intercept_scaling=s).plan(
        50, 3
    ),
    "clip": lambda s: V.LinearRegression(**REGRESSION, row_norm=1.0, solver="gd", clip=s).plan(
        50, 3
    ),
    "C": lambda s: V.LogisticRegression(**LABELS, row_norm=1.0, C=s).plan(50, 3),
    "alpha": lambda s: V.Lasso(**REGRESSION, row_norm=1.0, alpha=s).plan(50, 3),
    "threshold": lambda s: V.HuberRegressor(**REGRESSION, row_norm=1.0, threshold=s).plan(50, 3),
    "radius": lambda s: V.FrechetMean(Euclidean(3), ball=Ball(Euclidean(3), np.zeros(3), s)).plan(
        50, 3
    ),
    "leading row_norm": lambda s: V.LeadingSubspace(Sphere(3), row_norm=s),
    "rating_range": lambda s: V.MatrixCompletion(rating_range=(0, s)).plan(50, 8),
    "covariance": lambda s: completion(CovarianceCompletion(row_norm=s)),
    "svd": lambda s: completion(SVDCompletion(row_norm=s)),
    "frank-wolfe": lambda s: completion(FrankWolfeCompletion(row_norm=s)),
    "als, ratings": lambda s: completion(ALSCompletion(rating_norm=s)),
    "als, factors": lambda s: completion(ALSCompletion(factor_norm=s)),
}


def completion(solver):
    return V.MatrixCompletion(rating_range=(0, 1), solver=solver).plan(50, 8)


@pytest.mark.parametrize("name", SCALES)
@pytest.mark.parametrize("scale", [1e-320, SMALLEST / 3, LARGEST * 3, 1e300])
def test_a_scale_outside_of_the_range_is_refused_before_any_row_is_read(name, scale):
    with pytest.raises(ValueError, match=r"1e-60|1e\+60"):
        SCALES[name](scale)


@pytest.mark.parametrize("name", sorted(set(SCALES) - {"C", "alpha", "clip", "threshold"}))
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_scales_of_any_unit_are_taken(name, scale):
    SCALES[name](scale)


def test_a_public_centre_out_of_range_is_refused():
    with pytest.raises(ValueError, match=r"center .* 1e\+60"):
        V.PCA(1, center=np.full(3, 1e61)).plan(50, 3)


def old_clip_weights(norms, bound):
    """As it was: bound / norm may be denormal, a number of a single bit."""
    with np.errstate(all="ignore"):
        weights = np.minimum(1.0, bound / norms)
    return np.where(np.isfinite(norms), weights, 0.0)


def moved(make, scale, relation):
    """How far one absurd row moves a sum, over sensitivity and slack."""
    usual = np.random.default_rng(0).standard_normal((50, 3)) * scale / 3
    worst = 0.0
    for size in (scale, 1e10 * scale, 1e130, 1e139, LARGEST_VALUE):
        tables = [np.vstack([usual, size * axis]) for axis in np.eye(3)[:2]]
        if relation == "add-remove":
            tables[1] = usual
        first, second = (Rows(table) for table in tables)
        query = make(scale)
        space = query.space(3, None)
        sums = [each.clipped_sum(query, None, space) for each in (first, second)]
        allowed = query.sensitivity(relation) + rounding_slack(first, query, None, relation)
        worst = max(worst, float(np.linalg.norm(sums[0] - sums[1])) / allowed)
    return worst


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("make", [SecondMoment, RowSum])
@pytest.mark.parametrize("scale", [SMALLEST, 1e-23, 1.6e-23, 1e-20, 1e-13, 1.0, LARGEST])
def test_no_row_moves_a_sum_further_than_declared_whatever_the_scale(make, scale, relation):
    assert moved(make, scale, relation) <= 1.0


def test_denormal_weights_are_seen(monkeypatch):
    """The broken twin: the row of 1e139 under a bound of 1.6e-23."""
    monkeypatch.setattr("veilspan.curator.rows.clip_weights", old_clip_weights)
    assert moved(SecondMoment, 1.6e-23, "replace-one") > 1.2


def test_clipped_norms_stay_within_the_bound_for_every_norm_that_float64_has():
    norms = np.concatenate([2.0 ** np.arange(-1074, 1024), [0.0, np.inf, np.nan, 1.7e308]])
    for bound in (1e-140, 1e-120, 3e-46, 1.0, 7e119, 1e140):
        weights = clip_weights(norms, bound)
        finite = np.isfinite(norms)
        assert (weights[~finite] == 0).all()
        assert ((weights == 0) | (weights >= 2.0**-1022)).all()
        with np.errstate(all="ignore"):
            assert (weights[finite] * norms[finite] <= bound * (1 + 1e-15)).all()
        assert (weights[norms < bound] == 1).all()


def test_weights_fall_to_zero_without_a_jump():
    """Relative steps of 1e-6 in the norm move a clipped norm by 1.1e-6 of the bound at most."""
    bound = 1e-40
    norms = bound * 2.0**995 * np.exp(np.arange(0, 22, 1e-6))
    clipped = clip_weights(norms, bound) * norms / bound
    assert clipped[0] == pytest.approx(1.0)
    assert clipped[-1] == 0
    assert np.abs(np.diff(clipped)).max() <= 1.1e-6
