"""Tables of points: in, out, and checked, with errors that name no row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from veilspan.curator.dask.table import DaskTable
from veilspan.curator.patched_rows import PatchedRows
from veilspan.estimators.base import rows_of
from veilspan.estimators.dask_input import flat_lazy, is_lazy
from veilspan.estimators.validation import readable
from veilspan.geometry import Ball, Manifold, SPDBuresWasserstein
from veilspan.geometry._spd import SPDBase
from veilspan.privacy.errors import FormError

#: How far from the manifold a point may be to be put on it; relative to its size.
TOLERANCE = 1e-6
#: Points this close to the manifold are on it as well as float64 can tell.
ROUNDED = 1e-14


def flat_rows(x: Any, row_shape: tuple[int, ...] | None, kind: str) -> Any:
    """One flat row of numbers per row of a stack; anything else is left to the table's check.

    ``kind`` says in an error what a row should have been.
    """
    if not is_lazy(x):
        x = readable(x)  # before a stack is flattened, which would lose a mask
    shape = getattr(x, "shape", None)
    if shape is None:
        try:
            x = np.asarray(x)
        except ValueError:  # ragged: its message would quote rows
            raise ValueError(f"the data must be a stack of {kind}, one per person.") from None
        shape = x.shape
    if row_shape is None or len(shape) <= 2:
        return x
    if tuple(shape[1:]) != tuple(row_shape):
        raise ValueError(f"{kind} have shape {tuple(row_shape)}; got {tuple(shape[1:])}.")
    if is_lazy(x):
        return flat_lazy(x, row_shape)
    return np.asarray(x).reshape(shape[0], math.prod(shape[1:]))


def flat_points(x: Any, manifold: Manifold) -> Any:
    """One flat row of numbers per point."""
    return flat_rows(x, manifold.point_shape, f"points of {manifold}")


def rows_on_manifold(table: Any, manifold: Manifold, ball: Ball | None = None) -> Any:
    """Rows for a curator: points on the manifold, pulled into a ball, a block at a time."""
    if isinstance(table, DaskTable):
        return rows_of(flat_on_manifold(table, manifold, ball))
    return PatchedRows(rows_of(table), lambda rows: flat_on_manifold(rows, manifold, ball))


def flat_on_manifold(table: Any, manifold: Manifold, ball: Ball | None = None) -> Any:
    """A flat table of points on the manifold, pulled into a ball; on a cluster, part by part."""
    if isinstance(table, DaskTable):
        return table.mapped(flat_on_manifold, table.shape[1], manifold, ball)
    if not table.shape[0]:  # a part of a table may be empty
        return table
    points = as_points(table, manifold)
    if ball is not None:
        points = ball.pull_in(points)
    return points.reshape(len(points), -1)


def as_points(table: np.ndarray, manifold: Manifold) -> np.ndarray:
    """Points of a flat table, put on the manifold where they miss it.

    A point that misses it by a few roundings only stays as it is.

    Raises
    ------
    FormError
        If the width is wrong or a point is off the manifold, without saying which or by how much.
    """
    width = math.prod(manifold.point_shape)
    if table.shape[1] != width:
        raise FormError(
            f"points of {manifold} have {width} numbers each; X has {table.shape[1]} columns."
        )
    # In one piece: another layout of the table would be rounded otherwise.
    flat = np.ascontiguousarray(table, dtype=np.float64)
    points = flat.reshape(-1, *manifold.point_shape)
    with np.errstate(all="ignore"):
        on = bool(np.all(manifold.contains(points, atol=TOLERANCE)))
    if not on or _singular(points, manifold):
        hint = " (singular matrices become points by adding a small multiple of I)"
        raise FormError(
            f"X holds something that is not a point of {manifold}"
            f"{hint if isinstance(manifold, SPDBase) else ''}. Repair or drop such rows first, by "
            "a rule that does not look at other people's rows."
        )
    with np.errstate(all="ignore"):
        nearest = manifold.nearest_point(points).reshape(len(flat), -1)
        missed = np.abs(nearest - flat).max(axis=1) > ROUNDED * np.abs(flat).max(axis=1)
    return np.where(missed[:, None], nearest, flat).reshape(points.shape)


def _singular(points: np.ndarray, manifold: Manifold) -> bool:
    """Whether a matrix is singular up to rounding.

    Such a matrix may have a positive least eigenvalue by one algorithm and none by another: its
    logarithm would fail in the middle of a fit. A Cholesky factor of X - 1e-14 tr(X) I, cheaper
    than eigenvalues, exists for all others.
    """
    if not isinstance(manifold, SPDBase):
        return False
    shifts = 1e-14 * np.trace(points, axis1=1, axis2=2)
    try:
        np.linalg.cholesky(points - shifts[:, None, None] * np.eye(manifold.n))
    except np.linalg.LinAlgError:
        return True
    return False


def tangent_vectors(manifold: Manifold, base: np.ndarray, points: np.ndarray) -> np.ndarray:
    """log_base of points in isometric coordinates, one flat row each."""
    coordinates = manifold.log_coordinates(base, points)
    if not _symmetric(manifold):
        return coordinates.reshape(len(points), -1)
    rows, columns, weights = _triangle(manifold)
    return coordinates[:, rows, columns] * weights


def points_from_tangent(manifold: Manifold, base: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Invert :func:`tangent_vectors`: exp_base of flat coordinates."""
    if _symmetric(manifold):
        rows, columns, weights = _triangle(manifold)
        square = np.zeros((len(vectors), *manifold.point_shape))
        square[:, rows, columns] = square[:, columns, rows] = vectors / weights
        vectors = square
    shaped = vectors.reshape(len(vectors), *manifold.coordinate_shape)
    return manifold.exp(base, manifold.from_coordinates(base, shaped))


def tangent_width(manifold: Manifold) -> int:
    """Number of columns that :func:`tangent_vectors` makes."""
    return manifold.dim if _symmetric(manifold) else math.prod(manifold.coordinate_shape)


def _symmetric(manifold: Manifold) -> bool:
    """Whether coordinates are symmetric matrices, so that half of them say all."""
    return isinstance(manifold, SPDBase) and not isinstance(manifold, SPDBuresWasserstein)


def _triangle(manifold: Manifold) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows, columns = np.triu_indices(manifold.point_shape[0])
    return rows, columns, np.where(rows == columns, 1.0, math.sqrt(2))
