r"""How the noise of a solver's answers comes out in theta, given the curvature of the objective.

Near what a solver ends at, the gradient of the sum of losses is K (theta - theta*), K the Hessian.
Then theta is theta* plus a linear function of the noise, whose size is public:

* *Objective perturbation* tilts by b of std s in every coordinate: -(K + lam)^-1 b.
* *Descent* with steps of size e and momentum m, noise of std s_t in the mean gradient of step t.
  Along an eigenvector of K / n with eigenvalue a, noise of step t moves later iterates by

      h_0 = -e,   h_(k+1) = (1 - e a) (h_k + m (h_k - h_(k-1))),   h_(-1) = 0,

  and the mean of the last j of T iterates by c_t, the mean of those h that belong to them: the
  variance is sum_t (c_t s_t)^2.

K comes from answers that were paid for (:mod:`veilspan.queries.linear.asked.curvature_diagonal` and
:mod:`veilspan.solvers.linear.tables.made_up_rows`); all of this is post-processing. What is *not*
in it: sampling (that other people might have been in the table), bias of caps, of few waves and of
stopping early.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from veilspan._threads import threads_for
from veilspan.queries.linear.asked.curvature_diagonal import STEEP

if TYPE_CHECKING:
    from veilspan.solvers.linear.base import LinearProblem


class NoiseResponse(Protocol):
    """What a solver tells of its noise."""

    @property
    def clip(self) -> float:
        """Longest gradient of a row at the end."""

    @property
    def unopposed(self) -> float:
        """Variance of the noise in a coefficient that no row pulls back."""

    def covariance(self, hessian: np.ndarray) -> np.ndarray:
        """Covariance of the noise in theta, given the Hessian of the sum of losses."""


def tells_noise(problem: LinearProblem) -> bool:
    """Whether noise comes out in theta as said here: one score, no penalty that bends the way."""
    return problem.loss.name in STEEP and problem.penalty.name == "none"


def steps_tell_noise(problem: LinearProblem) -> bool:
    """Whether noise of steps comes out in theta as said here, or no more: an l2 penalty too.

    It is linear in theta like the gradient, and pulls noise back; other penalties bend the way.
    """
    return problem.penalty.name in ("none", "l2")


@dataclass(frozen=True)
class ObjectiveNoise:
    """Of a tilted minimum: std of the tilt, strength of the quadratic term, clip of slopes."""

    std: float
    lam: float
    clip: float

    @property
    def unopposed(self) -> float:
        """Only lam does: (s / lam)^2."""
        return (self.std / self.lam) ** 2

    def covariance(self, hessian: np.ndarray) -> np.ndarray:
        """s^2 (K + lam)^-2 by the eigenvalues of K that noise may have made negative."""
        with threads_for(len(hessian)):
            values, vectors = np.linalg.eigh(hessian)
            spread = (self.std / (np.maximum(values, 0.0) + self.lam)) ** 2
            return np.asarray((vectors * spread) @ vectors.T)


@dataclass(frozen=True)
class DescentNoise:
    """Of descent: its steps, the noise in the mean gradient of each, and what is averaged.

    Attributes
    ----------
    step, momentum : float
        e and m.
    stds : tuple of float
        s_t of the steps that were taken.
    averaged : int
        j, the number of last iterates whose mean is the result.
    rows : float
        n, public or noisy.
    clip : float
        Longest gradient of a row at the end.
    """

    step: float
    momentum: float
    stds: tuple[float, ...]
    averaged: int
    rows: float
    clip: float

    @property
    def unopposed(self) -> float:
        """The formula at the top with a = 0, in plain numbers: every fit of descent asks for it."""
        reached, here, before = [0.0], -self.step, 0.0
        for _ in self.stds:
            reached.append(reached[-1] + here)
            before, here = here, here + self.momentum * (here - before)
        steps = len(self.stds)
        return sum(
            (std * (reached[steps - t] - reached[max(steps - self.averaged - t, 0)])) ** 2
            for t, std in enumerate(self.stds)
        ) / float(self.averaged**2)

    def covariance(self, hessian: np.ndarray) -> np.ndarray:
        """The formula at the top, along the eigenvectors of K."""
        with threads_for(len(hessian)):
            values, vectors = np.linalg.eigh(hessian / self.rows)
            spread = self.variances(np.maximum(values, 0.0))
            return np.asarray((vectors * spread) @ vectors.T)

    def variances(self, values: np.ndarray) -> np.ndarray:
        """Variance of the result along directions of these curvatures of the mean loss."""
        steps, kept = len(self.stds), 1.0 - self.step * values
        moved = np.zeros((steps, len(values)))
        before, here = np.zeros_like(values), np.full_like(values, -self.step)
        for k in range(steps):
            moved[k] = here
            before, here = here, kept * (here + self.momentum * (here - before))
        # Sums of h from the first averaged iterate that step t moves to the last one.
        reached = np.concatenate([np.zeros((1, len(values))), np.cumsum(moved, axis=0)])
        after = np.arange(steps)
        first = np.maximum(steps - self.averaged - after, 0)
        moves = (reached[steps - after] - reached[first]) / self.averaged
        return np.asarray(np.square(np.asarray(self.stds)[:, None] * moves).sum(axis=0))
