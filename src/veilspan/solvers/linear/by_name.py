"""Solvers of linear models by name, imported when they are asked for."""

from __future__ import annotations

from importlib import import_module

from veilspan.solvers.linear.base import LinearSolver

#: name: (module, class)
SOLVERS: dict[str, tuple[str, str]] = {
    "auto": ("auto", "AutoLinear"),
    "gd": ("gradient_descent", "GradientDescent"),
    "sgd": ("gradient_descent", "StochasticGradient"),
    "svrg": ("svrg", "SVRG"),
    "svrg++": ("svrg", "SVRGPlus"),
    "accmd": ("mirror_descent", "AcceleratedMirror"),
    "frank-wolfe": ("frank_wolfe", "FrankWolfe"),
    "objective": ("objective_perturbation", "ObjectivePerturbation"),
    "statistics": ("sufficient_statistics", "SufficientStatistics"),
    "newton": ("newton", "PrivateNewton"),
}


def linear_solver(solver: str | LinearSolver) -> LinearSolver:
    """Return the solver of a name, with its default settings, or the instance itself."""
    if isinstance(solver, str):
        if solver not in SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(SOLVERS)}; got {solver!r}.")
        module, kind = SOLVERS[solver]
        made: LinearSolver = getattr(import_module(f"veilspan.solvers.linear.{module}"), kind)()
        return made
    missing = [name for name in ("name", "events", "run") if not hasattr(solver, name)]
    if isinstance(solver, type) or missing:
        kind = solver.__name__ if isinstance(solver, type) else type(solver).__name__
        what = "is a class" if isinstance(solver, type) else f"lacks {', '.join(missing)}"
        raise TypeError(
            f"solver {kind} {what}; it must be a name or a solver such as GradientDescent()."
        )
    return solver
