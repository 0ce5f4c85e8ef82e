"""Riemannian variance-reduced descent with noise: DP-RSVRG, with restarts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from veilspan._scales import check_rate, check_steps
from veilspan.curator.curator import Curator
from veilspan.privacy.budget import Budget
from veilspan.privacy.calibration import calibrate_noise
from veilspan.privacy.events import Event, GaussianEvent, SampledGaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.manifold.tangent_gradient import GradientDifference
from veilspan.solvers.base import Prepared, count_rows
from veilspan.solvers.manifold.base import (
    ManifoldProblem,
    ManifoldResult,
    Step,
    cap_length,
    choose_steps,
    move_along,
    prepare_descent,
)
from veilspan.solvers.steps import STEP, StepSchedule

ANCHOR = "anchor"


@dataclass(frozen=True)
class RSVRG:
    r"""Variance-reduced descent (Algorithms 11 and 12 of Utpala, Han, Jawanpuria & Mishra 2023).

    An epoch begins at an anchor a with one noisy full gradient g_a. Its inner steps move along

        v = T_(a -> w) g_a + (noisy mean over a Poisson sample of grad f(w; z) - T grad f(a; z)).

    Unlike the printed algorithm, g_a is noised once an epoch, not at every inner step (reuse is
    post-processing, so it is charged once), and the *difference* of the two gradients is clipped,
    to a bound of its own. T lengthens nothing, which is all that privacy needs of it.

    The budget is split between anchors and inner steps so that the noise variance of v is least:
    the paper's choice of alpha, with exact composition. Alone, anchors would need the noise
    multiplier z_1 and inner steps z_2; with shares s and 1 - s of the budget the variance is
    z_1^2 D_0^2 / s + z_2^2 D_1^2 / ((1 - s) q^2), over n^2, with sensitivities D, least at

        s = z_1 D_0 / (z_1 D_0 + z_2 D_1 / q),

    which a short search with the joint accountant then refines.

    Parameters
    ----------
    epochs : int
        S, epochs of one run.
    inner_steps : int
        m, steps of an epoch.
    batch_rate : float
        q, probability with which a row takes part in an inner step.
    step : float, callable or None
        Step sizes, counted over all inner steps; by default the inverse of the loss's curvature.
    difference_clip : float
        Clip of the differences, as a fraction of the clip of gradients.
    anchor_share : float, optional
        s; ``None`` to choose it as above.
    restarts : int
        K runs one after the other (for losses with the Polyak-Lojasiewicz property).
    output : {"last", "random"}
        Last anchor (output I), or an inner iterate drawn uniformly (output II; with restarts, the
        one each run goes on from).
    """

    epochs: int = 4
    inner_steps: int = 10
    batch_rate: float = 0.1
    step: Step = None
    difference_clip: float = 0.3
    anchor_share: float | None = None
    restarts: int = 1
    output: Literal["last", "random"] = "last"

    def __post_init__(self) -> None:
        for name in ("epochs", "inner_steps", "restarts"):
            check_steps(getattr(self, name), name)
        check_rate(self.batch_rate)
        if not self.difference_clip > 0:
            raise ValueError(f"difference_clip must be positive; got {self.difference_clip}.")
        if self.anchor_share is not None and not 0 < self.anchor_share < 1:
            raise ValueError(f"anchor_share must lie between 0 and 1; got {self.anchor_share}.")
        if self.output not in ("last", "random"):
            raise ValueError(f'output must be "last" or "random"; got {self.output!r}.')

    @property
    def name(self) -> str:
        """What plans call it: the paper's name."""
        return "RSVRG"

    def prepare(
        self, problem: ManifoldProblem, budget: Budget, neighbors: Neighbors
    ) -> Prepared[ManifoldProblem, ManifoldResult]:
        """Plan one full release an epoch, and the samples of its inner steps."""
        choose_steps(self.step, problem.loss)  # refuses a loss without curvature
        share = self.anchor_share
        if share is None:
            share = best_share(budget, self._events(), neighbors, self.difference_clip)
        shares = (share, 1.0 - share)
        return prepare_descent(self, problem, budget, neighbors, self._events(), shares)

    def _events(self) -> tuple[Event, Event]:
        anchors = self.epochs * self.restarts
        inner = SampledGaussianEvent(STEP, self.batch_rate, count=anchors * self.inner_steps)
        return GaussianEvent(ANCHOR, count=anchors), inner

    def run(self, curator: Curator, problem: ManifoldProblem) -> ManifoldResult:
        """Take all epochs, and begin again after each run of them as often as was asked."""
        rows, sizes = count_rows(curator), choose_steps(self.step, problem.loss)
        point, trace = problem.start, list[dict[str, Any]]()
        # Which iterate a run goes on from is chosen before the first answer.
        coins = curator.coins("iterates")
        for _ in range(self.restarts):
            chosen = int(coins.integers(self.epochs * self.inner_steps))
            point = self._run_once(curator, problem, rows, point, sizes, trace, chosen)
        total = self.restarts * self.epochs * self.inner_steps
        stopped = f"all {total} planned inner steps were taken"
        return ManifoldResult(point, stopped=stopped, trace=trace)

    def _run_once(
        self,
        curator: Curator,
        problem: ManifoldProblem,
        rows: float,
        anchor: np.ndarray,
        sizes: StepSchedule,
        trace: list[dict[str, Any]],
        chosen: int,
    ) -> np.ndarray:
        manifold = problem.loss.manifold
        full, sampled = rows, rows * self.batch_rate
        gradients = problem.loss.query(problem.bound)
        difference = GradientDifference(problem.loss, self.difference_clip * problem.bound)
        kept = anchor
        for epoch in range(self.epochs):
            answer = curator.answer(gradients, anchor, event=ANCHOR)
            at_anchor = cap_length(manifold, anchor, answer.value / full, problem.bound)
            point = anchor
            for t in range(self.inner_steps):
                if epoch * self.inner_steps + t == chosen:
                    kept = point
                change = curator.answer(difference, (point, anchor), event=STEP)
                direction = manifold.transport(anchor, point, at_anchor) + change.value / sampled
                direction = cap_length(manifold, point, direction, problem.bound)
                size = float(sizes(len(trace)))
                noise = math.hypot(answer.noise_std / full, change.noise_std / sampled)
                trace.append({"step": len(trace), "size": size, "noise_std": noise,
                              "point": point})  # fmt: skip
                point = move_along(manifold, point, -size * direction, problem.ball)
            anchor = point
        return anchor if self.output == "last" else kept


