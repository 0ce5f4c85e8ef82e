r"""Balanced class weights and decision thresholds, paid for from the same plan as the model.

Around any solver of a classifier this asks at most two more questions:

* *before it*, with ``SHARES_SHARE`` of mu^2, how many rows each class has. The weights are then
  1 / count, divided by the largest of them: the rarest class counts fully, others less. So the
  longest gradient of a row stays what it is without weights, whatever the counts are, and the
  solver with its noise is fixed before a row is read;
* *after it*, with ``HISTOGRAM_SHARE`` of mu^2, how the scores of both classes are distributed
  (:class:`~veilspan.queries.linear.class_votes.ScoreHistogram`). The rest is post-processing: a
  line from scores to log-odds, and the score from which on a row is predicted to be of the second
  class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.losses.class_weights import ClassWeighted
from veilspan.privacy.budget import Budget
from veilspan.privacy.calibration import calibrate_noise
from veilspan.privacy.events import GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.linear.class_votes import ClassCounts, ScoreHistogram
from veilspan.solvers.linear.base import LinearPrepared, LinearProblem, LinearResult, LinearSolver
from veilspan.solvers.linear.rare_classes.odds_of_votes import is_quiet
from veilspan.solvers.linear.rare_classes.operating_point import (
    OperatingPoint,
    find_operating_point,
)

Threshold = Literal["accuracy", "balanced", "f1"]

SHARES, HISTOGRAM = "class counts", "score histogram"
#: Shares of mu^2. Counts are sums of many rows, so 2 % leaves them exact enough; a histogram has
#: to tell where the few rows of a rare class are.
SHARES_SHARE, HISTOGRAM_SHARE = 0.02, 0.1
#: A class is taken to have this many standard deviations of its count's noise at least, and counts
#: at least this much of the rarest one.
LEAST_DEVIATIONS, LEAST_WEIGHT = 2.0, 1e-3
#: Knots of scores where noise is large and where it is small (``is_quiet``), the score from which
#: on they grow apart, and how far they reach at most: where a class is rare and noise large, the
#: scores of all rows may lie about -12, and rows beyond the last knot tell of no score.
KNOTS, MANY_KNOTS, BEND, REACH = 25, 97, 2.0, 32.0


@dataclass(frozen=True)
class ClassResult(LinearResult):
    """Coefficients, the class weights they were learned with, and where classes are told apart.

    Attributes
    ----------
    weights : tuple of float or None
        One for each class, the largest is 1; ``None`` without balance.
    operating : OperatingPoint or None
        ``None`` without a threshold.
    """

    weights: tuple[float, ...] | None = None
    operating: OperatingPoint | None = None


@dataclass(frozen=True)
class RareClasses:
    """A solver with balanced weights before it, or a threshold after it, or both.

    Parameters
    ----------
    inner : solver
        Who minimises.
    balanced : bool
        Whether classes are weighed by released counts.
    threshold : {"accuracy", "balanced", "f1"}, optional
        What the threshold is best for.
    """

    inner: LinearSolver
    balanced: bool = False
    threshold: Threshold | None = None

    @property
    def name(self) -> str:
        """That of the solver inside."""
        return self.inner.name

    @property
    def expects_rare(self) -> bool:
        """Whether a threshold alone has to find a rare class."""
        return self.threshold is not None and not self.balanced

    def with_clip(self, clip: float) -> RareClasses:
        """The same around a solver with this clip."""
        return replace(self, inner=self.inner.with_clip(clip))

    def prepare(
        self, problem: LinearProblem, budget: Budget, neighbors: Neighbors
    ) -> LinearPrepared:
        """The solver on what the questions leave, and all events within the budget."""
        shares = {}
        if self.balanced:
            shares[SHARES] = SHARES_SHARE
        if self.threshold is not None:
            shares[HISTOGRAM] = HISTOGRAM_SHARE
        part = budget
        if budget.is_private:
            part = Budget.of_mu(budget.mu * math.sqrt(1 - sum(shares.values())), budget.delta)
        ready = self.inner.prepare(problem, part, neighbors)
        events = ready.events
        for name, share in shares.items():
            noise = 1.0 / (budget.mu * math.sqrt(share)) if budget.is_private else 0.0
            asked = (GaussianEvent(name, noise),)
            events = (*asked, *events) if name == SHARES else (*events, *asked)
        if budget.is_private:
            # Gaussian events add up to the budget as they are; others need a factor near 1.
            events = calibrate_noise(budget, events, neighbors=neighbors)
        decisions = dict(ready.decisions)
        if self.balanced:
            decisions["class weights"] = "balanced, from a noisy count of each class"
        if self.threshold is not None:
            decisions["threshold"] = f"for {self.threshold}, from a noisy histogram of scores"
        return replace(
            ready,
            decisions=decisions,
            solver=_ReadyClasses(ready, self.balanced, self.threshold),
            budget=budget,
            events=events,
            asked=ready.asked or ready.solver.name,
        )

    def run(self, curator: Curator, problem: LinearProblem) -> LinearResult:
        """Prepare by the curator's plan, and run."""
        ready = self.prepare(problem, curator.plan.budget, curator.plan.neighbors)
        return ready.solver.run(curator, problem)


