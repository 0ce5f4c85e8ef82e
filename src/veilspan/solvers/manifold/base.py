"""What all solvers on manifolds share: the task, the result, one safe step, averaging."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.geometry import Ball, Manifold
from veilspan.losses.manifold import ManifoldLoss
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import Event
from veilspan.privacy.neighbors import Neighbors
from veilspan.solvers.steps import ConstantSteps, StepSchedule

#: A number is a constant step; ``None`` asks for the loss's natural one.
Step = float | StepSchedule | None
Schedule = tuple[tuple[Event, ...], tuple[float, ...]]


@dataclass(frozen=True)
class ManifoldTask:
    """What to minimise, all of it public.

    Parameters
    ----------
    loss : ManifoldLoss
        The loss.
    bound : float
        Largest norm of a row's gradient.
    start : array
        First iterate.
    n_rows : float
        Public or privately counted number of rows.
    ball : Ball, optional
        Where iterates are kept.
    """

    loss: ManifoldLoss
    bound: float
    start: np.ndarray
    n_rows: float
    ball: Ball | None = None


@dataclass(frozen=True)
class ManifoldResult:
    """Where a solver ended, why, and what it did on the way (all post-processing of answers)."""

    point: np.ndarray
    stopped: str
    trace: list[dict[str, Any]] = field(default_factory=list)


class ManifoldSolver(Protocol):
    """A private minimiser on a manifold."""

    @property
    def name(self) -> str:
        """Its name."""

    def schedule(
        self, loss: ManifoldLoss, bound: float, budget: Budget, neighbors: Neighbors, n: int | None
    ) -> Schedule:
        """Events without noise and their shares of the budget, from public facts."""

    def run(self, curator: Curator, task: ManifoldTask) -> ManifoldResult:
        """Minimise, asking the curator."""


def natural_step(step: Step, loss: ManifoldLoss) -> StepSchedule:
    """Step sizes as a schedule; the inverse curvature of the loss if none are given."""
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


def capped(manifold: Manifold, point: np.ndarray, vector: np.ndarray, bound: float) -> np.ndarray:
    """The vector, shortened to the bound if longer.

    A mean of clipped gradients is never longer than the clip, so what exceeds it is noise;
    projecting on a ball that holds the truth never increases the error.
    """
    with np.errstate(all="ignore"):
        length = float(manifold.norm(point, vector))
    if length <= bound:
        return vector
    # Where even the norm overflows nothing is known but that it is all noise.
    return vector * (bound / length) if math.isfinite(length) else np.zeros_like(vector)


def moved(
    manifold: Manifold, point: np.ndarray, vector: np.ndarray, ball: Ball | None = None
) -> np.ndarray:
    """End of the geodesic along a vector, kept in the ball; shorter if arithmetic breaks down.

    Where ``exp`` leaves the manifold (Bures-Wasserstein geodesics end at singular matrices) or
    overflows, or ends where a next step could not begin, the vector is halved until it does not.
    """
    for _ in range(60):
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
    if not manifold.contains(point, atol=1e-6):
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
        """Take one more point in."""
        self.count += 1
        if self.point is None:
            self.point = point
            return
        direction = self.manifold.log(self.point, point) / self.count
        self.point = moved(self.manifold, self.point, direction)
