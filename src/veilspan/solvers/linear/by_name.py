"""Solvers of linear models by name, imported when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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


#: The solver of a name, with its default settings, or the one that was given.
linear_solver: Callable[[Any], LinearSolver] = partial(
    find_solver, named=SOLVERS, example="GradientDescent()", needs=("with_clip",)
)