@dataclass(frozen=True)
class _ReadyClasses:
    """The solver inside and the questions around it, prepared together."""

    ready: LinearPrepared
    balanced: bool
    threshold: Threshold | None

    @property
    def name(self) -> str:
        return self.ready.asked or self.ready.solver.name

    @property
    def needs_diagonal(self) -> bool:
        """Whether error bars need the curvature: as the solver inside says."""
        return getattr(self.ready.solver, "needs_diagonal", False)

    def prepare(self, problem: Any, budget: Budget, neighbors: Neighbors) -> Any:
        """Prepare the same solver again, for another budget say."""
        inner: Any = self.ready.solver
        return RareClasses(inner, self.balanced, self.threshold).prepare(problem, budget, neighbors)

    def run(self, curator: Curator, problem: LinearProblem) -> ClassResult:
        """Counts, then the solver on its part of the plan, then the histogram at what it found."""
        weights = None
        if self.balanced:
            weights = _weights(curator, problem)
            plain = problem.loss.loss if isinstance(problem.loss, ClassWeighted) else problem.loss
            problem = replace(problem, loss=ClassWeighted(plain, weights))
        own = tuple(e for e in curator.plan.events if e.name not in (SHARES, HISTOGRAM))
        result = self.ready.solver.run(curator.part(self.ready.budget, own), problem)
        operating = None
        if self.threshold is not None:
            operating = _operate(curator, problem, result.theta, self.threshold)
        return ClassResult(
            result.theta,
            stopped=result.stopped,
            trace=result.trace,
            noise=result.noise,
            weights=weights,
            operating=operating,
        )


def check_threshold(threshold: Any) -> Threshold | None:
    """An aim of a threshold, or a sentence."""
    if threshold not in (None, "accuracy", "balanced", "f1"):
        raise ValueError(
            f'threshold must be None, "accuracy", "balanced" or "f1"; got {threshold!r}.'
        )
    return threshold  # type: ignore[no-any-return]


def _weights(curator: Curator, problem: LinearProblem) -> tuple[float, ...]:
    """Balanced weights of noisy counts, the largest exactly 1."""
    answer = curator.answer(ClassCounts(problem.loss), event=SHARES)
    counts = np.maximum(answer.value, max(LEAST_DEVIATIONS * answer.noise_std, 1.0))
    return tuple(np.maximum(counts.min() / counts, LEAST_WEIGHT).tolist())


def _operate(
    curator: Curator, problem: LinearProblem, theta: np.ndarray, threshold: Threshold
) -> OperatingPoint:
    """Where to tell classes apart, by the histogram of scores at a released theta."""
    # No row has a score beyond |theta|; one of 0 gives every row the score 0.
    reach = min(REACH, float(np.linalg.norm(theta))) or 1.0
    query = ScoreHistogram(problem.loss, KNOTS, bend=BEND)
    noise = curator.planned(HISTOGRAM).noise_multiplier
    if is_quiet(noise * query.sensitivity(curator.plan.neighbors), problem.planned_rows):
        query = ScoreHistogram(problem.loss, MANY_KNOTS, bend=BEND)
    answer = curator.answer(query, (theta, reach), event=HISTOGRAM)
    # A loss with weights is least at the log-odds of shares times weights.
    weights = problem.loss.weights if isinstance(problem.loss, ClassWeighted) else (1.0, 1.0)
    expected = math.log(weights[0] / weights[1])
    return find_operating_point(
        query.knots(reach),
        answer.value,
        answer.noise_std,
        threshold,
        expected_offset=expected,
        bend=BEND,
    )
