"""Gradient descent with noise for linear models: DP-GD on all rows, DP-SGD on Poisson samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from veilspan._scales import (
    LARGEST_SCALE,
    SMALLEST_SCALE,
    check_rate,
    check_scale,
    check_steps,
)
from veilspan.curator.curator import Curator
from veilspan.losses.linear import LinearLoss
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import Event, GaussianEvent, SampledGaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.linear.slope_gradient import SlopeGradient, length_of
from veilspan.solvers.base import count_rows, prepare_events
from veilspan.solvers.linear.asked.residual_cap import (
    ResidualCap,
    cap_place,
    noise_of_steps,
    with_cap,
)
from veilspan.solvers.linear.base import (
    Clips,
    LinearPrepared,
    LinearProblem,
    LinearResult,
    shorten,
)
from veilspan.solvers.linear.tables.noise_response import DescentNoise, steps_tell_noise
from veilspan.solvers.steps import STEP

Output = Literal["average", "last", "random"]

#: Default clip, as a fraction of the slope bound (or of 1, the range of targets, without one).
CLIP = 0.3
#: Steps of a private descent, and how far noise may carry it: see :class:`GradientDescent`.
MOST_STEPS, FEWEST_STEPS = 400, 20
LONGEST_WALK = {"classes": 100.0, "numbers": 4.0}
#: Without noise: steps at most, length of the gradient to stop at, clip of unbounded slopes.
EXACT_STEPS, EXACT_TOLERANCE, UNCLIPPED = 20_000, 1e-9, 1e6


@dataclass(frozen=True)
class GradientDescent(Clips):
    r"""Proximal descent theta <- prox(theta - eta g), g the noisy mean of the clipped gradients.

    A mean gradient longer than the clip is mostly noise and is shortened to it, unless ``shortens``
    is false. Penalty and constraint enter by their proximal map and need no noise.

    *Which output.* ``"average"``, the mean of the second half of the iterates, has most of the
    noise averaged out of it and is right for convex losses, strongly convex ones included.
    ``"last"`` has the linear rate of strongly convex or Polyak-Lojasiewicz objectives, down to a
    floor of noise. ``"random"``, an iterate drawn uniformly before the first answer, is what
    theorems on non-convex objectives bound the gradient at (Wang, Ye & Xu 2017, section 6).

    *Defaults.* With L the loss's smoothness and |x| <= 1, the step is 2 / L, the clip 0.3 times the
    slope bound: of those tried, what did best for the logistic loss on several tables. Along
    directions in which the loss is flat, T steps with noise of std a sqrt(T) C / (n mu) each carry
    theta about eta T C nu far, nu = a sqrt(p) / (n mu), a = 2 for replace-one, else 1. T is 400, or
    where the number of rows is known what keeps that below 100 / L for classes, whose scores may
    be long, and 4 / L for regression, whose scores must meet a target; but at least 20.

    *Momentum.* With momentum b the gradient is asked for at theta + b (theta - theta_before)
    (Nesterov 1983). Along flat directions T steps of size eta then carry theta as far as steps of
    size eta / (1 - b) would, by signal and by noise alike, and are stable like steps of size eta:
    so a descent of few steps filters like one of many.

    *Without privacy* (epsilon infinite) the defaults converge: nothing is clipped unless asked for,
    default steps of 1 / L are accelerated (Beck & Teboulle 2009) and restarted where they go uphill
    (O'Donoghue & Candes 2015), until the gradient is no longer than ``tolerance``.

    Parameters
    ----------
    steps : int, optional
        T, number of gradients, all with the same noise.
    step : float, optional
        eta.
    clip : float, optional
        C, the longest a row's gradient may be; above the loss's slope bound it changes nothing.
    output : {"average", "last", "random"}, optional
        Which iterate; by default the average, and the last one without privacy.
    tolerance : float, optional
        Length of the noisy gradient (of its proximal map) to stop at: a function of the answers,
        which tells nothing new, and under noise does not happen. 1e-9 without privacy, else 0.
    momentum : float
        b, at least 0, below 1.
    cap : ResidualCap, optional
        Choose the clip of later steps by a paid answer, for losses whose slopes have no bound.
    shortens : bool
        Whether a noisy mean gradient is shortened to the clip. With many columns one that is long
        by noise still has its signal, and noise of many steps goes to and fro: shortened ones come
        less far by both. Either is post-processing of the same answer.
    """

    steps: int | None = None
    step: float | None = None
    clip: float | None = None
    output: Output | None = None
    tolerance: float | None = None
    momentum: float = 0.0
    cap: ResidualCap | None = None
    shortens: bool = True

    #: Whether error bars need the curvature where it ended.
    needs_diagonal = True

    def __post_init__(self) -> None:
        check_momentum(self.momentum)
        check_descent_settings(self.step, self.clip, self.output)
        if self.steps is not None and not (type(self.steps) is int and self.steps >= 1):
            check_steps(self.steps, "steps")
        if self.tolerance is not None and not self.tolerance >= 0:
            raise ValueError(f"tolerance must be >= 0; got {self.tolerance}.")

    @property
    def name(self) -> str:
        """What plans and ``solver=`` call it."""
        return "gd"

    def prepare(
        self, problem: LinearProblem, budget: Budget, neighbors: Neighbors
    ) -> LinearPrepared:
        """Plan ``steps`` gradients with equal noise."""
        steps = self.steps
        if steps is None:
            longest = self._step(problem, budget) * clip_bound(problem.loss, budget, self.clip)
            steps = default_steps(problem, budget, neighbors, longest)
        events: tuple[Event, ...] = (GaussianEvent(STEP, count=steps),)
        shares: tuple[float, ...] = (1.0,)
        if self.cap is not None:
            events, shares = with_cap(self.cap, problem, budget, events, shares)
        return prepare_events(self, problem, budget, neighbors, events, shares)

    def run(self, curator: Curator, problem: LinearProblem) -> LinearResult:
        """Descend from zero (or the point nearest to it that the penalty allows)."""
        plan = curator.plan
        budget, steps = plan.budget, curator.planned(STEP).count
        rows = problem.n_rows or count_rows(curator)
        size, bound = self._step(problem, budget), clip_bound(problem.loss, budget, self.clip)
        tolerance = self.tolerance
        if tolerance is None:
            tolerance = 0.0 if budget.is_private else EXACT_TOLERANCE
        path = Iterates(curator, self.output or default_output(budget), steps)
        pace = Acceleration(self.step is None and not budget.is_private, self.momentum)
        query = SlopeGradient(problem.loss, bound)
        theta = ahead = problem.prox(np.zeros(problem.shape), size)
        trace: list[dict[str, Any]] = []
        stopped = f"all {steps} planned steps were taken"
        asked = None if self.cap is None else cap_place(self.cap, curator, steps)
        for k in range(steps):
            if self.cap is not None and k == asked:
                # The inverse curvature of p directions, as far as the steps left can reach.
                spread = min(theta.size, size * (steps - k) / 2)
                loud = math.sqrt(theta.size * spread)
                loud *= noise_of_steps(curator, problem, steps - k, rows)
                bound = self.cap.choose(curator, problem.loss, theta, loud, rows, bound)
                query = SlopeGradient(problem.loss, bound)
            answer = curator.answer(query, ahead, event=STEP)
            gradient = answer.value / rows
            if self.shortens:
                gradient = shorten(gradient, bound)
            moved = problem.prox(ahead - size * gradient, size)
            length = length_of(ahead - moved) / size
            entry = {"step": k, "noise_std": answer.noise_std / rows, "gradient": length}
            trace.append(entry if asked is None else {**entry, "cap": bound})
            theta, ahead = moved, pace.extrapolate(theta, ahead, moved)
            path.add(theta)
            if length <= tolerance:
                stopped = f"the gradient is no longer than {tolerance:g}"
                break
        told = None
        if budget.is_private and path.kind == "average" and steps_tell_noise(problem):
            stds = tuple(entry["noise_std"] for entry in trace)
            told = DescentNoise(size, self.momentum, stds, path.averaged, rows, bound)
        return LinearResult(path.output, stopped=stopped, trace=trace, noise=told)

    def _step(self, problem: LinearProblem, budget: Budget) -> float:
        if self.step is not None:
            return self.step
        return (2.0 if budget.is_private else 1.0) / problem.loss.smoothness


@dataclass(frozen=True)
class StochasticGradient(Clips):
    r"""The same on Poisson samples: v <- momentum v + g, theta <- prox(theta - eta v).

    g is the noisy sum over a sample in which each row takes part with probability q, over the
    expected number q n of rows in it. Sampling saves time, never noise: at equal privacy and equal
    steps the noise on the mean is larger than that of all rows. Sampling makes the iterates
    fluctuate even without noise; ``"average"`` has most of that averaged out.

    DP-SGD as libraries for deep learning run it (Abadi et al. 2016; Opacus), at clip 1 with batches
    of b rows and learning rate r, is
    ``StochasticGradient(epochs, b / n, step=r, clip=1.0, momentum=0.9, output="last")``.

    Parameters
    ----------
    epochs : float
        Expected number of times that each row takes part: there are epochs / q steps.
    batch_rate : float
        q, between 0 and 1, both excluded.
    step : float, optional
        eta; by default 2 / L times (1 - momentum), L the loss's smoothness.
    clip : float, optional
        As in :class:`GradientDescent`.
    momentum : float
        At least 0, below 1.
    output : {"average", "last", "random"}
        As in :class:`GradientDescent`.
    """

    epochs: float = 20.0
    batch_rate: float = 0.05
    step: float | None = None
    clip: float | None = None
    momentum: float = 0.0
    output: Output = "average"

    def __post_init__(self) -> None:
        check_rate(self.batch_rate)
        check_descent_settings(self.step, self.clip, self.output)
        if not (self.epochs > 0 and math.isfinite(self.epochs)):
            raise ValueError(f"epochs must be positive and finite; got {self.epochs}.")
        check_momentum(self.momentum)

    @property
    def name(self) -> str:
        """What plans and ``solver=`` call it."""
        return "sgd"

    def prepare(
        self, problem: LinearProblem, budget: Budget, neighbors: Neighbors
    ) -> LinearPrepared:
        """Plan epochs / q sampled gradients with equal noise."""
        steps = max(1, round(self.epochs / self.batch_rate))
        sampled = SampledGaussianEvent(STEP, self.batch_rate, count=steps)
        return prepare_events(self, problem, budget, neighbors, (sampled,), (1.0,))

    def run(self, curator: Curator, problem: LinearProblem) -> LinearResult:
        """Descend from zero (or the point nearest to it that the penalty allows)."""
        steps = curator.planned(STEP).count
        bound = clip_bound(problem.loss, curator.plan.budget, self.clip)
        query = SlopeGradient(problem.loss, bound)
        size = self.step or 2.0 / problem.loss.smoothness * (1.0 - self.momentum)
        path, rows = Iterates(curator, self.output, steps), count_rows(curator) * self.batch_rate
        theta = problem.prox(np.zeros(problem.shape), size)
        velocity = np.zeros(problem.shape)
        trace: list[dict[str, Any]] = []
        for k in range(steps):
            answer = curator.answer(query, theta, event=STEP)
            velocity = self.momentum * velocity + shorten(answer.value / rows, bound)
            theta = problem.prox(theta - size * velocity, size)
            trace.append({"step": k, "noise_std": answer.noise_std / rows})
            path.add(theta)
        return LinearResult(
            path.output, stopped=f"all {steps} planned samples were taken", trace=trace
        )


class Acceleration:
    """Extrapolation of accelerated descent, begun again where a step turns back; or a fixed one."""

    def __init__(self, active: bool, momentum: float = 0.0) -> None:
        self.active, self.momentum = active, momentum
        self.age = 0

    def extrapolate(self, before: np.ndarray, ahead: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Point to ask for the next gradient at."""
        if not self.active:
            return after + self.momentum * (after - before) if self.momentum else after
        self.age = 0 if float(np.sum((ahead - after) * (after - before))) > 0 else self.age + 1
        return after + self.age / (self.age + 3.0) * (after - before)


class Iterates:
    """What is kept of the iterates: the last, the mean of the second half, or a random one."""

    def __init__(self, curator: Curator, output: Output, steps: int) -> None:
        self.kind, self.steps, self.seen = output, steps, 0
        # A random iterate is chosen before the first answer.
        random = output == "random"
        self.chosen = int(curator.coins("iterate").integers(steps)) if random else 0
        self.output: np.ndarray = np.zeros(0)
        self.averaged = 0

    def add(self, theta: np.ndarray) -> None:
        """Take one more iterate in."""
        if self.kind == "average" and 2 * self.seen >= self.steps - 1:
            self.averaged += 1
            first = self.averaged == 1
            self.output = theta if first else self.output + (theta - self.output) / self.averaged
        elif self.kind != "random" or self.seen <= self.chosen:
            self.output = theta
        self.seen += 1


def default_output(budget: Budget) -> Output:
    """The average under noise, the last iterate without."""
    return "average" if budget.is_private else "last"


def clip_bound(loss: LinearLoss, budget: Budget, clip: float | None) -> float:
    """Longest gradient of a row: the clip, or the slope bound where that is shorter."""
    if clip is None and budget.is_private:
        clip = CLIP * (loss.slope_bound if math.isfinite(loss.slope_bound) else 1.0)
    return min(UNCLIPPED if clip is None else clip, loss.slope_bound)


def default_steps(
    problem: LinearProblem, budget: Budget, neighbors: Neighbors, longest_step: float
) -> int:
    """Steps that noise does not carry too far (see :class:`GradientDescent`)."""
    if not budget.is_private:
        return EXACT_STEPS
    n = problem.planned_rows
    if n is None:
        return MOST_STEPS
    factor = 2.0 if neighbors == "replace-one" else 1.0
    nu = factor * math.sqrt(math.prod(problem.shape)) / (n * budget.mu)
    walk = LONGEST_WALK["classes" if problem.loss.margin else "numbers"] / problem.loss.smoothness
    return int(min(max(walk / (longest_step * nu), FEWEST_STEPS), MOST_STEPS))


def check_momentum(momentum: float) -> None:
    """Refuse a momentum with which no descent comes to rest."""
    if not 0 <= momentum < 1:
        raise ValueError(f"momentum must be at least 0 and below 1; got {momentum}.")


def check_descent_settings(step: float | None, clip: float | None, output: str | None) -> None:
    """Refuse what no descent can be made of."""
    for name, value in (("step", step), ("clip", clip)):
        fine = type(value) is float and SMALLEST_SCALE <= value <= LARGEST_SCALE
        if not fine and value is not None:
            check_scale(value, name)
    if output not in (None, "average", "last", "random"):
        raise ValueError(f'output must be "average", "last" or "random"; got {output!r}.')
