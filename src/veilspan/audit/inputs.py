"""Neighbouring inputs that suit an estimator: of a generated table, or of the user's own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from veilspan.audit import neighbors as adversarial
from veilspan.audit.cell_tables import cell_pair, cell_pairs, extreme_lines
from veilspan.audit.neighbors import SIZES, Pair

WIDTH = 4  # columns of generated tables, unless more components are wanted
LARGEST = 50_000_000  # numbers of a table that are held densely


def pairs_for(estimator: Any, *, sizes: Sequence[int] = SIZES, seed: int = 0) -> Iterator[Pair]:
    """Generated adversarial pairs for an estimator, by what its parameters say of its input.

    Parameters
    ----------
    estimator : estimator
        Unfitted; its ``neighbors`` is the relation.
    sizes : sequence of int
        Numbers of rows; a stream has one block of rows, or two.
    seed : int
        Of the ordinary rows.
    """
    relation = estimator.neighbors
    kind = kind_of(estimator)
    width = max(WIDTH, (getattr(estimator, "n_components", None) or 0) + 1)
    if kind == "cells":
        return cell_pairs(estimator.schema, relation, sizes=sizes, seed=seed)
    if kind == "points":
        return adversarial.point_pairs(ball_of(estimator), relation, sizes=sizes, seed=seed)
    if kind == "ratings":
        low, high = estimator.rating_range
        return adversarial.rating_pairs(
            width, relation, rating_range=(low, high), sizes=sizes, seed=seed
        )
    length = row_length(estimator, width)
    if kind == "stream":
        # Whole blocks: rows that wait for theirs to fill reach nothing at all.
        blocks = (estimator.block_size, 2 * estimator.block_size)
        return adversarial.table_pairs(
            width, relation, row_norm=length, sizes=blocks, gaps=True, seed=seed
        )
    if kind == "classes":
        labels = getattr(estimator, "classes", None)
        numbers = (0, 1) if labels is None else tuple(labels)
        return adversarial.labelled_pairs(
            width, relation, targets=numbers, row_norm=length, sizes=sizes, seed=seed
        )
    if kind == "numbers":
        low, high = getattr(estimator, "target_range", None) or (-1.0, 1.0)
        middle = (low + high) / 2
        return adversarial.labelled_pairs(
            width,
            relation,
            targets=(low, middle, high),
            extreme_targets=(-1e9, 1e9, low, high),
            row_norm=length,
            sizes=sizes,
            seed=seed,
        )
    return adversarial.table_pairs(width, relation, row_norm=length, sizes=sizes, seed=seed)


def pairs_around(estimator: Any, table: tuple[Any, ...], seed: int = 0) -> Iterator[Pair]:
    """Pairs of the user's own table and its neighbours with one extreme row."""
    relation, kind = estimator.neighbors, kind_of(estimator)
    if kind == "cells":
        cells = {name: list(values) for name, values in dict(table[0]).items()}
        for name, line in extreme_lines(estimator.schema).items():
            yield cell_pair(name, cells, line, relation)
        return
    if kind == "points":
        points = np.asarray(table[0], dtype=np.float64)
        shaped = points.reshape(len(points), *estimator.manifold.point_shape)
        extremes = adversarial.extreme_points(
            ball_of(estimator), shaped, np.random.default_rng(seed)
        )
        for name, point in extremes.items():
            yield adversarial.neighbor_pair(name, (shaped,), (point,), relation)
        return
    if kind == "ratings":
        low, high = estimator.rating_range
        ratings = make_dense(table[0], absent=math.nan)
        for name, user in adversarial.extreme_users(ratings, low, high).items():
            yield adversarial.neighbor_pair(name, (ratings,), (user,), relation)
        return
    x = make_dense(table[0], absent=0.0)
    if kind == "stream":
        x = x[: max(1, len(x) // estimator.block_size) * estimator.block_size]
    rows = adversarial.extreme_rows(x, row_length(estimator, x.shape[1]), kind == "stream")
    if len(table) == 1:
        for name, row in rows.items():
            yield adversarial.neighbor_pair(name, (x,), (row,), relation)
        return
    y = np.asarray(table[1])
    for name, row in {**rows, "same row": x[-1]}.items():
        for target in _targets(y, kind):
            label = f"{name}, target {target}"
            yield adversarial.neighbor_pair(label, (x, y), (row, target), relation)


def kind_of(estimator: Any) -> str:
    """What an estimator reads: points, ratings, cells, a stream, classes, numbers or a table."""
    parameters = estimator.get_params(deep=False)
    known = (("manifold", "points"), ("rating_range", "ratings"), ("crosstabs", "cells"))
    for parameter, kind in known:
        if parameter in parameters:
            return kind
    if "block_size" in parameters:
        return "stream"
    from sklearn.base import is_classifier, is_regressor

    if is_classifier(estimator):
        return "classes"
    return "numbers" if is_regressor(estimator) else "table"


def ball_of(estimator: Any) -> Any:
    """Ball that the points live in; one of radius 1 where the estimator has none."""
    from veilspan.geometry.ball import Ball

    if getattr(estimator, "ball", None) is not None:
        return estimator.ball
    return Ball(estimator.manifold, estimator.manifold.reference_point, 1.0)


def row_length(estimator: Any, width: int) -> float:
    """Length of a row that uses the estimator's bound in full."""
    parameters = estimator.get_params(deep=False)
    ranges = parameters.get("feature_range")
    if ranges is not None:
        ends = max(float(np.max(np.abs(end))) for end in ranges)
        return max(ends, 1e-9) * math.sqrt(width)
    return float(parameters.get("row_norm") or 1.0)


def _targets(y: np.ndarray, kind: str) -> tuple[Any, ...]:
    if kind == "classes":
        return tuple(np.unique(y)[:3])
    return (-1e9, 1e9)


def make_dense(table: Any, absent: float) -> np.ndarray:
    """Make a table an array; what a sparse one does not store becomes ``absent``."""
    if not hasattr(table, "tocoo"):
        return np.asarray(table, dtype=np.float64)
    if math.prod(table.shape) > LARGEST:
        raise ValueError("this table is too large to audit; audit a part of its rows.")
    entries = table.tocoo()
    filled = np.full(table.shape, absent)
    filled[entries.row, entries.col] = entries.data
    return filled
