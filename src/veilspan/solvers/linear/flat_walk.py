r"""Least squares where noise is large beside the number of columns: plain steps, as far as is wise.

A Gram matrix of p columns has p^2 noisy entries and is all noise long before a gradient is. So
nothing is divided by: steps of size at most 2, which are stable since |x| <= 1, follow the noisy
gradients from zero, and how far they go, S = eta T, is the only setting that matters. Along
directions in which the loss is flat noise moves the score of a row by

    S C s |x|,      s = a / (n mu),      a = 1 for add-remove, 2 for replace-one,

C being the cap of the slopes: *however many columns there are*, and however many steps (the noise
of each is sqrt(T) times as long, and T of them add up like sqrt(T)). Along the largest direction,
the mean of the rows, it is less, since steps pull it back. Gradients keep their full length: with
many columns they are long by noise, and their signal is there all the same.

**How far.** A longer walk learns more and carries more noise, which is measured by the spread of
the targets (they lie in [-1, 1]). With v their variance, slopes are capped and noise kept at

    C = 0.3 max(sqrt(v), 1/3),        S C s = 0.75 min(v / 0.4, 1),        18 <= S <= 200:

a short walk explains a share of v that grows like S, and its noise costs the share (S C s)^2 / v,
so that the best S grows like v until nothing is left to explain. 18 brings the mean of the targets
home. v comes from one noisy histogram of the targets in five cells (event "spread",
:class:`~veilspan.queries.linear.residual_histogram.ResidualHistogram` at theta = 0: a row has one
vote, sensitivity 1 under add-remove and sqrt(2) under replace-one; the target of a row that is
shorter than 1 counts as much shorter, as in its gradient), which takes 5 % of the budget
(of mu^2); two stds of its noise are taken off, so where noise hides v it is taken for small. The
number of steps and their noise multipliers are those of v = 1, by public numbers, so that what they
cost is what was planned; the answer makes steps and caps shorter, which is post-processing.

The constants are by tuning draws of census-income (2,000 rows, 543 columns, v = 0.9) at epsilon 0.1
to 1 and of adult's hours (2,000 rows, 108 columns, v = 0.06) at 0.1, where a walk of the former's
length, whatever v, had an R^2 of -0.5 in place of 0. C = 1 costs the former 0.02 to 0.1 of R^2:
residuals are mostly shorter once the steps have begun, and noise is not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from veilspan.curator.curator import Answer, Curator
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.linear.residual_histogram import ResidualHistogram
from veilspan.solvers.base import prepare_events
from veilspan.solvers.linear.base import (
    Clips,
    LinearPrepared,
    LinearProblem,
    LinearResult,
    Needs,
    moved_lengths,
    require,
)
from veilspan.solvers.linear.gradient_descent import GradientDescent
from veilspan.solvers.steps import STEP

SPREAD = "spread"
#: Share of mu^2 for the histogram.
SPREAD_SHARE = 0.05
#: Borders of its cells, and where their rows are taken to lie: few cells have little noise.
BORDERS = np.array([-0.75, -0.25, 0.25, 0.75])
PLACES = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
#: Stds of its noise that are taken off the variance.
DOUBTS = 2.0
#: Walk that still brings the mean of the targets home.
SHORTEST_WALK = 18.0
#: Variance of targets from which on it no longer shortens the walk.
WIDE = 0.4
#: Least cap over the one of the widest targets.
LEAST_CAP = 1 / 3
#: Noise of a score where targets spread far, cap of slopes there, longest step and walk, fewest
#: steps. (The loss bends by 1.)
SCORE_NOISE, CAP, LONGEST_STEP, LONGEST_WALK, FEWEST = 0.75, 0.3, 2.0, 200.0, 10


@dataclass(frozen=True)
class FlatWalk(Clips):
    """A walk whose length follows noise and the spread of the targets (see the module).

    Parameters
    ----------
    clip : float
        C where targets spread far; less for others.
    """

    clip: float = CAP

    name = "walk"
    #: Whether error bars need the curvature where it ended.
    needs_diagonal = True

    def prepare(
        self, problem: LinearProblem, budget: Budget, neighbors: Neighbors
    ) -> LinearPrepared:
        """Plan one histogram, and as many steps as the widest targets need."""
        require(self.name, Needs(losses=("squared",)), problem)
        longest = self._walk(problem, budget, neighbors, 1.0, self.clip)
        steps = max(math.ceil(longest / LONGEST_STEP), FEWEST)
        events = GaussianEvent(SPREAD), GaussianEvent(STEP, count=steps)
        shares = SPREAD_SHARE, 1.0 - SPREAD_SHARE
        return prepare_events(self, problem, budget, neighbors, events, shares)

    def run(self, curator: Curator, problem: LinearProblem) -> LinearResult:
        """Ask how far targets spread, then walk."""
        plan, steps = curator.plan, curator.planned(STEP).count
        query = ResidualHistogram(problem.loss, BORDERS)
        answer = curator.answer(query, np.zeros(problem.shape), event=SPREAD)
        variance = spread_of(answer, problem.planned_rows)
        clip = self.clip * max(math.sqrt(variance), LEAST_CAP)
        size = self._walk(problem, plan.budget, plan.neighbors, variance, clip) / steps
        descent = GradientDescent(steps=steps, step=size, clip=clip, shortens=False)
        return descent.run(curator, problem)

    def _walk(
        self,
        problem: LinearProblem,
        budget: Budget,
        neighbors: Neighbors,
        variance: float,
        clip: float,
    ) -> float:
        """S of the module, by public numbers and the variance of targets."""
        rows = problem.planned_rows
        if rows is None or not budget.is_private:
            return LONGEST_WALK
        each = moved_lengths(neighbors) / (rows * budget.mu)
        walk = SCORE_NOISE * min(variance / WIDE, 1.0) / (clip * each)
        return min(max(walk, SHORTEST_WALK), LONGEST_WALK)


def spread_of(answer: Answer, rows: int | None) -> float:
    """Variance of the targets by their noisy histogram, less two stds of its noise; at most 1.

    Shares sum to 1: what noise adds to the sum is taken off all alike. ``rows`` are public or a
    guess; without one the votes are counted, noise and all.
    """
    rows = rows or max(1, round(float(np.sum(answer.value))))
    shares = np.asarray(answer.value) / rows
    shares = shares + (1.0 - shares.sum()) / len(PLACES)
    mean = float(shares @ PLACES)
    variance = float(shares @ PLACES**2) - mean**2
    bends = PLACES**2 - 2.0 * mean * PLACES
    doubt = answer.noise_std / rows * float(np.linalg.norm(bends - bends.mean()))
    return min(max(variance - DOUBTS * doubt, 0.0), 1.0)
