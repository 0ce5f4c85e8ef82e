"""``SPD(n, metric)``: the three geometries of positive definite matrices under one name."""

from __future__ import annotations

from typing import Literal

from veilspan.geometry._spd import SPDBase
from veilspan.geometry.spd_affine import SPDAffineInvariant
from veilspan.geometry.spd_bures import SPDBuresWasserstein
from veilspan.geometry.spd_log_euclidean import SPDLogEuclidean

SPDMetric = Literal["affine-invariant", "bures-wasserstein", "log-euclidean"]

_CLASSES: dict[str, type[SPDBase]] = {
    "affine-invariant": SPDAffineInvariant,
    "bures-wasserstein": SPDBuresWasserstein,
    "log-euclidean": SPDLogEuclidean,
}


def SPD(n: int, metric: SPDMetric = "affine-invariant") -> SPDBase:
    """Symmetric positive definite n x n matrices with the metric of that name.

    Parameters
    ----------
    n : int
        Size of the matrices.
    metric : {"affine-invariant", "bures-wasserstein", "log-euclidean"}
        Which geometry.

    Returns
    -------
    SPDAffineInvariant, SPDBuresWasserstein or SPDLogEuclidean
    """
    if metric not in _CLASSES:
        known = ", ".join(map(repr, _CLASSES))
        raise ValueError(f"SPD: metric must be one of {known}, got {metric!r}")
    return _CLASSES[metric](n)
