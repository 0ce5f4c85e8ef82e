r"""Per-row maps: what they must be, marked where they are defined.

What is done to rows before a sum (clipping to ranges, scaling, completing, choosing ratings) costs
no privacy as long as it is a map of each row by itself at public numbers: whoever changes, adds or
removes one row before the map changes, adds or removes one row after it. In floating point that is
a statement about bits. A row whose last bit depends on how many others are in its block is another
row, and all n of them move when one is added. So a per-row map

* gives a row the same bits whatever the other rows are: entry by entry, or by reductions that take
  one row at a time (:func:`row_dots`), never by a product of matrices over many rows;
* is defined for every row that passes the public check of a table's form, zeros, denormal numbers
  and the largest ones included;
* never warns and never raises, whatever ``np.seterr`` says: that would tell something of a row.

``row_map`` marks such a function, silences its arithmetic and enters it into ``ROW_MAPS``;
``tests/contracts/test_row_maps.py`` holds every entry to the three.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
T = TypeVar("T")

#: Columns that ``np.einsum`` adds up in one go: half of its buffer.
_PIECE = 4096
#: Squared lengths in between are sums of squares that neither overflow nor lose bits to underflow.
_SAFE = 2.0**-900, 2.0**1000

#: All per-row maps by module and name.
ROW_MAPS: dict[str, Callable[..., Any]] = {}


def row_map(function: Callable[P, T]) -> Callable[P, T]:
    """Mark a per-row map; its floating-point arithmetic is silent."""
    quiet: Callable[P, T] = np.errstate(all="ignore")(function)
    ROW_MAPS[f"{function.__module__}.{function.__qualname__}"] = quiet
    return quiet


@row_map
def row_dots(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Inner product of each row of ``x`` with the same row of ``y``.

    Without BLAS, whose products over many rows round by a row's place among them. ``np.einsum``
    takes a row at a time, but one of more columns than its buffer (8,192) in another order if it is
    alone, so wider rows are added up in pieces. The bits of a row then depend on nothing but
    whether the table is stored by rows or by columns, which is public.
    """
    total = np.einsum("ij,ij->i", x[:, :_PIECE], y[:, :_PIECE])
    for first in range(_PIECE, x.shape[1], _PIECE):
        piece = slice(first, first + _PIECE)
        total += np.einsum("ij,ij->i", x[:, piece], y[:, piece])
    return np.asarray(total)


@row_map
def row_lengths(x: np.ndarray) -> np.ndarray:
    """Euclidean length of each row, to a few roundings whatever its size; NaN and inf stay.

    A row whose squares leave the range of floats is divided by a power of two first, which is
    exact: otherwise a row at the edge of overflow would have a length, or none, by its rounding.
    """
    squares = row_dots(x, x)
    lengths = np.sqrt(squares)
    odd = ~((squares > _SAFE[0]) & (squares < _SAFE[1]))
    if odd.any():
        rows = np.ascontiguousarray(x[odd])
        _, power = np.frexp(np.abs(rows).max(axis=1, initial=0.0))
        rows = np.ldexp(rows, -power[:, None])
        lengths[odd] = np.ldexp(np.sqrt(row_dots(rows, rows)), power)
    return np.asarray(lengths)
