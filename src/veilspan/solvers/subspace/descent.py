"""Subspace solvers that take a fixed number of noisy gradient steps from a private start."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np

from veilspan._scales import check_steps
from veilspan.curator.curator import Curator
from veilspan.privacy.budget import Budget
from veilspan.privacy.calibration import calibrate_noise
from veilspan.privacy.events import Event, GaussianEvent, SampledGaussianEvent, with_noise
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.subspace.sphered import GuardedQuery
from veilspan.solvers.base import Prepared
from veilspan.solvers.steps import STEP
from veilspan.solvers.subspace.base import (
    START,
    SubspaceProblem,
    SubspaceResult,
    calibrate_with_center,
)

#: Least guard under add-remove, where the rounding of all 2^24 rows that there may be counts, and
#: grows with one over the guard: with 100 columns it adds 2 % to the noise at 1e-4, 180 % at 1e-6.
LEAST_GUARD_ADD_REMOVE = 1e-4


class SubspaceDescent(ABC):
    """What geodesic gradients and REAPER share: when they ask, and with how much noise.

    A subclass is a frozen dataclass that has these settings among its own.
    """

    steps: int | None
    sampling_rate: float | None
    start_share: float
    guard: float

    def __post_init__(self) -> None:
        if self.steps is not None:
            check_steps(self.steps, "steps")
        if self.sampling_rate is not None and not 0 < self.sampling_rate < 1:
            raise ValueError(
                "sampling_rate must lie strictly between 0 and 1, or be None for all rows; "
                f"got {self.sampling_rate}."
            )
        if not 0 < self.start_share < 1:
            raise ValueError(
                f"start_share must lie strictly between 0 and 1; got {self.start_share}."
            )

    @property
    @abstractmethod
    def name(self) -> str:
        """What the paper calls it; an S in front says that rows are sampled."""

    @abstractmethod
    def step_query(self, guard: float, center: np.ndarray | None = None) -> GuardedQuery:
        """What every step asks: a gradient whose weights stop growing below the guard."""

    @abstractmethod
    def run(self, curator: Curator, problem: SubspaceProblem) -> SubspaceResult:
        """Start, take the steps, and return the subspace where they end."""

    def for_rows(self, n_rows: int | None) -> Self:
        """The same with a number of steps: the one that was given, or what so many rows allow."""
        return self

    def prepare(
        self, problem: SubspaceProblem, budget: Budget, neighbors: Neighbors
    ) -> Prepared[SubspaceProblem, SubspaceResult]:
        """Share the budget between the start and the steps."""
        solver = self.for_rows(problem.n_rows)
        shares = (solver.start_share, 1.0 - solver.start_share)
        asked = (solver._start_event, solver._step_event)
        events = calibrate_with_center(problem, budget, neighbors, asked, shares)
        return Prepared(solver, problem, budget, events)

    def prepare_with_noise(
        self, problem: SubspaceProblem, budget: Budget, noise_std: float
    ) -> Prepared[SubspaceProblem, SubspaceResult]:
        """Spend the budget on the start alone, and give the steps a noise that was asked for.

        What all of it costs is for the accountant to say.

        Parameters
        ----------
        problem : SubspaceProblem
            With a public number of rows, so under replace-one, and without a private centre.
        budget : Budget
            For the start.
        noise_std : float
            Standard deviation of the noise on the *mean* gradient of every step.
        """
        if problem.n_rows is None or problem.private_center is not None:
            raise ValueError("a given noise needs a public number of rows and no private centre.")
        solver = self.for_rows(problem.n_rows)
        query = solver.step_query(solver.guard)
        step = solver._step_event
        sampled = isinstance(step, SampledGaussianEvent)
        # What the multiplier of each kind of event refers to: see ``privacy.events``.
        moved = query.bound if sampled else query.sensitivity("replace-one")
        multiplier = noise_std * problem.n_rows * step.sampling_rate / moved
        start = calibrate_noise(budget, (self._start_event,))
        return Prepared(solver, problem, budget, (*start, with_noise(step, multiplier)))

    def guard_under(self, neighbors: Neighbors) -> float:
        """The guard of a gradient; coarser under add-remove."""
        if neighbors == "replace-one":
            return self.guard
        return max(self.guard, LEAST_GUARD_ADD_REMOVE)

    @property
    def _start_event(self) -> Event:
        return GaussianEvent(START)

    @property
    def _step_event(self) -> Event:
        steps = self.steps or 1
        if self.sampling_rate is None:
            return GaussianEvent(STEP, count=steps)
        return SampledGaussianEvent(STEP, self.sampling_rate, count=steps)
