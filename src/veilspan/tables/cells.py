"""The cells of one column of a batch, as they are stored: numbers, dates, booleans or any values.

What a cell means is another matter: :mod:`veilspan.tables.cell_rules` reads one, by the column's
declaration; :mod:`veilspan.tables.encoding` reads many.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np


@dataclass(frozen=True, eq=False)
class NumberCells:
    """Numbers: NaN is missing, and so is what ``missing`` marks (integers have no NaN)."""

    values: np.ndarray
    missing: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.values)

    def distinct(self) -> ValueCells:
        """The same cells as codes of distinct Python numbers."""
        values, codes = np.unique(self.values, return_inverse=True)
        return ValueCells(_without(codes, self.missing), values.tolist())


@dataclass(frozen=True, eq=False)
class BooleanCells:
    """True and false; ``missing`` marks cells that are neither."""

    values: np.ndarray
    missing: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.values)

    def distinct(self) -> ValueCells:
        """The same cells as codes of False and True."""
        return ValueCells(_without(self.values.astype(np.int64), self.missing), [False, True])


@dataclass(frozen=True, eq=False)
class DateCells:
    """Days, ``datetime64[D]``; NaT is missing."""

    values: np.ndarray

    def __len__(self) -> int:
        return len(self.values)

    def distinct(self) -> ValueCells:
        """The same cells as codes of distinct days."""
        values, codes = np.unique(self.values, return_inverse=True)
        return ValueCells(codes, list(values))


@dataclass(frozen=True, eq=False)
class ValueCells:
    """Any values, texts above all: a code for each cell, -1 if missing, and what the codes mean.

    ``values`` may hold one value twice: it is a dictionary to look up, not a set.
    """

    codes: np.ndarray
    values: Sequence[Any]

    def __len__(self) -> int:
        return len(self.codes)

    def distinct(self) -> ValueCells:
        """The cells themselves, which are codes already."""
        return self


Cells: TypeAlias = NumberCells | BooleanCells | DateCells | ValueCells


def missing_cells(n: int) -> ValueCells:
    """``n`` cells that say nothing."""
    return ValueCells(np.full(n, -1, dtype=np.int32), ())


def encode_values(values: Iterable[Any]) -> ValueCells:
    """Give a code to each distinct value of Python; None, NaN and what has no hash is missing.

    ``1``, ``1.0`` and ``True`` are equal for Python and three values for a schema, so the type is
    part of what is looked up. Texts, the usual case, are looked up by themselves.
    """
    places: dict[Any, int] = {}
    texts: dict[str, int] = {}
    found: list[Any] = []
    codes: list[int] = []
    for value in values:
        kind = type(value)
        if kind is str:
            code = texts.get(value)
            if code is None:
                code = texts[value] = len(found)
                found.append(value)
        elif value is None or (kind is float and value != value):
            code = -1
        else:
            code = _place(value, kind, places, found)
        codes.append(code)
    return ValueCells(np.array(codes, dtype=np.int32), found)


def _place(value: Any, kind: type, places: dict[Any, int], found: list[Any]) -> int:
    try:
        key = (kind, value)
        code = places.get(key)
    except Exception:  # no hash, or an equality that fails: nobody's cell may say so
        return -1
    if code is None:
        code = places[key] = len(found)
        found.append(value)
    return code


def _without(codes: np.ndarray, missing: np.ndarray | None) -> np.ndarray:
    return codes if missing is None else np.where(missing, -1, codes)