@lru_cache(maxsize=64)
def best_share(
    budget: Budget, events: tuple[Event, Event], neighbors: Neighbors, difference_clip: float
) -> float:
    """Share of the anchors that minimises the noise variance of an inner step."""
    from scipy.optimize import minimize_scalar

    if not budget.is_private:
        return 0.5
    # Multipliers refer to 2 C for full releases under replace-one and to C for samples.
    full = 2.0 if neighbors == "replace-one" else 1.0
    scales = (full, difference_clip / events[1].sampling_rate)

    def variance(share: float) -> float:
        noisy = calibrate_noise(budget, events, neighbors=neighbors, weights=(share, 1 - share))
        return sum((e.noise_multiplier * scale) ** 2 for e, scale in zip(noisy, scales))

    alone = [
        calibrate_noise(budget, (event,), neighbors=neighbors, weights=(1.0,))[0].noise_multiplier
        * scale
        for event, scale in zip(events, scales)
    ]
    guess = alone[0] / (alone[0] + alone[1])
    # Within a factor of two of the formula, and no finer than 2 % of it: the least is flat.
    found = minimize_scalar(
        variance, bounds=(0.5 * guess, min(0.99, 2 * guess)), method="bounded",
        options={"xatol": 0.02 * guess, "maxiter": 8},
    )  # fmt: skip
    return float(found.x)
