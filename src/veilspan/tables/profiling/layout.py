"""What a profile counts, as one public layout: columns, cross-tables, numbers and groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from veilspan.tables.profiling.column_cells import ColumnCells, cells_of

if TYPE_CHECKING:
    from veilspan.tables.schema import Schema

#: A profile of more cells than this would be noise, and no page could show it.
MOST_CELLS = 200_000
#: A table of two columns with more cells than this is not readable.
MOST_CROSSED = 10_000


@dataclass(frozen=True, eq=False)
class Layout:
    """Places of everything that is counted, from public facts alone.

    Attributes
    ----------
    columns : tuple of ColumnCells
        Each has one histogram.
    crosstabs : tuple of pairs of str
        Pairs of columns that are counted together.
    means_by : tuple of pairs of str
        A number, and the column whose groups it is averaged in.
    numbers : tuple of str
        Columns whose moments are taken.
    left_out : tuple of str
        Columns with a mean that the moments have no room for.
    """

    columns: tuple[ColumnCells, ...]
    crosstabs: tuple[tuple[str, str], ...] = ()
    means_by: tuple[tuple[str, str], ...] = ()
    numbers: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @cached_property
    def by_name(self) -> dict[str, ColumnCells]:
        """The counted columns by their names."""
        return {column.name: column for column in self.columns}

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """Columns in whose groups something is averaged, each once."""
        return tuple(dict.fromkeys(group for _, group in self.means_by))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of cells: of every column, then of every cross-table."""
        one = [column.size for column in self.columns]
        both = [self.by_name[a].size * self.by_name[b].size for a, b in self.crosstabs]
        return (*one, *both)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where the cells of each begin among all of them; the last is how many there are."""
        return (0, *accumulate(self.sizes))

    @property
    def votes(self) -> int:
        """Cells that one row is counted in: one a column and one a cross-table."""
        return len(self.sizes)

    @property
    def width(self) -> int:
        """Columns of an encoded row: a code for every column, then the numbers."""
        return len(self.columns) + len(self.numbers)

    @property
    def moments(self) -> int:
        """Rows of the moment matrix: 1, the numbers, what is missing of them, the groups."""
        if not self.numbers:
            return 0
        return 1 + 2 * len(self.numbers) + sum(self.by_name[name].size for name in self.groups)

    def place(self, name: str) -> int:
        """Place of a column among all columns."""
        return next(i for i, column in enumerate(self.columns) if column.name == name)

    def cells_at(self, place: int) -> slice:
        """Where the cells of a column or cross-table are among all cells."""
        return slice(self.starts[place], self.starts[place + 1])

    def group_at(self, name: str) -> slice:
        """Where the cells of a group are among the rows of the moment matrix."""
        start = 1 + 2 * len(self.numbers)
        for group in self.groups:
            if group == name:
                break
            start += self.by_name[group].size
        return slice(start, start + self.by_name[name].size)


def plan_layout(
    schema: Schema,
    *,
    columns: Sequence[str] | None = None,
    bins: int = 20,
    crosstabs: Iterable[Any] = (),
    means_by: Iterable[Any] = (),
    most_numbers: int = 20,
) -> Layout:
    """The layout of a profile, or one sentence on what is wrong with it.

    Parameters
    ----------
    schema : Schema
        What is public of the table; its columns of role use and target are counted.
    columns : sequence of str, optional
        Names of those that are wanted; all by default.
    bins : int
        Most bins inside a range.
    crosstabs, means_by : pairs of str
        Columns that are counted together; a number, and the column whose groups it is averaged in.
    most_numbers : int
        Most columns in the moment matrix; those of ``means_by`` come first.
    """
    if isinstance(bins, bool) or not isinstance(bins, int) or not 1 <= bins <= 1000:
        raise ValueError(f"bins must be a whole number from 1 to 1000; got {bins!r}.")
    if isinstance(most_numbers, bool) or not isinstance(most_numbers, int) or most_numbers < 0:
        raise ValueError(f"most_numbers must be a whole number from 0 on; got {most_numbers!r}.")
    known = {c.name: c for c in schema.columns if c.role in ("use", "target")}
    if not known:
        raise ValueError(
            f"the schema {schema.name!r} has no column of role use or target: there is nothing to "
            "count."
        )
    if isinstance(columns, str):
        columns = (columns,)
    chosen = tuple(known) if columns is None else tuple(columns)
    _check_names("columns", chosen, known)
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError("columns must name at least one column, and each of them once.")
    cells = tuple(cells_of(known[name], bins) for name in chosen)
    by_name = {column.name: column for column in cells}
    crossed = _pairs("crosstabs", crosstabs, by_name)
    means = _pairs("means_by", means_by, by_name)
    for pair in crossed:
        _check_crosstab(pair, by_name, crossed)
    for number, group in means:
        _check_mean(number, group, by_name)
    wanted = [number for number, _ in means]
    wanted += [column.name for column in cells if column.is_number]
    wanted = list(dict.fromkeys(wanted))
    if len(dict.fromkeys(number for number, _ in means)) > most_numbers:
        raise ValueError(
            f"means_by names more than most_numbers = {most_numbers} numbers: name fewer, or raise "
            "most_numbers (each makes all means and correlations a little less exact)."
        )
    layout = Layout(
        cells, crossed, means, tuple(wanted[:most_numbers]), tuple(wanted[most_numbers:])
    )
    if layout.starts[-1] > MOST_CELLS:
        raise ValueError(
            f"this profile would have {layout.starts[-1]:,} cells; at most {MOST_CELLS:,} are "
            "counted. Choose fewer columns, bins or cross-tables."
        )
    return layout


def _check_names(what: str, names: Iterable[Any], known: Iterable[str]) -> None:
    from veilspan.tables.problems import suggest

    known = list(known)
    for name in names:
        if name not in known:
            raise ValueError(
                f"{what}: {name!r} is no column that is counted; those are {', '.join(known)}."
                + (suggest(name, known) if isinstance(name, str) else "")
            )


def _pairs(what: str, given: Any, known: dict[str, ColumnCells]) -> tuple[tuple[str, str], ...]:
    pairs = tuple(tuple(pair) if isinstance(pair, (list, tuple)) else pair for pair in given)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or pair[0] == pair[1]:
            raise ValueError(f'{what} holds pairs of two columns, such as ("sex", "ward").')
        _check_names(what, pair, known)
    if len(set(pairs)) < len(pairs):
        raise ValueError(f"{what} names a pair twice.")
    return pairs


def _check_crosstab(
    pair: tuple[str, str], known: dict[str, ColumnCells], pairs: tuple[tuple[str, str], ...]
) -> None:
    size = known[pair[0]].size * known[pair[1]].size
    if size > MOST_CROSSED:
        raise ValueError(
            f"the cross-table of {pair[0]} and {pair[1]} would have {size:,} cells; at most "
            f"{MOST_CROSSED:,} are counted. Take fewer bins, or a column of fewer categories."
        )
    if pair[::-1] in pairs:
        raise ValueError(f"crosstabs names {pair[0]} and {pair[1]} twice, in both orders.")


def _check_mean(number: str, group: str, known: dict[str, ColumnCells]) -> None:
    if not known[number].is_number:
        raise ValueError(
            f'means_by holds pairs of a number and a group, such as ("age", "ward"): {number!r} is '
            "a category and has no mean."
        )
    if known[group].has_range:
        raise ValueError(
            f"means_by: {group!r} is a column of numbers or dates; groups are those of a category "
            "or a boolean."
        )
