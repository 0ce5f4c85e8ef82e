"""Values as TOML or Python gives them, brought into one form where they are of the right kind."""

from __future__ import annotations

import datetime
import math
import numbers
from typing import Any

#: Whole numbers up to here are exact floats.
MOST_WHOLE = 2**53


def as_float(value: Any) -> Any:
    """A number as a float, -0.0 as 0.0; anything else, truth values too, as it is."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return value
    try:
        return float(value) + 0.0
    except OverflowError:
        return math.inf if value == abs(value) else -math.inf


def as_pair(value: Any, read: Any) -> Any:
    """Two values as a tuple, each read by a function; anything else as it is."""
    if isinstance(value, (list, tuple)):
        return tuple(read(bound) for bound in value)
    return value


def is_pair(value: Any, kind: type) -> bool:
    """Whether a value is a tuple of two of exactly that class (a date with time is none)."""
    return isinstance(value, tuple) and len(value) == 2 and all(type(v) is kind for v in value)


def is_whole(value: Any) -> bool:
    """Whether a float is a whole number that floats count exactly."""
    return isinstance(value, float) and value.is_integer() and abs(value) <= MOST_WHOLE


def is_day(value: Any) -> bool:
    """Whether a value is a date without time (a date with time is a date for Python)."""
    return type(value) is datetime.date
