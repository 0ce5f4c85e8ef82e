r"""Per-row maps: what they must be, marked where they are defined.

What is done to rows before a sum (clipping to ranges, scaling, completing, choosing ratings) costs
no privacy as long as it is a map of each row by itself at public numbers: whoever changes, adds or
removes one row before the map changes, adds or removes one row after it. In floating point that is
a statement about bits. A row whose last bit depends on how many others are in its block is another
row, and all n of them move when one is added. So a per-row map

* gives a row the same bits whatever the other rows are: entry by entry, or by reductions that take
  one row at a time (``rows.row_dots``), never by a product of matrices over many rows;
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

#: All per-row maps by module and name.
ROW_MAPS: dict[str, Callable[..., Any]] = {}


def row_map(function: Callable[P, T]) -> Callable[P, T]:
    """Mark a per-row map; its floating-point arithmetic is silent."""
    return silent_row_map(np.errstate(all="ignore")(function))


def silent_row_map(function: Callable[P, T]) -> Callable[P, T]:
    """Mark a per-row map whose arithmetic raises no flag by itself."""
    ROW_MAPS[f"{function.__module__}.{function.__qualname__}"] = function
    return function
