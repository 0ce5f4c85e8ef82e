"""Manifolds and their Gaussian tangent vectors: pure mathematics, no data and no privacy."""

from veilspan.geometry.ball import Ball
from veilspan.geometry.base import Manifold
from veilspan.geometry.checks import check_manifold
from veilspan.geometry.errors import UnavailableOperationError
from veilspan.geometry.euclidean import Euclidean
from veilspan.geometry.grassmann import Grassmann
from veilspan.geometry.lorentz import Lorentz
from veilspan.geometry.poincare import PoincareBall
from veilspan.geometry.product import Product
from veilspan.geometry.report import CheckResult, ManifoldCheckError, ManifoldReport
from veilspan.geometry.spd import SPD
from veilspan.geometry.spd_affine import SPDAffineInvariant
from veilspan.geometry.spd_bures import SPDBuresWasserstein
from veilspan.geometry.spd_log_euclidean import SPDLogEuclidean
from veilspan.geometry.sphere import Sphere
from veilspan.geometry.stiefel import Stiefel

__all__ = [
    "SPD",
    "Ball",
    "CheckResult",
    "Euclidean",
    "Grassmann",
    "Lorentz",
    "Manifold",
    "ManifoldCheckError",
    "ManifoldReport",
    "PoincareBall",
    "Product",
    "SPDAffineInvariant",
    "SPDBuresWasserstein",
    "SPDLogEuclidean",
    "Sphere",
    "Stiefel",
    "UnavailableOperationError",
    "check_manifold",
]
