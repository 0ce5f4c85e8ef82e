"""What a stream has released so far: all that is remembered from block to block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Least ridge with which gaps in rows are filled: it keeps every row's system far from singular
#: (:func:`veilspan.queries.stream.touching_moment.complete_rows`).
LEAST_RIDGE = 1e-6


@dataclass(frozen=True)
class Belief:
    """What a stream has released so far; the first has no basis.

    Attributes
    ----------
    basis : array of shape (D, r) or None
        The estimate.
    precision : float
        J: one over the variance of an entry of the tilt to the truth.
    known : bool
        Whether the estimate is good enough to ask around it.
    length2, ratio : float
        Mean squared length of the bounded rows, and their energy outside over that inside.
    scale, inside : float, array or None
        Last scale s, and the running mean of A.
    moment, weight, noise2 : array or None, float, float
        Averaged second moment, its weight in blocks, its noise variance.
    losses : int
        How often rows have left the subspace.
    """

    basis: np.ndarray | None = None
    precision: float = 0.0
    known: bool = False
    length2: float = 1.0
    ratio: float = 1.0
    scale: float = 1.0
    inside: np.ndarray | None = None
    moment: np.ndarray | None = None
    weight: float = 0.0
    noise2: float = 0.0
    losses: int = 0

    @property
    def ridge(self) -> float:
        """Energy of a direction outside over one inside: what gaps in rows are filled with."""
        assert self.basis is not None
        return find_ridge(self.basis, self.ratio)


def find_ridge(basis: np.ndarray, ratio: float) -> float:
    """Energy of one direction outside of a basis over one inside, never too small to divide by."""
    width, size = basis.shape
    return max(ratio * size / (width - size), LEAST_RIDGE)
