r"""Objective perturbation: the minimum of the objective itself, tilted by a random vector.

J(theta) = sum_i l(<x_i, theta>, y_i) + lam/2 |theta|^2 + <b, theta>, b ~ N(0, s^2 I), is minimised
exactly (Chaudhuri, Monteleoni & Sarwate 2011; Kifer, Smith & Thakurta 2012). One release takes the
whole budget, there are no steps to choose, and the number of rows is not needed. The cost is that
of ``privacy.objective``; the proof is in ``docs/explanation/objective_perturbation.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.curator.objective_door import check_certifiable, objective_event, tolerance_of
from veilspan.privacy.budget import Budget
from veilspan.privacy.calibration import calibrate_noise
from veilspan.privacy.events import Event, GaussianEvent, ObjectiveEvent
from veilspan.privacy.grid import MAX_ROWS
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.objective import least_lam
from veilspan.solvers.base import Prepared
from veilspan.solvers.linear.base import Clips, LinearPrepared, LinearProblem, LinearResult
from veilspan.solvers.linear.tables.noise_response import ObjectiveNoise, tells_noise

OBJECTIVE, OUTPUT = "objective", "output"
OUTPUT_SHARE = 2e-3  # of the budget: the noise that covers rounding; 0.1 % more noise on b
REACH = 10.0  # length of theta that noise alone may reach where the data are silent
LEAST_LAM = 0.3
RADIUS = 50.0
#: Share of epsilon that the curvature of a row may cost: little where it costs at every slope,
#: more where it vanishes at the largest slope, which is the one that counts.
CURVATURE_SHARE = {"logistic": 0.25, "one-sided": 0.1, "two-sided": 0.1, "softmax": 0.1}


@dataclass(frozen=True)
class ObjectivePerturbation(Clips):
    r"""Minimise sum_i l_i + lam/2 |theta|^2 + <b, theta>, for smooth losses and no or l2 penalty.

    *lam* stands beside the sum of the losses, not their mean, and holds the intercept as well: the
    proof needs it in every direction. By default it is the largest of

    * s sqrt(p) / 10, with s for a Gaussian release of the same budget: where the rows say nothing
      theta is -b / lam, so this keeps noise alone to a length of about 10;
    * what keeps the curvature of one row from costing more than a tenth of epsilon (a quarter, for
      the logistic loss, whose curvature vanishes where its slope is largest);
    * 0.3, and the penalty's own strength times the number of rows, public or guessed; without
      either the penalty is replaced by the rest of this list.

    It shrinks theta: with few rows by a lot. Without privacy it is that of the penalty alone, or a
    very small one.

    Parameters
    ----------
    lam : float, optional
        At least the penalty's strength times the number of rows, where both are given.
    clip : float, optional
        Longest that a row's gradient may be; by default the loss's slope bound, or 1 without one.
        Less noise, for a loss with capped slopes. For several scores, rows are shortened instead.
    radius : float, optional
        R: a theta longer than that is reflected into the ball of this radius. By default 50, or
        five times as long as noise alone would make theta, if that is more.
    """

    lam: float | None = None
    clip: float | None = None
    radius: float | None = None

    name = "objective"
    needs_diagonal = True

    def prepare(
        self, problem: LinearProblem, budget: Budget, neighbors: Neighbors
    ) -> LinearPrepared:
        """The tilt and the output noise."""
        event = self._event(problem, budget, neighbors)
        pairs = 2.0 if neighbors == "replace-one" else 1.0
        # Relative multipliers: the objective costs about (pairs / z)^2, the output its share of it.
        output = GaussianEvent(OUTPUT, 1 / (pairs * math.sqrt(OUTPUT_SHARE)))
        events = calibrate_noise(budget, (event, output), neighbors=neighbors)
        rows = problem.n_rows or MAX_ROWS
        for tilted in _tilted(events):  # before anything is charged
            radius = self._radius(events, problem)
            check_certifiable(tilted, tolerance_of(tilted, rows, problem.n_features, radius))
        return Prepared(self, problem, budget, events)

    def run(self, curator: Curator, problem: LinearProblem) -> LinearResult:
        """Ask the curator for the tilted minimum."""
        radius = self._radius(curator.plan.events, problem)
        answer = curator.minimum(problem.loss, event=OBJECTIVE, output=OUTPUT, radius=radius)
        told = None
        for tilted in _tilted(curator.plan.events):
            if curator.plan.budget.is_private and tells_noise(problem):
                told = ObjectiveNoise(tilted.std, tilted.lam, tilted.clip)
        return LinearResult(np.asarray(answer.value), stopped="minimised", noise=told)

    def _radius(self, events: Sequence[Event], problem: LinearProblem) -> float:
        if self.radius is not None:
            return self.radius
        noise = max((e.std / e.lam for e in _tilted(events)), default=0.0)
        return max(RADIUS, 5 * noise * math.sqrt(math.prod(problem.shape)))

    def _event(
        self, problem: LinearProblem, budget: Budget, neighbors: Neighbors
    ) -> ObjectiveEvent:
        if problem.penalty.name not in ("none", "l2"):
            raise ValueError(
                "objective perturbation takes no penalty but l2: the proof needs a minimum where "
                f"the gradient is 0; got {problem.penalty.name!r}."
            )
        clip = self.clip
        if clip is None and not math.isfinite(problem.loss.slope_bound):
            clip = 1.0
        event = objective_event(problem.loss, lam=1.0, clip=clip, name=OBJECTIVE)
        lam = self._lam(problem, budget, neighbors, event)
        return objective_event(problem.loss, lam=lam, clip=clip, name=OBJECTIVE)

    def _lam(
        self,
        problem: LinearProblem,
        budget: Budget,
        neighbors: Neighbors,
        event: ObjectiveEvent,
    ) -> float:
        own = problem.penalty.strong_convexity * (problem.planned_rows or 0)
        if self.lam is not None:
            if self.lam < own * (1 - 1e-9):
                raise ValueError(
                    f"lam = {self.lam:g} is below the penalty's strength times the number of rows, "
                    f"{own:.6g}."
                )
            return self.lam
        if not budget.is_private:
            return max(own, 1e-6)
        pairs = 2.0 if neighbors == "replace-one" else 1.0
        noise = pairs * event.clip / budget.mu * math.sqrt(math.prod(problem.shape))
        curved = least_lam(event, CURVATURE_SHARE[event.shape] * budget.epsilon)
        return max(own, noise / REACH, curved, LEAST_LAM)


def _tilted(events: Sequence[Event]) -> list[ObjectiveEvent]:
    return [event for event in events if isinstance(event, ObjectiveEvent)]
