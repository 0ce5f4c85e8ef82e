"""The problems of Figure 3, each with its public facts and its exact minimum.

Excess risk is the paper's: F(w) - F(w*) with F the mean squared distance, or minus w^T A w for the
leading eigenvector. The library's losses are half of that, which changes no minimum.
"""

import math
import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from veilspan import (
    Budget,
    CalibratedDescent,
    FrechetLoss,
    LeadingSubspace,
    NotPrivateWarning,
    minimize,
)
from veilspan.features import descriptor_bounds
from veilspan.geometry import SPD, Ball, PoincareBall, Sphere

from .data import RIDGE, descriptors, digits, mammals

DELTA = 1e-6


@dataclass(frozen=True, eq=False)
class Problem:
    """What to minimise, what is known beforehand (all of it public), and the rows.

    Attributes
    ----------
    bound : float
        Public bound on the norm of a row's gradient.
    """

    name: str
    loss: object
    rows: np.ndarray
    start: np.ndarray
    bound: float
    ball: Ball | None = None
    source: str = ""

    @cached_property
    def minimum(self):
        """The exact minimiser: eigenvectors by ``eigh``, means by descent without noise."""
        if isinstance(self.loss, LeadingSubspace):
            moment = self.rows.T @ self.rows / len(self.rows)
            vectors = np.linalg.eigh(moment)[1][:, ::-1]
            return vectors[:, : self.start.size // len(moment)].reshape(self.start.shape)
        return self.solve(CalibratedDescent(), math.inf).point

    def solve(self, solver, epsilon, clip=None, seed=0):
        """One run; seeded, hence a simulation. ``clip`` is a fraction of the bound."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotPrivateWarning)
            return minimize(
            self.loss, self.rows, budget=Budget(epsilon, DELTA), solver=solver, start=self.start,
            clip=self.bound * (clip or 1.0), ball=self.ball, random_state=seed,
        )  # fmt: skip

    def risk(self, point):
        """The paper's F, twice the mean loss."""
        return 2 * float(np.mean(self.loss.values(self.rows, point)))

    @cached_property
    def least_risk(self):
        return self.risk(self.minimum)

    @cached_property
    def moment(self):
        return self.rows.T @ self.rows / len(self.rows)

    def excess(self, point):
        """F(point) - F(minimum), not below what rounding can tell."""
        if isinstance(self.loss, LeadingSubspace):  # 784 x 784 instead of all rows
            basis = point.reshape(len(self.moment), -1)
            return max(-self.least_risk - float(np.sum(basis * (self.moment @ basis))), 1e-15)
        return max(self.risk(point) - self.least_risk, 1e-15)


def all_problems(data=None, cache=None, limit=None):
    """The five panels: two sets of descriptors, two of digits, the mammals (all of them)."""
    means, vectors = means_of_descriptors(data, limit), eigenvectors(data, limit)
    return [*means, *vectors, hyperbolic(data, cache)]


def means_of_descriptors(data, limit):
    """Means of covariance descriptors, affine-invariant.

    Public: the bounds on their eigenvalues, which give the ball, its centre and the bound.
    """
    found = descriptors(data, limit)
    size = found.sets[0].shape[1]
    manifold = SPD(size)
    ball = Ball.from_eigenvalues(manifold, *descriptor_bounds(RIDGE, channels=size - 8))
    return [
        # No row can be farther from an iterate than a diameter; clipping at the radius is enough.
        Problem(f"SPD({size}) mean, {name}", FrechetLoss(manifold), rows, ball.center, ball.radius,
                ball, found.source)
        for name, rows in zip(found.names, found.sets)
    ]  # fmt: skip


def eigenvectors(data, limit):
    """Leading eigenvectors of digits, |z| <= 1.

    Public: the start, an evenly grey image, to which all images point.
    """
    found = digits(data, limit)
    return [
        Problem(f"eigenvector, {name}", LeadingSubspace(Sphere(784)), rows, np.full(784, 1 / 28),
                0.5, None, found.source)
        for name, rows in zip(found.names, found.sets)
    ]  # fmt: skip


def hyperbolic(data, cache):
    """Mean of embedded mammals. Public: the radius of the ball in which they were trained."""
    found = mammals(data, cache)
    manifold = PoincareBall(found.points.shape[1])
    ball = Ball(manifold, manifold.reference_point, found.radius)
    return Problem(f"Poincaré mean, {found.name}", FrechetLoss(manifold), found.points,
                   ball.center, ball.radius, ball, found.source)  # fmt: skip
