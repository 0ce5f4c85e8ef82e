"""The names by which users choose a subspace solver."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from veilspan.solvers.base import NamedSolver, Solver, find_solver
from veilspan.solvers.subspace.base import SubspaceProblem, SubspaceResult

# Of the stochastic solvers: a tenth of the work per step, about the noise of full batches for the
# geodesic gradient, and more for REAPER, whose tighter full-batch sensitivity sampling cannot use.
SAMPLING_RATE = 0.1

_RECURSIVE = "subspace.recursive_spherical.RecursiveSpherical"
_GEODESIC = "subspace.geodesic_gradient.GeodesicGradientDescent"
_REAPER = "subspace.reaper.ReaperDescent"

SOLVERS = {
    "auto": NamedSolver(_RECURSIVE),
    "rspca": NamedSolver(_RECURSIVE),
    "ggd": NamedSolver(_GEODESIC),
    "sggd": NamedSolver(_GEODESIC, {"sampling_rate": SAMPLING_RATE}),
    "reaper-gd": NamedSolver(_REAPER),
    "reaper-sgd": NamedSolver(_REAPER, {"sampling_rate": SAMPLING_RATE}),
    "reaper-md": NamedSolver(_REAPER, {"geometry": "mirror"}),
    "reaper-smd": NamedSolver(_REAPER, {"geometry": "mirror", "sampling_rate": SAMPLING_RATE}),
}


#: The solver of a name, or the one that was given.
subspace_solver: Callable[[Any], Solver[SubspaceProblem, SubspaceResult]] = partial(
    find_solver, named=SOLVERS, example="RecursiveSpherical()"
)
