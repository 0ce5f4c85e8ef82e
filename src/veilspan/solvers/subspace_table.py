"""Subspace solvers by name."""

from __future__ import annotations

from veilspan.solvers.recursive_spherical import RecursiveSpherical
from veilspan.solvers.subspace import SubspaceSolver

SOLVERS: dict[str, SubspaceSolver] = {
    "auto": RecursiveSpherical(),
    "rspca": RecursiveSpherical(),
}


def subspace_solver(solver: str | SubspaceSolver) -> SubspaceSolver:
    """Return the solver of a name, or the instance itself."""
    if isinstance(solver, str):
        if solver not in SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(SOLVERS)}; got {solver!r}.")
        return SOLVERS[solver]
    missing = [name for name in ("adaptive", "schedule", "run") if not hasattr(solver, name)]
    if missing:
        raise TypeError(
            f"solver {type(solver).__name__} lacks {', '.join(missing)}; it must be a name or a "
            "subspace solver such as RecursiveSpherical()."
        )
    return solver
