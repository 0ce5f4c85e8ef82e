"""The names that ``MatrixCompletion(solver=...)`` knows."""

from __future__ import annotations

from veilspan.solvers.base import NamedSolver, find_solver
from veilspan.solvers.completion.base import CompletionSolver

SOLVERS: dict[str, NamedSolver] = {
    "auto": NamedSolver("completion.auto.AutoCompletion"),
    "covariance": NamedSolver("completion.covariance.CovarianceCompletion"),
    "frank-wolfe": NamedSolver("completion.frank_wolfe.FrankWolfeCompletion"),
    "svd": NamedSolver("completion.svd.SVDCompletion"),
    "als": NamedSolver("completion.als.ALSCompletion"),
}


def completion_solver(solver: str | CompletionSolver) -> CompletionSolver:
    """The solver of a name, or the one that was given."""
    return find_solver(solver, SOLVERS, "CovarianceCompletion()")  # type: ignore[no-any-return]
