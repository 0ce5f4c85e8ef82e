"""What every source of a table offers, whatever it is: names, a count, and batches of cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

from veilspan._printable import printable
from veilspan.tables.columns import clean_text
from veilspan.tables.problems import Problem, SchemaError

if TYPE_CHECKING:
    from veilspan.tables.cells import Cells
    from veilspan.tables.columns import Column
    from veilspan.tables.file_format import FileFormat

#: Columns of a table; a header of more is a file of another kind, or has another separator.
MOST_COLUMNS = 100_000


class TableError(ValueError):
    """A table that cannot be read, by its form alone; no message quotes a cell."""


def raise_alone(error: TableError) -> NoReturn:
    """Raise an error without the one that is being handled, whose text may quote a row.

    ``from None`` only hides the other one: it stays in ``__context__``, where logs may find it.
    """
    try:
        raise error
    except TableError:
        error.__context__ = None
        raise


class TableSource:
    """A table to read, as often as need be.

    Attributes
    ----------
    label : str
        What it is called in messages.
    names : tuple of str
        Names of its columns, trimmed and NFC.
    kinds : dict of str to str
        By name the type that the storage declares: integer, number, boolean, date, category,
        ``text``, or ``other`` for what cannot be read (and is missing in every row).
    in_memory : bool
        Whether its cells are in memory anyway, so that keeping them takes nothing.
    """

    label: str
    names: tuple[str, ...]
    kinds: dict[str, str]
    in_memory = False

    def count_rows(self) -> int:
        """The number of rows, without a look at cells."""
        raise NotImplementedError

    def batches(self, columns: Sequence[Column]) -> Iterator[Mapping[str, Cells]]:
        """Yield the cells of some columns in batches of rows, in order."""
        raise NotImplementedError

    def with_format(self, file: FileFormat) -> TableSource:
        """The same table, its texts written as ``file`` says; itself if it has types of its own."""
        return self


def check_header(names: Sequence[str], label: str, *, may_be_row: bool = False) -> tuple[str, ...]:
    """Names of columns, trimmed; refuse none, too many, and two of the same name.

    With ``may_be_row`` they are the first line of a text, which may be somebody's: then it is not
    told either which of its cells are equal.
    """
    if len(names) > MOST_COLUMNS:
        raise TableError(
            f"{printable(label)} has {len(names):,} columns; at most {MOST_COLUMNS:,} are read. "
            "Is it a table with a header line?"
        )
    found = tuple(clean_text(str(name)) for name in names)
    if not found:
        raise TableError(f"{printable(label)} has no columns.")
    seen: dict[str, int] = {}
    problems = []
    for place, name in enumerate(found, start=1):
        if name in seen:
            first = seen[name]
            problems.append(Problem("", f"Columns {first:,} and {place:,} have the same name."))
        seen.setdefault(name, place)
    if problems and may_be_row:
        what = "its first line must name the columns, each by another name; two are the same."
        raise SchemaError([Problem("", what)], origin=label)
    if problems:
        raise SchemaError(problems, origin=label)
    return found
