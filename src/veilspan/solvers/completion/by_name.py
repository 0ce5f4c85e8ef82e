"""The names that ``MatrixCompletion(solver=...)`` knows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from veilspan.solvers.base import NamedSolver, find_solver
from veilspan.solvers.completion.base import CompletionSolver

SOLVERS: dict[str, NamedSolver] = {
    "auto": NamedSolver("completion.auto.AutoCompletion"),
    "covariance": NamedSolver("completion.covariance.CovarianceCompletion"),
    "frank-wolfe": NamedSolver("completion.frank_wolfe.FrankWolfeCompletion"),
    "svd": NamedSolver("completion.svd.SVDCompletion"),
    "als": NamedSolver("completion.als.ALSCompletion"),
}


#: The solver of a name, or the one that was given.
completion_solver: Callable[[Any], CompletionSolver] = partial(
    find_solver, named=SOLVERS, example="CovarianceCompletion()"
)
