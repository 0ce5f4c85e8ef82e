r"""Row queries: what may be asked of the curator.

A query maps every row x, at a public point theta (the current iterate, or ``None``), to a
*contribution* c(x; theta) in an answer space. The curator releases a noisy version of

    sum_i  min(1, C / |c(x_i)|)  c(x_i),            C = ``query.bound``,

so one row moves the sum by at most C. The weights are the curator's. A query says how to do the
rest fast, for a block of rows at a time, and is trusted to do what stands here:

* ``norms(block, point)``: |c(x_i)| for each row, in the answer space's norm;
* ``weighted_sum(block, weights, point)``: sum_i w_i c(x_i), without forming the c(x_i), linear in
  the weights.

:func:`veilspan.check_query` compares both with one row at a time; the contract suite does so for
every query that is shipped.

Work that both need is done once in ``prepare(block, point)``; what it returns is then passed to
both in the block's place.

Sensitivity. Under add-remove it is C. Under replace-one it is at most 2C by the triangle
inequality; if any two contributions have a non-negative inner product (rank-one symmetric matrices
x x^T, say), then |a - b|^2 = |a|^2 + |b|^2 - 2 <a, b> <= 2 C^2, so it is sqrt(2) C. A query may
override :meth:`RowQuery.sensitivity` with such a tighter bound, with the proof in its docstring;
:func:`veilspan.check_query` searches for pairs of rows that break it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from veilspan.curator.rows import Block
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace

BLOCK_BYTES = 4_000_000  # of working memory per block: small enough for the cache, see benchmarks/
MOST_BLOCK_ROWS = 65_536


class PublicFacts(NamedTuple):
    """What is public about one question, known before a row is read.

    Attributes
    ----------
    sensitivity : float
        Largest change of the clipped sum between neighbouring tables.
    block_rows : int
        Rows that are summed in one go, which the noise's cover of rounding and the sum share.
    roundoff : float
        Rounding error of one computed contribution, in units of 2^-53 times the bound.
    space : AnswerSpace
        Where the sum lives.
    coordinates : int
        Its number of coordinates.
    """

    sensitivity: float
    block_rows: int
    roundoff: float
    space: AnswerSpace
    coordinates: int


class RowQuery(ABC):
    """A sum over rows, one bounded contribution each."""

    #: Largest norm of one row's contribution; longer ones are scaled down to it.
    bound: float

    @abstractmethod
    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """Where the sum lives; its norm is the one that ``norms`` and ``bound`` refer to."""

    def prepare(self, block: Block, point: Any) -> Any:
        """Work on a block that ``norms`` and ``weighted_sum`` share; by default none."""
        return block

    @abstractmethod
    def norms(self, block: Any, point: Any) -> np.ndarray:
        """Norm of each row's contribution: an array of shape (rows in the block,)."""

    @abstractmethod
    def weighted_sum(self, block: Any, weights: np.ndarray, point: Any) -> Any:
        """Sum of the contributions, each times its weight, in coordinates of the answer space.

        Vectors and matrices are their own coordinates; a sum of tangent vectors is given in those
        of the manifold, each row taken to them by itself (``AnswerSpace.coordinates_of``).
        """

    def sensitivity(self, neighbors: Neighbors) -> float:
        """Largest change of the clipped sum between neighbouring tables."""
        return 2 * self.bound if neighbors == "replace-one" else self.bound

    def row_floats(self, n_features: int, point: Any) -> int:
        """Numbers that the query keeps per row while it works; sets the size of blocks."""
        return 2 * n_features

    def least_block_rows(self, n_features: int, point: Any, sparse: bool) -> int:
        """Rows that a block has at least, even if that is more than fits into the cache.

        For answers so large that adding up those of two blocks takes longer than many a row does.
        ``sparse`` says whether the table is, which is public.
        """
        return 1

    def roundoff(self, n_features: int, point: Any) -> float:
        """Rounding error of one computed contribution, in units of 2^-53 times the bound.

        Override it where a contribution divides by something small.
        """
        return n_features + 64.0

    def public_facts(
        self, neighbors: Neighbors, n_features: int, point: Any, *, sparse: bool
    ) -> PublicFacts:
        """All that noise and sum need to know of a question, of public numbers alone.

        How full a sparse table is must not enter: the noise covers a rounding error that grows with
        the rows of a block, so its scale would tell.
        """
        sensitivity = self.sensitivity(neighbors)
        least = self.least_block_rows(n_features, point, sparse)
        roundoff = self.roundoff(n_features, point)
        floats = max(1, self.row_floats(n_features, point))
        rows = min(max(int(BLOCK_BYTES // (8 * floats)), 1), MOST_BLOCK_ROWS)
        space = self.space(n_features, point)
        return PublicFacts(sensitivity, max(rows, least), roundoff, space, space.coordinates)

    @property
    def name(self) -> str:
        """Name of the query, for records and messages."""
        return type(self).__name__
