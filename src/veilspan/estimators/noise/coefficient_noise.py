r"""Noise in the coefficients of a linear model, from public and released numbers alone.

A solver says how the noise of its answers comes out in theta
(:mod:`veilspan.solvers.linear.tables.noise_response`,
:mod:`veilspan.solvers.linear.tables.curve_noise`), given the curvature K of the objective.

* *Newton-like steps* have released a curvature: the covariance follows.
* *Descent* has released none. Along a direction of curvature a the variance is v(a), a public
  function that is largest at a = 0, where nothing pulls noise back, for all curvatures at which the
  descent is stable at all. v(0) is taken for all directions: bars are **at most** so wide, and
  often much less.
* *Objective perturbation* has released none, and without one noise may be anything up to s / lam,
  which says nothing: there are no bars, unless curvature was paid for (tables with a schema).

Coefficients in the user's units are a linear map of theta, J theta + c, so their noise has the
covariance J S J^T. What is *not* in it: that other people might have been in the table (sampling),
and the bias of clipping, of a filter and of stopping early. Everything here is post-processing of
released values and costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.queries.linear.row_scaling import RowScaling
from veilspan.solvers.linear.base import LinearResult
from veilspan.solvers.linear.tables.curve_noise import NewtonNoise
from veilspan.solvers.linear.tables.noise_response import DescentNoise, ObjectiveNoise

#: With more columns the matrix is not kept: it would dwarf the release.
MOST_COLUMNS = 500

EXACT = "by the released curvature"
AT_MOST = "at most: the curvature was not released, so the flattest direction is taken for all"
NO_CURVATURE = (
    "no error bars: the solver perturbs the objective, and how far its noise moves coefficients "
    'depends on a curvature that was not released. solver="newton" releases one.'
)
NOT_TOLD = (
    "no error bars: with this solver, penalty or loss the way from noise to coefficients is not "
    "known from released numbers."
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
    """

    covariance: np.ndarray | None
    reason: str


def find_coefficient_noise(row_map: RowScaling, result: LinearResult) -> CoefficientNoise:
    """What is known of the noise in the coefficients of a fit with one score.

    Parameters
    ----------
    row_map : RowScaling
        How rows were scaled.
    result : LinearResult
        What the solver found, and tells of its noise.
    """
    noise: Any = result.noise
    if noise is None or result.theta.ndim != 1:
        return CoefficientNoise(None, NOT_TOLD)
    if isinstance(noise, ObjectiveNoise):
        return CoefficientNoise(None, NO_CURVATURE)
    size = len(result.theta)
    if size > MOST_COLUMNS + 1:
        return CoefficientNoise(None, TOO_WIDE)
    if isinstance(noise, NewtonNoise):
        stand_in = np.diag(np.maximum(noise.diagonal, 0.0))
        spread, reason = noise.covariance(stand_in), EXACT
    elif isinstance(noise, DescentNoise):
        spread, reason = float(noise.variances(np.zeros(1))[0]) * np.eye(size), AT_MOST
    else:
        return CoefficientNoise(None, NOT_TOLD)
    moved, constant = row_map.user_coefficients(np.eye(size))
    jacobian = np.vstack([moved, constant[None, :]])
    return CoefficientNoise(jacobian @ spread @ jacobian.T, reason)
