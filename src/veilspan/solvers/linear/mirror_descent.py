r"""Accelerated mirror descent with noise for linear models: DP-AccMD, noisy in both steps.

The geometry decides in which norm steps are short. With w 1-strongly convex and the objective
L-smooth for a norm |.|, T steps with gradients g_k + b_k end at (see :class:`AcceleratedMirror`)

    F(y_T) - F* <= 8 L B_w(theta*, theta_0) / (T + 1)^2 + O(T) E |b|_*^2 / L,

|.|_* being the dual norm. *l2*: w = |.|^2 / 2, and noise of std s on p coordinates has
E |b|_*^2 = p s^2. *entropy*, on an l1-ball of radius R: theta = R (u - v), (u, v) in the simplex of
2 p weights, and w = R^2 sum s log s is 1-strongly convex for the l1 norm (Pinsker);
B_w <= R^2 log(2 p) and E |b|_*^2 = E max_j b_j^2 <= 2 s^2 (log(2 p) + 1). So sqrt(p) R, the product
of noise and reach, becomes 2 log(2 p) R: less from some 150 coefficients on.

**What that is worth.** L is the same in both: for a row x and a step d the score moves by
<x, d>^2 <= max_j x_j^2 |d|_1^2 <= |x|_2^2 |d|_1^2, so |x|_2 <= 1 makes F L-smooth for the l1 norm
too. But the l1 norm would allow longer rows, |x_j| <= 1 for each j, and *Gaussian noise does not*:
its std is that of a release of sensitivity sup |x|_2, the same on every coordinate in either
geometry. Rows with p dense features of size 1 have |x|_2 = sqrt(p), have to be scaled down by that,
and then need an l1-ball sqrt(p) times as large for the same scores: log p is bought back by
sqrt(p). The entropy pays for rows that are short in l2 although p is large, such as sparse ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from veilspan._scales import check_steps
from veilspan.curator.curator import Curator
from veilspan.losses.penalties import L1Ball, L2Ball, Simplex
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.linear.slope_gradient import SlopeGradient
from veilspan.solvers.base import count_rows, prepare_events
from veilspan.solvers.linear.base import (
    Clips,
    LinearPrepared,
    LinearProblem,
    LinearResult,
    shorten,
)
from veilspan.solvers.linear.gradient_descent import (
    EXACT_STEPS,
    EXACT_TOLERANCE,
    check_descent_settings,
    clip_bound,
)
from veilspan.solvers.linear.svrg import check_smooth
from veilspan.solvers.steps import STEP

#: Length of theta that step numbers are chosen by where no constraint says.
TYPICAL_LENGTH = 20.0
FEWEST_STEPS, MOST_STEPS = 5, 200


class Geometry(Protocol):
    """Points as flat arrays, and the two steps; mixtures of points are taken entry by entry."""

    reach: float  #: sqrt(2 B_w) from the start to the farthest minimum
    noise_share: float  #: dual norm of isotropic noise, over its l2 norm

    def start(self) -> np.ndarray:
        """The point where both descents begin."""

    def theta(self, point: np.ndarray) -> np.ndarray:
        """The coefficients that a point stands for."""

    def limited(self, gradient: np.ndarray, longest: float) -> np.ndarray:
        """As much of a noisy gradient as an exact one could be."""

    def near(self, point: np.ndarray, gradient: np.ndarray, size: float) -> np.ndarray:
        """argmin_y |y - point|^2 / (2 size) + <gradient, y> + penalty(y)."""

    def mirror(self, point: np.ndarray, gradient: np.ndarray, size: float) -> np.ndarray:
        """argmin_z B_w(z, point) / size + <gradient, z> + penalty(z)."""


class EuclideanGeometry:
    """Lengths in l2; any penalty with a proximal map."""

    def __init__(self, problem: LinearProblem) -> None:
        self.problem = problem
        ball = problem.penalty
        self.reach = TYPICAL_LENGTH
        if isinstance(ball, (L1Ball, L2Ball, Simplex)):
            self.reach = ball.total if isinstance(ball, Simplex) else ball.radius
        self.noise_share = 1.0

    def start(self) -> np.ndarray:
        """Zero, or the nearest point that a constraint allows."""
        return self.problem.prox(np.zeros(self.problem.shape), 1.0)

    def theta(self, point: np.ndarray) -> np.ndarray:
        """The point itself: it is theta."""
        return point

    def limited(self, gradient: np.ndarray, longest: float) -> np.ndarray:
        """The gradient, shortened to the longest exact one."""
        return shorten(gradient, longest)

    def near(self, point: np.ndarray, gradient: np.ndarray, size: float) -> np.ndarray:
        """A proximal step of the penalty."""
        return self.problem.prox(point - size * gradient, size)

    def mirror(self, point: np.ndarray, gradient: np.ndarray, size: float) -> np.ndarray:
        """Proximal step: both are the same here."""
        return self.near(point, gradient, size)


class EntropyGeometry:
    r"""Lengths in l1, on an l1-ball (2 p weights, one for each sign) or a simplex (p weights).

    A point holds the weights, then the coefficients of the intercept, which are free and move as in
    l2: with w' = w + |b|^2 / 2 the norm is sqrt(|.|_1^2 + |b|^2), for which F is still L-smooth,
    since (max_j |x_j| |d|_1 + |c| |b|)^2 <= |x|_2^2 (|d|_1^2 + |b|^2), c the constant column.
    """

    def __init__(self, problem: LinearProblem) -> None:
        ball = problem.penalty
        if not isinstance(ball, (L1Ball, Simplex)):
            raise ValueError(
                f'geometry "entropy" needs an l1-ball or a simplex; the penalty is {ball.name!r}.'
            )
        self.signed = isinstance(ball, L1Ball)
        self.radius = ball.radius if isinstance(ball, L1Ball) else ball.total
        self.shape = problem.shape
        outputs = problem.loss.n_outputs
        self.free = outputs if problem.intercept else 0
        self.bound = math.prod(problem.shape) - self.free  # coefficients in the ball
        self.weights = (2 if self.signed else 1) * self.bound
        self.reach = self.radius * math.sqrt(2 * math.log(max(self.weights, 2)))
        longest = math.sqrt(2 * (math.log(max(self.weights, 2)) + 1))
        self.noise_share = min(1.0, longest / math.sqrt(math.prod(problem.shape)))

    def start(self) -> np.ndarray:
        """All weights alike; no intercept."""
        return np.concatenate([np.full(self.weights, 1.0 / self.weights), np.zeros(self.free)])

    def theta(self, point: np.ndarray) -> np.ndarray:
        """R (u - v), or R u."""
        weights, free = point[: self.weights], point[self.weights :]
        inside = weights[: self.bound] - weights[self.bound :] if self.signed else weights
        return np.concatenate([self.radius * inside, free]).reshape(self.shape)

    def limited(self, gradient: np.ndarray, longest: float) -> np.ndarray:
        """Entry by entry: none is longer than the whole gradient."""
        return np.clip(gradient, -longest, longest)

    def near(self, point: np.ndarray, gradient: np.ndarray, size: float) -> np.ndarray:
        r"""Move weight to the best vertex from the worst ones, as long as that pays.

        Over steps d of the weights, R^2 |d|_1^2 / (2 size) + <c, d> with c = R (g, -g): a mass m
        that moves to the smallest c_j costs 2 R^2 m^2 / size and gains c_i - c_j for each bit
        taken from i, so weights are emptied in order of c, up to m = size (c_i - c_j) / (4 R^2).
        """
        weights, slopes, free = self._split(point, gradient, size)
        best, order = int(np.argmin(slopes)), np.argsort(-slopes)
        gains = size * (slopes[order] - slopes[best]) / (4 * self.radius**2)
        held = weights[order]
        taken = np.clip(gains - (np.cumsum(held) - held), 0.0, held)
        weights[order] -= taken
        weights[best] += taken.sum()
        return np.concatenate([weights, free])

    def mirror(self, point: np.ndarray, gradient: np.ndarray, size: float) -> np.ndarray:
        """Exponentiated gradient: s_j proportional to s_j exp(-size c_j / R^2)."""
        weights, slopes, free = self._split(point, gradient, size)
        # A weight that has vanished stays where it can come back from.
        logs = np.log(np.maximum(weights, 1e-300)) - size * slopes / self.radius**2
        grown = np.exp(logs - logs.max())
        return np.concatenate([grown / grown.sum(), free])

    def _split(
        self, point: np.ndarray, gradient: np.ndarray, size: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights, their slopes, and the intercept after its own step."""
        flat = gradient.reshape(-1)
        inside = self.radius * flat[: self.bound]
        slopes = np.concatenate([inside, -inside]) if self.signed else inside
        free = point[self.weights :] - size * flat[self.bound :]
        return point[: self.weights].copy(), slopes, free


