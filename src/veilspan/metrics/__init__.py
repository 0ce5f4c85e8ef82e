"""Distances between answers: subspaces by principal angles, maps up to similarity, rankings."""

from veilspan.metrics.maps import procrustes_correlation
from veilspan.metrics.ranking import coverage, ndcg_at_k, recall_at_k, rmse, top_items
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
    "coverage",
    "determinant_similarity",
    "frobenius_discrepancy",
    "largest_angle_gap",
    "log10_squared_angle_distance",
    "ndcg_at_k",
    "principal_angles",
    "procrustes_correlation",
    "projection_distance",
    "recall_at_k",
    "rmse",
    "squared_angle_distance",
    "top_items",
]
