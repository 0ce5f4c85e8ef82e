"""What all columns of a schema have: a name, a role, and where their facts are known from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from veilspan.tables.columns.texts import MISSING, clean_text, is_clean_name
from veilspan.tables.problems import Problem, place_of, show

#: The source of imported facts, until a person says where they know them from.
UNCONFIRMED = "imported, unconfirmed"
ROLES = ("use", "id", "target", "ignore", "user", "item", "rating", "time")
#: Roles whose cells only tell rows apart or are not read: no type is needed.
UNTYPED_ROLES = ("id", "ignore", "user")
#: A row whose cell of such a role is missing contributes nothing, so nothing is ever filled in.
NEVER_FILLED = ("target", "item", "rating", "time")


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of the file; by itself one without a type, which is not encoded.

    Parameters
    ----------
    name : str
        As in the header of the file; NFC and trimmed.
    role : {"use", "id", "target", "ignore", "user", "item", "rating", "time"}
        What it is for.
    source : str
        Where its facts are known from; every column with a type needs one.
    missing_column : bool
        Whether one more column of 0 and 1 says where the cell is missing or unreadable.
    combine : str, optional
        How the targets of one person's rows become one.
    """

    name: str = field(kw_only=False)
    role: str = "use"
    source: str = ""
    missing_column: bool = False
    combine: str | None = None

    def __post_init__(self) -> None:
        self._set("name", clean_text(self.name))
        self._set("source", clean_text(self.source))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def type(self) -> str:
        """Its type as a schema writes it; empty if it has none."""
        return ""

    @property
    def names_out(self) -> tuple[str, ...]:
        """Names of the encoded columns that it becomes."""
        return ()

    @property
    def bounds_out(self) -> tuple[tuple[float, float], ...]:
        """Lowest and highest value of each encoded column."""
        return ((0.0, 1.0),) * len(self.names_out)

    @property
    def longest(self) -> float:
        """Largest squared length that the encoded cells of one row can have together."""
        return 0.0

    @property
    def _missing_name(self) -> tuple[str, ...]:
        return (f"{self.name}={MISSING}",) if self.missing_column else ()

    def problems(self) -> Iterator[Problem]:
        """Everything that is wrong with this column by itself."""
        yield from self._common_problems()
        if self.role in ROLES and self.role not in UNTYPED_ROLES:
            yield self._problem(
                "type",
                "is missing: say integer, number, category, boolean or date (or "
                'role = "ignore" for a column that is not used).',
            )

    def _problem(self, key: str, what: str) -> Problem:
        place = place_of("columns", self.name if isinstance(self.name, str) else "?")
        return Problem(f"{place}.{key}" if key else place, what)

    def _common_problems(self) -> Iterator[Problem]:
        if self.name == "":  # as data frames write their index to a file
            if self.role != "ignore":
                yield self._problem("", 'a column without a name can only have role = "ignore".')
        elif not isinstance(self.name, str) or not is_clean_name(self.name):
            yield self._problem("", "a column's name is a text without control characters.")
        if self.role not in ROLES:
            yield self._problem("role", f"{show(self.role)} is none of {', '.join(ROLES)}.")
        if not isinstance(self.source, str):
            yield self._problem("source", f"is a text, not {show(self.source)}.")
        elif self.type and not self.source:
            yield self._problem(
                "source", "is missing: say where its facts are known from, without looking at rows."
            )
        if not isinstance(self.missing_column, bool):
            yield self._problem("missing_column", "is true or false.")
        elif self.missing_column and self.role not in ("use", "ignore"):
            yield self._problem(
                "missing_column", f"is for columns that are used, not for the {self.role}."
            )
        yield from self._combine_problems()

    def _combine_problems(self) -> Iterator[Problem]:
        if self.combine is None:
            return
        if self.role not in ("target", "ignore"):
            yield self._problem(
                "combine", "is for the target; unit.combine says it for all other columns."
            )
        elif self.type and self.combine not in self._combinations():
            known = ", ".join(self._combinations())
            yield self._problem("combine", f"{show(self.combine)} is none of {known}.")

    def _combinations(self) -> tuple[str, ...]:
        """How the targets of one person may become one, if this is the target."""
        return ()

    def _fill_problem(self, fits: bool, wanted: str) -> Iterator[Problem]:
        """What is wrong with ``fill``, which must be ``wanted``."""
        if self.role in NEVER_FILLED:
            if getattr(self, "fill") is not None:  # noqa: B009 (a field of the subclasses)
                yield self._problem(
                    "fill",
                    f"leave it out: a row without its {self.role} contributes nothing, and nothing "
                    "is made up for it.",
                )
        elif not fits:
            yield self._problem("fill", f"is {wanted}.")
