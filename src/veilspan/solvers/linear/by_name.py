"""Solvers of linear models by name, imported when they are asked for."""

from __future__ import annotations

from typing import Any

from veilspan.solvers.base import NamedSolver, find_solver
from veilspan.solvers.linear.base import LinearSolver

SOLVERS = {
    "auto": NamedSolver("linear.auto.AutoLinear"),
    "gd": NamedSolver("linear.gradient_descent.GradientDescent"),
    "sgd": NamedSolver("linear.gradient_descent.StochasticGradient"),
    "svrg": NamedSolver("linear.svrg.SVRG"),
    "svrg++": NamedSolver("linear.svrg.SVRGPlus"),
    "accmd": NamedSolver("linear.mirror_descent.AcceleratedMirror"),
    "frank-wolfe": NamedSolver("linear.frank_wolfe.FrankWolfe"),
    "objective": NamedSolver("linear.objective_perturbation.ObjectivePerturbation"),
    "statistics": NamedSolver("linear.sufficient_statistics.SufficientStatistics"),
    "newton": NamedSolver("linear.newton.PrivateNewton"),
}


def linear_solver(solver: Any) -> LinearSolver:
    """The solver of a name, with its default settings, or the one that was given."""
    found: LinearSolver = find_solver(solver, SOLVERS, "GradientDescent()", "with_clip")
    return found
