r"""Answer spaces: where a sum of contributions lives, and what isotropic noise means there.

A space has p plain coordinates, isometric to its values: vectors, symmetric matrices, tangent
vectors. A query sums *in coordinates*; ``embed`` gives such a sum as one flat array and does not
round. The curator adds i.i.d. noise to the coordinates and ``project`` makes a value of them, once.
``project`` is the adjoint of an isometric embedding, so it is post-processing, and isotropic
Gaussian noise becomes isotropic Gaussian noise in the space. One mechanism, the Gaussian in R^p,
serves all spaces alike, and its proof is read once.

Why a sum never leaves coordinates before its noise. Coordinates of a tangent vector far out on a
curved space are small differences of its entries. A sum that went to entries and back would be
rounded relative to *all* rows, times up to e^r at distance r on a hyperboloid, and the rounding
differs between neighbours: far more than one row may move. Single rows go to coordinates
(``coordinates_of``); sums stay there.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


class AnswerSpace(ABC):
    """A Euclidean space, isometric to (a subspace of) p coordinates."""

    @property
    @abstractmethod
    def coordinates(self) -> int:
        """Number p of coordinates that noise is added to."""

    @abstractmethod
    def embed(self, total: Any) -> np.ndarray:
        """Coordinates of a sum, as ``weighted_sum`` returns it: flat, of the sum's norm."""

    @abstractmethod
    def project(self, coordinates: np.ndarray) -> Any:
        """Make the value that is nearest to a point in coordinates."""

    def coordinates_of(self, values: Any) -> np.ndarray:
        """Coordinates of a stack of values, one flat row for each: for single contributions."""
        return np.asarray(values, dtype=np.float64).reshape(len(values), self.coordinates)

    def nearest_coordinates(self, coordinates: np.ndarray) -> np.ndarray:
        """Nearest coordinates that a value has: the orthogonal projector on their subspace."""
        return self.embed(self.project(coordinates))

    def norm(self, total: Any) -> float:
        """Norm of a sum in this space, which is the Euclidean norm of its coordinates."""
        return float(np.linalg.norm(self.embed(total)))

    def norms(self, values: Any) -> np.ndarray:
        """Norms of a stack of values, one for each entry of the first axis."""
        flat = self.coordinates_of(values)
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", flat, flat)))


@dataclass(frozen=True)
class VectorSpace(AnswerSpace):
    """Arrays of one shape with the Euclidean (for matrices: Frobenius) norm."""

    shape: tuple[int, ...]

    @property
    def coordinates(self) -> int:
        """Number of entries of an array: each is a coordinate."""
        return math.prod(self.shape)

    def embed(self, total: Any) -> np.ndarray:
        """Flatten the array, row by row; its entries are its coordinates."""
        return np.asarray(total, dtype=np.float64).reshape(-1)

    def project(self, coordinates: np.ndarray) -> np.ndarray:
        """Give the array its shape back."""
        return coordinates.reshape(self.shape)


@dataclass(frozen=True)
class SymmetricSpace(AnswerSpace):
    r"""Symmetric d x d matrices under the Frobenius inner product.

    The coordinates are all d^2 entries; projecting symmetrises. Noise of std s on each entry
    becomes std s on the diagonal and s/sqrt(2) off it, the isotropic Gaussian of this space.
    I.i.d. entries of std s mirrored over the diagonal would be as private and need sqrt(2) times
    the noise.
    """

    size: int

    @property
    def coordinates(self) -> int:
        """Number of entries, both triangles."""
        return self.size**2

    def embed(self, total: Any) -> np.ndarray:
        """Flatten the whole matrix, both triangles, so that the norm is Frobenius's."""
        return np.asarray(total, dtype=np.float64).reshape(-1)

    def project(self, coordinates: np.ndarray) -> np.ndarray:
        """Make the symmetric part of the d^2 entries, the nearest symmetric matrix."""
        square = coordinates.reshape(self.size, self.size)
        return np.asarray((square + square.T) / 2)


