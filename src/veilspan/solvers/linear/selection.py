r"""Choose among a few ways to fit a linear model, by a noisy count of what each gets right."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.losses.penalties import Penalty
from veilspan.privacy.budget import Budget
from veilspan.privacy.calibration import calibrate_noise
from veilspan.privacy.events import Event, GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.linear.candidate_gains import CandidateGains, gain_bound
from veilspan.solvers.base import Prepared
from veilspan.solvers.linear.base import (
    LinearPrepared,
    LinearProblem,
    LinearResult,
    LinearSolver,
    NeverClips,
)

SELECTION = "selection"


@dataclass(frozen=True)
class Candidate:
    """A solver and, unless it is the problem's own, the penalty that it fits with."""

    solver: LinearSolver
    penalty: Penalty | None = None

    def problem(self, problem: LinearProblem) -> LinearProblem:
        """The problem that this candidate minimises."""
        return problem if self.penalty is None else replace(problem, penalty=self.penalty)


@dataclass(frozen=True)
class PrivateSelection(NeverClips):
    r"""Fit K candidates on equal parts of the budget, release how well each does, keep the best.

    Every candidate sees all rows and pays for itself with (1 - s)/K of the budget (of mu^2); the
    choice pays with the share s (event "selection",
    :class:`~veilspan.queries.linear.candidate_gains.CandidateGains`). Trying settings outside the
    budget and keeping the best would leak through the choice; here all of it is in one plan.

    **When it pays** (:func:`pays_from`). Let the best candidate be better by a gain G, in accuracy,
    than the default that one would fit on the whole budget. The choice loses at most the largest of
    K noises, in expectation sqrt(2 ln K) a B / (n mu sqrt(s)), where B is the bound of the centred
    gains and a = 1 under add-remove, 2 under replace-one: the chosen one's noisy value is at least
    the best one's, so the regret is at most the difference of their noises. Splitting raises the
    noise nu = a sqrt(p) / (n mu) of a fit to nu sqrt(K / (1 - s)), and with it the excess risk,
    about nu |theta| (the rate of a convex loss with slopes at most 1). Both fall like 1/n, so it
    pays from

        n = a [ B sqrt(2 ln K / s) + |theta| sqrt(p) (sqrt(K / (1 - s)) - 1) ] / (mu G).

    For two candidates, p = 30, epsilon = 1, delta = 1e-6, |theta| = 3, G = 0.01 and replace-one
    that is 9,037 rows; below, a good default is better than a choice.

    Parameters
    ----------
    candidates : tuple of Candidate
        Two or more.
    share : float
        s.
    """

    candidates: tuple[Candidate, ...]
    share: float = 0.1

    name = "selection"

    def __post_init__(self) -> None:
        if len(self.candidates) < 2:
            raise ValueError(f"a choice needs at least 2 candidates; got {len(self.candidates)}.")
        if not 0 < self.share < 1:
            raise ValueError(f"share must lie strictly between 0 and 1; got {self.share}.")

    def prepare(
        self, problem: LinearProblem, budget: Budget, neighbors: Neighbors
    ) -> LinearPrepared:
        """All candidates, their events numbered, and the choice; together within the budget."""
        part = self._part(budget)
        ready = tuple(
            candidate.solver.prepare(candidate.problem(problem), part, neighbors)
            for candidate in self.candidates
        )
        asked = tuple(
            replace(event, name=event.name + suffix_of(number))
            for number, candidate in enumerate(ready)
            for event in candidate.events
        )
        if budget.is_private:
            last = GaussianEvent(SELECTION, 1.0 / (budget.mu * math.sqrt(self.share)))
            # Gaussian events add up to the budget as they are; others need a factor near 1.
            events = calibrate_noise(budget, (*asked, last), neighbors=neighbors)
        else:
            events = (*asked, GaussianEvent(SELECTION, 0.0))
        warning = next((each.warning for each in ready if each.warning is not None), None)
        return Prepared(
            _ReadySelection(ready, self.share), problem, budget, events, warning=warning
        )

    def run(self, curator: Curator, problem: LinearProblem) -> LinearResult:
        """Run all candidates, then choose."""
        ready = self.prepare(problem, curator.plan.budget, curator.plan.neighbors)
        return ready.solver.run(curator, problem)

    def _part(self, budget: Budget) -> Budget:
        """What one candidate may spend."""
        if not budget.is_private:
            return budget
        mu = budget.mu * math.sqrt((1 - self.share) / len(self.candidates))
        return Budget.of_mu(mu, budget.delta)


def pays_from(
    candidates: int,
    n_features: int,
    budget: Budget,
    neighbors: Neighbors,
    *,
    gain: float = 0.01,
    coefficient_norm: float = 3.0,
    share: float = 0.1,
) -> float:
    """Rows from which choosing pays; see :class:`PrivateSelection` for the formula.

    Parameters
    ----------
    candidates : int
        K.
    n_features : int
        p, coefficients in all.
    budget : Budget
        The whole budget.
    neighbors : {"replace-one", "add-remove"}
        Neighbour relation.
    gain : float
        G: accuracy by which the best candidate is hoped to beat the default.
    coefficient_norm : float
        |theta| for rows in the unit ball.
    share : float
        s.
    """
    factor = 2.0 if neighbors == "replace-one" else 1.0
    choosing = gain_bound(candidates) * math.sqrt(2 * math.log(candidates) / share)
    growth = math.sqrt(candidates / (1 - share)) - 1
    splitting = coefficient_norm * math.sqrt(n_features) * growth
    return factor * (choosing + splitting) / (budget.mu * gain)


@dataclass(frozen=True)
class _ReadySelection(NeverClips):
    """Candidates that were prepared together."""

    candidates: tuple[LinearPrepared, ...]
    share: float

    name = PrivateSelection.name

    def prepare(
        self, problem: LinearProblem, budget: Budget, neighbors: Neighbors
    ) -> LinearPrepared:
        """Prepare the same candidates again, for another budget say."""
        again = (
            Candidate(cast(LinearSolver, each.solver), each.problem.penalty)
            for each in self.candidates
        )
        return PrivateSelection(tuple(again), self.share).prepare(problem, budget, neighbors)

    def run(self, curator: Curator, problem: LinearProblem) -> LinearResult:
        """Run each candidate on its part of the plan, then choose."""
        results = [
            candidate.solver.run(
                curator.part(candidate.budget, _own_events(curator, number), suffix_of(number)),
                candidate.problem,
            )
            for number, candidate in enumerate(self.candidates)
        ]
        query = CandidateGains(problem.loss, len(results))
        point = tuple(result.theta for result in results)
        gains = curator.answer(query, point, event=SELECTION)
        best = int(np.argmax(gains.value))
        entry = {"chosen": best, "gains": gains.value.tolist(), "noise_std": gains.noise_std}
        stopped = f"candidate {best} of {len(results)}: {results[best].stopped}"
        trace = [*results[best].trace, entry]
        return LinearResult(results[best].theta, stopped=stopped, trace=trace)


def suffix_of(number: int) -> str:
    """What the names of a candidate's events end with in the joint plan."""
    return f" of candidate {number}"


def _own_events(curator: Curator, number: int) -> tuple[Event, ...]:
    """A candidate's events under their own names, with the noise of the joint plan."""
    suffix = suffix_of(number)
    return tuple(
        replace(event, name=event.name.removesuffix(suffix))
        for event in curator.plan.events
        if event.name.endswith(suffix)
    )
