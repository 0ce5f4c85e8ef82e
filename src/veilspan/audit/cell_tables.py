"""Adversarial pairs of neighbouring tables of texts, for estimators that read cells by a schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from veilspan.audit.neighbors import SIZES, Pair
from veilspan.privacy.neighbors import check_neighbors


def cell_pairs(
    schema: Any, neighbors: str, *, sizes: Sequence[int] = SIZES, seed: int = 0
) -> Iterator[Pair]:
    """Pairs of tables that fit a schema and differ in one line.

    Parameters
    ----------
    schema : Schema
        What the columns may hold.
    neighbors : {"replace-one", "add-remove"}
        How the two tables differ.
    sizes : sequence of int
        Numbers of rows of the first table.
    seed : int
        Of the ordinary cells.
    """
    rng = np.random.default_rng(seed)
    for n in sizes:
        table = {c.name: list(rng.choice(_usual_cells(c), n)) for c in schema.columns}
        # The line that is exchanged lies at one end of everything, so that another end is far.
        for cells in table.values():
            cells[-1] = str(cells[-1])
        ends = extreme_lines(schema)
        first = ends["upper borders"]
        for name, cell in first.items():
            table[name][-1] = cell
        for what, line in ends.items():
            yield cell_pair(f"n = {n}, {what}", table, line, neighbors)


def cell_pair(
    name: str, table: Mapping[str, Sequence[str]], line: Mapping[str, str], neighbors: str
) -> Pair:
    """Pair of a table and its neighbour: ``line`` takes the place of the last or follows it."""
    replaced = check_neighbors(neighbors) == "replace-one"
    other = {
        column: [*(cells[:-1] if replaced else cells), line[column]]
        for column, cells in table.items()
    }
    return Pair(name, ({k: list(v) for k, v in table.items()},), (other,))


def extreme_lines(schema: Any) -> dict[str, dict[str, str]]:
    """Lines at the ends of what columns may hold, and beyond."""
    low = {column.name: _cells_of(column)[0] for column in schema.columns}
    high = {column.name: _cells_of(column)[-1] for column in schema.columns}
    return {
        "upper borders": high,
        "lower borders": low,
        "nothing": dict.fromkeys(low, ""),
        "no cell that is one": dict.fromkeys(low, "\x00?"),
        "beyond all borders": dict.fromkeys(low, "1e308"),
        "below all borders": dict.fromkeys(low, "-1e308"),
    }


def _cells_of(column: Any) -> tuple[str, ...]:
    """Cells of a column, its ends first and last."""
    if column.type in ("number", "integer"):
        low, high = column.range
        return repr(low), repr(low / 2 + high / 2), repr(high)
    if column.type == "date":
        return tuple(day.strftime(column.format) for day in column.range)
    if column.type == "category":
        return tuple(column.categories)
    if column.type == "boolean":
        return column.false[0], column.true[0]
    return ("1", "2")


def _usual_cells(column: Any) -> list[str]:
    return [*_cells_of(column), ""]
