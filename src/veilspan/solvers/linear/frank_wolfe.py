"""Frank-Wolfe with noise for linear models in a bounded set: steps to vertices, no projections."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan._scales import check_scale, check_steps
from veilspan.curator.curator import Curator
from veilspan.losses.penalties import Box, L1Ball, L2Ball, Penalty, Simplex
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
    Needs,
    require,
)
from veilspan.solvers.linear.gradient_descent import check_descent_settings, clip_bound
from veilspan.solvers.linear.svrg import check_smooth
from veilspan.solvers.steps import STEP

SETS = ("l1-ball", "l2-ball", "simplex", "box")
FEWEST_STEPS, MOST_STEPS = 10, 400
#: Without noise the error falls like 1 / T: no number of steps is exact.
EXACT_STEPS, EXACT_GAP = 5_000, 1e-9


@dataclass(frozen=True)
class FrankWolfe(Clips):
    r"""Steps theta <- theta + 2 / (k + 2) (v - theta), v the vertex that noisy gradients favour.

    Over a bounded convex set C, v = argmin_(v in C) <d_k, v>, which is one coefficient for an
    l1-ball or a simplex: after T steps theta has at most T coefficients that are not zero. Unlike
    plain Frank-Wolfe, d_k is a running mean of the noisy gradients,

        d_k = (1 - rho_k) d_(k-1) + rho_k g_k,        rho_k = 4 / (k + 8)^(2/3)

    (Mokhtari, Hassani & Karbasi 2020): gradients change by 2 L |C| / (k + 2) a step, L the loss's
    smoothness and |C| the diameter, noise at every step, and a mean keeps the first and averages
    the second out. ``momentum=False`` is the plain method, rho_k = 1.

    *What p >> n costs.* Plain Frank-Wolfe ends at most

        2 L |C|^2 / (T + 2) + 2 E max_(v in C) <b, v>

    above the minimum (Jaggi 2013, with noise b as an inexact vertex). For an l1-ball of radius R
    the last term is 2 R s sqrt(2 log(2 p)), s = sqrt(T) a C / (n mu) being the noise of one
    coordinate (a = 1 for add-remove, 2 for replace-one): only log p, if rows are short in l2.
    They are made so: with p dense features of size 1 they are scaled by 1 / sqrt(p), and R has to
    grow by sqrt(p) for the same scores. Choosing the vertex by the exponential mechanism (Talwar,
    Thakurta & Zhang 2015) needs |x_j| <= 1 only and has log p there as well; it is another
    mechanism with another event, which is not offered. A noisy maximum of Gaussian scores *is* what
    is done here: post-processing of the same release, at the same cost.

    *Defaults.* The two terms balance at T = (2 L |C|^2 / (width s_1))^(2/3), s_1 the noise of a
    coordinate if the whole budget bought one release and width = E max_(v in C) <N(0, I), v>;
    T lies between 10 and 400. An intercept is kept in [-r, r] by ``intercept_radius``: the set is
    then the product, and a vertex of it is a vertex of both.

    Parameters
    ----------
    steps : int, optional
        T.
    clip : float, optional
        Longest gradient of a row.
    momentum : bool
        Whether gradients are averaged.
    intercept_radius : float, optional
        r; by default half the diameter of the set.
    """

    steps: int | None = None
    clip: float | None = None
    momentum: bool = True
    intercept_radius: float | None = None

    def __post_init__(self) -> None:
        if self.steps is not None:
            check_steps(self.steps, "steps")
        check_descent_settings(None, self.clip, None)
        if self.intercept_radius is not None:
            check_scale(self.intercept_radius, "intercept_radius")

    @property
    def name(self) -> str:
        """What plans and ``solver=`` call it."""
        return "frank-wolfe"

    def prepare(
        self, problem: LinearProblem, budget: Budget, neighbors: Neighbors
    ) -> LinearPrepared:
        """Plan ``steps`` gradients with equal noise."""
        check_smooth(problem, self.name)
        check_bounded(problem, self.name)
        steps = self.steps or self._default_steps(problem, budget, neighbors)
        return prepare_events(
            self, problem, budget, neighbors, (GaussianEvent(STEP, count=steps),), (1.0,)
        )

    def run(self, curator: Curator, problem: LinearProblem) -> LinearResult:
        """From the middle of the set, or the point of it nearest to zero."""
        budget, steps, rows = (
            curator.plan.budget,
            curator.planned(STEP).count,
            count_rows(curator),
        )
        bound = clip_bound(problem.loss, budget, self.clip)
        query = SlopeGradient(problem.loss, bound)
        theta = problem.prox(np.zeros(problem.shape), 1.0)
        mean, trace = np.zeros(problem.shape), list[dict[str, Any]]()
        stopped = f"all {steps} planned steps were taken"
        for k in range(steps):
            answer = curator.answer(query, theta, event=STEP)
            # No entry of a mean of clipped gradients is longer than the clip.
            gradient = np.clip(answer.value / rows, -bound, bound)
            mean += self._weight(k, budget) * (gradient - mean)
            move = self._vertex(problem, mean) - theta
            gap = -float(np.sum(mean * move))
            trace.append({"step": k, "noise_std": answer.noise_std / rows, "gap": gap})
            if not budget.is_private and gap <= EXACT_GAP:
                stopped = f"the duality gap is no larger than {EXACT_GAP:g}"
                break
            theta = theta + 2.0 / (k + 2) * move
        return LinearResult(theta, stopped=stopped, trace=trace)

    def _weight(self, k: int, budget: Budget) -> float:
        """rho_k; without noise there is nothing to average out."""
        if k == 0 or not self.momentum or not budget.is_private:
            return 1.0
        return min(1.0, 4.0 / (k + 8) ** (2 / 3))

    def _vertex(self, problem: LinearProblem, gradient: np.ndarray) -> np.ndarray:
        """Vertex of the product of the set and the intercept's interval."""
        if not problem.intercept:
            return lowest_vertex(problem.penalty, gradient)
        inside = lowest_vertex(problem.penalty, gradient[:-1])
        return np.concatenate([inside, -self._radius(problem) * np.sign(gradient[-1:])])

    def _radius(self, problem: LinearProblem) -> float:
        if self.intercept_radius is not None:
            return self.intercept_radius
        return diameter(problem.penalty, math.prod(problem.shape)) / 2

    def _default_steps(self, problem: LinearProblem, budget: Budget, neighbors: Neighbors) -> int:
        if not budget.is_private:
            return EXACT_STEPS
        nu = problem.noise_of_a_gradient(budget, neighbors)
        if nu is None:
            return MOST_STEPS
        size = math.prod(problem.shape)
        noise = nu / math.sqrt(size) * clip_bound(problem.loss, budget, self.clip)
        across, width = diameter(problem.penalty, size), gaussian_width(problem.penalty, size)
        best = (2.0 * problem.loss.smoothness * across**2 / (width * noise)) ** (2 / 3)
        return int(min(max(best, FEWEST_STEPS), MOST_STEPS))


