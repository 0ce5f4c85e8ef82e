r"""What gradient methods ask of rows: sums of clipped gradients of a linear model.

A row (x, y) adds x' l'(<x', theta>, y), where x' = x / max(1, |x|) is the row inside the unit ball
and y is kept to the range of targets. Both are done here, row by row, although the estimators have
done so already: a row of absurd length is a unit row like any other, and no proof rests on what a
caller promised. With k scores the contribution is the p x k matrix x' l'(...)^T; its norm is
|l'| |x'|, so it is clipped without being formed.

**Clipping one score is capping a slope.** If the loss is convex in its score u, then shortening the
row's gradient to C replaces the slope l'(u) by max(-c, min(c, l'(u))) with c = C / |x'|, which is
non-decreasing in u again: the clipped gradient is the gradient of another convex loss, the Huber
form of l that grows linearly where |l'| > c. So descent on clipped gradients minimises something,
namely a robust version of the problem. With several scores (multinomial) a shortened slope need not
be the gradient of any function, and a clip much below the slope bound may end elsewhere.

**Rounding.** x' theta is computed to within about 1.5 p u |theta| (u = 2^-53; a half of p for the
row's length), hence the slope to
within L p u |theta|, L the loss's smoothness, and a few u times the largest slope (a slope may be
a difference of larger numbers). Clipping is a projection onto a ball and enlarges no
distance, so this bounds the error of the clipped contribution too, whatever the row:
``roundoff`` needs the public theta only.

**In other coordinates.** With a public invertible A and theta = A^T phi the loss is one of phi, and
a row's gradient in phi is A x' l'(...). To clip these, and to add noise to their sum, is what a fit
to rows A x' would do. Where A makes rows as long in one direction as in another, a row is not
clipped for what all rows have in common, and noise is as loud in every direction as rows are, not
as their few longest directions are. Of A x' only the length is needed, which is kept from
step to step: a sum is A times the sum of x' l', and a step costs what it costs without A. |A x'| is
computed to within p u |A|_F, which enters where |l'| times it meets the bound. A sum of b rows
before A is off by b^2 u L at most, L the slope bound, and A times it by p b u L more, times |A|_F
both: relative to what rows are, not to the bound. Where one row is replaced only its own block's
sum is rounded otherwise, so these b (b + p) roundings enter once; where rows come or go every row
brings those of its own, p + b of them, and the curator counts them for all rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from veilspan._scales import LARGEST_DERIVED, SMALLEST_DERIVED, check_derived_scale
from veilspan.curator.query import PublicFacts, RowQuery
from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block, scores_of
from veilspan.losses.linear import LinearLoss
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace, VectorSpace

#: Relative roundings of a slope's own formula, of a norm and of the products.
FEW = 64.0


class SlopedRows(NamedTuple):
    """A block's columns, the factors that bring its rows into the unit ball, a slope for each.

    Factors are left out where all of them are 1: products with them would be the same bits.
    """

    columns: Any
    factors: np.ndarray | None
    lengths: np.ndarray
    slopes: np.ndarray


class SlopeGradient(RowQuery):
    r"""Sum of the rows' gradients x' l'(<x', theta>, y) at theta, each clipped to a bound C.

    Sensitivity. *add-remove*: C, the longest clipped gradient. *replace-one*: 2 C, met by opposite
    gradients: the same x with slopes of either sign.

    Parameters
    ----------
    loss : LinearLoss
        Whose gradients.
    bound : float
        C, in the Euclidean (Frobenius) norm.
    """

    def __init__(self, loss: LinearLoss, bound: float) -> None:
        if not math.isfinite(loss.smoothness):
            raise ValueError(
                f"the {loss.name} loss has a jump in its slope: rounding could turn a row's "
                "gradient round; smooth it."
            )
        self.loss = loss
        if not SMALLEST_DERIVED <= bound <= LARGEST_DERIVED:
            check_derived_scale(bound, "bound")
        self.bound = float(bound)

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """Arrays of the shape of theta."""
        k = self.loss.n_outputs
        return VectorSpace((n_features,) if k == 1 else (n_features, k))

    def prepare(self, block: Block, point: Any) -> SlopedRows:
        """Slopes of all rows at theta."""
        y = targets(self.loss, block)
        factors, lengths = needed_factors(block)
        columns = block.columns
        slopes = self.loss.slope(scores_of(block.x, point, factors), y)
        return SlopedRows(columns, factors, lengths, slopes)

    def norms(self, block: SlopedRows, point: Any) -> np.ndarray:
        """Length of each row's gradient, |l'| |x'|."""
        slopes = block.slopes
        sizes = np.abs(slopes) if slopes.ndim == 1 else np.linalg.norm(slopes, axis=1)
        return np.asarray(sizes * block.lengths)

    def weighted_sum(self, block: SlopedRows, weights: np.ndarray, point: Any) -> np.ndarray:
        """Sum of the weighted gradients, X^T (weights l')."""
        if block.factors is not None:
            weights = weights * block.factors
        if block.slopes.ndim == 1:
            return np.asarray(block.columns.dot(block.slopes * weights))
        return np.asarray(block.columns @ (block.slopes * weights[:, None]))

    def row_floats(self, n_features: int, point: Any) -> int:
        """The row and a few numbers for each score."""
        return n_features + 6 * self.loss.n_outputs + 4

    def roundoff(self, n_features: int, point: Any) -> float:
        """Errors of lengths, of slopes and of scores (see the module)."""
        return self._roundoff(n_features, [point])

    def _roundoff(self, n_features: int, points: Sequence[np.ndarray]) -> float:
        lengths = [length_of(theta) for theta in points]
        slope = self.loss.slope_bound
        if not math.isfinite(slope):  # a residual u - y, with |y| <= 1
            slope = self.loss.smoothness * (1.0 + max(lengths))
        scores = self.loss.smoothness * (1.5 * n_features + FEW) * sum(lengths)
        return n_features + FEW + (FEW * slope + scores) / self.bound


