"""Flat space, in which every operation is an addition: the manifold to compare others with."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from veilspan.geometry._arguments import check_size
from veilspan.geometry._linalg import FloatArray
from veilspan.geometry.base import Manifold, TransportKind


class Euclidean(Manifold):
    """Arrays of a given shape with the inner product ``sum(u * v)``.

    Parameters
    ----------
    *shape : int
        Shape of a point: ``Euclidean(3)`` for vectors, ``Euclidean(4, 2)`` for matrices.
    """

    transport_kind: TransportKind = "parallel"
    _parameters: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *shape: int) -> None:
        if not shape:
            raise ValueError("Euclidean: give at least one size, as in Euclidean(3)")
        sizes = tuple(check_size("Euclidean", "every size", n, 1) for n in shape)
        super().__init__(sizes, dim=int(np.prod(sizes)))

    def __repr__(self) -> str:
        return f"Euclidean({', '.join(map(str, self.point_shape))})"

    def _inner(self, x: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray:
        product = u * v
        out: FloatArray = product.sum(axis=tuple(range(product.ndim - self._ndim, product.ndim)))
        return out

    def _dist(self, x: FloatArray, y: FloatArray) -> FloatArray:
        return self._size(y - x)

    def _exp(self, x: FloatArray, u: FloatArray) -> FloatArray:
        return x + u

    def _log(self, x: FloatArray, y: FloatArray) -> FloatArray:
        return y - x

    def _transport(self, x: FloatArray, y: FloatArray, u: FloatArray) -> FloatArray:
        return self._spread(u, x, y).copy()

    def _project(self, x: FloatArray, v: FloatArray) -> FloatArray:
        return self._spread(v, x).copy()

    _egrad2rgrad = _project
    _from_coordinates = _project
    _to_coordinates = _project

    def _random_point(self, rng: np.random.Generator, size: tuple[int, ...]) -> FloatArray:
        return rng.standard_normal(size + self.point_shape)

    def _reference_point(self) -> FloatArray:
        return np.zeros(self.point_shape)

    def _contains(self, x: FloatArray, atol: float) -> Any:
        return np.isfinite(self._size(x))
