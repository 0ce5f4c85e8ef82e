"""Whom a release of a table protects: a row, or a person with several rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from veilspan.tables.columns import MOST_WHOLE, clean_text, is_clean_name
from veilspan.tables.problems import Problem, show

RELATIONS = ("replace-one", "add-remove")
KEEP = ("random", "first", "last")
COMBINE = ("mean", "none", "sum", "first", "last")
#: What says something about several rows of one person only.
_OF_SEVERAL = ("max_rows", "keep", "order_by", "combine")


@dataclass(frozen=True, kw_only=True)
class Unit:
    """Whom a release protects, and what is public of their number.

    Parameters
    ----------
    protects : str
        What one unit is called: row, patient, household.
    id : str, optional
        The column that tells whose row it is. Left out: every row is another unit.
    max_rows : int, optional
        Rows of one unit that are used at most.
    keep : {"random", "first", "last"}, optional
        Which of more rows are used; random if left out where there is an ``id``.
    order_by : str, optional
        The column that orders the rows of one unit.
    combine : {"mean", "none", "sum", "first", "last"}, optional
        How the rows of one unit become one; mean if left out where there is an ``id``.
    neighbors : {"replace-one", "add-remove"}
        Whether the number of units is public, or private too.
    count : int, optional
        Public number of units under replace-one.
    expected : int, optional
        Public guess of their number under add-remove, for plans; never compared with the truth.
    source : str
        Where ``count`` is known from.
    """

    protects: str = "row"
    id: str | None = None
    max_rows: int | None = None
    keep: str | None = None
    order_by: str | None = None
    combine: str | None = None
    neighbors: str = "replace-one"
    count: int | None = None
    expected: int | None = None
    source: str = ""

    def __post_init__(self) -> None:
        for name in ("protects", "id", "order_by", "source"):
            object.__setattr__(self, name, clean_text(getattr(self, name)))
        if self.id is not None:
            object.__setattr__(self, "keep", "random" if self.keep is None else self.keep)
            object.__setattr__(self, "combine", "mean" if self.combine is None else self.combine)

    def problems(self) -> Iterator[Problem]:
        """Everything that is wrong with the unit by itself."""
        if not isinstance(self.protects, str) or not is_clean_name(self.protects):
            yield Problem("unit.protects", 'is what one unit is called, such as "patient".')
        for name in ("id", "order_by"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                yield Problem(f"unit.{name}", f"is the name of a column, not {show(value)}.")
        yield from _choose("unit.neighbors", self.neighbors, RELATIONS)
        yield from self._number_problems()
        yield from self._several_problems()
        if not isinstance(self.source, str):
            yield Problem("unit.source", f"is a text, not {show(self.source)}.")
        elif self.count is not None and not self.source:
            yield Problem("unit.source", "is missing: say where the count is known from.")

    def _number_problems(self) -> Iterator[Problem]:
        for name in ("max_rows", "count", "expected"):
            value = getattr(self, name)
            whole = type(value) is int and 1 <= value <= MOST_WHOLE
            if value is not None and not whole:
                hint = " Write it without a point and without an exponent."
                yield Problem(
                    f"unit.{name}",
                    f"is a whole number from 1 on, not {show(value)}."
                    + (hint if isinstance(value, float) else ""),
                )
        if self.count is not None and self.neighbors == "add-remove":
            yield Problem(
                "unit.count",
                "leave it out: under add-remove the number of units is private; expected = ... "
                "states a public guess.",
            )
        if self.expected is not None and self.neighbors == "replace-one":
            yield Problem(
                "unit.expected",
                "leave it out: under replace-one the number of units is public; count = ... "
                "states it.",
            )

    def _several_problems(self) -> Iterator[Problem]:
        if self.id is None:
            for name in _OF_SEVERAL:
                if getattr(self, name) is not None:
                    yield Problem(
                        f"unit.{name}", "leave it out, or name the column of ids: unit.id = ..."
                    )
            return
        yield from _choose("unit.keep", self.keep, KEEP)
        yield from _choose("unit.combine", self.combine, COMBINE)
        if self.combine in ("none", "sum") and self.max_rows is None:
            yield Problem("unit.max_rows", f'is missing: combine = "{self.combine}" needs it.')
        if self.protects == "row":
            yield Problem("unit.protects", 'is missing: say whose the rows are, such as "patient".')
        ordered = [v for v in (self.keep, self.combine) if v in ("first", "last")]
        if ordered and self.order_by is None:
            yield Problem(
                "unit.order_by", f"is missing: name the column that says which is {ordered[0]}."
            )


def _choose(place: str, value: Any, known: tuple[str, ...]) -> Iterator[Problem]:
    if value not in known:
        yield Problem(place, f"{show(value)} is none of {', '.join(known)}.")
