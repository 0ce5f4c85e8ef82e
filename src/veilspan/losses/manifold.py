r"""Losses on manifolds: F(w) = mean_i f(w; z_i), known through the gradients of single rows.

A loss turns a block of rows and a public point w into Riemannian gradients, given in isometric
coordinates of the tangent space at w (see :class:`veilspan.geometry.Manifold`), where clipping,
summing and adding noise are those of plain vectors.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from veilspan._scales import check_scale
from veilspan.curator.query import RowQuery
from veilspan.geometry import Grassmann, Manifold, Sphere
from veilspan.geometry._rowwise import apply_or_nan
from veilspan.queries.moments import SecondMoment
from veilspan.queries.own_gradient import OWN_ROUNDING
from veilspan.queries.residuals import residual_roundings


@dataclass(frozen=True)
class Opening:
    """One release that finds a good first point, for losses whose gradient is blind far away.

    Attributes
    ----------
    sizes : callable
        ``sizes(rows)``: length of each row's contribution, by which it is clipped.
    largest : float
        Public bound on it.
    query : callable
        ``query(bound)``: the row query.
    point : callable
        ``point(answer)``: the first point, from the noisy sum.
    coordinates : int
        How many coordinates of the answer's noise disturb the point.
    """

    sizes: Callable[[np.ndarray], np.ndarray]
    largest: float
    query: Callable[[float], RowQuery]
    point: Callable[[np.ndarray], np.ndarray]
    coordinates: int


class ManifoldLoss(ABC):
    """A sum over rows to minimise over a manifold.

    Attributes
    ----------
    manifold : Manifold
        Where the minimum is sought.
    row_shape : tuple of int or None
        Shape of one row; ``None`` for a flat row of any width.
    curvature : float or None
        Typical second derivative of f along unit-speed geodesics, if public: 1 / curvature is the
        natural step. ``None`` if it must be measured (:meth:`curvatures`) or is not known.
    largest_gradient : float or None
        A public bound on the norm of every row's gradient, if there is one.
    """

    manifold: Manifold
    row_shape: tuple[int, ...] | None = None
    curvature: float | None = None
    largest_gradient: float | None = None

    @abstractmethod
    def gradients(self, rows: np.ndarray, point: np.ndarray) -> np.ndarray:
        """Riemannian gradients at a point, of shape (rows, *point_shape)."""

    def coordinates(self, rows: np.ndarray, point: np.ndarray) -> np.ndarray:
        """Gradients in isometric coordinates at the point, of shape (rows, k)."""
        gradients = self.gradients(rows, point)
        return self.manifold.to_coordinates(point, gradients).reshape(len(rows), -1)

    def values(self, rows: np.ndarray, point: np.ndarray) -> np.ndarray:
        """Loss of each row, for plots of your own; private solvers never ask for it."""
        raise NotImplementedError(
            f"{type(self).__name__} knows gradients only: give it a value to plot one."
        )

    def curvatures(self, rows: np.ndarray, point: np.ndarray) -> np.ndarray | None:
        """Curvature of each row's loss in [0, 1] times ``largest_curvature``, where measurable."""
        return None

    def rounding_sizes(self, rows: np.ndarray) -> np.ndarray | None:
        """For each row, what its gradient's rounding errors are relative to, at any point.

        ``None`` where that is the gradient's own norm.
        """
        return None

    def rounding(self, n_features: int) -> float:
        """How much a row's computed gradient may differ from one place in a block to another.

        In units of 2^-53 times its rounding size. It would be 0 where every step treats each row
        by itself, bit for bit, as the manifolds here do; the default is what a gradient or a
        manifold of the user's own is allowed.
        """
        return OWN_ROUNDING

    #: Scale of :meth:`curvatures`; ``None`` where they are not measured.
    largest_curvature: float | None = None

    def opening(self) -> Opening | None:
        """A release to begin with, if the loss has one."""
        return None

    def query(self, bound: float) -> RowQuery:
        """The row query of gradients clipped to a bound."""
        from veilspan.queries.manifold.tangent_gradient import TangentGradient

        return TangentGradient(self, bound)

    def shaped(self, x: np.ndarray) -> np.ndarray:
        """Rows of a flat table in the shape that the loss expects."""
        return x if self.row_shape is None else x.reshape(len(x), *self.row_shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.manifold!r})"


