r"""Means, products and group sums of bounded numbers, missing ones told apart: one matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.curator.query import RowQuery
from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block, row_dots
from veilspan.curator.weighted_gram import gram_block_rows, weighted_gram
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace, SymmetricSpace
from veilspan.queries.profile.slots import share_weights, split_slots

#: Numbers above this stand for a missing one; those that are there lie in [-1, 1].
MISSING_FROM = 1.5


@dataclass(frozen=True)
class Vectors:
    """One vector u for each slot, of shape (n, slots, size), and the weight of each slot."""

    u: np.ndarray
    weights: np.ndarray


class NumberMoments(RowQuery):
    r"""Sum of u u^T with u = (c, z, r, g), for rows of codes and m numbers.

    z_j is number j, moved into [-1, 1], or 0 if it is missing; r_j is 1 if it is missing and 0 if
    not; g holds a 1 in the cell of the row's code for each of h groups, 0 elsewhere; c is a public
    constant. The matrix holds the sums of all numbers (times c), how many are missing, all
    products, and the sums within groups. Units of several rows contribute the mean of their rows'
    matrices (:mod:`veilspan.queries.profile.slots`).

    Sensitivity. Where z_j is not 0, r_j is, and z_j^2 + r_j^2 <= 1: telling what is missing costs
    nothing. So |u|^2 <= R^2 = c^2 + m + h, and |u u^T|_F = |u|^2. *add-remove*: R^2, met by rows at
    the ends of all ranges. *replace-one*: u u^T and means of such matrices are positive
    semidefinite, so any two contributions A, B have <A, B> = trace(A B) >= 0, and
    |A - B|^2 <= |A|^2 + |B|^2 <= 2 R^4: sqrt(2) R^2, not 2 R^2. Nothing is ever clipped.

    The constant. Noise of std s on the matrix is s / (sqrt(2) c n) on a mean and s / (sqrt(2) n) on
    a product, and s grows as c^2 + m + h. Means are the most exact at c^2 = m + h, products at
    c = 0; ``choose_constant`` takes a third of the former.

    Parameters
    ----------
    numbers : sequence of int
        Places of the numbers in an encoded row.
    groups : sequence of pairs of int
        Place of a code, and how many cells it has.
    width : int
        Numbers of an encoded row.
    slots : int
        Rows of one unit.
    """

    def __init__(
        self,
        numbers: Sequence[int],
        groups: Sequence[tuple[int, int]] = (),
        width: int | None = None,
        slots: int = 1,
    ) -> None:
        self.numbers = np.asarray(numbers, dtype=np.int64)
        if not len(self.numbers):
            raise ValueError("moments need at least one number.")
        self.groups = tuple((int(place), int(size)) for place, size in groups)
        self.width = int(self.numbers.max()) + 1 if width is None else int(width)
        self.slots = int(slots)
        self.constant = choose_constant(len(self.numbers), len(self.groups))
        self.size = 1 + 2 * len(self.numbers) + sum(size for _, size in self.groups)
        self.bound = self.constant**2 + len(self.numbers) + len(self.groups)

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """Symmetric matrices with the Frobenius norm."""
        if n_features != self.slots * self.width:
            raise ValueError(f"units of {self.slots} x {self.width}, rows have {n_features}.")
        return SymmetricSpace(self.size)

    @row_map
    def prepare(self, block: Block, point: Any) -> Vectors:
        """The vector u of every slot, entry by entry."""
        parts, taken = split_slots(block.dense(), self.slots)
        m = len(self.numbers)
        u = np.zeros((*taken.shape, self.size))
        numbers = parts[:, :, self.numbers]
        missing = ~(numbers <= MISSING_FROM)
        u[:, :, 0] = self.constant
        u[:, :, 1 : m + 1] = np.where(missing, 0.0, np.clip(numbers, -1.0, 1.0))
        u[:, :, m + 1 : 2 * m + 1] = missing
        start = 2 * m + 1
        for place, size in self.groups:
            code = np.clip(np.rint(parts[:, :, place]), 0, size - 1).astype(np.int64)
            np.put_along_axis(u, (start + code)[:, :, None], 1.0, axis=2)
            start += size
        return Vectors(u, share_weights(taken))

    def norms(self, block: Vectors, point: Any) -> np.ndarray:
        """Frobenius norm of the mean of u u^T: |u|^2 for one row."""
        total = np.zeros(len(block.u))
        for s in range(self.slots):
            for t in range(self.slots):
                dots = row_dots(block.u[:, s], block.u[:, t])
                total += block.weights[:, s] * block.weights[:, t] * dots**2
        return np.sqrt(total)

    def weighted_sum(self, block: Vectors, weights: np.ndarray, point: Any) -> np.ndarray:
        """U^T diag(w) U over all slots."""
        shares = block.weights * weights[:, None]
        return weighted_gram(block.u.reshape(-1, self.size), np.sqrt(shares.reshape(-1)))

    def sensitivity(self, neighbors: Neighbors) -> float:
        """Sqrt(2) R^2 or R^2, see above."""
        return math.sqrt(2) * self.bound if neighbors == "replace-one" else self.bound

    def row_floats(self, n_features: int, point: Any) -> int:
        """The row, its vectors, and the vectors scaled."""
        return n_features + 3 * self.slots * self.size

    def least_block_rows(self, n_features: int, point: Any, sparse: bool) -> int:
        """Many: the answer has size^2 numbers."""
        return gram_block_rows(self.size, stays_sparse=False)

    def roundoff(self, n_features: int, point: Any) -> float:
        """Of a product of vectors of this size, and of a mean over slots."""
        return self.size + 4.0 * self.slots + 64.0


def choose_constant(numbers: int, groups: int) -> float:
    """The constant c: a third of what is best for means, so that products hardly suffer.

    With c^2 = (m + h) / 3 means have 1.15 times and products 1.33 times the least possible noise.
    """
    return math.sqrt(max(1.0, (numbers + groups) / 3))
