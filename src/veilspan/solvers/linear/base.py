r"""What all solvers of linear models share: the problem, the task, the result, the count.

Minimised is, over theta (of shape (p,), or (p, k) for k scores),

    F(theta) = (1/n) sum_i l(<x_i, theta>, y_i) + penalty(theta),      |x_i| <= 1,

where row gradients longer than the clip are shortened to it: for one score that is the gradient of
the same loss with its slope capped at clip / |x_i|, a convex function again (see
:mod:`veilspan.queries.linear.slope_gradient`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from veilspan.curator.curator import Answer
from veilspan.losses.linear import LinearLoss
from veilspan.losses.penalties import NoPenalty, Penalty
from veilspan.privacy.budget import Budget
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.linear.slope_gradient import length_of
from veilspan.solvers.base import Prepared, Result, Solver


@dataclass(frozen=True)
class LinearProblem:
    """What is to be minimised and what is public about it.

    Attributes
    ----------
    loss : LinearLoss
        Loss of a row.
    penalty : Penalty
        Penalty or constraint on theta, per row (it is added to the mean loss).
    n_features : int
        p, columns of the scaled table, the constant one of the intercept included.
    n_rows : int or None
        Public number of rows; ``None`` under add-remove.
    expected_rows : int or None
        Under add-remove, a public guess of it that only defaults are chosen by.
    intercept : bool
        Whether the last column is the constant one. Its coefficients are not penalised where the
        solver can do without.
    """

    loss: LinearLoss
    penalty: Penalty
    n_features: int
    n_rows: int | None = None
    expected_rows: int | None = None
    intercept: bool = True

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of theta: (p,), or (p, k) for k scores."""
        k = self.loss.n_outputs
        return (self.n_features,) if k == 1 else (self.n_features, k)

    @property
    def planned_rows(self) -> int | None:
        """Number of rows that defaults may be chosen by."""
        return self.n_rows if self.n_rows is not None else self.expected_rows

    def noise_of_a_gradient(self, budget: Budget, neighbors: Neighbors) -> float | None:
        """Noise nu = a sqrt(p) / (n mu) of a mean of unit gradients that takes the whole budget.

        a is 1 under add-remove and 2 under replace-one; ``None`` if no number of rows may be used.
        """
        if not budget.is_private:
            return 0.0
        rows = self.n_rows if self.n_rows is not None else self.expected_rows
        if rows is None:
            return None
        size = self.n_features * self.loss.n_outputs
        return moved_lengths(neighbors) * math.sqrt(size) / (rows * budget.mu)

    def prox(self, theta: np.ndarray, step: float) -> np.ndarray:
        """Proximal step of the penalty, sparing the intercept."""
        if isinstance(self.penalty, NoPenalty):
            return theta
        if not self.intercept:
            return self.penalty.prox(theta, step)
        return np.concatenate([self.penalty.prox(theta[:-1], step), theta[-1:]])


@dataclass(frozen=True)
class LinearResult(Result):
    """Coefficients theta of the scaled rows, and how the solver came to them.

    ``noise`` says how the noise of the answers comes out in theta, where a solver knows it;
    ``diagonal`` is how much each feature bends the objective there, ``class_counts`` how many rows
    each class has, ``readable`` how many have a target, ``confidence`` by what scores are to be
    multiplied to be log-odds (with the std of its logarithm): where these were asked for.
    """

    theta: np.ndarray
    noise: Any = field(default=None, kw_only=True, repr=False)
    diagonal: Answer | None = field(default=None, kw_only=True, repr=False)
    class_counts: Answer | None = field(default=None, kw_only=True, repr=False)
    readable: Answer | None = field(default=None, kw_only=True, repr=False)
    confidence: float = field(default=1.0, kw_only=True)
    confidence_std: float = field(default=0.0, kw_only=True)


class LinearSolver(Solver[LinearProblem, LinearResult], Protocol):
    """A private minimiser; settings that are ``None`` are chosen from public facts."""

    def with_clip(self, clip: float) -> LinearSolver:
        """The same with row gradients of at most this length, or a ``ValueError``."""


LinearPrepared = Prepared[LinearProblem, LinearResult]


class Clips:
    """A solver that has a clip."""

    def with_clip(self, clip: float) -> Any:
        """The same with row gradients of at most this length."""
        if getattr(self, "cap", None) is not None:  # a clip that is given is not chosen
            return replace(self, clip=clip, cap=None)  # type: ignore[type-var]
        return replace(self, clip=clip)  # type: ignore[type-var]


class NeverClips:
    """A solver that uses no gradients of rows, so that there is nothing to clip."""

    name: str

    def with_clip(self, clip: float) -> Any:
        """Refuse a clip, and say whose name has none."""
        raise ValueError(f'solver="{self.name}" has no clip; leave clip=None.')


@dataclass(frozen=True)
class Needs:
    """What a solver needs of a problem; ``None`` where anything will do.

    Attributes
    ----------
    losses, penalties : tuple of str or None
        Names of those that it can handle.
    one_score : bool
        Whether theta must be a vector.
    slope_bound : bool
        Whether slopes must have a bound.
    instead : str
        What to use where they do not fit.
    """

    losses: tuple[str, ...] | None = None
    penalties: tuple[str, ...] | None = None
    one_score: bool = False
    slope_bound: bool = False
    instead: str = 'solver="gd", which takes every loss and penalty'


def misfit(needs: Needs, problem: LinearProblem) -> str | None:
    """What a problem lacks, in a few words; ``None`` if it fits."""
    loss, penalty = problem.loss, problem.penalty
    if needs.one_score and loss.n_outputs > 1:
        return f"a loss of one score, and the {loss.name} loss has {loss.n_outputs}"
    if needs.losses is not None and loss.name not in needs.losses:
        return f"the loss to be {' or '.join(needs.losses)}, and it is {loss.name}"
    if needs.slope_bound and not np.isfinite(loss.slope_bound):
        return f"a loss with a bounded slope, which the {loss.name} loss has not"
    if needs.penalties is not None and penalty.name not in needs.penalties:
        return f"the penalty to be {' or '.join(needs.penalties)}, and it is {penalty.name}"
    return None


def fits(needs: Needs, problem: LinearProblem) -> bool:
    """Whether a solver with these needs can take a problem."""
    return misfit(needs, problem) is None


def require(solver: str, needs: Needs, problem: LinearProblem) -> None:
    """Refuse a problem that does not fit, with a sentence that says what to use instead."""
    missing = misfit(needs, problem)
    if missing is not None:
        raise ValueError(f'solver="{solver}" needs {missing}; use {needs.instead}.')


def moved_lengths(neighbors: Neighbors) -> float:
    """Sensitivity of a sum of vectors over the longest of them: a in the formulas of solvers."""
    return 2.0 if neighbors == "replace-one" else 1.0


def shorten(vector: np.ndarray, longest: float) -> np.ndarray:
    """A vector, or as much of it as is not longer than ``longest``."""
    length = length_of(vector)
    if length <= longest:
        return vector
    # Where even the norm overflows nothing is known but that it is all noise.
    return vector * (longest / length) if np.isfinite(length) else np.zeros_like(vector)
