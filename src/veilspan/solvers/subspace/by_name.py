"""Subspace solvers by name."""

from __future__ import annotations

from veilspan.solvers.subspace.base import SubspaceSolver
from veilspan.solvers.subspace.geodesic_gradient import GeodesicGradientDescent
from veilspan.solvers.subspace.reaper import ReaperDescent
from veilspan.solvers.subspace.recursive_spherical import RecursiveSpherical

# Of the stochastic solvers: a tenth of the work per step, about the noise of full batches for the
# geodesic gradient, and more for REAPER, whose tighter full-batch sensitivity sampling cannot use.
SAMPLING_RATE = 0.1

SOLVERS: dict[str, SubspaceSolver] = {
    "auto": RecursiveSpherical(),
    "rspca": RecursiveSpherical(),
    "ggd": GeodesicGradientDescent(),
    "sggd": GeodesicGradientDescent(sampling_rate=SAMPLING_RATE),
    "reaper-gd": ReaperDescent(),
    "reaper-sgd": ReaperDescent(sampling_rate=SAMPLING_RATE),
    "reaper-md": ReaperDescent(geometry="mirror"),
    "reaper-smd": ReaperDescent(geometry="mirror", sampling_rate=SAMPLING_RATE),
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
