r"""Row queries in tangent spaces: gradients, differences of gradients, and their scale.

Contributions live in the tangent space at the public point and are clipped in its Riemannian norm.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from veilspan.curator.query import RowQuery
from veilspan.curator.rows import Block, row_lengths
from veilspan.geometry import Manifold
from veilspan.losses.manifold import ManifoldLoss
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace, ProductSpace, TangentSpace, VectorSpace
from veilspan.queries.residuals import residual_roundings

#: Clipping may not enlarge a contribution's rounding error, relative to the bound, beyond this.
AMPLIFICATION = 1e3


class TangentGradient(RowQuery):
    r"""Sum of the rows' Riemannian gradients at w, each clipped to a bound C.

    Sensitivity. *add-remove*: C. *replace-one*: 2 C, met by opposite gradients.

    Rounding. Each row's gradient is taken to isometric coordinates by itself; clipping, the sum and
    the noise stay there. What counts is not how far a computed gradient is from the true one, but
    how far it is from itself computed at another place of a block (``ManifoldLoss.rounding``): with
    c the computed coordinates (for a ``FrechetLoss`` the same bits at every place, however
    ill-conditioned the point), the weight min(1, C / |c|) and the product are those of plain
    vectors of k entries, off by less than (k + 8) u C. Where a loss says that its error e is
    relative to a size S rather than to |c|, c counts as no shorter than S / 1000: then the product
    errs by at most 1000 e C, and the weight by as much again.

    Parameters
    ----------
    loss : ManifoldLoss
        Whose gradients.
    bound : float
        C, in the Riemannian norm.
    """

    def __init__(self, loss: ManifoldLoss, bound: float) -> None:
        self.loss = loss
        self.bound = float(bound)

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """The tangent space at the point."""
        return TangentSpace(self.loss.manifold, point)

    def prepare(self, block: Block, point: Any) -> tuple[np.ndarray, np.ndarray]:
        """Gradients of all rows, in coordinates, and what their rounding is relative to."""
        with np.errstate(all="ignore"):  # a warning would tell something about a row
            rows = self.loss.shaped(np.ascontiguousarray(block.dense()))
            sizes = self.loss.rounding_sizes(rows)
            coordinates = self.loss.coordinates(rows, point)
            return coordinates, np.zeros(len(rows)) if sizes is None else sizes

    def norms(self, block: Any, point: Any) -> np.ndarray:
        """Riemannian norms (coordinates are isometric), or what clipping must take them for."""
        coordinates, sizes = block
        with np.errstate(all="ignore"):
            return np.maximum(row_lengths(coordinates), sizes / AMPLIFICATION)

    def weighted_sum(self, block: Any, weights: np.ndarray, point: Any) -> np.ndarray:
        """Weighted sum in coordinates, leaving out rows of weight 0."""
        return sum_rows(block[0], weights).reshape(self.loss.manifold.coordinate_shape)

    def row_floats(self, n_features: int, point: Any) -> int:
        """The row, its gradient and what the logarithm needs."""
        return n_features + 4 * math.prod(self.loss.manifold.coordinate_shape)

    def roundoff(self, n_features: int, point: Any) -> float:
        """One error, in the product and in the weight; see the class."""
        return self._count_roundings(n_features, 2.0)

    def _count_roundings(self, n_features: int, times: float) -> float:
        """Roundings of a contribution that errs ``times`` as often as one gradient does."""
        plain = math.prod(self.loss.manifold.coordinate_shape) + 64.0
        relative_to_size = self.loss.rounding_sizes(np.zeros((1, n_features))) is not None
        scale = AMPLIFICATION if relative_to_size else 1.0
        return plain + times * scale * self.loss.rounding(n_features)


class GradientDifference(TangentGradient):
    r"""Sum of grad f(w; z) - T grad f(a; z), each difference clipped to C; T transports a to w.

    The point is the pair (w, a). The difference is short where w is near the anchor a, whatever
    the gradients' own length: clipping *it*, rather than both gradients, is what makes variance
    reduction cheap. T is linear and lengthens nothing (see ``Manifold.transport``).

    Sensitivity. *add-remove*: C. *replace-one*: 2 C.

    Rounding. As in :class:`TangentGradient`, with the errors of two gradients and of one transport,
    which multiplies a row's gradient by public matrices and errs by no more than a gradient does.

    Where the loss has no sizes of its own, the sum of both gradients' norms serves. A
    ``FrechetLoss`` gives a row the same bits at every place, and so do ``transport`` and
    ``to_coordinates``; a gradient of the user's own may differ by 100 roundings of its norm.
    """

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """The tangent space at w, where both gradients are compared."""
        return TangentSpace(self.loss.manifold, point[0])

    def prepare(self, block: Block, point: Any) -> tuple[np.ndarray, np.ndarray]:
        """Differences of all rows, in coordinates at w, and what their rounding is relative to."""
        here, anchor = point
        manifold = self.loss.manifold
        rows = self.loss.shaped(np.ascontiguousarray(block.dense()))
        if np.array_equal(here, anchor):  # exactly zero, not rounding that clipping makes long
            return np.zeros((len(rows), math.prod(manifold.coordinate_shape))), np.zeros(len(rows))
        with np.errstate(all="ignore"):
            carried = manifold.transport(anchor, here, self.loss.gradients(rows, anchor))
            carried = manifold.to_coordinates(here, carried).reshape(len(rows), -1)
            direct = self.loss.coordinates(rows, here)
            sizes = self.loss.rounding_sizes(rows)
            if sizes is None:
                sizes = row_lengths(direct) + row_lengths(carried)
            return direct - carried, sizes

    def row_floats(self, n_features: int, point: Any) -> int:
        """As many as two gradients need."""
        return 2 * super().row_floats(n_features, point)

    def roundoff(self, n_features: int, point: Any) -> float:
        """Three errors, each in the product and in the weight; see the class."""
        return self._count_roundings(n_features, 6.0)


class EnergyGradient(RowQuery):
    r"""Sum of -(I - W W^T) z z^T W, each clipped to C, without forming one of them.

    The norm is |z - W W^T z| |W^T z|. Sensitivity. *add-remove*: C. *replace-one*: 2 C, met by
    z = w + u and z = w - u with u orthogonal to W.

    Rounding. For d columns and p directions the computed W^T z is off by at most sqrt(p) d u |z|
    (an inner product errs by d u |w_j|.|z|, and the |w_j| have lengths 1) and z - W W^T z by
    e |z|, e = sqrt(p) (d + p + 2) u. Where that is most of it (a long row along a public W),
    clipping would blow up rounding, which depends on a row's place in its block, to the length C.
    So a gradient counts as no shorter than |z|^2 / 1000 when it is clipped. Then the product, off
    by at most 2 e |z|^2, errs by at most 2000 e C after clipping, and the weight by as much again;
    rows with |z|^2 <= 1000 C are not affected. The sum is left as it comes: what rounding leaves
    of it along W is part of these errors, and ``project`` takes it off after the noise.

    Parameters
    ----------
    manifold : Sphere or Grassmann
        Where W lives.
    bound : float
        C.
    """

    def __init__(self, manifold: Manifold, bound: float) -> None:
        self.manifold = manifold
        self.bound = float(bound)

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """The tangent space at the basis W."""
        return TangentSpace(self.manifold, point)

    def prepare(self, block: Block, point: Any) -> tuple[np.ndarray, np.ndarray]:
        """Rows' parts outside and inside the subspace."""
        basis = point[:, None] if point.ndim == 1 else point
        rows = block.dense()
        inside = rows @ basis
        return rows - inside @ basis.T, inside

    def norms(self, block: Any, point: Any) -> np.ndarray:
        """|Q z| |W^T z|, or what clipping must take it for."""
        outside, inside = (np.einsum("ij,ij->i", part, part) for part in block)
        return np.maximum(np.sqrt(outside) * np.sqrt(inside), (outside + inside) / AMPLIFICATION)

    def weighted_sum(self, block: Any, weights: np.ndarray, point: Any) -> np.ndarray:
        """-Q Z^T diag(weights) Z W; coordinates of these manifolds are the entries."""
        outside, inside = block
        return -(outside.T @ (weights[:, None] * inside)).reshape(point.shape)

    def row_floats(self, n_features: int, point: Any) -> int:
        """The row, and its parts outside and inside the subspace."""
        return 3 * n_features + 2

    def roundoff(self, n_features: int, point: Any) -> float:
        """Errors of both factors, after clipping and in the weight; see the class."""
        inside = 1 if point.ndim == 1 else point.shape[1]
        return 4 * AMPLIFICATION * residual_roundings(n_features, inside) + n_features + 64.0


