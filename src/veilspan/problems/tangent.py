r"""Row queries in tangent spaces: gradients, differences of gradients, and their scale.

Contributions live in the tangent space at the public point and are clipped in its Riemannian norm.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from veilspan.curator.query import RowQuery
from veilspan.curator.rows import Block
from veilspan.geometry import Manifold
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace, ProductSpace, TangentSpace, VectorSpace
from veilspan.problems.manifold_losses import ManifoldLoss

# Logarithms of ill-conditioned points lose digits: 100,000 roundings are allowed for.
ROUNDOFF = 1e5
#: Clipping may not enlarge a contribution's rounding error, relative to the bound, beyond this.
AMPLIFICATION = 1e3


class TangentGradient(RowQuery):
    r"""Sum of the rows' Riemannian gradients at w, each clipped to a bound C.

    Sensitivity. *add-remove*: C. *replace-one*: 2 C, met by opposite gradients.

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

    def prepare(self, block: Block, point: Any) -> Any:
        """Gradients of all rows, in coordinates."""
        with np.errstate(all="ignore"):  # a warning would tell something about a row
            return self.loss.coordinates(self.loss.shaped(block.dense()), point)

    def norms(self, block: Any, point: Any) -> np.ndarray:
        """Riemannian norms: coordinates are isometric."""
        with np.errstate(all="ignore"):
            return np.sqrt(np.einsum("ij,ij->i", block, block))

    def weighted_sum(self, block: np.ndarray, weights: np.ndarray, point: Any) -> np.ndarray:
        """Weighted sum as a tangent vector, leaving out rows of weight 0."""
        return from_flat(self.loss.manifold, point, sum_rows(block, weights))

    def row_floats(self, n_features: int, point: Any) -> int:
        """The row, its gradient and what the logarithm needs."""
        return n_features + 4 * math.prod(self.loss.manifold.coordinate_shape)

    def roundoff(self, n_features: int, point: Any) -> float:
        """See ``ROUNDOFF``."""
        return ROUNDOFF


class GradientDifference(TangentGradient):
    r"""Sum of grad f(w; z) - T grad f(a; z), each difference clipped to C; T transports a to w.

    The point is the pair (w, a). The difference is short where w is near the anchor a, whatever
    the gradients' own length: clipping *it*, rather than both gradients, is what makes variance
    reduction cheap. T is linear and lengthens nothing (see ``Manifold.transport``).

    Sensitivity. *add-remove*: C. *replace-one*: 2 C. As in :class:`EnergyGradient`, a difference
    of which rounding makes up too much counts as longer than it is.
    """

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """The tangent space at w."""
        return TangentSpace(self.loss.manifold, point[0])

    def prepare(self, block: Block, point: Any) -> tuple[np.ndarray, np.ndarray]:
        """Differences of all rows, in coordinates at w, and what their rounding is relative to."""
        here, anchor = point
        manifold = self.loss.manifold
        rows = self.loss.shaped(block.dense())
        if np.array_equal(here, anchor):  # exactly zero, not rounding that clipping makes long
            return np.zeros((len(rows), math.prod(manifold.coordinate_shape))), np.zeros(len(rows))
        with np.errstate(all="ignore"):
            carried = manifold.transport(anchor, here, self.loss.gradients(rows, anchor))
            carried = manifold.to_coordinates(here, carried).reshape(len(rows), -1)
            direct = self.loss.coordinates(rows, here)
            sizes = self.loss.rounding_sizes(rows)
            if sizes is None:
                sizes = super().norms(direct, here) + super().norms(carried, here)
            return direct - carried, sizes

    def norms(self, block: Any, point: Any) -> np.ndarray:
        """Riemannian norms, or what clipping must take them for."""
        differences, sizes = block
        return np.maximum(super().norms(differences, point), sizes / AMPLIFICATION)

    def weighted_sum(self, block: Any, weights: np.ndarray, point: Any) -> np.ndarray:
        """Weighted sum as a tangent vector at w."""
        return super().weighted_sum(block[0], weights, point[0])

    def row_floats(self, n_features: int, point: Any) -> int:
        """Two gradients."""
        return 2 * super().row_floats(n_features, point)


