r"""How much of the rows a subspace holds: the score of a trial of a search."""

from __future__ import annotations

from typing import Any

import numpy as np

from veilspan.curator.rows import row_dots
from veilspan.privacy.spaces import AnswerSpace, VectorSpace
from veilspan.queries.subspace.sphered import SpheredQuery


class CapturedShare(SpheredQuery):
    r"""Sum over rows of |V^T z|^2 - 1/2, z = (x - c)/|x - c|; the point is an orthonormal V.

    A row counts by its direction from the centre, so that far rows say no more than near ones; a
    row at the centre has none, z = 0.

    Sensitivity. |V^T z|^2 lies in [0, 1]. *add-remove*: 1/2, met by a row in the subspace.
    *replace-one*: 1, met by a row in it and one at right angles.

    Parameters
    ----------
    center : array of shape (d,), optional
        Public or released centre c, subtracted first.
    """

    bound = 0.5

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """One number: a sum of shares."""
        return VectorSpace((1,))

    def norms(self, block: np.ndarray, point: Any) -> np.ndarray:
        """Size of the share less a half."""
        return np.abs(self._gains(block, point))

    def weighted_sum(self, block: np.ndarray, weights: np.ndarray, point: Any) -> np.ndarray:
        """Weighted sum of the shares."""
        return np.array([weights @ self._gains(block, point)])

    def roundoff(self, n_features: int, point: Any) -> float:
        """Roundings of a direction, of r products and of their squares; the bound is a half."""
        return 4.0 * (2 * n_features + point.shape[1] + 64.0)

    @staticmethod
    def _gains(block: np.ndarray, point: np.ndarray) -> np.ndarray:
        along = np.ascontiguousarray(block @ point)
        return np.minimum(row_dots(along, along), 1.0) - 0.5
