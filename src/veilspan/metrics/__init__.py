"""Distances between answers: subspaces by their principal angles, maps up to similarity."""

from veilspan.metrics.maps import procrustes_correlation
from veilspan.metrics.subspaces import (
    determinant_similarity,
    frobenius_discrepancy,
    largest_angle_gap,
    log10_squared_angle_distance,
    principal_angles,
    projection_distance,
    squared_angle_distance,
)

__all__ = [
    "determinant_similarity",
    "frobenius_discrepancy",
    "largest_angle_gap",
    "log10_squared_angle_distance",
    "principal_angles",
    "procrustes_correlation",
    "projection_distance",
    "squared_angle_distance",
]
