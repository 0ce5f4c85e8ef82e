"""Adversarial pairs of neighbouring inputs: tiny tables, extreme rows, both relations.

Under *replace-one* the two inputs of a pair have the same number of rows and differ in the last
one; under *add-remove* the second has one row more, at its end. The row that is exchanged, or in
whose presence another is added, is as long as the bound, so that the worst pairs nearly use a
sensitivity. Small tables are the adversarial ones: there one row moves everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from veilspan.privacy.neighbors import Neighbors, check_neighbors

if TYPE_CHECKING:
    from veilspan.geometry.ball import Ball

SIZES = (2, 5, 40, 300)


@dataclass(frozen=True)
class Pair:
    """Two neighbouring inputs of a fit: ``fit(*pair.one)`` and ``fit(*pair.two)``.

    Attributes
    ----------
    name : str
        What is special about the pair.
    one, two : tuple
        Arguments of ``fit``: ``(X,)`` or ``(X, y)``.
    """

    name: str
    one: tuple[Any, ...]
    two: tuple[Any, ...]


def table_pairs(
    n_features: int,
    neighbors: str,
    *,
    row_norm: float = 1.0,
    sizes: Sequence[int] = SIZES,
    gaps: bool = False,
    seed: int = 0,
) -> Iterator[Pair]:
    """Pairs of tables of numbers.

    Parameters
    ----------
    n_features : int
        Columns.
    neighbors : {"replace-one", "add-remove"}
        How the two tables differ.
    row_norm : float
        Length that rows are clipped to.
    sizes : sequence of int
        Numbers of rows of the first table.
    gaps : bool
        Whether to add rows with NaN, where the estimator takes them.
    seed : int
        Of the ordinary rows.
    """
    for n in sizes:
        table = plain_table(n, n_features, row_norm, seed + n)
        for name, row in extreme_rows(table, row_norm, gaps).items():
            yield neighbor_pair(f"n = {n}, {name}", (table,), (row,), neighbors)
    flat = np.zeros((5, n_features))
    for name, row in extreme_rows(flat, row_norm, gaps).items():
        yield neighbor_pair(f"all rows zero, {name}", (flat,), (row,), neighbors)


def labelled_pairs(
    n_features: int,
    neighbors: str,
    *,
    targets: Sequence[float] = (0, 1),
    extreme_targets: Sequence[float] | None = None,
    row_norm: float = 1.0,
    sizes: Sequence[int] = SIZES,
    seed: int = 0,
) -> Iterator[Pair]:
    """Pairs of (X, y): extreme rows, extreme targets, and a flipped label on an unchanged row.

    Parameters
    ----------
    targets : sequence of numbers
        Ordinary targets; rows take them in turn, so that every class is in every table that has
        as many rows as classes, and stays.
    extreme_targets : sequence of numbers, optional
        Targets of the exchanged row; ``targets`` by default (classes).
    n_features, neighbors, row_norm, sizes, seed
        As in :func:`table_pairs`.
    """
    wanted = tuple(targets if extreme_targets is None else extreme_targets)
    for n in sizes:
        kept = n - 1 if neighbors == "replace-one" else n
        if kept < len(targets):
            # Fewer rows than classes: only the last row's features may change.
            wanted_here: tuple[float, ...] = (targets[(n - 1) % len(targets)],)
        else:
            wanted_here = wanted
        x = plain_table(n, n_features, row_norm, seed + n)
        y = np.asarray([targets[i % len(targets)] for i in range(n)])
        for name, row in {**extreme_rows(x, row_norm), "same row": x[-1]}.items():
            for target in wanted_here:
                label = f"n = {n}, {name}, target {target}"
                yield neighbor_pair(label, (x, y), (row, target), neighbors)


def rating_pairs(
    n_items: int,
    neighbors: str,
    *,
    rating_range: tuple[float, float] = (1.0, 5.0),
    sizes: Sequence[int] = SIZES,
    seed: int = 0,
) -> Iterator[Pair]:
    """Pairs of users x items tables (CSR), which differ in all ratings of one user."""
    from scipy import sparse

    low, high = rating_range
    for n in sizes:
        rng = np.random.default_rng(seed + n)
        dense = rng.uniform(low, high, (n, n_items))
        dense[rng.random(dense.shape) < 0.5] = np.nan
        dense[-1] = np.where(np.arange(n_items) % 2, low, high)
        for name, user in extreme_users(dense, low, high).items():
            pair = neighbor_pair(f"n = {n}, {name}", (dense,), (user,), neighbors)
            yield Pair(
                pair.name, *((_stored_ratings(side[0], sparse),) for side in (pair.one, pair.two))
            )


def point_pairs(
    ball: Ball, neighbors: str, *, sizes: Sequence[int] = SIZES, seed: int = 0
) -> Iterator[Pair]:
    """Pairs of tables of points on a manifold, some of them far outside of the ball."""
    for n in sizes:
        rng = np.random.default_rng(seed + n)
        points = np.array(ball.pull_in(ball.manifold.random_point(rng, n)))
        extremes = extreme_points(ball, points, rng)
        points[-1] = extremes["end of a geodesic"]
        for name, point in extremes.items():
            yield neighbor_pair(f"n = {n}, {name}", (points,), (point,), neighbors)


# ---------------------------------------------------------------- ingredients


def plain_table(n: int, n_features: int, row_norm: float, seed: int) -> np.ndarray:
    """Ordinary rows about one direction, within the bound; the last at full length along it."""
    rng = np.random.default_rng(seed)
    table = 0.3 * rng.standard_normal((n, n_features)) / np.sqrt(n_features)
    table[:, 0] += rng.choice([-0.7, 0.7], n)
    table *= row_norm / np.maximum(1.0, np.linalg.norm(table, axis=1, keepdims=True))
    table[-1] = _find_leading_direction(table) * row_norm
    return table


def extreme_rows(table: np.ndarray, row_norm: float, gaps: bool = False) -> dict[str, np.ndarray]:
    """Rows that stress a bound, a division or a memory of other rows."""
    width = table.shape[1]
    leading = _find_leading_direction(table)
    across = np.zeros(width)
    across[np.argmin(np.abs(leading))] = row_norm
    across -= (across @ leading) * leading
    across *= row_norm / max(float(np.linalg.norm(across)), 1e-300)
    rows = {
        "huge": np.full(width, 1e9 * row_norm),
        "tiny": np.full(width, 1e-9 * row_norm),
        "zero": np.zeros(width),
        "opposite": -table[-1],
        "duplicate": table[0].copy(),
        "along the leading direction": leading * row_norm,
        "across the leading direction": across,
        "huge on one axis": 1e9 * row_norm * np.eye(width)[-1],
    }
    if gaps:
        rows["half absent"] = np.where(np.arange(width) % 2, np.nan, 0.7 * row_norm)
        rows["absent"] = np.full(width, np.nan)
    return rows


def extreme_users(ratings: np.ndarray, low: float, high: float) -> dict[str, np.ndarray]:
    """Users whose ratings stress the range, the number of ratings or a division by it."""
    width = ratings.shape[1]
    single = np.full(width, np.nan)
    single[-1] = high
    return {
        "everything at its best": np.full(width, high),
        "everything at its worst": np.full(width, low),
        "out of range": np.full(width, 1e9),
        "one rating": single,
        "no rating": np.full(width, np.nan),
        "opposite": low + high - ratings[-1],
        "duplicate": ratings[0].copy(),
        "half and half": np.where(np.arange(width) < width / 2, low, high),
    }


def extreme_points(
    ball: Ball, points: np.ndarray, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Both ends of a geodesic through the centre, beyond them, the centre, a point's mirror."""
    manifold, center = ball.manifold, ball.center
    radius = ball.radius if np.isfinite(ball.radius) else 1.0
    direction = manifold.random_tangent(center, 1.0, rng)
    direction = direction / manifold.norm(center, direction)

    def at(length: float) -> np.ndarray:
        return np.asarray(manifold.exp(center, length * direction))

    return {
        "end of a geodesic": at(0.999 * radius),
        "other end": at(-0.999 * radius),
        "outside": at(1.1 * radius),
        "outside, other end": at(-1.1 * radius),
        "centre": np.array(center),
        "next to the centre": at(1e-9 * radius),
        "opposite": np.asarray(manifold.exp(center, -manifold.log(center, points[0]))),
        "duplicate": points[0].copy(),
    }


