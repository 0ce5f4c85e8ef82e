"""Columns of yes and no, in the words of the file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from veilspan.tables.columns.column import Column
from veilspan.tables.columns.texts import as_texts, find_label_problems
from veilspan.tables.problems import Problem, show

TRUE, FALSE = ("true", "True", "TRUE", "1"), ("false", "False", "FALSE", "0")


@dataclass(frozen=True, kw_only=True)
class BooleanColumn(Column):
    """A column of yes and no; one column of 0 and 1.

    Parameters
    ----------
    true, false : tuple of str
        How the file writes them.
    fill : bool, optional
        For missing and unreadable cells; false if left out.
    """

    true: tuple[str, ...] = TRUE
    false: tuple[str, ...] = FALSE
    fill: bool | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("true", as_texts(self.true))
        self._set("false", as_texts(self.false))
        if self.fill is None and self.role == "use":
            self._set("fill", False)

    @property
    def type(self) -> str:
        """``"boolean"``, as a schema writes it."""
        return "boolean"

    @property
    def names_out(self) -> tuple[str, ...]:
        """Its own name, and that of the column of missing cells."""
        return (self.name, *self._missing_name)

    @property
    def longest(self) -> float:
        """1 for the value and 1 for its missing column."""
        return 1.0 + self.missing_column

    def problems(self) -> Iterator[Problem]:
        """Everything that is wrong with this column by itself."""
        yield from self._common_problems()
        if self.role in ("item", "rating", "time"):
            kind = "category" if self.role == "item" else "number"
            yield self._problem("type", f'a {self.role} is a {kind}: type = "{kind}".')
        for key, words in (("true", self.true), ("false", self.false)):
            if not isinstance(words, tuple) or not words:
                yield self._problem(key, 'is a list of texts, such as ["yes", "1"].')
                continue
            for what in find_label_problems(words, hidden=False):
                yield self._problem(key, what)
        if isinstance(self.true, tuple) and isinstance(self.false, tuple):
            for word in self.true:
                if isinstance(word, str) and word in self.false:
                    yield self._problem("true", f"{show(word)} is in false as well.")
        fits = self.fill is None or isinstance(self.fill, bool)
        yield from self._fill_problem(fits, "true or false")

    def _combinations(self) -> tuple[str, ...]:
        return ("any", "majority", "first", "last")
