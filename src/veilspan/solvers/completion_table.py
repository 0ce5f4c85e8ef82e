"""Completion solvers by name."""

from __future__ import annotations

from veilspan.solvers.completion import CompletionSolver, CompletionTask
from veilspan.solvers.completion_als import ALSCompletion
from veilspan.solvers.completion_covariance import CovarianceCompletion
from veilspan.solvers.completion_frank_wolfe import FrankWolfeCompletion
from veilspan.solvers.completion_svd import SVDCompletion

SOLVERS: dict[str, CompletionSolver] = {
    "covariance": CovarianceCompletion(),
    "frank-wolfe": FrankWolfeCompletion(),
    "svd": SVDCompletion(),
    "als": ALSCompletion(),
}


def completion_solver(solver: str | CompletionSolver, task: CompletionTask) -> CompletionSolver:
    """Return the solver of a name, the default for this task, or the instance itself."""
    if isinstance(solver, str):
        if solver == "auto":
            return default_solver(task)
        if solver not in SOLVERS:
            names = ", ".join(("auto", *SOLVERS))
            raise ValueError(f"solver must be one of {names}; got {solver!r}.")
        return SOLVERS[solver]
    missing = [name for name in ("schedule", "decisions", "run") if not hasattr(solver, name)]
    if missing:
        raise TypeError(
            f"solver {type(solver).__name__} lacks {', '.join(missing)}; it must be a name or a "
            "completion solver such as CovarianceCompletion()."
        )
    return solver


def default_solver(task: CompletionTask) -> CompletionSolver:
    """Choose by public sizes."""
    return SOLVERS["covariance"]
