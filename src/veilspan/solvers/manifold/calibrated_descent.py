"""Few large steps at a privately measured scale, as far as noise lets them: the default."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.geometry import Manifold
from veilspan.losses.manifold import ManifoldLoss
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import Event, GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.manifold.tangent_gradient import GradientScale
from veilspan.solvers.manifold.base import ManifoldResult, ManifoldTask, Schedule, capped, moved
from veilspan.solvers.manifold.gradient_scale import READABLE, Scale, bend
from veilspan.solvers.manifold.rgd import RGD, check_steps
from veilspan.solvers.manifold.secant_steps import SecantSteps
from veilspan.solvers.steps import STEP

SCALE, OPENING = "scale", "opening"
#: Without privacy nothing is measured and nothing clipped: descent goes on until it has arrived.
EXACT_STEPS, EXACT_TOLERANCE = 200, 1e-12
#: Most that one histogram may cost, relative to all steps.
LARGEST_SHARE = 0.12


@dataclass(frozen=True)
class CalibratedDescent:
    r"""Rounds of: measure the gradients' scale, clip there, take one large step if it is real.

    **Clip.** A public bound on gradients is usually loose, and noise grows with it. Each round
    spends a little on a histogram of the rows' gradient norms
    (:class:`~veilspan.queries.manifold.tangent_gradient.GradientScale`) and clips at a quantile of
    it. With noise multiplier z the mean of n gradients clipped to C carries noise of length about s
    C sqrt(d) z / n (s = 2 under replace-one), so clipping a fraction of the rows of about that size
    costs no more than the noise: the quantile is 1 - min(1/2, sqrt(d) s z / n), which tends to 1,
    the unclipped gradient, as the budget grows. A histogram gets as much as it needs to be read;
    where that is too much, none is asked for and the clip is half the public bound, then a quarter,
    and so on.

    **Step.** The inverse of the curvature that clipping leaves, from the same histogram and the
    geometry (:func:`~veilspan.solvers.manifold.gradient_scale.bend`): in hyperbolic space the
    squared distance to a point at distance 10 bends ten times as much as in flat space.

    **Trust.** A noisy mean gradient g with noise of known std t in d dimensions is shortened by

        max(0, 1 - t^2 (d + k sqrt(2 d)) / |g|^2),      k = ``caution``,

    the factor of James & Stein (1961) with a margin. As E|g|^2 = |G|^2 + d t^2 it estimates the
    share of signal: near 1 far from the minimum; where the last iterate's own error is as large as
    the noise, the weight with which both average best; and 0, staying where we are, where noise
    explains the gradient. It depends on noisy answers alone.

    **Budget.** The noise of the last step stays in the answer, that of the others shrinks with
    every step after it: the budget of steps grows geometrically, but not so fast that the first
    would be all noise. An opening whose noise exceeds all that it could find is left out.

    What was found (``experiments/riemannian``, Fig. 3). With thousands of rows the excess risk is
    below or near that of RGD, RSGD and RSVRG tuned with the truth in hand. It is behind them, by
    factors of 2 to 4, where few rows (n mu below 50) are far from the start, so that no scale can
    be measured on the way, and where three steps are too few (rows along few directions of
    hyperbolic space).

    Parameters
    ----------
    rounds : int
        Number of steps.
    growth : float
        Largest ratio of the budgets (mu^2) of successive steps.
    scale_share : float
        Cost of a histogram per step, relative to the steps, times ``rounds``; more if it needs it.
    opening_share : float
        Share for the opening release of losses that have one.
    opened_rounds : int
        Number of steps after an opening.
    caution : float
        k above: a gradient of pure noise is followed if its squared length is k standard deviations
        above the mean.
    """

    rounds: int = 3
    growth: float = 3.0
    scale_share: float = 0.06
    opening_share: float = 0.5
    opened_rounds: int = 2
    caution: float = 1.5

    def __post_init__(self) -> None:
        check_steps(self.rounds, "rounds")
        check_steps(self.opened_rounds, "opened_rounds")
        if not self.growth > 0:
            raise ValueError(f"growth must be positive; got {self.growth}.")
        for name in ("scale_share", "opening_share"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} must lie between 0 and 1; got {getattr(self, name)}.")
        if not self.caution >= 0:
            raise ValueError(f"caution must not be negative; got {self.caution}.")

    @property
    def name(self) -> str:
        """Its name."""
        return "calibrated descent"

    def schedule(
        self, loss: ManifoldLoss, bound: float, budget: Budget, neighbors: Neighbors, n: int | None
    ) -> Schedule:
        """A histogram, if it can be read, and a step per round."""
        if not budget.is_private:
            return (GaussianEvent(STEP, count=EXACT_STEPS),), (1.0,)
        if loss.curvature is None and loss.largest_curvature is None:
            raise ValueError(
                "this loss has no known curvature: give it a public one, e.g. "
                "Loss(..., curvature=1.0), or choose a solver with a step, e.g. RGD(step=0.1)."
            )
        known = 0.0 if n is None else n * budget.mu
        scale_share = self._scale_share(known)
        events: list[Event] = []
        shares: list[float] = []
        for name, share in self._releases(loss, neighbors, known).items():
            if scale_share:
                events.append(GaussianEvent(f"{name}, {SCALE}"))
                shares.append(scale_share)
            events.append(GaussianEvent(name))
            shares.append(share)
        return tuple(events), tuple(shares)

    def _scale_share(self, known: float) -> float:
        """Of one histogram, in units of all that is not spent on them; 0 if noise would hide it."""
        least = self.scale_share / self.rounds
        if not known:
            return least
        # The noise on a count is 1.5 / mu, its sensitivity being sqrt(2) or sqrt(3).
        needed = (1.5 / (READABLE * known)) ** 2
        return max(needed, least) if needed <= LARGEST_SHARE else 0.0

    def _releases(self, loss: ManifoldLoss, neighbors: Neighbors, known: float) -> dict[str, float]:
        """Names and shares of what follows each histogram."""
        doubled = 2.0 if neighbors == "replace-one" else 1.0
        opening = loss.opening()
        # Noise of an opening of half the budget, over the largest that it may find.
        opened = opening is not None and (
            not known or math.sqrt(2 * opening.coordinates) <= known * math.sqrt(self.opening_share)
        )
        rounds = self.opened_rounds if opened else self.rounds
        noise = doubled * math.sqrt(loss.manifold.dim) / known if known else 0.0
        growth = growth_for(noise, self.growth, rounds) ** np.arange(rounds)
        shares = (1 - self.opening_share * opened) * growth / growth.sum()
        steps = {f"{STEP} {k + 1}": float(share) for k, share in enumerate(shares)}
        return ({OPENING: self.opening_share} if opened else {}) | steps

    def run(self, curator: Curator, task: ManifoldTask) -> ManifoldResult:
        """All rounds, or descent to the end without privacy."""
        if not curator.plan.budget.is_private:
            adapted = SecantSteps(1.0 / (task.loss.curvature or 1.0), range=10.0)
            exact = RGD(steps=EXACT_STEPS, step=adapted, tolerance=EXACT_TOLERANCE)
            return exact.run(curator, task)
        manifold, point = task.loss.manifold, self._first(curator, task)
        trace: list[dict[str, Any]] = []
        steps = [e.name for e in curator.plan.events if e.name.startswith(STEP)]
        for name in steps:
            if name.endswith(SCALE):
                continue
            query = GradientScale(task.loss, task.bound)
            scale = measured(curator, task, query, point, name, manifold.dim, len(trace))
            answer = curator.answer(task.loss.query(scale.clip), point, event=name)
            gradient, noise = answer.value / task.n_rows, answer.noise_std / task.n_rows
            trust = trusted(manifold, point, gradient, noise, self.caution)
            gradient = capped(manifold, point, trust * gradient, scale.clip)
            size = 1.0 / bend(task.loss, point, gradient, scale)
            trace.append({"step": len(trace), "size": size, "clip": scale.clip, "trust": trust,
                          "noise_std": noise, "point": point})  # fmt: skip
            point = moved(manifold, point, -size * gradient, task.ball)
        return ManifoldResult(point, f"all {len(trace)} planned rounds were taken", trace)

    def _first(self, curator: Curator, task: ManifoldTask) -> np.ndarray:
        opening = task.loss.opening()
        if opening is None or not any(event.name == OPENING for event in curator.plan.events):
            return task.start
        query = GradientScale(task.loss, opening.largest, opening.sizes)
        scale = measured(curator, task, query, None, OPENING, opening.coordinates)
        return opening.point(curator.answer(opening.query(scale.clip), event=OPENING).value)


def measured(
    curator: Curator,
    task: ManifoldTask,
    query: GradientScale,
    point: np.ndarray | None,
    step: str,
    coordinates: int,
    earlier: int = 0,
) -> Scale:
    """The scale of a step's contributions, from a histogram if the plan has one."""
    planned = {event.name: event.noise_multiplier for event in curator.plan.events}
    largest = task.loss.largest_curvature if query.measures else None
    if f"{step}, {SCALE}" not in planned:
        return Scale.unread(query.knots, largest, earlier)
    answer = curator.answer(query, point, event=f"{step}, {SCALE}")
    if answer.noise_std > READABLE * task.n_rows:  # n was not known to the plan
        return Scale.unread(query.knots, largest, earlier)
    counts, total = answer.value
    if largest is not None:
        # Noise must not make a curvature vanish, nor a step endless.
        least = max(2 * answer.noise_std / task.n_rows, 1e-3)
        largest *= max(float(total[0]) / task.n_rows, least)
    doubled = 2.0 if curator.plan.neighbors == "replace-one" else 1.0
    beyond = min(0.5, doubled * planned[step] * math.sqrt(coordinates) / task.n_rows)
    return Scale.read(query.knots, counts, answer.noise_std, task.n_rows, beyond, largest)


def trusted(
    manifold: Manifold, point: np.ndarray, gradient: np.ndarray, noise_std: float, caution: float
) -> float:
    """Share of a noisy gradient that is not explained by noise, see :class:`CalibratedDescent`."""
    squared = float(manifold.norm(point, gradient)) ** 2
    explained = noise_std**2 * (manifold.dim + caution * math.sqrt(2 * manifold.dim))
    return 1.0 - explained / squared if squared > explained else 0.0


def growth_for(noise: float, largest: float, rounds: int) -> float:
    """Growth of budgets with which the first step's noise is at most half its clip, or 1.

    ``noise`` is the noise over the clip of one step with the whole budget; the first of several
    has the share 1 / (1 + g + g^2 + ...).
    """
    growth = largest
    while growth > 1 and noise**2 * float(np.sum(growth ** np.arange(rounds))) > 0.25:
        growth = max(1.0, growth - 0.1)
    return growth
