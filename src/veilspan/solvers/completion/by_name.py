"""Completion solvers by name."""

from __future__ import annotations

from veilspan.solvers.completion.als import ALSCompletion
from veilspan.solvers.completion.auto import AutoCompletion
from veilspan.solvers.completion.base import CompletionSolver
from veilspan.solvers.completion.covariance import CovarianceCompletion
from veilspan.solvers.completion.frank_wolfe import FrankWolfeCompletion
from veilspan.solvers.completion.svd import SVDCompletion

SOLVERS: dict[str, CompletionSolver] = {
    "auto": AutoCompletion(),
    "covariance": CovarianceCompletion(),
    "frank-wolfe": FrankWolfeCompletion(),
    "svd": SVDCompletion(),
    "als": ALSCompletion(),
}


def completion_solver(solver: str | CompletionSolver) -> CompletionSolver:
    """Return the solver of a name, or the instance itself."""
    if isinstance(solver, str):
        if solver not in SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(SOLVERS)}; got {solver!r}.")
        return SOLVERS[solver]
    missing = [name for name in ("schedule", "decisions", "run") if not hasattr(solver, name)]
    if missing:
        raise TypeError(
            f"solver {type(solver).__name__} lacks {', '.join(missing)}; it must be a name or a "
            "completion solver such as CovarianceCompletion()."
        )
    return solver