class FrechetLoss(ManifoldLoss):
    r"""Half the squared distance, f(w; z) = d(w, z)^2 / 2, with gradient -log_w z.

    Its minimum is the Fréchet mean. The gradient's norm is the distance; along geodesics the
    second derivative is at least 1 where curvature is negative and at most 1 where it is positive
    (Karcher 1977), so the natural step is 1: one step from w goes to the mean of the points seen
    from w.

    Parameters
    ----------
    manifold : Manifold
        Any with ``log``.
    """

    curvature = 1.0

    def __init__(self, manifold: Manifold) -> None:
        # A manifold without it is refused here, before anything is asked.
        manifold.log(manifold.reference_point, manifold.reference_point)
        self.manifold = manifold
        self.row_shape = manifold.point_shape

    def gradients(self, rows: np.ndarray, point: np.ndarray) -> np.ndarray:
        """-log_w z of each row: the tangent vector at w that points away from z."""
        shape = self.manifold.point_shape
        return -apply_or_nan(lambda stack: self.manifold.log(point, stack), rows, shape)

    def coordinates(self, rows: np.ndarray, point: np.ndarray) -> np.ndarray:
        """-log_w z in coordinates, without the way through the tangent space.

        NaN for a row that float64 has no logarithm of; it then contributes nothing.
        """
        shape = self.manifold.coordinate_shape
        seen = apply_or_nan(lambda stack: self.manifold.log_coordinates(point, stack), rows, shape)
        return -seen.reshape(len(rows), math.prod(shape))

    def values(self, rows: np.ndarray, point: np.ndarray) -> np.ndarray:
        """Half the squared distance of each row to the point."""
        return 0.5 * self.manifold.dist(point, rows) ** 2


class LeadingSubspace(ManifoldLoss):
    r"""Minus half the energy in a subspace, f(W; z) = -|W^T z|^2 / 2, on Grassmann or the sphere.

    Its minimum spans the leading eigenvectors of sum_i z_i z_i^T. The gradient is
    -(I - W W^T) z z^T W, of norm |Q z| |W^T z| <= |z|^2 / 2. The mean of |W^T z|^2 / p is the
    curvature: a step of its inverse is, for p = 1, a step of the power method, since
    w + A w - (w^T A w) w = A w for a unit-curvature A.

    Parameters
    ----------
    manifold : Sphere or Grassmann
        The sphere for one eigenvector, Grassmann(n, p) for the span of p.
    row_norm : float
        Public bound on the rows' length, which bounds the gradient; longer rows are clipped.
    """

    def __init__(self, manifold: Manifold, row_norm: float = 1.0) -> None:
        if not isinstance(manifold, (Sphere, Grassmann)):
            raise TypeError(f"LeadingSubspace needs a Sphere or a Grassmann; got {manifold}.")
        self.manifold = manifold
        self.row_norm = check_scale(row_norm, "row_norm")
        self.largest_gradient = self.row_norm**2 / 2
        self.largest_curvature = self.row_norm**2
        self.width = manifold.n
        self.row_shape = (manifold.n,)

    def gradients(self, rows: np.ndarray, point: np.ndarray) -> np.ndarray:
        """-(I - W W^T) z z^T W for each row."""
        basis = self._basis(point)
        inside = rows @ basis
        outside = rows - inside @ basis.T
        return (-outside[:, :, None] * inside[:, None, :]).reshape(len(rows), *point.shape)

    def values(self, rows: np.ndarray, point: np.ndarray) -> np.ndarray:
        """-|W^T z|^2 / 2 of each row: minus half its energy in the subspace."""
        return -0.5 * np.sum((rows @ self._basis(point)) ** 2, axis=1)

    def curvatures(self, rows: np.ndarray, point: np.ndarray) -> np.ndarray:
        """|W^T z|^2 / p over its bound, of rows shortened to ``row_norm``.

        Without the shortening the rounding of a long row across W would have no bound.
        """
        basis = self._basis(point)
        energy = np.sum((rows @ basis) ** 2, axis=1) / basis.shape[1]
        return np.minimum(energy / np.maximum(self.rounding_sizes(rows), self.row_norm**2), 1.0)

    def rounding_sizes(self, rows: np.ndarray) -> np.ndarray:
        """|z|^2: the gradient is a difference of terms of this size."""
        return np.einsum("ij,ij->i", rows, rows)

    def rounding(self, n_features: int) -> float:
        """Of the product of W^T z and z - W W^T z, each known to a residual's roundings."""
        count = self.manifold.p if isinstance(self.manifold, Grassmann) else 1
        return 2 * residual_roundings(n_features, count)

    def opening(self) -> Opening:
        """Leading eigenvectors of a private second moment.

        From a random start a gradient sees the leading direction through |w^T v| = O(1/sqrt(n))
        only; the second moment sees it whole, at noise of spectral norm sqrt(2 n) times the std.
        """
        return Opening(
            sizes=lambda rows: np.sqrt(np.einsum("ij,ij->i", rows, rows)),
            largest=self.row_norm,
            query=SecondMoment,
            point=self._leading,
            coordinates=2 * self.width,
        )

    def _leading(self, moment: np.ndarray) -> np.ndarray:
        from scipy.linalg import eigh

        size = len(moment)
        count = self.manifold.p if isinstance(self.manifold, Grassmann) else 1
        _, vectors = eigh(moment, subset_by_index=(size - count, size - 1))
        return vectors[:, ::-1].reshape(self.manifold.point_shape).copy()

    def query(self, bound: float) -> RowQuery:
        """A query that forms no gradient of a single row."""
        from veilspan.queries.manifold.tangent_gradient import EnergyGradient

        return EnergyGradient(self.manifold, bound)

    def _basis(self, point: np.ndarray) -> np.ndarray:
        return point[:, None] if point.ndim == 1 else point