def neighbor_pair(
    name: str, table: tuple[np.ndarray, ...], row: tuple[Any, ...], neighbors: str
) -> Pair:
    """Pair of a table and its neighbour: ``row`` takes the place of the last row or follows it."""
    change = _CHANGES[check_neighbors(neighbors)]
    return Pair(name, table, tuple(change(part, new) for part, new in zip(table, row)))


def _replace_last(part: np.ndarray, row: Any) -> np.ndarray:
    # A label may need a wider type than the table's: 1e9 among small whole numbers.
    other = part.astype(np.result_type(part, np.asarray(row)))
    other[-1] = row
    return other


def _append_row(part: np.ndarray, row: Any) -> np.ndarray:
    return np.concatenate([part, np.asarray(row)[None]])


_CHANGES: dict[Neighbors, Callable[[np.ndarray, Any], np.ndarray]] = {
    "replace-one": _replace_last,
    "add-remove": _append_row,
}


def _find_leading_direction(table: np.ndarray) -> np.ndarray:
    if not np.any(table):
        return np.eye(table.shape[1])[0]
    return np.asarray(np.linalg.svd(table, full_matrices=False)[2][0])


def _stored_ratings(dense: np.ndarray, sparse: Any) -> Any:
    """CSR of what is not NaN; a stored number is a rating even if it is 0."""
    users, items = np.nonzero(~np.isnan(dense))
    starts = np.concatenate([[0], np.cumsum(np.bincount(users, minlength=len(dense)))])
    return sparse.csr_array((dense[users, items], items, starts), shape=dense.shape)