class GradientScale(RowQuery):
    r"""Histogram of the gradients' norms at w, and their mean curvature where it is measurable.

    Knots are C 2^(-k / 2), k = 2 OCTAVES, ..., 1, 0. A row shares a count of 1 between the two
    knots next to its norm, linearly in the logarithm (norms beyond the ends count there), and
    adds, if the loss measures curvature, a number in [0, 1]. Shared counts are continuous in the
    norm, so that rounding cannot move a row from one bin to the next. The norm is the one that
    clipping goes by (:class:`TangentGradient`), whose rounding is bounded relative to itself.

    Rounding. A relative error e of the norm moves the position by 2 e / log(2) and the two counts
    by sqrt(2) times that, less than 5 e; a curvature errs by no more than a gradient relative to
    its size.

    Sensitivity. Counts are non-negative with norm at most 1, so two of them are at most sqrt(2)
    apart. *add-remove*: sqrt(1 + 1) with curvature, 1 without. *replace-one*: curvatures differ by
    at most 1, hence sqrt(2 + 1), or sqrt(2) without.

    Parameters
    ----------
    loss : ManifoldLoss
        Whose gradients.
    largest : float
        C, the last knot.
    sizes : callable, optional
        ``sizes(rows)``: lengths to count instead of gradients' norms; no curvature then.
    """

    OCTAVES: ClassVar[int] = 8

    def __init__(
        self,
        loss: ManifoldLoss,
        largest: float,
        sizes: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        self.loss = loss
        self.sizes = sizes
        self.knots = largest * 2.0 ** (np.arange(-2 * self.OCTAVES, 1) / 2)
        self.measures = loss.largest_curvature is not None and sizes is None
        self.bound = math.sqrt(1.0 + self.measures)

    def sensitivity(self, neighbors: Neighbors) -> float:
        """sqrt(2) or 1 for the counts, and 1 for a curvature that is measured; see the class."""
        return math.sqrt(2.0 + self.measures) if neighbors == "replace-one" else self.bound

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """Counts and, in a second part, the sum of curvatures."""
        return ProductSpace((VectorSpace(self.knots.shape), VectorSpace((1,))), (1.0, 1.0))

    def prepare(self, block: Block, point: Any) -> tuple[np.ndarray, np.ndarray]:
        """Position between knots (2.25: a quarter of the way from 2 to 3), and curvature."""
        with np.errstate(all="ignore"):
            rows = self.loss.shaped(np.ascontiguousarray(block.dense()))
            position = 2 * np.log2(self._sizes(rows, point) / self.knots[0])
            curvature = self.loss.curvatures(rows, point) if self.measures else None
        last = len(self.knots) - 1.0
        position = np.clip(np.nan_to_num(position, nan=last, posinf=last, neginf=0.0), 0.0, last)
        if curvature is None:
            return position, np.zeros(len(rows))
        return position, np.clip(np.nan_to_num(curvature), 0.0, 1.0)

    def _sizes(self, rows: np.ndarray, point: Any) -> np.ndarray:
        if self.sizes is not None:
            return self.sizes(rows)
        norms = row_lengths(self.loss.coordinates(rows, point))
        sizes = self.loss.rounding_sizes(rows)
        return norms if sizes is None else np.maximum(norms, sizes / AMPLIFICATION)

    def norms(self, block: Any, point: Any) -> np.ndarray:
        """sqrt((1 - t)^2 + t^2 + curvature^2)."""
        t = block[0] % 1.0
        return np.sqrt((1.0 - t) ** 2 + t**2 + block[1] ** 2)

    def weighted_sum(self, block: Any, weights: np.ndarray, point: Any) -> Any:
        """Share each row between its two knots, and add up curvatures."""
        position, curvature = block
        below = position.astype(np.intp)
        t = position - below
        counts = np.bincount(below, weights=weights * (1 - t), minlength=len(self.knots) + 1)
        counts += np.bincount(below + 1, weights=weights * t, minlength=len(self.knots) + 1)
        return counts[:-1], np.array([weights @ curvature])

    def row_floats(self, n_features: int, point: Any) -> int:
        """As many as a gradient needs: the same is computed of it."""
        return n_features + 4 * math.prod(self.loss.manifold.coordinate_shape)

    def roundoff(self, n_features: int, point: Any) -> float:
        """See the class; and 10^4 roundings of C, made larger by the slope at the first knot."""
        counted = 5 * TangentGradient(self.loss, 1.0).roundoff(n_features, point)
        return counted + 1e4 * 2.0**self.OCTAVES * 4


def sum_rows(block: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted sum of rows; a row of weight 0 may hold anything, NaN included."""
    used = weights != 0
    return weights @ block if used.all() else weights[used] @ block[used]
