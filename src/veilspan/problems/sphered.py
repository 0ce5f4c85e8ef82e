"""Rows on the unit sphere: the common ground of all robust subspace queries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from veilspan.curator.query import RowQuery
from veilspan.curator.rows import Block
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace, SymmetricSpace


def to_sphere(block: Block, center: np.ndarray | None) -> np.ndarray:
    """Rows minus a public centre, each scaled to length 1; a row at the centre stays zero.

    Lengths are taken after dividing by the largest entry, so that tiny and huge rows are safe.
    """
    x = block.dense() if center is None else block.dense() - center
    squares = np.einsum("ij,ij->i", x, x)
    odd = ~((squares > 1e-250) & (squares < 1e250))
    if odd.any():
        x = x.copy()
        largest = np.abs(x[odd]).max(axis=1, keepdims=True)
        x[odd] /= np.where(largest > 0, largest, 1.0)
        squares = np.einsum("ij,ij->i", x, x)
    lengths = np.sqrt(squares)
    return np.asarray(x / np.where(lengths > 0, lengths, 1.0)[:, None])


class SpheredQuery(RowQuery):
    """A query over rows on the unit sphere.

    Parameters
    ----------
    center : array of shape (d,), optional
        Public centre, subtracted first.
    """

    def __init__(self, center: np.ndarray | None = None) -> None:
        self.center = center

    def prepare(self, block: Block, point: Any) -> Any:
        """Unit rows."""
        return to_sphere(block, self.center)

    def row_floats(self, n_features: int, point: Any) -> int:
        """The row, centred, scaled, and a copy."""
        return 4 * n_features


class SphericalMoment(SpheredQuery):
    r"""Sum of x x^T over unit rows.

    Sensitivity. *add-remove*: |x x^T|_F = 1. *replace-one*: |x x^T - y y^T|_F^2 = 2 - 2 (x.y)^2, so
    sqrt(2), met by orthogonal rows (one of them may be zero at less).
    """

    bound = 1.0

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """Symmetric matrices."""
        return SymmetricSpace(n_features)

    def norms(self, block: np.ndarray, point: Any) -> np.ndarray:
        """Squared length: 1, or 0 for a zero row."""
        return np.einsum("ij,ij->i", block, block)

    def weighted_sum(self, block: np.ndarray, weights: np.ndarray, point: Any) -> np.ndarray:
        """X^T diag(w) X."""
        scaled = np.sqrt(weights)[:, None] * block
        return np.asarray(scaled.T @ scaled)

    def sensitivity(self, neighbors: Neighbors) -> float:
        """Sqrt(2) or 1, see above."""
        return math.sqrt(2) if neighbors == "replace-one" else 1.0
