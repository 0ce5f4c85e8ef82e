r"""What is asked of labels: how many rows each class has, and which scores they get.

**Rounding.** A row's score is known to a few units in its last place only, and which units depends
on its place in a block. A count in bins with sharp edges could turn that into a whole vote, of
every row that lies near an edge. So a vote is divided between the two knots next to the score,
which is a continuous function of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from veilspan._scales import check_derived_scale
from veilspan.curator.query import RowQuery
from veilspan.curator.rows import Block, scores_of
from veilspan.losses.linear import LinearLoss
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace, VectorSpace
from veilspan.queries.linear.slope_gradient import FEW, length_of, targets, unit_factors


class ClassCounts(RowQuery):
    r"""Number of rows of each class: a row adds the unit vector of its class.

    Sensitivity. *add-remove*: 1. *replace-one*: two unit vectors have a non-negative inner product,
    so sqrt(2), met by rows of different classes. Nothing is ever clipped.

    Parameters
    ----------
    loss : LinearLoss
        A margin loss: it says how classes are written as targets.
    """

    bound = 1.0

    def __init__(self, loss: LinearLoss) -> None:
        self.loss = loss
        self.n_classes = max(2, loss.n_outputs)

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """A vector with a count for each class."""
        return VectorSpace((self.n_classes,))

    def prepare(self, block: Block, point: Any) -> np.ndarray:
        """Class number of each row."""
        return class_numbers(self.loss, block)

    def norms(self, block: np.ndarray, point: Any) -> np.ndarray:
        """1 for every row: each has one vote."""
        return np.ones(len(block))

    def weighted_sum(self, block: np.ndarray, weights: np.ndarray, point: Any) -> np.ndarray:
        """Weighted votes for each class."""
        # Without votes bincount forgets that weights are fractions.
        return np.bincount(block, weights, minlength=self.n_classes).astype(np.float64)

    def sensitivity(self, neighbors: Neighbors) -> float:
        """sqrt(2) or 1, see above."""
        return math.sqrt(2) if neighbors == "replace-one" else 1.0

    def row_floats(self, n_features: int, point: Any) -> int:
        """Class and vote; the row itself is not read."""
        return 4


@dataclass(frozen=True)
class DividedVotes:
    """Cells below the rows' scores, and the share of a vote that goes to the knot above."""

    cells: np.ndarray
    above: np.ndarray


class ScoreHistogram(RowQuery):
    r"""How the scores <x', theta> of two classes lie on B knots from -r to r: a 2 x B matrix.

    The point is (theta, r); scores beyond are moved to the ends. Knots are equally spaced, or, with
    a ``bend`` b, on the scale asinh(u / b): near 0 about b apart, and further in proportion to the
    score beyond, so that few knots suit scores of any length. A row of class c with a score between
    two knots, a share f of the way (on that scale), adds 1 - f and f at (c, lower knot) and (c,
    upper knot).

    Sensitivity. A contribution has the length sqrt((1 - f)^2 + f^2) <= 1. *add-remove*: 1, met on a
    knot. *replace-one*: entries are not negative, so inner products are not either: sqrt(2), met by
    rows of different classes on knots. Nothing is ever clipped.

    Parameters
    ----------
    loss : LinearLoss
        A margin loss of one score.
    n_knots : int
        B.
    bend : float, optional
        Score from which on knots grow apart.
    """

    bound = 1.0

    def __init__(self, loss: LinearLoss, n_knots: int, bend: float | None = None) -> None:
        if loss.n_outputs != 1 or not loss.margin:
            raise ValueError("a histogram of scores by label is for two classes with one score.")
        if n_knots < 2:
            raise ValueError(f"n_knots must be at least 2; got {n_knots}.")
        self.loss, self.n_knots = loss, int(n_knots)
        self.bend = None if bend is None else check_derived_scale(bend, "bend")

    def knots(self, reach: float) -> np.ndarray:
        """Score of each knot, from the lowest to the highest."""
        even = _even_places(self.n_knots)
        if self.bend is None:
            return reach * even
        return np.asarray(self.bend * np.sinh(even * math.asinh(reach / self.bend)))

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """Matrices of counts, two classes by knots."""
        return VectorSpace((2, self.n_knots))

    def prepare(self, block: Block, point: Any) -> DividedVotes:
        """Cells and shares of all rows."""
        theta, reach = point
        factors, _ = unit_factors(block)
        place = np.clip(scores_of(block.x, theta, factors), -reach, reach)
        if self.bend is not None:
            place = np.arcsinh(place / self.bend) * (reach / math.asinh(reach / self.bend))
        place = (place + reach) * ((self.n_knots - 1) / (2 * reach))
        below = np.clip(np.floor(place), 0, self.n_knots - 2)
        cells = class_numbers(self.loss, block) * self.n_knots + below.astype(np.intp)
        return DividedVotes(cells, np.clip(place - below, 0.0, 1.0))

    def norms(self, block: DividedVotes, point: Any) -> np.ndarray:
        """Root of (1 - f)^2 + f^2."""
        return np.sqrt((1.0 - block.above) ** 2 + block.above**2)

    def weighted_sum(self, block: DividedVotes, weights: np.ndarray, point: Any) -> np.ndarray:
        """Weighted votes at each knot."""
        size = 2 * self.n_knots
        total = np.bincount(block.cells, weights * (1.0 - block.above), minlength=size)
        upper = np.bincount(block.cells + 1, weights * block.above, minlength=size)
        return (total + upper).astype(np.float64).reshape(2, self.n_knots)

    def sensitivity(self, neighbors: Neighbors) -> float:
        """sqrt(2) or 1, see above."""
        return math.sqrt(2) if neighbors == "replace-one" else 1.0

    def row_floats(self, n_features: int, point: Any) -> int:
        """The row, its score, cell and votes."""
        return n_features + 10

    def roundoff(self, n_features: int, point: Any) -> float:
        """A score's rounding in knots, times the sqrt(2) that both shares together change by.

        Bent knots are closest at 0, where asinh(u / b) grows by 1 / b.
        """
        theta, reach = point
        steep = math.sqrt(2) * (self.n_knots - 1) / (2 * reach)
        if self.bend is not None:
            steep *= reach / (self.bend * math.asinh(reach / self.bend))
        score = (1.5 * n_features + FEW) * length_of(theta) + FEW * reach
        return FEW * self.n_knots + steep * score


@lru_cache(maxsize=8)
def _even_places(count: int) -> np.ndarray:
    """Places from -1 to 1, as far apart as each other."""
    places = np.linspace(-1.0, 1.0, count)
    places.flags.writeable = False
    return places


def class_numbers(loss: LinearLoss, block: Block) -> np.ndarray:
    """Class number of each row: of two classes the lower one has targets that are not positive."""
    y = targets(loss, block)
    return y if loss.n_outputs > 1 else (y > 0).astype(np.intp)
