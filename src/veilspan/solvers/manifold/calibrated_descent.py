"""Few large steps at a privately measured scale, as far as noise lets them: the default."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan._scales import check_steps
from veilspan.curator.curator import Curator
from veilspan.geometry import Manifold
from veilspan.losses.manifold import ManifoldLoss
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import Event, GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.manifold.tangent_gradient import GradientScale
from veilspan.solvers.base import Prepared, count_rows
from veilspan.solvers.manifold.base import (
    ManifoldProblem,
    ManifoldResult,
    cap_length,
    move_along,
    prepare_descent,
)
from veilspan.solvers.manifold.gradient_lengths import (
    READABLE,
    GradientLengths,
    estimate_curvature,
)
from veilspan.solvers.manifold.rgd import RGD
from veilspan.solvers.manifold.secant_steps import SecantSteps
from veilspan.solvers.steps import STEP

SCALE, OPENING = "scale", "opening"
#: Without privacy nothing is measured and nothing clipped: descent goes on until it has arrived.
EXACT_STEPS, EXACT_TOLERANCE = 200, 1e-12
#: There, steps may adapt to the curvature within this factor of its inverse.
EXACT_RANGE = 10.0
#: Most that one histogram may cost, relative to all steps: three of them cost a third as much.
LARGEST_SHARE = 0.12
#: Noise on a count of a histogram, times mu: its sensitivity is sqrt(2) or sqrt(3).
COUNT_NOISE = 1.5
#: A measured curvature is never taken for less than this share of the largest.
LEAST_CURVATURE = 1e-3
#: The noise of a first step may be at most this share of its clip where budgets grow.
FIRST_NOISE = 0.5


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
    geometry (:func:`~veilspan.solvers.manifold.gradient_lengths.estimate_curvature`): in hyperbolic
    space the squared distance to a point at distance 10 bends ten times as much as in flat space.

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
        """What plans and errors call it."""
        return "calibrated descent"

    def prepare(
        self, problem: ManifoldProblem, budget: Budget, neighbors: Neighbors
    ) -> Prepared[ManifoldProblem, ManifoldResult]:
        """Plan a step per round and before each, where it can be read, a histogram."""
        events, shares = self._releases(problem, budget, neighbors)
        return prepare_descent(self, problem, budget, neighbors, events, shares)

    def _releases(
        self, problem: ManifoldProblem, budget: Budget, neighbors: Neighbors
    ) -> tuple[tuple[Event, ...], tuple[float, ...]]:
        """Events and their shares, relative to all that is not spent on histograms."""
        if not budget.is_private:
            return (GaussianEvent(STEP, count=EXACT_STEPS),), (1.0,)
        loss = problem.loss
        if loss.curvature is None and loss.largest_curvature is None:
            raise ValueError(
                "this loss has no known curvature: give it a public one, e.g. "
                "Loss(..., curvature=1.0), or choose a solver with a step, e.g. RGD(step=0.1)."
            )
        known = 0.0 if problem.n_rows is None else problem.n_rows * budget.mu
        scale_share = self._scale_share(known)
        events: list[Event] = []
        shares: list[float] = []
        for name, share in self._steps(loss, neighbors, known).items():
            if scale_share:
                events.append(GaussianEvent(f"{name}, {SCALE}"))
                shares.append(scale_share)
            events.append(GaussianEvent(name))
            shares.append(share)
        return tuple(events), tuple(shares)

    def _scale_share(self, known: float) -> float:
        """Share of one histogram; 0 if noise would hide it. ``known`` is n mu, or 0."""
        least = self.scale_share / self.rounds
        if not known:
            return least
        needed = (COUNT_NOISE / (READABLE * known)) ** 2
        return max(needed, least) if needed <= LARGEST_SHARE else 0.0

    def _steps(self, loss: ManifoldLoss, neighbors: Neighbors, known: float) -> dict[str, float]:
        """Names and shares of what follows each histogram: an opening where it pays, the steps."""
        doubled = 2.0 if neighbors == "replace-one" else 1.0
        opening = loss.opening()
        # Noise of an opening of half the budget, over the largest that it may find.
        opened = opening is not None and (
            not known or math.sqrt(2 * opening.coordinates) <= known * math.sqrt(self.opening_share)
        )
        rounds = self.opened_rounds if opened else self.rounds
        noise = doubled * math.sqrt(loss.manifold.dim) / known if known else 0.0
        growth = choose_growth(noise, self.growth, rounds) ** np.arange(rounds)
        shares = (1 - self.opening_share * opened) * growth / growth.sum()
        steps = {f"{STEP} {k + 1}": float(share) for k, share in enumerate(shares)}
        return ({OPENING: self.opening_share} if opened else {}) | steps

    def run(self, curator: Curator, problem: ManifoldProblem) -> ManifoldResult:
        """Take all rounds, or descend until it has arrived without privacy."""
        if not curator.plan.budget.is_private:
            adapted = SecantSteps(1.0 / (problem.loss.curvature or 1.0), range=EXACT_RANGE)
            exact = RGD(steps=EXACT_STEPS, step=adapted, tolerance=EXACT_TOLERANCE)
            return exact.run(curator, problem)
        rows = count_rows(curator)
        manifold, point = problem.loss.manifold, self._open(curator, problem, rows)
        trace: list[dict[str, Any]] = []
        steps = [e.name for e in curator.plan.events if e.name.startswith(STEP)]
        for name in steps:
            if name.endswith(SCALE):
                continue
            query = GradientScale(problem.loss, problem.bound)
            lengths = measure_lengths(
                curator, query, point, name, rows, manifold.dim, earlier=len(trace)
            )
            answer = curator.answer(problem.loss.query(lengths.clip), point, event=name)
            gradient, noise = answer.value / rows, answer.noise_std / rows
            trust = estimate_trust(manifold, point, gradient, noise, self.caution)
            raw = gradient
            gradient = cap_length(manifold, point, trust * gradient, lengths.clip)
            held = float(manifold.norm(point, raw - gradient))
            size = 1.0 / estimate_curvature(problem.loss, point, gradient, lengths)
            told = {"size": size, "clip": lengths.clip, "trust": trust, "held_back": size * held}
            trace.append({"step": len(trace), **told, "noise_std": noise, "point": point})
            point = move_along(manifold, point, -size * gradient, problem.ball)
        stopped = f"all {len(trace)} planned rounds were taken"
        return ManifoldResult(point, stopped=stopped, trace=trace)

    def _open(self, curator: Curator, problem: ManifoldProblem, rows: float) -> np.ndarray:
        """The first point: from the opening release where the plan has one, else the start."""
        opening = problem.loss.opening()
        if opening is None or not any(event.name == OPENING for event in curator.plan.events):
            return problem.start
        query = GradientScale(problem.loss, opening.largest, opening.sizes)
        lengths = measure_lengths(curator, query, None, OPENING, rows, opening.coordinates)
        return opening.point(curator.answer(opening.query(lengths.clip), event=OPENING).value)


def measure_lengths(
    curator: Curator,
    query: GradientScale,
    point: np.ndarray | None,
    step: str,
    rows: float,
    coordinates: int,
    *,
    earlier: int = 0,
) -> GradientLengths:
    """Learn how long a step's contributions are, from a histogram if the plan has one.

    Parameters
    ----------
    curator : Curator
        Who is asked.
    query : GradientScale
        The histogram.
    point : array or None
        Where gradients are taken; ``None`` for an opening, which has no point yet.
    step : str
        Event of the release that these contributions are for.
    rows : float
        Number of rows, public or counted.
    coordinates : int
        Dimension of that release: its noise says how many rows may be clipped.
    earlier : int
        Steps taken so far.
    """
    planned = {event.name: event.noise_multiplier for event in curator.plan.events}
    largest = query.loss.largest_curvature if query.measures else None
    if f"{step}, {SCALE}" not in planned:
        return GradientLengths.guess(query.knots, largest, earlier)
    answer = curator.answer(query, point, event=f"{step}, {SCALE}")
    if answer.noise_std > READABLE * rows:  # n was not known to the plan
        return GradientLengths.guess(query.knots, largest, earlier)
    counts, total = answer.value
    if largest is not None:
        # Noise must not make a curvature vanish, nor a step endless.
        least = max(2 * answer.noise_std / rows, LEAST_CURVATURE)
        largest *= max(float(total[0]) / rows, least)
    doubled = 2.0 if curator.plan.neighbors == "replace-one" else 1.0
    beyond = min(0.5, doubled * planned[step] * math.sqrt(coordinates) / rows)
    noise = answer.noise_std
    return GradientLengths.from_counts(query.knots, counts, noise, rows, beyond, largest)


def estimate_trust(
    manifold: Manifold, point: np.ndarray, gradient: np.ndarray, noise_std: float, caution: float
) -> float:
    """Share of a noisy gradient that is not explained by noise, see :class:`CalibratedDescent`."""
    squared = float(manifold.norm(point, gradient)) ** 2
    explained = noise_std**2 * (manifold.dim + caution * math.sqrt(2 * manifold.dim))
    return 1.0 - explained / squared if squared > explained else 0.0


def choose_growth(noise: float, largest: float, rounds: int) -> float:
    """Largest growth of budgets with which the first step's noise is at most half its clip, or 1.

    ``noise`` is the noise over the clip of one step with the whole budget; the first of several
    has the share 1 / (1 + g + g^2 + ...).
    """
    growth = largest
    while growth > 1 and noise**2 * float(np.sum(growth ** np.arange(rounds))) > FIRST_NOISE**2:
        growth = max(1.0, growth - 0.1)
    return growth