@dataclass(frozen=True)
class ProductSpace(AnswerSpace):
    r"""Several answers at once, each times a public weight: |(a, b)|^2 = sum w_k^2 |v_k|^2.

    Weights let one release hold parts of unlike size, e.g. (A, sqrt(2) B).
    """

    parts: tuple[AnswerSpace, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.parts) != len(self.weights) or not self.parts:
            raise ValueError(
                "a product space needs at least one part, and one weight for each part."
            )
        if not all(weight > 0 and math.isfinite(weight) for weight in self.weights):
            raise ValueError("weights must be positive and finite.")

    @property
    def coordinates(self) -> int:
        """Sum of the numbers of coordinates of the parts."""
        return sum(part.coordinates for part in self.parts)

    def embed(self, total: Sequence[Any]) -> np.ndarray:
        """Weighted coordinates of the parts, one after the other."""
        return np.concatenate(
            [w * part.embed(v) for part, w, v in zip(self.parts, self.weights, total)]
        )

    def coordinates_of(self, values: Sequence[Any]) -> np.ndarray:
        """Weighted coordinates of stacked parts, side by side."""
        parts = [w * p.coordinates_of(v) for p, w, v in zip(self.parts, self.weights, values)]
        return np.concatenate(parts, axis=1)

    def nearest_coordinates(self, coordinates: np.ndarray) -> np.ndarray:
        """Nearest coordinates of a value, part by part: weights do not matter to that."""
        pieces = zip(self.parts, self._pieces(coordinates))
        return np.concatenate([part.nearest_coordinates(piece) for part, piece in pieces])

    def project(self, coordinates: np.ndarray) -> tuple[Any, ...]:
        """Split, take the weights off again, project each part."""
        return tuple(
            part.project(piece / w)
            for part, w, piece in zip(self.parts, self.weights, self._pieces(coordinates))
        )

    def _pieces(self, coordinates: np.ndarray) -> list[np.ndarray]:
        ends = np.cumsum([part.coordinates for part in self.parts])
        return np.split(coordinates, ends[:-1])


class HasTangentCoordinates(Protocol):
    """What a manifold must offer to be answered in (see :mod:`veilspan.geometry`)."""

    @property
    def coordinate_shape(self) -> tuple[int, ...]:
        """Shape of the coordinates of one tangent vector, the same at every point."""

    def to_coordinates(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Isometric coordinates of a tangent vector."""

    def from_coordinates(self, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Tangent vector of coordinates; the metric adjoint of ``to_coordinates``."""


@dataclass(frozen=True, eq=False)
class TangentSpace(AnswerSpace):
    """Tangent space of a manifold at a public point, with the Riemannian norm.

    Sums are given in the manifold's coordinates, flat or of ``coordinate_shape``; the tangent
    vector is made of them after the noise.
    """

    manifold: HasTangentCoordinates
    point: np.ndarray

    @property
    def coordinates(self) -> int:
        """Number of coordinates, which may exceed the manifold's dimension."""
        return math.prod(self.manifold.coordinate_shape)

    def embed(self, total: Any) -> np.ndarray:
        """Flatten; a sum is in coordinates already."""
        flat = np.asarray(total, dtype=np.float64).reshape(-1)
        if flat.size != self.coordinates:
            raise ValueError(
                f"a sum of tangent vectors is given in coordinates, {self.coordinates} numbers "
                f"here; got {flat.size}. Take each row to coordinates before summing "
                "(TangentSpace.coordinates_of)."
            )
        return flat

    def coordinates_of(self, values: Any) -> np.ndarray:
        """Metric-orthonormal coordinates of a stack of tangent vectors, one flat row for each."""
        return super().coordinates_of(self.manifold.to_coordinates(self.point, values))

    def nearest_coordinates(self, coordinates: np.ndarray) -> np.ndarray:
        """Coordinates of the tangent vector of these coordinates."""
        return np.asarray(self.coordinates_of(self.project(coordinates)[None])[0])

    def project(self, coordinates: np.ndarray) -> np.ndarray:
        """Make the tangent vector at the point that has these coordinates."""
        shaped = coordinates.reshape(self.manifold.coordinate_shape)
        return self.manifold.from_coordinates(self.point, shaped)
