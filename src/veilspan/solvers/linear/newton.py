r"""Noisy gradient steps in the metric of a released Gram matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from veilspan._scales import check_scale, check_steps
from veilspan._threads import threads_for
from veilspan.curator.curator import Answer, Curator
from veilspan.losses.linear import LinearLoss
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import Event, GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.linear.slope_gradient import MetricGradient, RowMetric, SlopeGradient
from veilspan.queries.moments import SecondMoment
from veilspan.solvers.base import count_rows, prepare_events
from veilspan.solvers.linear.asked.residual_cap import (
    ResidualCap,
    best_cap,
    cap_place,
    noise_of_steps,
    with_cap,
)
from veilspan.solvers.linear.base import (
    Clips,
    LinearPrepared,
    LinearProblem,
    LinearResult,
    Needs,
    require,
    shorten,
)
from veilspan.solvers.linear.gradient_descent import (
    EXACT_TOLERANCE,
    UNCLIPPED,
    Acceleration,
    Iterates,
    Output,
    check_momentum,
)
from veilspan.solvers.linear.quadratic import Quadratic, eigenvalues_mapped, ridge_of
from veilspan.solvers.linear.tables.curve_noise import CurveNoise, NewtonNoise
from veilspan.solvers.linear.tables.noise_response import steps_tell_noise
from veilspan.solvers.spectral import noise_edge
from veilspan.solvers.steps import STEP

GRAM = "gram"
#: Steps of a private fit to classes and to numbers, and at most without privacy.
STEPS, TARGET_STEPS, EXACT_STEPS = 32, 16, 1_000
#: Without privacy: <d, H d> of a step d, twice what it can still gain, that is as good as nothing.
#: Where columns are nearly alike, rounding alone makes steps that are long and gain less.
EXACT_GAIN = 1e-18
#: Clip as a fraction of the slope bound (or of 1, the range of targets, without one).
CLIP = 0.4
#: Floors in units of the Gram matrix's noise edge and of the length of a step's noise.
GRAM_FLOOR, STEP_FLOOR = 0.25, 0.1
MARGINS = ("logistic", "smoothed hinge", "multinomial", "multiclass hinge")
CURVED = (*MARGINS, *(f"weighted {name}" for name in MARGINS), "huber", "quantile", "squared")


@dataclass(frozen=True)
class PrivateNewton(Clips):
    r"""Newton-like steps with one fixed, released curvature and noisy gradients.

    With L the largest curvature of the loss in its score, the Hessian of the mean loss is at most
    H = L X^T X / n everywhere (Bohning & Lindsay 1988; for k scores L (I - 11^T/k) (x) X^T X / n
    with L = 1/2, Bohning 1992). H is released once (event "gram",
    :class:`~veilspan.queries.moments.SecondMoment`); step t then minimises the upper bound

        <g_t, theta - theta_t> + <theta - theta_t, H (theta - theta_t)>/2 + penalty(theta)

    with the noisy gradient g_t (event "step"). Features of unlike scale, or correlated ones, are
    learned as fast as others, where plain descent moves along the large directions only.

    **Noise.** An eigenvalue of H below the noise is lifted as in
    :func:`~veilspan.solvers.linear.quadratic.eigenvalues_mapped`, with k the larger of a quarter of
    L times the edge of the matrix's noise and of a tenth of the length of a gradient's noise,
    both over n. This slows directions in which little can be learned and biases no fixed point:
    what stops early there is theta near its start, zero. The second half of the iterates is
    averaged. The probabilities' gradients of k scores sum to zero over the scores, clipped or not,
    so the part of the noise that does not is taken off.

    **Whitened.** With ``whiten`` rows are clipped, and noise is added, in the coordinates in which
    the released matrix is the same in all directions, phi = A^-1 theta with A ~ X^T X^(-1/2)
    (:class:`~veilspan.queries.linear.slope_gradient.MetricGradient`). Otherwise a row is
    mostly clipped by what all rows have in common, and a direction in which rows are short is
    moved by noise that is as loud as along the longest. A is scaled so that the mean squared
    length of rows is at most what it was: the same, as far as noise leaves the matrix alone. Noise
    stds in ``trace`` are those in phi.

    **Defaults** (32 steps, 10 % of the budget on the matrix, clip 0.4 of the slope bound) were
    chosen on three tables with the logistic loss: 455 x 31, 1,437 x 62 and 40,000 x 51 at epsilon
    0.1 to 3. Scores that must meet a number take 16 steps: H is then the Hessian itself or close to
    it, and on few rows twice as many steps only add noise. *Without privacy* steps are accelerated,
    unclipped, and run until they stand still.

    Parameters
    ----------
    steps : int, optional
        Number of gradients.
    gram_share : float
        Share of the budget (of mu^2) for the matrix.
    clip : float, optional
        Longest that a row's gradient may be; of the first steps, if there is a ``cap``.
    cap : ResidualCap, optional
        Choose the clip of later steps by a paid answer, for losses whose slopes have no bound.
    momentum : float
        b, at least 0, below 1: gradients are asked for at theta + b (theta - theta_before)
        (Nesterov 1983), and a step along one direction carries 1 / (1 - b) times as far. Makes up
        for a short clip, under which the same H makes steps too short. Error bars are then at most
        so wide: what pulls noise back is derived for plain steps.
    whiten : bool
        Clip and add noise in the coordinates in which rows are as long in one direction as in
        another, as far as the released matrix tells. For losses with bounded slopes, without a
        ``cap``. Error bars are then those of ``momentum``.
    """

    steps: int | None = None
    gram_share: float = 0.1
    clip: float | None = None
    cap: ResidualCap | None = None
    momentum: float = 0.0
    whiten: bool = False

    name = "newton"

    def __post_init__(self) -> None:
        if self.steps is not None:
            check_steps(self.steps, "steps")
        if not 0 < self.gram_share < 1:
            raise ValueError(
                f"gram_share must lie strictly between 0 and 1; got {self.gram_share}."
            )
        if self.clip is not None:
            check_scale(self.clip, "clip")
        check_momentum(self.momentum)
        if self.whiten and self.cap is not None:
            raise ValueError("whiten=True is for losses with bounded slopes: leave cap=None.")

    def prepare(
        self, problem: LinearProblem, budget: Budget, neighbors: Neighbors
    ) -> LinearPrepared:
        """One matrix, then ``steps`` gradients."""
        require(self.name, Needs(losses=CURVED), problem)
        if self.whiten and not math.isfinite(problem.loss.slope_bound):
            raise ValueError(
                f"whiten=True needs a loss with bounded slopes; those of {problem.loss.name} have "
                "no bound."
            )
        few = STEPS if problem.loss.margin else TARGET_STEPS
        steps = self.steps or (few if budget.is_private else EXACT_STEPS)
        events: tuple[Event, ...] = GaussianEvent(GRAM), GaussianEvent(STEP, count=steps)
        shares: tuple[float, ...] = self.gram_share, 1 - self.gram_share
        events, shares = with_cap(self.cap, problem, budget, events, shares)
        return prepare_events(self, problem, budget, neighbors, events, shares)

    def run(self, curator: Curator, problem: LinearProblem) -> LinearResult:
        """Release the curvature, then step from zero."""
        private, steps = curator.plan.budget.is_private, curator.planned(STEP).count
        bound = self.bound(problem.loss, private)
        rows = count_rows(curator)
        gram = curator.answer(SecondMoment(1.0), event=GRAM)
        white = _whitened(gram, rows) if self.whiten and private else None
        curvature, released = self._curvature(curator, problem, gram, bound, rows, white)
        upper = Quadratic(curvature, problem, in_all=not private)
        tells = private and steps_tell_noise(problem)
        query, path = SlopeGradient(problem.loss, bound), Iterates(curator, _output(private), steps)
        if white is not None:
            query = MetricGradient(problem.loss, bound, white.metric)
        asked = None if self.cap is None else cap_place(self.cap, curator, steps)
        residuals: Answer | None = None
        pace, noise = Acceleration(not private, self.momentum), CurveNoise()
        theta = ahead = problem.prox(np.zeros(problem.shape), 1.0)
        trace: list[dict[str, Any]] = []
        stopped = f"all {steps} planned steps were taken"
        for k in range(steps):
            if self.cap is not None and k == asked:
                # What noise of one unit in every coordinate comes to: the trace of the inverse.
                loud = math.sqrt(float(np.trace(np.linalg.inv(curvature))))
                loud *= noise_of_steps(curator, problem, steps - k, rows)
                residuals = self.cap.ask(curator, problem.loss, theta)
                bound = best_cap(residuals, loud, rows, bound)
                query = SlopeGradient(problem.loss, bound)
                curvature, _ = self._curvature(curator, problem, gram, bound, rows)
                upper = Quadratic(curvature, problem)
                noise.forget_bends()
            answer = curator.answer(query, ahead, event=STEP)
            gradient = _centred(shorten(answer.value / rows, bound))
            if white is not None:
                gradient = white.back @ gradient
            moved = upper.minimise(curvature @ ahead - gradient, ahead)
            length = float(np.linalg.norm(ahead - moved))
            if tells:
                noise.add(gradient, moved - ahead, answer.noise_std / rows)
            entry = {"step": k, "noise_std": answer.noise_std / rows, "moved": length}
            trace.append(entry if asked is None else {**entry, "cap": bound})
            before, theta, ahead = ahead, moved, pace.extrapolate(theta, ahead, moved)
            path.add(theta)
            if not private and (
                length <= EXACT_TOLERANCE or _gain(curvature, moved - before) <= EXACT_GAIN
            ):
                stopped = "a step gains nothing any more"
                if upper.is_spent:
                    stopped = "all steps towards the penalty's minima were taken"
                break
        told = None
        if tells:
            std = problem.loss.smoothness * gram.noise_std / rows
            ridge = np.diag(ridge_of(problem))
            told = NewtonNoise(
                noise, curvature + ridge, released, std, path.averaged, bound, ridge,
                rows, self.momentum, residuals, problem.loss, None if white is None else white.back,
            )  # fmt: skip
        return LinearResult(path.output, stopped=stopped, trace=trace, noise=told)

    def bound(self, loss: LinearLoss, private: bool) -> float:
        """Longest gradient of a row: the clip, or the slope bound where that is shorter."""
        clip = self.clip
        if clip is None:
            scale = loss.slope_bound if math.isfinite(loss.slope_bound) else 1.0
            clip = CLIP * scale if private else UNCLIPPED
        return min(clip, loss.slope_bound)

    def _curvature(
        self,
        curator: Curator,
        problem: LinearProblem,
        gram: Answer,
        bound: float,
        rows: float,
        white: Whitened | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Released bound on the Hessian of the mean loss: lifted out of the noise, and as it is."""
        size, largest = problem.n_features, problem.loss.smoothness
        step_std = curator.planned(STEP).noise_multiplier * SlopeGradient(
            problem.loss, bound
        ).sensitivity(curator.plan.neighbors)
        edge = largest * noise_edge(gram.noise_std, size)
        released = largest * np.asarray(gram.value) / rows
        if white is not None:
            loud = step_std * math.sqrt(size) / rows
            return white.curvature(largest, edge / rows, loud), released
        floor = max(GRAM_FLOOR * edge, STEP_FLOOR * step_std * math.sqrt(size))
        return eigenvalues_mapped(released, floor / rows), released


