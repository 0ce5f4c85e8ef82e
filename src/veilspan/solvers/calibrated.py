"""Few large steps at a privately measured scale: the default on manifolds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import Event, GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.problems.manifold_losses import ManifoldLoss
from veilspan.problems.tangent import GradientScale
from veilspan.solvers.manifold import (
    ManifoldResult,
    ManifoldTask,
    Schedule,
    capped,
    moved,
)
from veilspan.solvers.schedules import STEP
from veilspan.solvers.secant import SecantSteps

SCALE, OPENING = "scale", "opening"
#: Without privacy nothing is measured and nothing clipped: descent goes on until it has arrived.
EXACT_STEPS, EXACT_TOLERANCE = 200, 1e-12


@dataclass(frozen=True)
class Scale:
    """What a histogram of gradient norms says: a clip, and the step that goes with it."""

    clip: float
    step: float


@dataclass(frozen=True)
class CalibratedDescent:
    r"""Rounds of: measure the gradients' scale, clip there, take one large step.

    A public bound on gradients is usually loose, and noise grows with it. Each round spends a
    little on a histogram of the rows' gradient norms (:class:`GradientScale`) and clips at a
    quantile of it. With noise multiplier z the mean of n gradients clipped to C carries noise of
    length about s C sqrt(d) z / n (s = 2 under replace-one), so clipping a fraction of the rows of
    about that size costs no more than the noise: the quantile is 1 - min(1/2, sqrt(d) s z / n),
    which tends to 1, the unclipped gradient, as the budget grows.

    The step is the inverse of the curvature of the loss, of which clipping leaves the mean of
    min(1, C / norm), read off the same histogram.

    The noise of the last step stays in the answer, that of the others shrinks with every step
    after it: the budget of steps grows geometrically.

    Parameters
    ----------
    rounds : int
        Number of steps.
    growth : float
        Ratio of the budgets (mu^2) of successive steps.
    scale_share : float
        Share of the budget for all histograms.
    opening_share : float
        Share for the opening release of losses that have one.
    """

    rounds: int = 3
    growth: float = 3.0
    scale_share: float = 0.06
    opening_share: float = 0.5

    @property
    def name(self) -> str:
        """Its name."""
        return "calibrated descent"

    def schedule(
        self, loss: ManifoldLoss, bound: float, budget: Budget, neighbors: Neighbors, n: int | None
    ) -> Schedule:
        """A histogram and a step per round."""
        if not budget.is_private:
            return (GaussianEvent(STEP, count=EXACT_STEPS),), (1.0,)
        opening = self.opening_share if loss.opening() is not None else 0.0
        growth = self.growth ** np.arange(self.rounds)
        steps = (1 - self.scale_share) * (1 - opening) * growth / growth.sum()
        named = [(f"{STEP} {k + 1}", float(share)) for k, share in enumerate(steps)]
        if opening:
            named.insert(0, (OPENING, (1 - self.scale_share) * opening))
        events: list[Event] = []
        shares: list[float] = []
        for name, share in named:
            events += [GaussianEvent(f"{name}, {SCALE}"), GaussianEvent(name)]
            shares += [self.scale_share / len(named), share]
        return tuple(events), tuple(shares)

    def run(self, curator: Curator, task: ManifoldTask) -> ManifoldResult:
        """All rounds, or descent to the end without privacy."""
        if not curator.plan.budget.is_private:
            from veilspan.solvers.rgd import RGD

            size = SecantSteps(1.0 / (task.loss.curvature or 1.0), range=10.0)
            exact = RGD(steps=EXACT_STEPS, step=size, tolerance=EXACT_TOLERANCE)
            return exact.run(curator, task)
        manifold, point = task.loss.manifold, self._first(curator, task)
        trace: list[dict[str, Any]] = []
        for k in range(self.rounds):
            scale = self._measure(curator, task, point, f"{STEP} {k + 1}")
            query = task.loss.query(scale.clip)
            answer = curator.answer(query, point, event=f"{STEP} {k + 1}")
            gradient = capped(manifold, point, answer.value / task.n_rows, scale.clip)
            point = moved(manifold, point, -scale.step * gradient, task.ball)
            trace.append({"step": k, "size": scale.step, "clip": scale.clip,
                          "noise_std": answer.noise_std / task.n_rows})  # fmt: skip
        return ManifoldResult(point, f"all {self.rounds} planned rounds were taken", trace)

    def _first(self, curator: Curator, task: ManifoldTask) -> np.ndarray:
        opening = task.loss.opening()
        if opening is None:
            return task.start
        query = GradientScale(task.loss, opening.largest, opening.sizes)
        answer = curator.answer(query, event=f"{OPENING}, {SCALE}")
        beyond = self._noise(curator, task, OPENING, opening.coordinates)
        clip = clip_at(query.knots, answer.value[0], answer.noise_std, task.n_rows, beyond)
        return opening.point(curator.answer(opening.query(clip), event=OPENING).value)

    def _noise(self, curator: Curator, task: ManifoldTask, step: str, coordinates: int) -> float:
        """Length of a step's noise over its clip, at most 1/2."""
        planned = {event.name: event.noise_multiplier for event in curator.plan.events}
        doubled = 2.0 if curator.plan.neighbors == "replace-one" else 1.0
        return min(0.5, doubled * planned[step] * math.sqrt(coordinates) / task.n_rows)

    def _measure(self, curator: Curator, task: ManifoldTask, point: np.ndarray, step: str) -> Scale:
        query = GradientScale(task.loss, task.bound)
        answer = curator.answer(query, point, event=f"{step}, {SCALE}")
        counts, curvature = answer.value
        beyond = self._noise(curator, task, step, task.loss.manifold.dim)
        clip = clip_at(query.knots, counts, answer.noise_std, task.n_rows, beyond)
        left = np.maximum(counts, 0.0)
        kept = float(left @ np.minimum(1.0, clip / query.knots) / max(left.sum(), 1e-12))
        bend = task.loss.curvature
        if bend is None:
            assert task.loss.largest_curvature is not None
            least = max(2 * answer.noise_std / task.n_rows, 1e-3)
            bend = task.loss.largest_curvature * max(float(curvature[0]) / task.n_rows, least)
        return Scale(clip, 1.0 / (bend * max(kept, 0.25)))


def clip_at(
    knots: np.ndarray, counts: np.ndarray, noise_std: float, n_rows: float, beyond: float
) -> float:
    """Largest knot beyond which more than that fraction of the rows lies, noise apart.

    Tails are summed from the top, where noise could invent rows: a tail must exceed what noise
    explains, two standard deviations.
    """
    tails = np.cumsum(counts[::-1])[::-1]
    noise = 2 * noise_std * np.sqrt(np.arange(len(counts), 0, -1))
    reached = np.flatnonzero(tails >= beyond * n_rows + noise)
    return float(knots[reached[-1]]) if len(reached) else float(knots[-1])