class EnergyGradient(RowQuery):
    r"""Sum of -(I - W W^T) z z^T W, each clipped to C, without forming one of them.

    The norm is |z - W W^T z| |W^T z|. Sensitivity. *add-remove*: C. *replace-one*: 2 C, met by
    z = w + u and z = w - u with u orthogonal to W.

    Rounding. z - W W^T z is off by up to about d u |z|, for d columns and unit roundoff u. Where
    that is most of it (a long row along a public W), clipping would blow up rounding, which
    depends on a row's place in its block, to the length C. So a gradient counts as no shorter than
    |z|^2 / 1000 when it is clipped: the error stays below 2000 (d + p + 2) u C, and rows with
    |z|^2 <= 1000 C are not affected.

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
        """The tangent space at W."""
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
        """-Q Z^T diag(weights) Z W, tangent up to rounding and made so."""
        outside, inside = block
        total = -(outside.T @ (weights[:, None] * inside)).reshape(point.shape)
        return self.manifold.project(point, total)

    def row_floats(self, n_features: int, point: Any) -> int:
        """The row and its parts."""
        return 3 * n_features + 2

    def roundoff(self, n_features: int, point: Any) -> float:
        """See the class."""
        inside = 1 if point.ndim == 1 else point.shape[1]
        return max(ROUNDOFF, 2 * AMPLIFICATION * (n_features + inside + 2))


class GradientScale(RowQuery):
    r"""Histogram of the gradients' norms at w, and their mean curvature where it is measurable.

    Knots are C 2^(-k / 2), k = 2 OCTAVES, ..., 1, 0. A row shares a count of 1 between the two
    knots next to its norm, linearly in the logarithm (norms beyond the ends count there), and
    adds, if the loss measures curvature, a number in [0, 1]. Shared counts are continuous in the
    norm, so that rounding cannot move a row from one bin to the next.

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
        """See the class."""
        return math.sqrt(2.0 + self.measures) if neighbors == "replace-one" else self.bound

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """Counts and, in a second part, the sum of curvatures."""
        return ProductSpace((VectorSpace(self.knots.shape), VectorSpace((1,))), (1.0, 1.0))

    def prepare(self, block: Block, point: Any) -> tuple[np.ndarray, np.ndarray]:
        """Position between knots (2.25: a quarter of the way from 2 to 3), and curvature."""
        rows = self.loss.shaped(block.dense())
        with np.errstate(all="ignore"):
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
        coordinates = self.loss.coordinates(rows, point)
        return np.sqrt(np.einsum("ij,ij->i", coordinates, coordinates))

    def norms(self, block: Any, point: Any) -> np.ndarray:
        """sqrt((1 - t)^2 + t^2 + curvature^2)."""
        t = block[0] % 1.0
        return np.sqrt((1.0 - t) ** 2 + t**2 + block[1] ** 2)

    def weighted_sum(self, block: Any, weights: np.ndarray, point: Any) -> Any:
        """Weighted counts and curvatures."""
        position, curvature = block
        below = position.astype(np.intp)
        t = position - below
        counts = np.bincount(below, weights=weights * (1 - t), minlength=len(self.knots) + 1)
        counts += np.bincount(below + 1, weights=weights * t, minlength=len(self.knots) + 1)
        return counts[:-1], np.array([weights @ curvature])

    def row_floats(self, n_features: int, point: Any) -> int:
        """As many as a gradient."""
        return n_features + 4 * math.prod(self.loss.manifold.coordinate_shape)

    def roundoff(self, n_features: int, point: Any) -> float:
        """10^4 roundings of the norm, made larger by the slope at the first knot."""
        return 1e4 * 2.0**self.OCTAVES * 4


def sum_rows(block: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted sum of rows; a row of weight 0 may hold anything, NaN included."""
    used = weights != 0
    return weights @ block if used.all() else weights[used] @ block[used]


def from_flat(manifold: Manifold, point: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
    """Tangent vector of flat coordinates."""
    return manifold.from_coordinates(point, coordinates.reshape(manifold.coordinate_shape))
