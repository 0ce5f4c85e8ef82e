"""Products of manifolds: a point has one part on each, held side by side in one flat vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from veilspan.geometry._linalg import FloatArray
from veilspan.geometry.base import Manifold, TransportKind

#: A product promises of its transport what the weakest of its factors does.
_WEAKEST_FIRST: tuple[TransportKind, ...] = ("non-expansive", "isometric", "parallel")


class Product(Manifold):
    """The Riemannian product: a point has one part on every factor, squared norms add.

    A point is one flat vector, the parts one after the other, so that batches work as everywhere
    else; `join` and `split` go between it and the parts.

    Parameters
    ----------
    *factors : Manifold
        The manifolds, in order.

    Examples
    --------
    >>> import numpy as np
    >>> from veilspan.geometry import Euclidean, Product, Sphere
    >>> space = Product(Sphere(3), Euclidean(2))
    >>> x = space.join([0.0, 0.0, 1.0], [5.0, 7.0])
    >>> direction, offset = space.split(x)
    >>> offset
    array([5., 7.])
    """

    def __init__(self, *factors: Manifold) -> None:
        if not factors:
            raise ValueError("Product: give at least one manifold")
        for factor in factors:
            if not isinstance(factor, Manifold):
                raise ValueError(f"Product: every factor must be a Manifold, got {factor!r}")
        self.factors = factors
        self._points = _cuts([f.point_shape for f in factors])
        self._coords = _cuts([f.coordinate_shape for f in factors])
        super().__init__(
            (self._points[-1].stop,),
            dim=sum(f.dim for f in factors),
            coordinate_shape=(self._coords[-1].stop,),
        )
        self.transport_kind = min((f.transport_kind for f in factors), key=_WEAKEST_FIRST.index)
        self.retraction_order = min(f.retraction_order for f in factors)

    def __repr__(self) -> str:
        return f"Product({', '.join(map(repr, self.factors))})"

    def join(self, *parts: ArrayLike) -> FloatArray:
        """Put parts, one of every factor, into one point (or tangent vector)."""
        if len(parts) != len(self.factors):
            raise ValueError(f"{self}.join needs {len(self.factors)} parts, got {len(parts)}")
        return self._join([f._arg(part) for f, part in zip(self.factors, parts)])

    def split(self, x: ArrayLike) -> tuple[FloatArray, ...]:
        """Return the parts of a point (or tangent vector), one of every factor."""
        return tuple(self._split(self._arg(x)))

    def _split(self, x: FloatArray) -> list[FloatArray]:
        lead = x.shape[:-1]
        return [
            x[..., cut].reshape(lead + f.point_shape) for f, cut in zip(self.factors, self._points)
        ]

    def _join(self, parts: list[FloatArray]) -> FloatArray:
        flat = [
            part.reshape((*part.shape[: part.ndim - f._ndim], -1))
            for f, part in zip(self.factors, parts)
        ]
        return _side_by_side(flat)

    def _each(self, method: str, *args: FloatArray) -> list[Any]:
        """Call a method of every factor on its parts of the arguments."""
        calls: list[Callable[..., Any]] = [getattr(f, method) for f in self.factors]
        return [call(*parts) for call, *parts in zip(calls, *map(self._split, args))]

    def _inner(self, x: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray:
        return np.sum(np.broadcast_arrays(*self._each("_inner", x, u, v)), axis=0)

    def _dist(self, x: FloatArray, y: FloatArray) -> FloatArray:
        return np.sqrt(sum(d * d for d in self._each("_dist", x, y)))

    def _exp(self, x: FloatArray, u: FloatArray) -> FloatArray:
        return self._join(self._each("_exp", x, u))

    def _log(self, x: FloatArray, y: FloatArray) -> FloatArray:
        return self._join(self._each("_log", x, y))

    def _retract(self, x: FloatArray, u: FloatArray) -> FloatArray:
        return self._join(self._each("_retract", x, u))

    def _transport(self, x: FloatArray, y: FloatArray, u: FloatArray) -> FloatArray:
        return self._join(self._each("_transport", x, y, u))

    def _project(self, x: FloatArray, v: FloatArray) -> FloatArray:
        return self._join(self._each("_project", x, v))

    def _egrad2rgrad(self, x: FloatArray, g: FloatArray) -> FloatArray:
        return self._join(self._each("_egrad2rgrad", x, g))

    def _from_coordinates(self, x: FloatArray, c: FloatArray) -> FloatArray:
        parts = zip(self.factors, self._split(x), self._pieces(c))
        return self._join([f._from_coordinates(a, b) for f, a, b in parts])

    def _exp_coordinates(self, x: FloatArray, c: FloatArray) -> FloatArray:
        parts = zip(self.factors, self._split(x), self._pieces(c))
        return self._join([f._exp_coordinates(a, b) for f, a, b in parts])

    def _to_coordinates(self, x: FloatArray, u: FloatArray) -> FloatArray:
        return self._coordinates_side_by_side(self._each("_to_coordinates", x, u))

    def _log_coordinates(self, x: FloatArray, y: FloatArray) -> FloatArray:
        return self._coordinates_side_by_side(self._each("_log_coordinates", x, y))

    def _pieces(self, c: FloatArray) -> list[FloatArray]:
        """Cut flat coordinates into those of each factor, in the factor's own shape."""
        lead = c.shape[:-1]
        return [
            c[..., cut].reshape(lead + f.coordinate_shape)
            for f, cut in zip(self.factors, self._coords)
        ]

    def _coordinates_side_by_side(self, parts: list[FloatArray]) -> FloatArray:
        flat = [
            part.reshape((*part.shape[: part.ndim - len(f.coordinate_shape)], -1))
            for f, part in zip(self.factors, parts)
        ]
        return _side_by_side(flat)

    def _separation(self, x: FloatArray, y: FloatArray) -> FloatArray:
        return np.sqrt(sum(d * d for d in self._each("_separation", x, y)))

    def _random_point(self, rng: np.random.Generator, size: tuple[int, ...]) -> FloatArray:
        return self._join([f._random_point(rng, size) for f in self.factors])

    def _nearest_point(self, x: FloatArray) -> FloatArray:
        return self._join(self._each("_nearest_point", x))

    def _reference_point(self) -> FloatArray:
        return self._join([f._reference_point() for f in self.factors])

    def _contains(self, x: FloatArray, atol: float) -> Any:
        inside = [
            np.asarray(f._contains(part, atol)) for f, part in zip(self.factors, self._split(x))
        ]
        return np.logical_and.reduce(np.broadcast_arrays(*inside))


def _side_by_side(flat: list[FloatArray]) -> FloatArray:
    """Join parts along the last axis, after giving them all the same leading axes."""
    lead = np.broadcast_shapes(*(part.shape[:-1] for part in flat))
    return np.concatenate([np.broadcast_to(a, lead + a.shape[-1:]) for a in flat], axis=-1)


def _cuts(shapes: list[tuple[int, ...]]) -> list[slice]:
    stops = np.cumsum([int(np.prod(shape)) for shape in shapes])
    return [slice(int(stop) - int(np.prod(shape)), int(stop)) for stop, shape in zip(stops, shapes)]
