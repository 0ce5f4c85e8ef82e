r"""``solver="auto"`` of linear models: which method, decided by public numbers alone.

One number decides. A mean of n row gradients of length at most 1, released once, carries noise of
length about

    nu = a sqrt(p) / (n mu),        a = 1 for add-remove, 2 for replace-one,

p being the number of coefficients and mu the Gaussian-DP parameter of the whole budget (Dong, Roth
& Su 2022). It is the noise of a gradient beside its largest possible length, whatever the data.

* nu < 0.006: objective perturbation. One release of the whole budget; its noise is small beside
  the data, so the penalty that its proof needs is small as well.
* up to 0.1: noisy gradient descent, whose clip makes noise smaller than the slope bound of the loss
  would and whose tail average takes noise off again.
* above 0.1: objective perturbation with clipped slopes. Little can be learned; a strongly
  penalised minimum drifts least, and a warning says so.

Where objective perturbation does not fit (several scores, penalties other than l2) gradient descent
takes its place; the squared loss has sufficient statistics. Without a public number of rows and
without ``expected_rows`` there is no nu: objective perturbation needs none.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

from veilspan.curator.curator import Curator
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import Event
from veilspan.privacy.neighbors import Neighbors
from veilspan.solvers.linear import LinearProblem, LinearResult, LinearSolver

QUIET, LOUD = 0.006, 0.1  # of nu: between them gradient descent
STEPS, STEP_SIZE, CLIP = 400, 8.0, 0.3
MOST_STATISTICS = 2000  # columns: a noisy p x p matrix beyond is slow and mostly noise


class LoudNoiseWarning(UserWarning):
    """The noise that the budget asks for is large beside what so few rows can tell."""


@dataclass(frozen=True)
class LinearChoice:
    """What was chosen, why, and the noise it was chosen by (``None`` if unknown)."""

    solver: LinearSolver
    reason: str
    nu: float | None

    @property
    def warning(self) -> str | None:
        """What to tell whoever asked for more than the budget can give."""
        if self.nu is None or self.nu <= LOUD or math.isinf(self.nu):
            return None
        return (
            f"the noise of one released mean gradient is {self.nu:.2g} of its largest possible "
            f"length (above {LOUD:g}): with so few rows for this epsilon and number of "
            "coefficients little can be learned. More rows, a larger epsilon or fewer features "
            "would help."
        )


def noise_of_a_gradient(
    problem: LinearProblem, budget: Budget, neighbors: Neighbors
) -> float | None:
    """Noise nu = a sqrt(p) / (n mu); ``None`` if no number of rows may be used."""
    rows = problem.planned_rows
    if not budget.is_private:
        return 0.0
    if rows is None:
        return None
    factor = 2.0 if neighbors == "replace-one" else 1.0
    return factor * math.sqrt(math.prod(problem.shape)) / (rows * budget.mu)


@dataclass(frozen=True)
class AutoLinear:
    """Choose by the loss, the penalty and nu; see the top of this module."""

    name = "auto"

    def choose(self, problem: LinearProblem, budget: Budget, neighbors: Neighbors) -> LinearChoice:
        """The solver, by public facts."""
        nu = noise_of_a_gradient(problem, budget, neighbors)
        if not budget.is_private:
            return LinearChoice(_descent(), "without noise: descend to the minimum", nu)
        if problem.loss.name == "squared" and problem.n_features <= MOST_STATISTICS:
            return LinearChoice(_statistics(), "squared loss: released statistics suffice", nu)
        if not _objective_fits(problem):
            return LinearChoice(_noisy_descent(problem), "this loss and penalty need steps", nu)
        if nu is None:
            return LinearChoice(_objective(), "needs no number of rows", nu)
        if nu < QUIET:
            return LinearChoice(_objective(), f"nu < {QUIET:g}: one release", nu)
        if nu <= LOUD:
            return LinearChoice(_noisy_descent(problem), f"nu in [{QUIET:g}, {LOUD:g}]", nu)
        return LinearChoice(_objective(CLIP), f"nu > {LOUD:g}: noise drowns most of the data", nu)

    def decisions(
        self, problem: LinearProblem, budget: Budget, neighbors: Neighbors
    ) -> dict[str, Any]:
        """What was chosen, for the plan."""
        chosen = self.choose(problem, budget, neighbors)
        shown: dict[str, Any] = {"chosen solver": chosen.solver.name, "because": chosen.reason}
        if chosen.nu is not None and budget.is_private:
            shown["noise of a mean gradient (nu)"] = float(f"{chosen.nu:.3g}")
        if chosen.warning is not None:
            shown["warning"] = chosen.warning
        return shown

    def events(
        self, problem: LinearProblem, budget: Budget, neighbors: Neighbors
    ) -> tuple[Event, ...]:
        """Events of the solver that was chosen."""
        return self.choose(problem, budget, neighbors).solver.events(problem, budget, neighbors)

    def run(self, curator: Curator, problem: LinearProblem) -> LinearResult:
        """Run the solver that the plan was made for.

        A plan with further events (private feature bounds, say) leaves the solver a part of the
        budget: whoever makes it calls :meth:`choose` with that part and runs what was chosen.
        """
        chosen = self.choose(problem, curator.plan.budget, curator.plan.neighbors)
        if chosen.warning is not None:
            warnings.warn(chosen.warning, LoudNoiseWarning, stacklevel=2)
        return chosen.solver.run(curator, problem)


def _objective_fits(problem: LinearProblem) -> bool:
    return problem.loss.n_outputs == 1 and problem.loss.margin and _plain(problem)


def _plain(problem: LinearProblem) -> bool:
    return problem.penalty.name in ("none", "l2")


def _objective(clip: float | None = None) -> LinearSolver:
    from veilspan.solvers.linear_objective import ObjectivePerturbation

    return ObjectivePerturbation(clip=clip)


def _descent() -> LinearSolver:
    from veilspan.solvers.linear_gd import GradientDescent

    return GradientDescent()


def _noisy_descent(problem: LinearProblem) -> LinearSolver:
    """400 steps of 2 / smoothness, slopes capped at 0.3 of their bound."""
    from veilspan.solvers.linear_gd import GradientDescent

    loss = problem.loss
    if not (math.isfinite(loss.slope_bound) and math.isfinite(loss.smoothness)):
        return GradientDescent()
    step = STEP_SIZE * 0.25 / loss.smoothness  # 8 for the logistic loss
    return GradientDescent(steps=STEPS, step=step, clip=CLIP * loss.slope_bound)


def _statistics() -> LinearSolver:
    from veilspan.solvers.linear_statistics import SufficientStatistics

    return SufficientStatistics()