def check_bounded(problem: LinearProblem, solver: str) -> None:
    """Refuse what is not a bounded set."""
    require(solver, Needs(penalties=SETS), problem)
    penalty = problem.penalty
    if isinstance(penalty, Box) and not math.isfinite(penalty.hi - penalty.lo):
        raise ValueError(f'solver="{solver}" needs a finite box.')


def lowest_vertex(penalty: Penalty, gradient: np.ndarray) -> np.ndarray:
    """argmin_(v in the set) <gradient, v>."""
    if isinstance(penalty, Box):
        return np.where(gradient > 0, penalty.lo, penalty.hi)
    if isinstance(penalty, L2Ball):
        length = float(np.linalg.norm(gradient))
        return gradient * (-penalty.radius / length) if length > 0 else np.zeros_like(gradient)
    vertex, flat = np.zeros(gradient.size), gradient.reshape(-1)
    if isinstance(penalty, L1Ball):
        j = int(np.argmax(np.abs(flat)))
        vertex[j] = -penalty.radius * np.sign(flat[j])
    elif isinstance(penalty, Simplex):
        vertex[int(np.argmin(flat))] = penalty.total
    return vertex.reshape(gradient.shape)


def diameter(penalty: Penalty, size: int) -> float:
    """Largest distance within the set, for ``size`` coefficients."""
    if isinstance(penalty, Box):
        return (penalty.hi - penalty.lo) * math.sqrt(size)
    if isinstance(penalty, Simplex):
        return penalty.total * math.sqrt(2)
    return 2 * penalty.radius if isinstance(penalty, (L1Ball, L2Ball)) else math.inf


def gaussian_width(penalty: Penalty, size: int) -> float:
    """E max_(v in the set) <N(0, I), v>, from above (about its middle)."""
    if isinstance(penalty, Box):
        return (penalty.hi - penalty.lo) / 2 * size * math.sqrt(2 / math.pi)
    if isinstance(penalty, Simplex):
        return penalty.total * math.sqrt(2 * math.log(max(size, 2)))
    if isinstance(penalty, L1Ball):
        return penalty.radius * math.sqrt(2 * math.log(2 * size))
    return penalty.radius * math.sqrt(size) if isinstance(penalty, L2Ball) else math.inf
