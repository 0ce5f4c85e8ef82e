r"""``solver="auto"`` of linear models: which method and settings, decided by public numbers alone.

One number decides. A mean of n row gradients of length at most 1, released once with the whole
budget, carries noise of length about

    nu = a sqrt(p) / (n mu),        a = 1 for add-remove, 2 for replace-one,

p being the number of coefficients and mu the budget's Gaussian-DP parameter (Dong, Roth & Su 2022).

* nu < 0.004: objective perturbation: one release, and where noise is this small the l2 penalty that
  its proof needs is small beside the data. Slopes are capped at half of their bound down to
  nu = 0.002, and not at all from nu = 0.001 on: a cap halves the noise and biases probabilities,
  which must not outlive the noise.
* else noisy gradient descent, steps clipped to C = 0.3 of the slope bound (one fit of lines and
  curves says 0.2, ``descent_clip``), last half averaged.
  Where the loss is flat, T steps of size eta carry theta S C far if all rows agree, S = eta T, and
  about S C nu far by noise alone. The size of the walk by noise is what is kept fixed,

      S C = 30 / nu,      S at most 10,000,      T = 0.8 / nu in [10, 40],      eta at most 37.5

  and T at most 0.4 times the number of columns (for the logistic loss; in units of its margin for
  others). Where eta is too small for S, momentum makes up for it: it is chosen so that steps along
  one direction come as far as without (:func:`matching_momentum`). These numbers stop the descent
  before noise outruns the signal: early stopping is its only penalty, and filters small eigenvalues
  more sharply than the ridge of objective perturbation does. Up to 400 plain steps of the same S
  are no more accurate and take ten times as long. Hinges take such plain steps, T = (1.5 / nu)^2 in
  [10, 400]: ten steps with momentum left half of their gain where columns are alike.

Above nu = 0.1 a warning says that noise may hide what there is. Where objective perturbation does
not fit (several scores, penalties other than l2) descent takes its place. Without a public number
of rows and without ``expected_rows`` there is no nu: objective perturbation needs none.

Several classes take steps in whitened coordinates (``PrivateNewton(whiten=True)``), which move
along all directions alike and do not clip rows for what all have in common: where nu < 0.03, and
from 50 columns on where nu < 0.5. They take 64, clipped to 0.3 of the slope bound, and momentum b
carries each

    1 / (1 - b) = 0.05 / nu in [5/3, 10/3]

times as far: the longer the walk, the closer it fits, noise included. Tables of at most 120,000
numbers come about as far in T = 0.65 / nu steps, in [24, 64], with b = 0.7: on digits that costs
hardly a hundredth and takes half of the time. (Chosen on parts of 2,000 to 60,000 rows of MNIST's
and Fashion-MNIST's training images, by ``hog`` and as 64 pixels, of cover
types, and of adult's marital status and occupation, nu from 0.001 to 0.5. Beside descent, which
these took before from nu = 0.025 on, accuracy is higher by 0.02 to 0.05 at nu = 0.01 to 0.03 and by
0.05 to 0.2 above; beside steps by the Gram matrix in the rows' own coordinates by 0.003 to 0.03 at
nu < 0.025. On 3 to 40 made-up columns that are not alike, descent is ahead by 0.01 to 0.04 from
nu = 0.035 on.) Elsewhere, descent as for two classes with T = 6 / nu, at most 30.

A threshold is asked for where one of two classes is rare. Rows of the other then have nearly all of
the clipped gradient in common, and descent is done when it has found how rare: where
0.001 <= nu < 0.03 fits with a threshold take 32 whitened steps, without momentum. (On adult and the
cover types with 2 % of the second class, five to thirty thousand rows, F1 is higher by 0.07 on
average up to nu = 0.01 and by 0.03 beyond; on made-up columns it is lower from 0.03 on.)

Regressions (losses of a residual; targets lie in [-1, 1]) take noisy steps in the metric of one
released Gram matrix where nu < 0.006 or there are 75 columns or more, and else plain noisy descent.
(So many columns are mostly codes of categories, frequent and rare ones: their curvatures are far
apart. On adult and census-income, 108 and 500 columns, descent is behind by 0.01 to 0.2 of R^2 up
to nu = 0.17; on 54 columns or fewer it is ahead from nu = 0.01 on.) Slopes of the squared loss are
capped at

    C = 0.0006 / nu in [0.1, 0.4],

so that residuals beyond C count like C: it becomes Huber's loss, and skewed residuals would pull
the fit towards their median. So this is the cap of the first quarter of the steps alone; a paid
answer chooses that of the others (:mod:`veilspan.solvers.linear.asked.residual_cap`), and ``clip=``
of the estimator sets one for all. Sufficient statistics released once are behind one of the two in
every cell of ``experiments/erm/regression.py``: they cannot be capped, and the noise of X^T X
enters times theta.

From nu = 0.1 on a Gram matrix of 75 columns or more is noise: least squares then take plain steps
at their full length, whose number and length follow the noise of a score and the spread of the
targets (:mod:`veilspan.solvers.linear.flat_walk`). (On 2,000 rows of census-income that is ahead by
0.02 of R^2 at nu = 0.103, by 0.2 at 0.2; of adult, 120 columns, behind by 0.05 at 0.092.)

Where the constants come from: breast_cancer, digits, a9a and normal rows, whole and in parts, nu
from 0.0005 to 0.8. ``experiments/erm`` shows what they do there and on sets that played no part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from veilspan.curator.curator import Curator
from veilspan.privacy.accounting import LEAST_NUMERIC_DELTA, MOST_OBJECTIVE_EPSILON
from veilspan.privacy.budget import Budget
from veilspan.privacy.neighbors import Neighbors
from veilspan.solvers.linear.asked.residual_cap import ResidualCap
from veilspan.solvers.linear.base import (
    Clips,
    LinearPrepared,
    LinearProblem,
    LinearResult,
    LinearSolver,
    moved_lengths,
)
from veilspan.solvers.linear.loud_noise import LOUD, say_loud

QUIET = 0.004  # of nu: below it one release
# Objective perturbation: least cap of slopes over their bound, nu up to which there is none, length
# of theta by noise alone, and the share of epsilon that the curvature of one row may cost.
OBJECTIVE_CLIP, UNCAPPED, OBJECTIVE_REACH, CURVATURE = 0.5, 0.001, 20.0, 0.2
# Descent: clip over the slope bound, walk by noise, steps, longest step and longest walk over
# 1 / smoothness.
CLIP, WALK, STEPS_SCALE, FEWEST, MOST, LONGEST_STEP = 0.3, 30.0, 0.8, 10, 40, 9.375
STEPS_PER_COLUMN = 0.4
# The same without momentum, for losses that bend faster than the logistic one.
PLAIN_SCALE, PLAIN_MOST, PLAIN_LONGEST = 1.5, 400, 6.25
LONGEST_WALK, USUAL_MOMENTUM, MOST_MOMENTUM = 2500.0, 0.9, 0.97
LOGISTIC_MARGIN = 4.0  # slope bound over smoothness: scores between which the logistic loss bends
# Regressions: a released Gram matrix is worth its share below this nu, or from so many columns on.
QUIET_REGRESSION, MANY_COLUMNS = 0.006, 75
LEAST_CAP, MOST_CAP, CAP_PER_NOISE = 0.1, 0.4, 0.0006  # of the slopes of least squares
LOUD_GRAM = 0.1  # nu from which on the matrix of so many columns is noise
# Several classes: steps of descent; nu below which whitened steps are ahead of it, and where there
# are so many columns; how many they are, their clip over the slope bound, and how far momentum
# carries them; fewer steps of small tables.
SEVERAL_SCALE, SEVERAL_MOST = 6.0, 30
QUIET_SEVERAL, WIDE, QUIET_WIDE = 0.03, 50, 0.5
WHITE_STEPS, WHITE_CLIP, WHITE_NOISE, WHITE_MOMENTUM = 64, 0.3, 0.05, (0.4, 0.7)
SMALL, SMALL_SCALE, SMALL_FEWEST = 120_000, 0.65, 24
# Two classes, one of them rare: least and most nu of whitened steps, and how many.
RARE_NU, RARE_STEPS = (0.001, 0.03), 32
SOFTMAX = ("multinomial", "weighted multinomial")
MOST_GRAM = 2000  # columns: a noisy p x p matrix beyond is slow and mostly noise


@dataclass(frozen=True)
class LinearChoice:
    """What was chosen, why, and the noise it was chosen by (``None`` if unknown)."""

    solver: LinearSolver
    reason: str
    nu: float | None


@dataclass(frozen=True)
class AutoLinear(Clips):
    """Choose by the loss, the penalty and nu; see the top of this module.

    Parameters
    ----------
    clip : float, optional
        Longest gradient of one row, in place of what the chosen solver would take.
    descent_clip : float
        The same of descent alone, over the slope bound; how far it walks goes with it.
    rare : bool
        Whether somebody says that one of two classes is rare, by asking for a threshold.
    """

    clip: float | None = None
    descent_clip: float = CLIP
    rare: bool = False

    name = "auto"

    def choose(self, problem: LinearProblem, budget: Budget, neighbors: Neighbors) -> LinearChoice:
        """The solver with its settings, by public facts."""
        nu = problem.noise_of_a_gradient(budget, neighbors)
        exact = _objective_fits(problem) or problem.loss.name in SOFTMAX
        if not budget.is_private and exact and problem.penalty.name == "none":
            # Hundreds of times faster than descent. (A penalty would hold the intercept as well.)
            return LinearChoice(_exact_minimum(problem), "without noise: the minimum itself", nu)
        if not budget.is_private:
            return LinearChoice(_plain_steps(problem), "without noise: steps to the minimum", nu)
        if not problem.loss.margin:
            return self._regression(problem, nu)
        # Its cost is computed numerically, which resolves no smaller delta or larger epsilon.
        resolved = budget.delta >= LEAST_NUMERIC_DELTA and budget.epsilon <= MOST_OBJECTIVE_EPSILON
        fits = _objective_fits(problem) and resolved
        if nu is None and fits:
            reason = "the number of rows is private and none is expected"
            return LinearChoice(_objective(problem, budget, neighbors), reason, nu)
        if nu is None:
            return LinearChoice(_plain_descent(), "this loss and penalty need steps", nu)
        if self.rare and fits and RARE_NU[0] <= nu < RARE_NU[1] and problem.n_features <= MOST_GRAM:
            reason = "a threshold, so a rare class: steps that no direction stands out in"
            return LinearChoice(_white(problem, RARE_STEPS, 0.0), reason, nu)
        if fits and nu < QUIET:
            reason = f"nu < {QUIET:g}: one release"
            return LinearChoice(_objective(problem, budget, neighbors), reason, nu)
        if problem.loss.n_outputs > 1 and problem.penalty.name in ("none", "l2"):
            return self._several(problem, nu)
        reason = f"nu >= {QUIET:g}: steps that stop early" if fits else "this loss or penalty"
        return LinearChoice(_descent(problem, nu, self.descent_clip), reason, nu)

    def _several(self, problem: LinearProblem, nu: float) -> LinearChoice:
        """Which steps several scores take, by their noise and number of columns."""
        wide = problem.n_features >= WIDE
        if nu >= (QUIET_WIDE if wide else QUIET_SEVERAL) or problem.n_features > MOST_GRAM:
            reason = f"several classes, and nu >= {QUIET_SEVERAL:g} or many columns: few steps"
            return LinearChoice(_descent(problem, nu, self.descent_clip), reason, nu)
        reason = "several classes: steps in coordinates in which rows are alike in all directions"
        least, most = WHITE_MOMENTUM
        if (problem.planned_rows or 0) * problem.n_features <= SMALL:
            steps = round(min(max(SMALL_SCALE / nu, SMALL_FEWEST), WHITE_STEPS))
            return LinearChoice(_white(problem, steps, most), reason, nu)
        momentum = min(max(1.0 - nu / WHITE_NOISE, least), most)
        return LinearChoice(_white(problem, WHITE_STEPS, momentum), reason, nu)

    def _regression(self, problem: LinearProblem, nu: float | None) -> LinearChoice:
        """Which steps a loss of a residual takes, and at which cap."""
        clip = cap = None  # a loss with bounded slopes is robust by itself: the solver's own clip
        if not math.isfinite(problem.loss.slope_bound):
            cap = ResidualCap()
            clip = LEAST_CAP if not nu else min(max(CAP_PER_NOISE / nu, LEAST_CAP), MOST_CAP)
        if problem.n_features > MOST_GRAM:
            reason = f"a regression on more than {MOST_GRAM:,} columns: steps"
            return LinearChoice(_plain_descent(clip, cap), reason, nu)
        loud = nu is not None and nu >= QUIET_REGRESSION
        if loud and problem.n_features < MANY_COLUMNS:
            reason = f"a regression on few columns and nu >= {QUIET_REGRESSION:g}: few steps"
            return LinearChoice(_plain_descent(clip, cap), reason, nu)
        if cap is not None and nu is not None and nu >= LOUD_GRAM:
            reason = f"least squares and nu >= {LOUD_GRAM:g}: a walk that noise sets the length of"
            return LinearChoice(_flat_walk(), reason, nu)
        reason = "a regression with little noise or many columns: steps by the Gram matrix"
        return LinearChoice(_newton(clip, cap=cap), reason, nu)

    def prepare(
        self, problem: LinearProblem, budget: Budget, neighbors: Neighbors
    ) -> LinearPrepared:
        """What the chosen solver prepares, and why it was chosen."""
        chosen = self.choose(problem, budget, neighbors)
        if self.clip is not None:  # the user's own solver then, but for its name
            return chosen.solver.with_clip(self.clip).prepare(problem, budget, neighbors)
        prepared = chosen.solver.prepare(problem, budget, neighbors)
        shown: dict[str, Any] = {"chosen solver": repr(chosen.solver), "because": chosen.reason}
        if chosen.nu:
            shown["noise of a mean gradient (nu)"] = float(f"{chosen.nu:.3g}")
        warning = None
        if chosen.nu is not None and chosen.nu > LOUD:
            shown["warning"] = warning = say_loud(chosen.nu)
        return replace(prepared, decisions=shown, asked=self.name, warning=warning)

    def run(self, curator: Curator, problem: LinearProblem) -> LinearResult:
        """Choose by the curator's plan, and run what was chosen.

        A fit has chosen before it planned, and runs that solver at once.
        """
        ready = self.prepare(problem, curator.plan.budget, curator.plan.neighbors)
        return ready.solver.run(curator, problem)


def _objective_fits(problem: LinearProblem) -> bool:
    loss, penalty = problem.loss, problem.penalty
    return loss.n_outputs == 1 and loss.margin and penalty.name in ("none", "l2")


def _objective(problem: LinearProblem, budget: Budget, neighbors: Neighbors) -> LinearSolver:
    """Slopes capped where noise counts; lam lets noise alone reach a length of 20."""
    from veilspan.curator.objective_door import objective_event
    from veilspan.privacy.objective import least_lam
    from veilspan.solvers.linear.objective_perturbation import OBJECTIVE, ObjectivePerturbation

    nu = problem.noise_of_a_gradient(budget, neighbors)
    cap = OBJECTIVE_CLIP if nu is None else min(max(UNCAPPED / nu, OBJECTIVE_CLIP), 1.0)
    clip = cap * problem.loss.slope_bound
    event = objective_event(problem.loss, lam=1.0, clip=clip, name=OBJECTIVE)
    noise = moved_lengths(neighbors) * clip / budget.mu * math.sqrt(problem.n_features)
    own = problem.penalty.strong_convexity * (problem.planned_rows or 0)
    lam = max(own, noise / OBJECTIVE_REACH, least_lam(event, CURVATURE * budget.epsilon))
    return ObjectivePerturbation(lam=lam, clip=clip)


def _exact_minimum(problem: LinearProblem) -> LinearSolver:
    """The minimum, kept finite by a penalty that is too weak to see."""
    from veilspan.solvers.linear.objective_perturbation import ObjectivePerturbation

    return ObjectivePerturbation(clip=problem.loss.slope_bound)


def _plain_descent(clip: float | None = None, cap: ResidualCap | None = None) -> LinearSolver:
    from veilspan.solvers.linear.gradient_descent import GradientDescent

    return GradientDescent(clip=clip, cap=cap)


def _flat_walk() -> LinearSolver:
    from veilspan.solvers.linear.flat_walk import FlatWalk

    return FlatWalk()


def _plain_steps(problem: LinearProblem) -> LinearSolver:
    """Steps by the Gram matrix where there is one: columns may be of any scale, and alike."""
    from veilspan.solvers.linear.newton import CURVED

    fits = problem.loss.name in CURVED and problem.n_features <= MOST_GRAM
    return _newton(None) if fits else _plain_descent()


def _descent(problem: LinearProblem, nu: float, share: float) -> LinearSolver:
    """Few steps whose walk by noise has a fixed length."""
    from veilspan.solvers.linear.gradient_descent import GradientDescent

    loss = problem.loss
    slope = loss.slope_bound if math.isfinite(loss.slope_bound) else 1.0  # of targets in [-1, 1]
    clip = share * slope
    # Scores matter on the scale of the margin: that of the targets, 1, if the loss bends faster.
    margin = max(slope / loss.smoothness, 1.0) / LOGISTIC_MARGIN
    if loss.n_outputs == 1 and margin < 1.0:
        # Hinges bend four times as fast: momentum swings to and fro where columns are alike.
        steps = round(min(max((PLAIN_SCALE / nu) ** 2, FEWEST), PLAIN_MOST))
        size = min(WALK * margin / (nu * steps * share), PLAIN_LONGEST / loss.smoothness)
        return GradientDescent(steps=steps, step=float(f"{size:.4g}"), clip=clip)
    longest = LONGEST_STEP / loss.smoothness
    scale = STEPS_SCALE if loss.n_outputs == 1 else SEVERAL_SCALE
    # Few directions need few steps, however little the noise.
    most = MOST if loss.n_outputs == 1 else SEVERAL_MOST
    most = round(min(max(STEPS_PER_COLUMN * problem.n_features, FEWEST), most))
    steps = round(min(max(scale / nu, FEWEST), most))
    walk = min(WALK * margin / (nu * share), LONGEST_WALK / loss.smoothness)
    while steps < most and walk_reached(steps, USUAL_MOMENTUM) * longest < 0.75 * walk:
        steps += 1  # more momentum than is usual would not have come to its pace
    size = min(walk / steps, longest)
    momentum = round(matching_momentum(steps, walk / size), 3)
    return GradientDescent(steps=steps, step=float(f"{size:.4g}"), clip=clip, momentum=momentum)


@lru_cache(maxsize=64)  # pure, and asked for anew by every plan
def matching_momentum(steps: int, worth: float) -> float:
    r"""Momentum b with which T steps come as far along one direction as ``worth`` plain ones.

    Compared are the means over the last half of the steps, which is what descent gives back: 3/4 of
    ``worth`` without momentum.
    """
    if worth <= steps:
        return 0.0
    low, high = 0.0, MOST_MOMENTUM
    for _ in range(30):
        middle = (low + high) / 2
        short = walk_reached(steps, middle) < 0.75 * worth
        low, high = (middle, high) if short else (low, middle)
    return low


def walk_reached(steps: int, b: float) -> float:
    r"""How far T steps of size 1 come on a slope of 1, the mean over their last half.

    With momentum b < 1, t steps come to w_t = (t - b (1 - b^t) / (1 - b)) / (1 - b).
    """
    half = steps // 2
    tails = (b ** (half + 1) - b ** (steps + 1)) / ((1 - b) * (steps - half))
    return ((half + 1 + steps) / 2 - b * (1 - tails) / (1 - b)) / (1 - b)


def _white(problem: LinearProblem, steps: int, momentum: float) -> LinearSolver:
    """Steps in whitened coordinates."""
    from veilspan.solvers.linear.newton import PrivateNewton

    clip = WHITE_CLIP * problem.loss.slope_bound
    return PrivateNewton(steps, clip=clip, momentum=float(f"{momentum:.3g}"), whiten=True)


def _newton(
    clip: float | None, steps: int | None = None, cap: ResidualCap | None = None
) -> LinearSolver:
    from veilspan.solvers.linear.newton import PrivateNewton

    return PrivateNewton(steps=steps, clip=clip, cap=cap)
