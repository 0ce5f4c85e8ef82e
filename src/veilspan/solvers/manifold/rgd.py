"""Riemannian gradient descent with noise: DP-RGD on all rows, DP-RSGD on Poisson samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from veilspan._scales import check_rate, check_steps
from veilspan.curator.curator import Curator
from veilspan.losses.manifold import ManifoldLoss
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import Event, GaussianEvent, SampledGaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.solvers.base import Prepared, count_rows
from veilspan.solvers.manifold.base import (
    GeodesicMean,
    ManifoldProblem,
    ManifoldResult,
    Step,
    cap_length,
    choose_steps,
    move_along,
    prepare_descent,
)
from veilspan.solvers.manifold.secant_steps import SecantSteps
from veilspan.solvers.steps import STEP, StepSchedule


@dataclass(frozen=True)
class RGD:
    r"""Full-batch descent w <- exp_w(-eta_k g_k), g_k the noisy mean gradient (Han et al. 2022).

    A mean gradient longer than the clip is all noise and is shortened to it. With ``tolerance``
    descent stops at a noisy gradient that short: a function of the answers, so it tells nothing
    new, and under noise it does not happen.

    Parameters
    ----------
    steps : int
        Number of gradients, all with the same noise.
    step : float, callable or None
        Step size, or a schedule (see :mod:`veilspan.solvers.steps`); by default the inverse
        of the loss's curvature, or :class:`~veilspan.solvers.manifold.secant_steps.SecantSteps` to
        adapt it.
    average : bool
        Return the intrinsic mean of the second half of the iterates instead of the last one.
    tolerance : float
        Length of the gradient at which to stop.
    """

    steps: int = 20
    step: Step | SecantSteps = None
    average: bool = False
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        check_steps(self.steps, "steps")

    @property
    def name(self) -> str:
        """What plans call it: the paper's name."""
        return "RGD"

    @property
    def rate(self) -> float:
        """Probability with which a row takes part in a step."""
        return 1.0

    def prepare(
        self, problem: ManifoldProblem, budget: Budget, neighbors: Neighbors
    ) -> Prepared[ManifoldProblem, ManifoldResult]:
        """Plan ``steps`` releases, all with the same noise."""
        self._sizes(problem.loss)  # refuses a loss that these steps cannot take
        return prepare_descent(self, problem, budget, neighbors, (self._event(),), (1.0,))

    def _event(self) -> Event:
        return GaussianEvent(STEP, count=self.steps)

    def run(self, curator: Curator, problem: ManifoldProblem) -> ManifoldResult:
        """Descend from the start, a release a step."""
        manifold, query = problem.loss.manifold, problem.loss.query(problem.bound)
        rows, point = count_rows(curator) * self.rate, problem.start
        mean, sizes = GeodesicMean(manifold), self._sizes(problem.loss)
        trace: list[dict[str, Any]] = []
        stopped = f"all {self.steps} planned steps were taken"
        for k in range(self.steps):
            answer = curator.answer(query, point, event=STEP)
            noise = answer.noise_std / rows
            gradient = cap_length(manifold, point, answer.value / rows, problem.bound)
            length = float(manifold.norm(point, gradient))
            if isinstance(sizes, SecantSteps):
                size = sizes.size(manifold, point, gradient, noise, trace)
            else:
                size = float(sizes(k))
            trace.append({"step": k, "size": size, "noise_std": noise, "gradient": length,
                          "point": point, "direction": gradient})  # fmt: skip
            if length <= self.tolerance:
                stopped = f"the gradient is no longer than {self.tolerance:g}"
                break
            point = move_along(manifold, point, -size * gradient, problem.ball)
            if self.average and 2 * k >= self.steps - 1:
                mean.add(point)
        final = point if mean.point is None else mean.point
        return ManifoldResult(final, stopped=stopped, trace=trace)

    def _sizes(self, loss: ManifoldLoss) -> StepSchedule | SecantSteps:
        if self.average:  # a manifold that cannot average is refused here, before anything is asked
            loss.manifold.log(loss.manifold.reference_point, loss.manifold.reference_point)
        return self.step if isinstance(self.step, SecantSteps) else choose_steps(self.step, loss)


@dataclass(frozen=True)
class RSGD(RGD):
    """The same on Poisson samples: each row takes part in a step with probability ``batch_rate``.

    Sampling saves time, never noise: at equal privacy and equal steps the noise on the mean is
    larger than that of all rows.

    Parameters
    ----------
    steps : int
        Number of samples.
    step : float, callable or None
        As in :class:`RGD`.
    average : bool
        As in :class:`RGD`.
    tolerance : float
        As in :class:`RGD`.
    batch_rate : float
        Between 0 and 1, both excluded.
    """

    steps: int = 100
    batch_rate: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rate(self.batch_rate)

    @property
    def name(self) -> str:
        """What plans call it: the paper's name."""
        return "RSGD"

    @property
    def rate(self) -> float:
        """Probability with which a row takes part in a step."""
        return self.batch_rate

    def _event(self) -> Event:
        return SampledGaussianEvent(STEP, self.batch_rate, count=self.steps)
