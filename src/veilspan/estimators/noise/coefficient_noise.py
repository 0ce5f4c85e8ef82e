r"""Noise in the coefficients of a linear model, from public and released numbers alone.

A solver says how the noise of its answers comes out in theta
(:mod:`veilspan.solvers.linear.tables.noise_response`,
:mod:`veilspan.solvers.linear.tables.curve_noise`), given the curvature K of the objective.

* *Newton-like steps* have released a curvature: the covariance follows. Of several classes the
  matrix is an upper end alone, so that bars are at most so wide, as for descent.
* *Moments* that were released once tell it too, for every convex penalty
  (:mod:`veilspan.solvers.linear.tables.moments_noise`).
* *Descent* has released none. Along a direction of curvature a the variance is v(a), a public
  function that is largest at a = 0, where nothing pulls noise back, for all curvatures at which the
  descent is stable at all. v(0) is taken for all directions: bars are **at most** so wide, and
  often much less.
* *Objective perturbation* has released none, and without one noise may be anything up to s / lam,
  which says nothing: there are no bars, unless curvature was paid for (tables with a schema).

Coefficients in the user's units are a linear map of theta, J theta + c, so their noise has the
covariance J S J^T. What is *not* in it: that other people might have been in the table, which is
:mod:`veilspan.estimators.noise.coefficient_sampling`, and the bias of clipping, of a filter and of
stopping early. Everything here is post-processing of released values and costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veilspan.estimators.noise.coefficient_sampling import NO_SAMPLING, find_sampling
from veilspan.queries.linear.asked.curvature_diagonal import STEEP, share_of_curvature
from veilspan.queries.linear.row_scaling import RowScaling
from veilspan.solvers.linear.asked.curvature import loss_minimised
from veilspan.solvers.linear.base import LinearResult
from veilspan.solvers.linear.tables.curve_noise import NewtonNoise
from veilspan.solvers.linear.tables.moments_noise import MomentsNoise
from veilspan.solvers.linear.tables.noise_response import DescentNoise, ObjectiveNoise

#: With more columns the matrix is not kept: it would dwarf the release.
MOST_COLUMNS = 500
#: Rows that are made up to see how much a loss bends: enough for a per cent or two.
MADE_UP = 4000

EXACT = "by the released curvature"
AT_MOST = "at most: how far rows pull noise back was not released, so the flattest is taken for all"
NO_CURVATURE = (
    "no error bars: the solver perturbs the objective, and how far its noise moves coefficients "
    'depends on a curvature that was not released. solver="newton" releases one.'
)
MOMENTS = "by the released moments"
BENT = "at most, for all coefficients at once: the penalty bends the way, and never lengthens it"
SEVERAL = (
    "at most: of several classes the curvature was not released, so noise is taken to be pulled "
    "back nowhere"
)
NOT_TOLD = (
    "no error bars: with this solver, penalty or loss the way from noise to coefficients is not "
    'known from released numbers. For least squares with a penalty, solver="statistics" releases '
    "moments that tell it."
)
NO_INVERSE = (
    "no error bars: released numbers hold so much noise that no covariance follows from them. The "
    "coefficients are what they are."
)
TOO_WIDE = f"no error bars: they are kept for up to {MOST_COLUMNS} columns."


@dataclass(frozen=True)
class CoefficientNoise:
    """Covariance of the noise in coefficients and intercept, or why there is none.

    Attributes
    ----------
    covariance : array of shape (p + 1, p + 1) or None
        Of the coefficients, the intercept last, in units of encoded targets.
    reason : str
        How it is known, or why it is not.
    sampling : array of shape (p + 1, p + 1) or None
        Covariance over other people, alike.
    sampling_told : str
        What it takes for granted, or why there is none.
    """

    covariance: np.ndarray | None
    reason: str
    sampling: np.ndarray | None = None
    sampling_told: str = NO_SAMPLING


def find_coefficient_noise(row_map: RowScaling, result: LinearResult) -> CoefficientNoise:
    """What is known of the noise in the coefficients of each score of a fit.

    The fit has been charged: where algebra of noisy matrices fails, it has no bars, and is kept.

    Parameters
    ----------
    row_map : RowScaling
        How rows were scaled.
    result : LinearResult
        What the solver found, and tells of its noise.
    """
    try:
        return _find_noise(row_map, result)
    except np.linalg.LinAlgError:
        return CoefficientNoise(None, NO_INVERSE)


def _find_noise(row_map: RowScaling, result: LinearResult) -> CoefficientNoise:
    noise: Any = result.noise
    spread: Any  # of theta; one number stands for that variance in every direction
    if noise is None:
        return CoefficientNoise(None, NOT_TOLD)
    if isinstance(noise, ObjectiveNoise):
        return CoefficientNoise(None, NO_CURVATURE)
    size = len(result.theta)
    if size > MOST_COLUMNS + 1:
        return CoefficientNoise(None, TOO_WIDE)
    scores = 1 if result.theta.ndim == 1 else result.theta.shape[1]
    if isinstance(noise, NewtonNoise) and not noise.exact:
        spread, reason = noise.at_most(scores), SEVERAL if scores > 1 else AT_MOST
    elif isinstance(noise, NewtonNoise):
        spread, reason = _by_curvature(row_map, result, noise), EXACT
    elif isinstance(noise, MomentsNoise):
        spread, reason = noise.covariance(), MOMENTS if noise.exact else BENT
    elif isinstance(noise, DescentNoise):
        spread, reason = noise.unopposed, AT_MOST
    else:
        return CoefficientNoise(None, NOT_TOLD)
    moved, constant = row_map.user_coefficients(np.eye(size))
    jacobian = np.concatenate([moved, constant[None, :]])
    sampling, told = find_sampling(noise)
    if sampling is not None:
        sampling = jacobian @ sampling @ jacobian.T
    spread_out = spread * jacobian if isinstance(spread, float) else jacobian @ spread
    return CoefficientNoise(spread_out @ jacobian.T, reason, sampling, told)


def _by_curvature(row_map: RowScaling, result: LinearResult, noise: NewtonNoise) -> np.ndarray:
    """Covariance of the noise in theta by the released matrix, and by where scores bend the loss.

    The logistic loss bends less the larger a score is, so least along theta itself. How much less
    is asked of rows made up: normal ones of the released matrix, at the released theta.
    """
    stand_in = np.diag(np.maximum(noise.diagonal, 0.0))
    loss = loss_minimised(noise.loss, result) if noise.loss is not None else None
    if loss is None or loss.name not in STEEP or not loss.margin:
        return noise.covariance(stand_in)
    noise = replace(noise, steps=noise.steps.last(noise.averaged))

    def bend(moment: np.ndarray) -> np.ndarray:
        rows = _make_up_rows(moment / loss.smoothness, row_map.intercept > 0)
        scores = rows @ result.theta
        chances = 1.0 / (1.0 + np.exp(-np.clip(scores, -30.0, 30.0)))
        labels = np.where(np.random.default_rng(1).random(len(rows)) < chances, 1.0, -1.0)
        lengths = np.linalg.norm(rows, axis=1)
        shares = share_of_curvature(loss, scores, labels, lengths, noise.clip)
        return np.asarray(loss.smoothness * (rows.T * shares) @ rows / len(rows))

    return noise.covariance(stand_in, bend)


def _make_up_rows(moment: np.ndarray, constant: bool) -> np.ndarray:
    """Normal rows in the unit ball with this second moment, the last column constant if one is."""
    size = len(moment)
    middle = np.zeros(size)
    if constant:
        middle = moment[:, -1] / np.sqrt(max(moment[-1, -1], 1e-12))
    values, vectors = np.linalg.eigh(moment - np.outer(middle, middle))
    made = np.random.default_rng(0).standard_normal((MADE_UP, size))
    rows = middle + made * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1), 1.0)[:, None])
