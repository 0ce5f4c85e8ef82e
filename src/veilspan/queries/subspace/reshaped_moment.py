r"""Second moments of rows that a released matrix has stretched."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from veilspan.curator.rows import Block
from veilspan.curator.weighted_gram import gram_block_rows
from veilspan.queries.moments import SecondMoment, squared_norms
from veilspan.queries.residuals import residual_roundings


@dataclass(frozen=True, eq=False)
class Stretch:
    r"""A public symmetric matrix T = c I + V diag(t - c) V^T with positive eigenvalues.

    Attributes
    ----------
    center : array of shape (D,) or None
        What is taken off rows first.
    basis : array of shape (D, q)
        V, orthonormal columns.
    inside : array of shape (q,)
        t: what lengths along them are multiplied by.
    outside : float
        c: what all other lengths are multiplied by.
    """

    center: np.ndarray | None
    basis: np.ndarray
    inside: np.ndarray
    outside: float

    @property
    def condition(self) -> float:
        """Largest over smallest eigenvalue: how unevenly it stretches."""
        sizes = np.append(self.inside, self.outside)
        return float(sizes.max() / sizes.min())

    @cached_property
    def matrix(self) -> np.ndarray | None:
        """T itself, where a product with it is quicker than two with its basis."""
        size, rank = self.basis.shape
        if 2 * rank < size:
            return None
        return np.asarray(self.outside * np.eye(size) + self.basis @ self._factor)

    @cached_property
    def _factor(self) -> np.ndarray:
        return np.asarray((self.inside - self.outside)[:, None] * self.basis.T)

    def apply(self, x: np.ndarray) -> np.ndarray:
        """Stretched rows of rows as they came: T (x - m)."""
        x = x if self.center is None else x - self.center
        if self.matrix is not None:
            return np.asarray(x @ self.matrix)
        inside = x @ self.basis
        # Rows as they came are the user's; a difference is nobody's, and is written over.
        stretched = np.multiply(x, self.outside, out=None if self.center is None else x)
        stretched += inside @ self._factor
        return stretched


class ReshapedMoment(SecondMoment):
    r"""Sum of y y^T for y = T (x - m), each scaled down to length R; the point is a ``Stretch``.

    T is released or public, so y is a function of one row, and T^-1 (sum) T^-1 is a second moment
    of the rows themselves. The noise on it is small where T stretches.

    Sensitivity. That of :class:`~veilspan.queries.moments.SecondMoment`, of whose contributions
    these are: y y^T with |y| <= R. *add-remove*: R^2. *replace-one*: sqrt(2) R^2.

    Rounding. With u = 2^-53, k = ``residual_roundings`` of q directions and t* the largest
    eigenvalue of T, the computed w = V^T (x - m), its products with t - c and V, and the sum with
    c (x - m) together err by at most 2 t* (k + 2) u |x - m|: the products are those of a residual,
    scaled by at most t*. Where T is formed, it errs by (q + 2) u t* | |V| |V|^T |_F, at most
    q (q + 2) u t*, and a product with it by D u t* sqrt(D), which then stand for k. Since
    |y| >= |x - m| t*/K, K being the condition of T, y errs by at most 2 K (k + 2) u |y|. So its
    direction turns by as much and its length changes by as much, and y y^T, clipped or not, moves
    by at most twice 2 K (k + 2) u R^2 (|a b^T + b a^T| with |a| <= R); D + 64 more for the norm,
    the weight and the products.

    Parameters
    ----------
    row_norm : float
        R.
    """

    def prepare(self, block: Block, point: Any) -> np.ndarray:
        """Stretch every row: y, whose length is then bounded."""
        stretched: np.ndarray = point.apply(block.dense())
        return stretched

    def norms(self, block: np.ndarray, point: Any) -> np.ndarray:
        """Squared length of each stretched row."""
        return squared_norms(block)

    def row_floats(self, n_features: int, point: Any) -> int:
        """The row, centred, stretched and scaled, and its coordinates."""
        return 4 * n_features + 2 * point.basis.shape[1]

    def least_block_rows(self, n_features: int, point: Any, sparse: bool) -> int:
        """Many: the answer has columns^2 numbers, and stretched rows are dense."""
        return gram_block_rows(n_features, stays_sparse=False)

    def roundoff(self, n_features: int, point: Any) -> float:
        """Roundings of y y^T, which grow with how unevenly T stretches: see the class."""
        error = residual_roundings(n_features, point.basis.shape[1]) + 2.0
        if point.matrix is not None:
            rank = point.basis.shape[1]
            error = rank * (rank + 2.0) + n_features**1.5 + 2.0
        return 4.0 * point.condition * error + n_features + 64.0