@dataclass(frozen=True, eq=False)
class RowMetric:
    """A public matrix A, and a bound on how much longer it makes a row."""

    matrix: np.ndarray

    def __post_init__(self) -> None:
        if np.ndim(self.matrix) != 2 or self.matrix.shape[0] != self.matrix.shape[1]:
            raise ValueError(f"a metric is a square matrix; got shape {np.shape(self.matrix)}.")
        check_derived_scale(self.size, "the size of a metric")

    @property
    def size(self) -> float:
        """Root of the sum of all squared entries, |A|_F."""
        return length_of(self.matrix)


class MetricGradient(SlopeGradient):
    r"""Sum of A x' l'(<x', theta>, y) at theta, each clipped to a bound C; A is public.

    Sensitivity. *add-remove*: C, the longest clipped gradient. *replace-one*: 2 C, met by opposite
    gradients: the same x with slopes of either sign.

    Parameters
    ----------
    loss : LinearLoss
        Whose gradients; its slopes are bounded.
    bound : float
        C, in the Euclidean (Frobenius) norm.
    metric : RowMetric
        A, of as many rows and columns as the table has columns.
    """

    def __init__(self, loss: LinearLoss, bound: float, metric: RowMetric) -> None:
        super().__init__(loss, bound)
        if not math.isfinite(loss.slope_bound):
            raise ValueError(f"the {loss.name} loss has slopes without a bound: use SlopeGradient.")
        self.metric = metric

    def prepare(self, block: Block, point: Any) -> SlopedRows:
        """Slopes of all rows at theta, and the lengths |A x'|."""
        rows = super().prepare(block, point)
        notes = block.__dict__.get("notes", {})  # a sampled block has none
        kept = notes.get("metric_lengths")
        if kept is None or kept[0] is not self.metric:
            moved = np.asarray(block.x @ self.metric.matrix.T)
            if rows.factors is not None:
                moved = moved * rows.factors[:, None]
            kept = self.metric, np.sqrt(np.einsum("ij,ij->i", moved, moved))
            notes["metric_lengths"] = kept
        return SlopedRows(rows.columns, rows.factors, kept[1], rows.slopes)

    def weighted_sum(self, block: SlopedRows, weights: np.ndarray, point: Any) -> np.ndarray:
        """Sum of the weighted gradients, A X^T (weights l')."""
        return np.asarray(self.metric.matrix @ super().weighted_sum(block, weights, point))

    def row_floats(self, n_features: int, point: Any) -> int:
        """The row, as it is and times A, and a few numbers for each score."""
        return n_features + super().row_floats(n_features, point)

    def roundoff(self, n_features: int, point: Any) -> float:
        """Of one row: roundings of its gradient, enlarged by A; sums: see ``public_facts``."""
        return self._enlarged(n_features, point, 0.0)

    def public_facts(
        self, neighbors: Neighbors, n_features: int, point: Any, *, sparse: bool
    ) -> PublicFacts:
        """As for all queries, and roundings of sums before A: of the block of a replaced row.

        A row that comes or goes brings one row's part of them, and is counted with all others.
        """
        facts = super().public_facts(neighbors, n_features, point, sparse=sparse)
        summed = float(facts.block_rows)
        if neighbors == "replace-one":
            summed *= facts.block_rows + n_features + FEW
        return facts._replace(roundoff=self._enlarged(n_features, point, summed))

    def _enlarged(self, n_features: int, point: Any, summed: float) -> float:
        """Roundings of the gradient, and so many of sums of slopes, both enlarged by A."""
        slope = self.loss.slope_bound / self.bound
        within = super().roundoff(n_features, point) + slope * (3 * n_features + FEW + summed)
        return max(1.0, self.metric.size) * within