@dataclass(frozen=True, eq=False)
class Whitened:
    """Coordinates phi = A^-1 theta in which released second moments are alike in all directions.

    Attributes
    ----------
    values, vectors : arrays of shape (p,) and (p, p)
        Eigenvalues of the released mean of x x^T, and its eigenvectors, which A has as well.
    widths : array of shape (p,)
        Eigenvalues of A.
    """

    values: np.ndarray
    vectors: np.ndarray
    widths: np.ndarray

    @cached_property
    def metric(self) -> RowMetric:
        """The matrix A as the curator is told it."""
        return RowMetric(self._with(self.widths))

    @cached_property
    def back(self) -> np.ndarray:
        """The inverse of A: from gradients in phi to those in theta."""
        return self._with(1.0 / self.widths)

    def curvature(self, largest: float, edge: float, step_noise: float) -> np.ndarray:
        """H in theta, its eigenvalues lifted out of the noise that they have in phi."""
        squares = self.widths**2
        floors = np.maximum(GRAM_FLOOR * edge * squares, STEP_FLOOR * step_noise)
        lifted = np.maximum(largest * self.values * squares, floors)
        return self._with((lifted + floors**2 / lifted) / squares)

    def _with(self, eigenvalues: np.ndarray) -> np.ndarray:
        with threads_for(len(self.vectors)):
            return np.asarray((self.vectors * eigenvalues) @ self.vectors.T)


