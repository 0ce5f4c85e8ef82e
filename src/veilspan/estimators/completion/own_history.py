"""A user's own history in the forms that people have it, and what a file may hold of items."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from veilspan.curator.input_kinds import refuse_masked

#: Items, items with ratings, or nothing.
History = (
    Mapping[Hashable, float]
    | tuple[Sequence[Hashable], Sequence[float]]
    | Sequence[Hashable]
    | None
)


def read_history(history: Any, span: tuple[float, float] | None) -> list[tuple[Hashable, float]]:
    """Items of a history in any form, with their ratings; items alone count alike."""
    if history is None:
        return []
    if isinstance(history, Mapping):
        return _had(((name, float(value)) for name, value in history.items()), span)
    if hasattr(history, "to_numpy") and hasattr(history, "index"):
        raise TypeError(
            "a history in a Series may mean its values or its index: pass history.tolist() for a "
            "list of items, or history.to_dict() for ratings by item."
        )
    if isinstance(history, str):
        raise TypeError("a history is a list of items, or items with ratings; got one text.")
    if isinstance(history, tuple) and len(history) == 2 and all(map(_is_list, history)):
        names, values = history
        refuse_masked(names, "the list of items")
        refuse_masked(values, "the list of ratings")
        if len(names) != len(values):
            raise ValueError("a history must hold as many ratings as items.")
        names = np.asarray(names, dtype=object).tolist()
        return _had(((name, float(value)) for name, value in zip(names, values)), span)
    liked = 1.0 if span is None else span[1]
    names = np.asarray(history, dtype=object).tolist() if _is_list(history) else list(history)
    return [(name, liked) for name in names]


def _had(
    pairs: Iterable[tuple[Hashable, float]], span: tuple[float, float] | None
) -> list[tuple[Hashable, float]]:
    """Items that a user has: without ratings a zero says that she does not have it."""
    return [pair for pair in pairs if span is not None or pair[1] != 0]


def _is_list(values: Any) -> bool:
    return isinstance(values, (list, tuple, np.ndarray)) or hasattr(values, "to_numpy")


def check_length(k: Any) -> None:
    """Refuse a length of lists that is none."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise ValueError("k must be a whole number of at least 1.")


def plain_id(name: Hashable) -> Any:
    """An id that JSON gives back as it was."""
    value = name.item() if isinstance(name, np.generic) else name
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    raise TypeError(f"item ids must be strings or numbers to be saved; got {type(name).__name__}.")
