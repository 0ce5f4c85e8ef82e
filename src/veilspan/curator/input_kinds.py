"""Inputs that would be read as something they are not: masked arrays, dates and times.

Both are refused by their type, which is public, and never by what they hold: NumPy reads a masked
array without its mask, so that hidden entries would be fitted, and *whether* a mask hides anything
is a fact about rows. Dates turn into counts of days or nanoseconds since 1970, by the way they are
stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any

import numpy as np

MASKED = (
    "is a masked array. Whether its mask hides anything is a fact about rows, so it is refused "
    "whatever it hides: pass its .filled(value), with a value that is public, or its .data."
)
DATES = (
    "holds dates or times, which have no size of their own. Turn them into numbers, days since a "
    'public date say: (column - np.datetime64("2020-01-01")) / np.timedelta64(1, "D").'
)
_MOMENTS = (date, timedelta, np.datetime64, np.timedelta64)
# Names of types in NumPy, pandas and Polars; "time" alone is one of Polars'.
_MOMENT_TYPES = re.compile(r"(date|timedelta|duration|period|time(\[|\(|$))", re.IGNORECASE)


def is_masked(x: Any) -> bool:
    """Whether ``x`` is a masked array, or a list, a sparse table or Dask chunks of them."""
    if isinstance(x, (list, tuple)):
        return any(isinstance(row, np.ma.MaskedArray) for row in x)
    inside = (x, getattr(x, "_meta", None), x.data if hasattr(x, "indptr") else None)
    return any(isinstance(each, np.ma.MaskedArray) for each in inside)


def refuse_masked(x: Any, name: str = "X") -> None:
    """Refuse a masked array, whatever it hides."""
    if is_masked(x):
        raise TypeError(f"{name} {MASKED}")


def refuse_dates(x: Any, name: str = "X") -> None:
    """Refuse dates and times in an array or data frame, by the types of columns.

    Of columns of Python objects, whose type says nothing, by the types of entries.
    """
    types = getattr(x, "dtypes", None)  # of a data frame; of a Series it is one
    if types is None:
        types = getattr(x, "dtype", None)
    columns = list(types) if isinstance(types, Iterable) and not isinstance(types, str) else [types]
    if any(_MOMENT_TYPES.match(str(kind)) for kind in columns) or _holds_moments(x, columns):
        raise TypeError(f"{name} {DATES}")


def _holds_moments(x: Any, columns: list[Any]) -> bool:
    if hasattr(x, "__dask_graph__"):
        return False  # objects on a cluster are refused as such
    if not any(str(kind) == "object" for kind in columns) or not hasattr(x, "shape"):
        return False
    return any(isinstance(entry, _MOMENTS) for entry in np.asarray(x, dtype=object).ravel())