def _whitened(gram: Answer, rows: float) -> Whitened:
    """From the released matrix, whose eigenvalues below its noise count as its noise."""
    with threads_for(len(gram.value)):
        values, vectors = np.linalg.eigh(np.asarray(gram.value) / rows)
    floor = GRAM_FLOOR * noise_edge(gram.noise_std, len(values)) / rows
    lifted = np.maximum(values, max(floor, np.finfo(float).tiny))
    widths = (lifted + floor**2 / lifted) ** -0.5
    seen = np.maximum(values, 0.0)
    # Some row may be zero in all: then there is nothing to keep, and any width will do.
    kept = float(np.sum(seen)) / max(float(seen @ widths**2), np.finfo(float).tiny)
    return Whitened(values, vectors, widths * math.sqrt(kept) if kept > 0 else widths)


def _output(private: bool) -> Output:
    return "average" if private else "last"


def _gain(curvature: np.ndarray, step: np.ndarray) -> float:
    """<d, H d> of a step d, for one score or several."""
    return float(np.vdot(step, curvature @ step))


def _centred(gradient: np.ndarray) -> np.ndarray:
    """A gradient of k scores without the part along equal scores, which is noise alone."""
    return gradient if gradient.ndim == 1 else gradient - gradient.mean(axis=1, keepdims=True)
