"""Checks of what callers pass to a manifold, so that every manifold complains in the same words."""

from __future__ import annotations

from typing import Any

import numpy as np

Size = int | tuple[int, ...] | None


def leading_axes(size: Size) -> tuple[int, ...]:
    """Return numpy's ``size`` argument as a tuple: () for None, (n,) for a number n."""
    if size is None:
        return ()
    return (size,) if isinstance(size, int | np.integer) else tuple(size)


def shape_message(manifold: str, what: str, expected: Any, got: Any) -> str:
    """Say which shape was needed and which one came; never a value of the array."""
    wanted = ", ".join(("...", *map(str, expected)))
    return f"{manifold} needs {what} of shape ({wanted}), got {got}"


def check_size(owner: str, name: str, value: Any, least: int) -> int:
    """Return a constructor size as an int, or say what is wrong with it."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{owner}: {name} must be an integer of at least {least}, got {value!r}")
    return int(value)
