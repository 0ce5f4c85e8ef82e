"""What all solvers on manifolds share: the problem, the result, one safe step, averaging."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from veilspan.geometry import Ball, Manifold
from veilspan.losses.manifold import ManifoldLoss
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import Event
from veilspan.privacy.neighbors import Neighbors
from veilspan.solvers.base import Prepared, Result, Solver, calibrate_events
from veilspan.solvers.steps import ConstantSteps, StepSchedule

#: A number is a constant step; ``None`` asks for the loss's natural one.
Step = float | StepSchedule | None
#: A step is halved at most so often where arithmetic breaks down: 2^-60 of it is below rounding.
MOST_HALVINGS = 60
#: How far off the manifold a point may be to count as one of it; rounding leaves far less.
ON_MANIFOLD = 1e-6


@dataclass(frozen=True)
class ManifoldProblem:
    """What to minimise, all of it public.

    Attributes
    ----------
    loss : ManifoldLoss
        The mean of this loss over all rows is minimised.
    bound : float
        Largest norm of a row's gradient; longer ones are shortened to it.
    start : array
        The first iterate.
    n_rows : int or None
        Number of rows; ``None`` where it is private.
    ball : Ball, optional
        Iterates that leave this ball are pulled back into it.
    """

    loss: ManifoldLoss
    bound: float
    start: np.ndarray
    n_rows: int | None
    ball: Ball | None = None


@dataclass(frozen=True)
class ManifoldResult(Result):
    """Where a solver ended.

    Attributes
    ----------
    point : array
        The private minimiser: post-processing of answers.
    """

    point: np.ndarray


#: A private minimiser on a manifold.
ManifoldSolver = Solver[ManifoldProblem, ManifoldResult]


def prepare_descent(
    solver: ManifoldSolver,
    problem: ManifoldProblem,
    budget: Budget,
    neighbors: Neighbors,
    events: tuple[Event, ...],
    shares: tuple[float, ...],
) -> Prepared[ManifoldProblem, ManifoldResult]:
    """Set the noise of a solver's events, and add a count of the rows where n is private.

    Shares are relative to all steps together: those of steps sum to 1, and what else a solver asks
    for comes on top, as the count does.
    """
    return Prepared(
        solver,
        problem,
        budget,
        calibrate_events(budget, neighbors, problem.n_rows, events, shares, whole=1.0),
        {"solver": solver.name, "clip": problem.bound, "loss": repr(problem.loss)},
    )


def choose_steps(step: Step, loss: ManifoldLoss) -> StepSchedule:
    """Make a schedule of what was given; by default the inverse curvature of the loss."""
    if callable(step):
        return step
    if step is None:
        if loss.curvature is None:
            raise ValueError(
                "this loss has no known curvature: give the solver a step, e.g. RGD(step=0.1), "
                "or the loss a public curvature."
            )
        step = 1.0 / loss.curvature
    if not step > 0:
        raise ValueError(f"step must be positive; got {step}.")
    return ConstantSteps(float(step))


def cap_length(
    manifold: Manifold, point: np.ndarray, vector: np.ndarray, bound: float
) -> np.ndarray:
    """Shorten a tangent vector to the bound if it is longer.

    A mean of clipped gradients is never longer than the clip, so what exceeds it is noise;
    projecting on a ball that holds the truth never increases the error.
    """
    with np.errstate(all="ignore"):
        length = float(manifold.norm(point, vector))
    if length <= bound:
        return vector
    # Where even the norm overflows nothing is known but that it is all noise.
    return vector * (bound / length) if math.isfinite(length) else np.zeros_like(vector)


def move_along(
    manifold: Manifold, point: np.ndarray, vector: np.ndarray, ball: Ball | None = None
) -> np.ndarray:
    """Go to the end of the geodesic along a vector, or of a shorter one; stay in the ball.

    Where ``exp`` leaves the manifold (Bures-Wasserstein geodesics end at singular matrices) or
    overflows, or ends where a next step could not begin, the vector is halved until it does not.
    """
    for _ in range(MOST_HALVINGS):
        with np.errstate(all="ignore"):
            try:
                end = manifold.exp(point, vector)
                if np.isfinite(end).all() and _can_go_on(manifold, end):
                    return end if ball is None else ball.pull_in(end)
            except (ValueError, OverflowError, np.linalg.LinAlgError):
                pass
            vector = vector * 0.5
    return point


def _can_go_on(manifold: Manifold, point: np.ndarray) -> bool:
    """Whether a point is on the manifold and its tangent space can be computed with.

    A matrix may have positive eigenvalues and, by rounding, no Cholesky factor.
    """
    if not manifold.contains(point, atol=ON_MANIFOLD):
        return False
    vector = manifold.from_coordinates(point, np.ones(manifold.coordinate_shape))
    return bool(np.isfinite(manifold.to_coordinates(point, vector)).all())


class GeodesicMean:
    """Mean of iterates as they come: each moves the mean by 1/k of the way along the geodesic.

    The streaming average of Tripuraneni, Flammarion, Bach & Jordan (2018); in flat space it is
    the arithmetic mean.
    """

    def __init__(self, manifold: Manifold) -> None:
        self.manifold = manifold
        self.point: np.ndarray | None = None
        self.count = 0

    def add(self, point: np.ndarray) -> None:
        """Move the mean towards one more point."""
        self.count += 1
        if self.point is None:
            self.point = point
            return
        direction = self.manifold.log(self.point, point) / self.count
        self.point = move_along(self.manifold, self.point, direction)
