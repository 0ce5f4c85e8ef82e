r"""Answer spaces: where a sum of contributions lives, and what isotropic noise means there.

A space embeds its values isometrically into plain coordinates R^p (``embed``) and leads any point
of R^p back (``project``), with project(embed(v)) = v and project the adjoint of embed. The curator
adds i.i.d. noise to the coordinates and projects; the projection is post-processing, and an
orthogonal projection of isotropic Gaussian noise is isotropic Gaussian noise in the space. So one
mechanism, the Gaussian in R^p, serves vectors, symmetric matrices and tangent spaces alike, and
its proof is read once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


class AnswerSpace(ABC):
    """A Euclidean space with an isometric embedding into p coordinates."""

    @property
    @abstractmethod
    def coordinates(self) -> int:
        """Number p of coordinates that noise is added to."""

    @abstractmethod
    def embed(self, value: Any) -> np.ndarray:
        """Coordinates of a value: a flat array with the value's norm as its Euclidean norm."""

    @abstractmethod
    def project(self, coordinates: np.ndarray) -> Any:
        """Nearest value to a point in coordinates; inverts ``embed``."""

    def norm(self, value: Any) -> float:
        """Norm of a value in this space."""
        return float(np.linalg.norm(self.embed(value)))

    def norms(self, values: Any) -> np.ndarray:
        """Norms of a stack of values (first axis)."""
        flat = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", flat, flat)))


@dataclass(frozen=True)
class VectorSpace(AnswerSpace):
    """Arrays of one shape with the Euclidean (for matrices: Frobenius) norm."""

    shape: tuple[int, ...]

    @property
    def coordinates(self) -> int:
        """Number of entries."""
        return math.prod(self.shape)

    def embed(self, value: Any) -> np.ndarray:
        """Flatten."""
        return np.asarray(value, dtype=np.float64).reshape(-1)

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

    def embed(self, value: Any) -> np.ndarray:
        """Flatten the whole matrix."""
        return np.asarray(value, dtype=np.float64).reshape(-1)

    def project(self, coordinates: np.ndarray) -> np.ndarray:
        """Symmetric part."""
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
            raise ValueError("a product needs as many weights as parts, and at least one.")
        if not all(weight > 0 and math.isfinite(weight) for weight in self.weights):
            raise ValueError("weights must be positive and finite.")

    @property
    def coordinates(self) -> int:
        """All parts' coordinates."""
        return sum(part.coordinates for part in self.parts)

    def embed(self, value: Sequence[Any]) -> np.ndarray:
        """Weighted coordinates of the parts, one after the other."""
        return np.concatenate(
            [w * part.embed(v) for part, w, v in zip(self.parts, self.weights, value)]
        )

    def norms(self, values: Sequence[Any]) -> np.ndarray:
        """Norms of stacked parts."""
        parts = [(w * p.norms(v)) ** 2 for p, w, v in zip(self.parts, self.weights, values)]
        return np.asarray(np.sqrt(np.sum(parts, axis=0)))

    def project(self, coordinates: np.ndarray) -> tuple[Any, ...]:
        """Split, take the weights off again, project each part."""
        ends = np.cumsum([part.coordinates for part in self.parts])
        pieces = np.split(coordinates, ends[:-1])
        return tuple(
            part.project(piece / w) for part, w, piece in zip(self.parts, self.weights, pieces)
        )


class HasTangentCoordinates(Protocol):
    """What a manifold must offer to be answered in (see :mod:`veilspan.geometry`)."""

    @property
    def coordinate_shape(self) -> tuple[int, ...]:
        """Shape of the coordinates."""

    def to_coordinates(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Isometric coordinates of a tangent vector."""

    def from_coordinates(self, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Tangent vector of coordinates; the metric adjoint of ``to_coordinates``."""


@dataclass(frozen=True, eq=False)
class TangentSpace(AnswerSpace):
    """Tangent space of a manifold at a public point, with the Riemannian norm."""

    manifold: HasTangentCoordinates
    point: np.ndarray

    @property
    def coordinates(self) -> int:
        """Number of coordinates, which may exceed the manifold's dimension."""
        return math.prod(self.manifold.coordinate_shape)

    def embed(self, value: Any) -> np.ndarray:
        """Metric-orthonormal coordinates."""
        return np.asarray(self.manifold.to_coordinates(self.point, value)).reshape(-1)

    def norms(self, values: Any) -> np.ndarray:
        """Riemannian norms of a stack of tangent vectors."""
        return super().norms(self.manifold.to_coordinates(self.point, values))

    def project(self, coordinates: np.ndarray) -> np.ndarray:
        """Back to the tangent space."""
        shaped = coordinates.reshape(self.manifold.coordinate_shape)
        return self.manifold.from_coordinates(self.point, shaped)
