"""Columns of labels from a public list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from veilspan.tables.columns.column import NEVER_FILLED, Column
from veilspan.tables.columns.texts import OTHER, as_texts, clean_text, find_label_problems
from veilspan.tables.problems import Problem

#: Wrong categories of a column that are told one by one; the rest is counted.
_MOST_TOLD = 10


@dataclass(frozen=True, kw_only=True)
class CategoryColumn(Column):
    """A column of labels from a public list; one column of 0 and 1 for each.

    Labels are equal if they are the same after Unicode normalisation (NFC) and trimming; case
    counts.

    Parameters
    ----------
    categories : tuple of str
        The list, in the order of the encoded columns.
    other : bool
        Whether one more column takes everything else and missing cells.
    fill : str, optional
        The category of everything else and of missing cells; needed where there is no ``other``.
    categories_file : str, optional
        The file that the list was read from. Not part of the digest: its contents are.
    """

    categories: tuple[str, ...] = ()
    other: bool = False
    fill: str | None = None
    categories_file: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("categories", as_texts(self.categories))
        self._set("fill", clean_text(self.fill))

    @property
    def type(self) -> str:
        """``"category"``, as a schema writes it."""
        return "category"

    @property
    def names_out(self) -> tuple[str, ...]:
        """``sex=female`` and so on, ``sex=(other)`` last."""
        labels = (*self.categories, *((OTHER,) if self.other else ()))
        return (*(f"{self.name}={label}" for label in labels), *self._missing_name)

    @property
    def longest(self) -> float:
        """1, since one column of the group is 1, and 1 for the missing column."""
        return 1.0 + self.missing_column

    def problems(self) -> Iterator[Problem]:
        """Everything that is wrong with this column by itself."""
        yield from self._common_problems()
        if self.role in ("rating", "time"):
            yield self._problem("type", f'a {self.role} is a number: type = "number".')
        yield from self._label_problems()
        if not isinstance(self.other, bool):
            yield self._problem("other", "is true or false.")
        elif self.other and self.role in NEVER_FILLED:
            yield self._problem(
                "other",
                f"leave it out: a row whose {self.role} is not in the list contributes nothing.",
            )
        if self.missing_column is True and self.other is True:
            yield self._problem(
                "missing_column",
                f"leave it out: {OTHER} takes missing cells already, and they cannot be told from "
                "unknown ones.",
            )
        yield from self._fill_problems()

    def _fill_problems(self) -> Iterator[Problem]:
        if self.role == "use" and self.fill is None:
            if self.other is not True:
                yield self._problem(
                    "fill",
                    "is missing: name the category of missing and unknown cells, or say other = "
                    "true.",
                )
        elif self.other is True and self.fill is not None and self.role not in NEVER_FILLED:
            yield self._problem("fill", f"leave it out: {OTHER} takes missing and unknown cells.")
        else:
            fits = self.fill is None or self.fill in self.categories
            yield from self._fill_problem(fits, "one of the categories")

    def _label_problems(self) -> Iterator[Problem]:
        if not isinstance(self.categories, tuple) or not self.categories:
            yield self._problem(
                "categories",
                'is missing or no list: write ["first", "second"], or {file = "codes.txt"} with '
                "one category a line.",
            )
            return
        # Lines of a file are named by their place: it may be the table itself by mistake.
        hidden = self.categories_file is not None
        yield from self._limit(find_label_problems(self.categories, hidden), "categories")
        if self.role == "target" and len(self.categories) < 2:
            yield self._problem("categories", "a target has two categories or more.")

    def _limit(self, told: Iterable[str], key: str) -> Iterator[Problem]:
        told = list(told)
        for what in told[:_MOST_TOLD]:
            yield self._problem(key, what)
        if len(told) > _MOST_TOLD:
            yield self._problem(key, f"and {len(told) - _MOST_TOLD:,} more of this kind.")

    def _combinations(self) -> tuple[str, ...]:
        two = ("any",) if len(self.categories) == 2 else ()
        return (*two, "majority", "first", "last")
