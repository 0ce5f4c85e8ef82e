"""The base class of all manifolds: which operations there are and what each promises."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from veilspan.geometry._arguments import Size, leading_axes, shape_message
from veilspan.geometry._linalg import FloatArray, dot, drop
from veilspan.geometry.errors import UnavailableOperationError

TransportKind = Literal["parallel", "isometric", "non-expansive"]


class Manifold(ABC):
    r"""A Riemannian manifold of arrays.

    Points and tangent vectors are float64 arrays whose last axes have `point_shape`; all leading
    axes broadcast, so one base point serves a batch of vectors and is factorised once. Nothing
    keeps state and nothing is modified in place. Whatever is done to a batch gives each of its
    members the bits that it would get in any other batch: maps of rows are made of it.

    **Coordinates.** Each tangent space comes with a linear map :math:`A_x : R^k \to T_xM`
    (`from_coordinates`) with :math:`A_x A_x^* = I`, and its metric adjoint :math:`A_x^*`
    (`to_coordinates`), an isometric embedding of :math:`T_xM` into flat space. A standard normal
    in coordinates is therefore exactly a standard Gaussian of the metric, and clipping or summing
    coordinates is clipping or summing tangent vectors. k may exceed `dim`: projecting many
    normals is often cheaper than choosing few.

    A manifold of your own implements the methods with a leading underscore, which receive
    validated arrays; `check_manifold` then tells whether they fit together.

    Parameters
    ----------
    point_shape : tuple of int
        Shape of a point and of a tangent vector.
    dim : int
        Dimension of the manifold.
    coordinate_shape : tuple of int, optional
        Shape of the coordinates; `point_shape` when left out.

    Attributes
    ----------
    transport_kind : {"parallel", "isometric", "non-expansive"}
        What `transport` promises: parallel transport along the minimal geodesic, a linear isometry
        that need not be parallel, or only a linear map that lengthens no vector.
    retraction_order : int
        1 or 2: `retract` agrees with `exp` up to this order.
    """

    transport_kind: TransportKind = "non-expansive"
    retraction_order: int = 2
    #: Names of the attributes that tell two manifolds of one class apart, in constructor order.
    _parameters: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        point_shape: tuple[int, ...],
        dim: int,
        coordinate_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.point_shape = point_shape
        self.dim = dim
        self.coordinate_shape = point_shape if coordinate_shape is None else coordinate_shape
        self._ndim = len(point_shape)

    # ------------------------------------------------------------------ metric

    def inner(self, x: ArrayLike, u: ArrayLike, v: ArrayLike) -> FloatArray:
        """Riemannian inner product of the tangent vectors u and v at x."""
        base = self._arg(x)
        return self._at(base, self._inner(base, self._arg(u), self._arg(v)))

    def norm(self, x: ArrayLike, u: ArrayLike) -> FloatArray:
        """Riemannian norm of the tangent vector u at x."""
        base = self._arg(x)
        return self._at(base, self._norm(base, self._arg(u)))

    def dist(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """Length of the shortest geodesic between x and y."""
        return self._dist(self._arg(x), self._arg(y))

    def pairwise(self, xs: ArrayLike, ys: ArrayLike) -> FloatArray:
        """Distances of every point of a stack xs to every point of a stack ys, as a matrix."""
        x, y = self._arg(xs), self._arg(ys)
        if x.ndim != self._ndim + 1 or y.ndim != self._ndim + 1:
            raise ValueError(
                f"{self}.pairwise needs two stacks of points, with one leading axis each"
            )
        return self._dist(x[:, None], y[None])

    # ------------------------------------------------------------------ moving

    def exp(self, x: ArrayLike, u: ArrayLike) -> FloatArray:
        """Endpoint of the geodesic that leaves x with velocity u, after unit time."""
        return self._exp(self._arg(x), self._arg(u))

    def log(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """Return the tangent vector at x of the minimal geodesic that reaches y in unit time."""
        return self._log(self._arg(x), self._arg(y))

    def log_coordinates(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """Coordinates of ``log(x, y)``, in one go where that saves work."""
        return self._log_coordinates(self._arg(x), self._arg(y))

    def exp_coordinates(self, x: ArrayLike, c: ArrayLike) -> FloatArray:
        """``exp`` of the tangent vector of coordinates c, in one go where that saves digits."""
        return self._exp_coordinates(self._arg(x), self._coordinates(c))

    def geodesic(self, x: ArrayLike, y: ArrayLike, t: ArrayLike) -> FloatArray:
        """Points at the times t on the minimal geodesic from x (t=0) to y (t=1).

        The axes of t come first in the result.
        """
        base = self._arg(x)
        velocity = self._log(base, self._arg(y))
        times = np.asarray(t, dtype=np.float64)
        return self._exp(base, times.reshape(times.shape + (1,) * velocity.ndim) * velocity)

    def retract(self, x: ArrayLike, u: ArrayLike) -> FloatArray:
        """Move from x along u, agreeing with `exp` up to `retraction_order`; often cheaper."""
        return self._retract(self._arg(x), self._arg(u))

    def transport(self, x: ArrayLike, y: ArrayLike, u: ArrayLike) -> FloatArray:
        """Carry the tangent vector u from x to y, linearly; `transport_kind` says how well."""
        return self._transport(self._arg(x), self._arg(y), self._arg(u))

    # ------------------------------------------------------------------ tangent spaces

    def project(self, x: ArrayLike, v: ArrayLike) -> FloatArray:
        """Project an ambient array v on the tangent space at x."""
        return self._project(self._arg(x), self._arg(v))

    def egrad2rgrad(self, x: ArrayLike, g: ArrayLike) -> FloatArray:
        """Turn the Euclidean gradient g at x into the Riemannian gradient."""
        return self._egrad2rgrad(self._arg(x), self._arg(g))

    def zero_tangent(self, x: ArrayLike) -> FloatArray:
        """Return the zero vector of the tangent space at x."""
        return np.zeros_like(self._arg(x))

    def from_coordinates(self, x: ArrayLike, c: ArrayLike) -> FloatArray:
        """Map coordinates c, of shape (..., *coordinate_shape), to the tangent vector A_x c."""
        return self._from_coordinates(self._arg(x), self._coordinates(c))

    def to_coordinates(self, x: ArrayLike, u: ArrayLike) -> FloatArray:
        """Map the tangent vector u to its coordinates A_x^* u: an isometric embedding."""
        return self._to_coordinates(self._arg(x), self._arg(u))

    def random_tangent(
        self, x: ArrayLike, sigma: float, rng: np.random.Generator, size: Size = None
    ) -> FloatArray:
        r"""Draw exact Gaussian tangent vectors at x.

        Parameters
        ----------
        x : array of shape (..., *point_shape)
            Base point or base points.
        sigma : float
            Standard deviation along every unit tangent direction: the covariance is
            :math:`\sigma^2 I` in any metric-orthonormal basis, so the expected squared norm is
            ``sigma**2 * dim``.
        rng : numpy.random.Generator
            Source of the normals.
        size : int or tuple of int, optional
            Leading axes to add: that many independent draws at every base point.

        Returns
        -------
        array of shape (*size, ..., *point_shape)
        """
        base = self._arg(x)
        if not 0 <= sigma < math.inf:
            raise ValueError(f"{self}.random_tangent: sigma must be finite and not negative")
        lead = base.shape[: base.ndim - self._ndim]
        normals = rng.standard_normal(leading_axes(size) + lead + self.coordinate_shape)
        if sigma != 1:
            normals *= sigma
        return self._from_coordinates(base, normals)

    # ------------------------------------------------------------------ points

    def nearest_point(self, x: ArrayLike) -> FloatArray:
        """Put an array that rounding left close to the manifold on it."""
        return self._nearest_point(self._arg(x))

    @property
    def reference_point(self) -> FloatArray:
        """A fixed point to begin at when nothing better is known."""
        return self._reference_point()

    def random_point(self, rng: np.random.Generator, size: Size = None) -> FloatArray:
        """Draw a random point, or an array of them with leading axes `size`."""
        return self._random_point(rng, leading_axes(size))

    def contains(self, x: ArrayLike, atol: float = 1e-9) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Tell whether x lies on the manifold, up to atol relative to the size of x."""
        return np.asarray(self._contains(self._arg(x), atol))

    def is_tangent(
        self, x: ArrayLike, u: ArrayLike, atol: float = 1e-9
    ) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Tell whether u is tangent at x, up to atol relative to the sizes of x and u."""
        base, v = self._arg(x), self._arg(u)
        scale = self._size(v) * np.maximum(1, self._size(base))
        return np.asarray(self._size(v - self._project(base, v)) <= atol * np.maximum(1, scale))

    def separation(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """Ambient (not geodesic) distance of two points: 0 exactly when they are the same point.

        Available everywhere, and exact for close points where `dist` may not exist.
        """
        return self._separation(self._arg(x), self._arg(y))

    # ------------------------------------------------------------------ to implement

    @abstractmethod
    def _inner(self, x: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _project(self, x: FloatArray, v: FloatArray, /) -> FloatArray: ...

    @abstractmethod
    def _egrad2rgrad(self, x: FloatArray, g: FloatArray, /) -> FloatArray: ...

    @abstractmethod
    def _from_coordinates(self, x: FloatArray, c: FloatArray, /) -> FloatArray: ...

    @abstractmethod
    def _to_coordinates(self, x: FloatArray, u: FloatArray, /) -> FloatArray: ...

    @abstractmethod
    def _random_point(self, rng: np.random.Generator, size: tuple[int, ...]) -> FloatArray: ...

    @abstractmethod
    def _contains(self, x: FloatArray, atol: float) -> Any: ...

    # ------------------------------------------------------------------ may be improved

    def _norm(self, x: FloatArray, u: FloatArray) -> FloatArray:
        # In a metric that subtracts, rounding may leave <u, u> a little below 0.
        return np.sqrt(np.maximum(self._inner(x, u, u), 0))

    def _dist(self, x: FloatArray, y: FloatArray) -> FloatArray:
        return self._norm(x, self._log(x, y))

    def _exp(self, x: FloatArray, u: FloatArray) -> FloatArray:
        self._refuse("exp", "move with 'retract'")

    def _log(self, x: FloatArray, y: FloatArray) -> FloatArray:
        self._refuse("log", "compare points with 'separation'")

    def _log_coordinates(self, x: FloatArray, y: FloatArray) -> FloatArray:
        return self._to_coordinates(x, self._log(x, y))

    def _exp_coordinates(self, x: FloatArray, c: FloatArray) -> FloatArray:
        return self._exp(x, self._from_coordinates(x, c))

    def _nearest_point(self, x: FloatArray) -> FloatArray:
        return x

    def _reference_point(self) -> FloatArray:
        # Any fixed point is as good as another here, as long as every machine names the same one.
        return self._random_point(np.random.default_rng(0), ())

    def _retract(self, x: FloatArray, u: FloatArray) -> FloatArray:
        return self._exp(x, u)

    def _transport(self, x: FloatArray, y: FloatArray, u: FloatArray) -> FloatArray:
        # |A_y A_x^* u| <= |A_x^* u| = |u|, because A_y A_y^* = I: non-expansive on any manifold.
        return self._from_coordinates(y, self._to_coordinates(x, u))

    def _separation(self, x: FloatArray, y: FloatArray) -> FloatArray:
        return self._size(x - y)

    # ------------------------------------------------------------------ shared helpers

    def _refuse(self, operation: str, instead: str) -> NoReturn:
        raise UnavailableOperationError(repr(self), operation, instead)

    def _arg(self, value: ArrayLike) -> FloatArray:
        array = np.asarray(value, dtype=np.float64)
        if array.shape[-self._ndim :] != self.point_shape:
            raise ValueError(shape_message(repr(self), "an array", self.point_shape, array.shape))
        return array

    def _coordinates(self, value: ArrayLike) -> FloatArray:
        array = np.asarray(value, dtype=np.float64)
        if array.shape[-len(self.coordinate_shape) :] != self.coordinate_shape:
            raise ValueError(
                shape_message(repr(self), "coordinates", self.coordinate_shape, array.shape)
            )
        return array

    def _at(self, x: FloatArray, values: FloatArray) -> FloatArray:
        """Give numbers the leading axes of x, for a metric that does not look at x."""
        if x.ndim == self._ndim:
            return values
        lead = np.broadcast_shapes(x.shape[: x.ndim - self._ndim], np.shape(values))
        return values if lead == np.shape(values) else np.broadcast_to(values, lead).copy()

    def _spread(self, u: FloatArray, *others: FloatArray) -> FloatArray:
        """Give u the leading axes that arithmetic with the others would give it; may be a view."""
        if all(a.ndim == self._ndim or a.shape == u.shape for a in others):
            return u
        return np.broadcast_to(u, np.broadcast_shapes(u.shape, *(a.shape for a in others)))

    def _size(self, a: FloatArray) -> FloatArray:
        """Euclidean length of the array that represents a point or a vector."""
        flat = a.reshape((*a.shape[: a.ndim - self._ndim], -1))
        return np.sqrt(drop(dot(flat, flat)))

    def __repr__(self) -> str:
        values = {name: getattr(self, name) for name in self._parameters}
        shown = [f"{k}={v!r}" if isinstance(v, str) else repr(v) for k, v in values.items()]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        # The repr names every parameter, in a product those of the factors too.
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))