@dataclass(frozen=True)
class AcceleratedMirror(Clips):
    r"""Algorithm 3 (DP-AccMD) of Wang, Ye & Xu (2017), with the noisy gradient in both steps.

    From y_0 = z_0, for k = 0, 1, ..., T - 1, with r_k = 2 / (k + 2) and a_k = (k + 2) / (4 L):

        x = r_k z_k + (1 - r_k) y_k,        g = noisy mean of the clipped gradients at x,
        y_(k+1) = argmin_y L |y - x|^2 + <g, y> + penalty(y),
        z_(k+1) = argmin_z B_w(z, z_k) + a_k <g, z> + a_k penalty(z);

    the result is y_T. This is linear coupling (Allen-Zhu & Orecchia 2017) for smoothness 2 L; the
    spare L absorbs the noise: -<b, d> <= |b|_*^2 / (2 L) + L |d|^2 / 2.

    *Why not as printed.* The printed y-step uses the gradient without noise, and y_T is what is
    published: one step tells everything (epsilon is infinite), and the replay audit shows it. The
    same noisy gradient in both steps costs nothing more and loses nothing in the bound. Also
    printed is L |C|_2^2 as smoothness for the norm whose unit ball is C but L in the step sizes;
    here the norm is l1 or l2 itself, and L serves both.

    *Defaults.* Without noise the error falls like 1 / T^2; all T steps share the budget, so noise
    adds about T^2 times that of a single release. They balance at T = 2 sqrt(L reach / s), with s
    the dual norm of the noise of one release of the whole budget and reach = sqrt(2 B_w): T lies
    between 5 and 200. Without privacy, steps end where y moves by less than 1e-9.

    Parameters
    ----------
    steps : int, optional
        T.
    geometry : {"l2", "entropy"}, optional
        By default the one with the smaller error in the module's bound, l2 without an l1-ball or
        simplex.
    clip : float, optional
        Longest gradient of a row.
    smoothness : float, optional
        L; by default the loss's, for rows in the unit ball.
    """

    steps: int | None = None
    geometry: Literal["l2", "entropy"] | None = None
    clip: float | None = None
    smoothness: float | None = None

    def __post_init__(self) -> None:
        if self.steps is not None:
            check_steps(self.steps, "steps")
        check_descent_settings(self.smoothness, self.clip, None)
        if self.geometry not in (None, "l2", "entropy"):
            raise ValueError(f'geometry must be "l2" or "entropy"; got {self.geometry!r}.')

    @property
    def name(self) -> str:
        """What plans and ``solver=`` call it."""
        return "accmd"

    def prepare(
        self, problem: LinearProblem, budget: Budget, neighbors: Neighbors
    ) -> LinearPrepared:
        """Plan ``steps`` gradients with equal noise."""
        check_smooth(problem, self.name)
        steps = self.steps or self._default_steps(problem, budget, neighbors)
        return prepare_events(
            self, problem, budget, neighbors, (GaussianEvent(STEP, count=steps),), (1.0,)
        )

    def run(self, curator: Curator, problem: LinearProblem) -> LinearResult:
        """Couple the two descents by one noisy gradient a step."""
        budget, steps, rows = (
            curator.plan.budget,
            curator.planned(STEP).count,
            count_rows(curator),
        )
        bound = clip_bound(problem.loss, budget, self.clip)
        query, space = SlopeGradient(problem.loss, bound), self._geometry(problem)
        smooth = 2.0 * (self.smoothness or problem.loss.smoothness)
        near = far = space.start()
        trace: list[dict[str, Any]] = []
        stopped = f"all {steps} planned steps were taken"
        for k in range(steps):
            mixed = 2.0 / (k + 2) * far + (1.0 - 2.0 / (k + 2)) * near
            answer = curator.answer(query, space.theta(mixed), event=STEP)
            gradient = space.limited(answer.value / rows, bound)
            near = space.near(mixed, gradient, 1.0 / smooth)
            far = space.mirror(far, gradient, (k + 2) / (2.0 * smooth))
            length = smooth * float(np.linalg.norm(space.theta(near) - space.theta(mixed)))
            trace.append({"step": k, "noise_std": answer.noise_std / rows, "gradient": length})
            if not budget.is_private and length <= EXACT_TOLERANCE:
                stopped = f"the gradient is no longer than {EXACT_TOLERANCE:g}"
                break
        return LinearResult(space.theta(near), stopped=stopped, trace=trace)

    def _geometry(self, problem: LinearProblem) -> Geometry:
        plain = EuclideanGeometry(problem)
        if self.geometry == "l2" or not isinstance(problem.penalty, (L1Ball, Simplex)):
            return EntropyGeometry(problem) if self.geometry == "entropy" else plain
        curved = EntropyGeometry(problem)
        smaller = curved.reach * curved.noise_share < plain.reach * plain.noise_share
        return curved if smaller or self.geometry == "entropy" else plain

    def _default_steps(self, problem: LinearProblem, budget: Budget, neighbors: Neighbors) -> int:
        space = self._geometry(problem)
        if not budget.is_private:
            return EXACT_STEPS
        nu = problem.noise_of_a_gradient(budget, neighbors)
        if nu is None:
            return MOST_STEPS
        noise = nu * clip_bound(problem.loss, budget, self.clip) * space.noise_share
        smooth = self.smoothness or problem.loss.smoothness
        best = 2.0 * math.sqrt(smooth * space.reach / noise)
        return int(min(max(best, FEWEST_STEPS), MOST_STEPS))