class GradientChange(SlopeGradient):
    r"""Sum of x' (l'(<x', theta>, y) - l'(<x', a>, y)), each clipped to C; the point is (theta, a).

    The change is short where theta is near the anchor a, at most L |x'|^2 |theta - a|, whatever the
    gradients' own length. Clipping *it*, rather than both gradients, is what makes variance
    reduction cheap.

    Sensitivity. *add-remove*: C. *replace-one*: 2 C, met by opposite changes.

    Parameters
    ----------
    loss : LinearLoss
        Whose gradients.
    bound : float
        C.
    """

    def prepare(self, block: Block, point: Any) -> SlopedRows:
        """Changes of all rows' slopes."""
        factors, lengths = needed_factors(block)
        y = targets(self.loss, block)
        here, there = (self.loss.slope(scores_of(block.x, theta, factors), y) for theta in point)
        return SlopedRows(block.columns, factors, lengths, here - there)

    def row_floats(self, n_features: int, point: Any) -> int:
        """Those of a gradient and a second slope."""
        return n_features + 12 * self.loss.n_outputs + 4

    def roundoff(self, n_features: int, point: Any) -> float:
        """The roundings of both gradients together."""
        return self._roundoff(n_features, point)


def length_of(theta: np.ndarray) -> float:
    """Euclidean length, infinite beyond float64: ``np.linalg.norm`` in about half of its time.

    ``np.vdot`` does not look at the processor's flags, so that it is silent where ``dot`` is not.
    """
    return math.sqrt(np.vdot(theta, theta))


@row_map
def unit_factors(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Factors 1 / max(1, |x|) that bring rows into the unit ball, and the lengths they get.

    Kept with the block, like the lengths themselves: every step of a descent asks for them.
    """
    found: tuple[np.ndarray, np.ndarray] | None = block.__dict__.get("unit_factors")
    if found is None:
        lengths = np.sqrt(block.squared_lengths)
        found = 1.0 / np.maximum(1.0, lengths), np.minimum(1.0, lengths)
        block.__dict__["unit_factors"] = found
    return found


def needed_factors(block: Block) -> tuple[np.ndarray | None, np.ndarray]:
    """The same, without factors where all rows are inside; kept with the block."""
    found: tuple[np.ndarray | None, np.ndarray] | None = block.__dict__.get("needed_factors")
    if found is None:
        factors, lengths = unit_factors(block)
        found = None if (factors == 1.0).all() else factors, lengths
        block.__dict__["needed_factors"] = found
    return found


def targets(loss: LinearLoss, block: Block) -> np.ndarray:
    """Targets within their range, kept with the block."""
    if block.y is None:
        raise ValueError("linear models need targets.")
    count = loss.n_outputs if loss.margin and loss.n_outputs > 1 else 0
    kept: tuple[int, np.ndarray] | None = block.__dict__.get("targets")
    if kept is None or kept[0] != count:
        kept = count, bounded_targets(block.y, count)
        block.__dict__["targets"] = kept
    return kept[1]


@row_map
def bounded_targets(y: np.ndarray, count: int) -> np.ndarray:
    """Targets in [-1, 1], or class numbers 0, ..., k - 1 of ``count`` classes."""
    if count:
        return np.clip(np.rint(y), 0, count - 1).astype(np.intp)
    return np.minimum(np.maximum(y, -1.0), 1.0)
