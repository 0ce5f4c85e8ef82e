"""Columns of numbers within a public range, on a linear or a log scale."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from veilspan.tables.columns.column import Column
from veilspan.tables.columns.texts import clean_text
from veilspan.tables.columns.values import as_float, as_pair, is_pair, is_whole
from veilspan.tables.problems import Problem, show

#: Bounds of a range stay below this, so that twice its width is a finite float.
MOST = 1e300


@dataclass(frozen=True, kw_only=True)
class NumberColumn(Column):
    """A column of numbers within a public range.

    Encoded in [-1, 1]: a value beyond the range moves to its border, then the range (or, on a log
    scale, the range of logarithms) is mapped to [-1, 1].

    Parameters
    ----------
    range : (float, float)
        Lowest and highest value.
    scale : {"linear", "log"}
        A log scale needs a range above zero.
    fill : float, optional
        For missing and unreadable cells; the middle of the scale if left out.
    unit : str
        What it is measured in, for people.
    integer : bool
        Whether values are rounded to whole numbers.
    """

    range: tuple[float, float] = cast(Any, ())
    scale: str = "linear"
    fill: float | None = None
    unit: str = ""
    integer: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("range", as_pair(self.range, as_float))
        self._set("fill", as_float(self.fill))
        self._set("unit", clean_text(self.unit))
        if self.fill is None and self.role == "use" and not list(self._range_problems()):
            self._set("fill", self.middle())

    @property
    def type(self) -> str:
        """``"integer"`` or ``"number"``, as a schema writes it."""
        return "integer" if self.integer else "number"

    @property
    def names_out(self) -> tuple[str, ...]:
        """Its own name, and that of the column of missing cells."""
        return (self.name, *self._missing_name)

    @property
    def bounds_out(self) -> tuple[tuple[float, float], ...]:
        """From -1 to 1, and from 0 to 1 for missing cells."""
        return ((-1.0, 1.0), *(((0.0, 1.0),) if self.missing_column else ()))

    @property
    def longest(self) -> float:
        """1 for the number and 1 for its missing column."""
        return 1.0 + self.missing_column

    def middle(self) -> float:
        """The middle of the scale, which a missing cell counts as where no ``fill`` is said."""
        low, high = self.range
        if self.scale == "log":
            middle = math.exp((math.log(low) + math.log(high)) / 2)
        else:
            middle = low / 2 + high / 2
        return min(max(float(round(middle)) if self.integer else middle, low), high)

    def problems(self) -> Iterator[Problem]:
        """Everything that is wrong with this column by itself."""
        yield from self._common_problems()
        if self.role == "item":
            yield self._problem("type", 'an item is a category: type = "category".')
        wrong = list(self._range_problems())
        yield from wrong
        if self.scale not in ("linear", "log"):
            yield self._problem("scale", f"{show(self.scale)} is neither linear nor log.")
        elif self.scale == "log" and self.role not in ("use", "ignore"):
            yield self._problem("scale", f"is for columns that are used, not for the {self.role}.")
        if not isinstance(self.unit, str):
            yield self._problem("unit", f"is a text, not {show(self.unit)}.")
        if not wrong:
            yield from self._fill_problems()

    def _range_problems(self) -> Iterator[Problem]:
        if not is_pair(self.range, float):
            yield self._problem(
                "range", "is missing or no pair of numbers: write the public range, [low, high]."
            )
            return
        low, high = self.range
        if not all(abs(bound) <= MOST for bound in self.range):
            yield self._problem("range", f"has finite bounds of at most {MOST:g}.")
        elif not low < high:
            yield self._problem(
                "range", f"{show(low)} is not below {show(high)}: write the lower bound first."
            )
        elif self.scale == "log" and low <= 0:
            yield self._problem("range", "of a log scale begins above 0.")
        if self.integer and not all(is_whole(bound) for bound in self.range):
            yield self._problem(
                "range", 'of a column of integers has whole bounds; or say type = "number".'
            )

    def _fill_problems(self) -> Iterator[Problem]:
        low, high = self.range
        fits = self.fill is None or (isinstance(self.fill, float) and low <= self.fill <= high)
        whole = not self.integer or self.fill is None or is_whole(self.fill)
        kind = "a whole number" if self.integer else "a number"
        yield from self._fill_problem(
            fits and whole, f"{kind} within the range, from {show(low)} to {show(high)}"
        )

    def _combinations(self) -> tuple[str, ...]:
        return ("mean", "sum", "first", "last")
