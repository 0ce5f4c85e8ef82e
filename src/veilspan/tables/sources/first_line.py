"""Whether the first line of a text file names its columns, or may be somebody's row.

A row that is taken for names is published, since names of columns go into releases and errors.
"""

from __future__ import annotations

from collections.abc import Sequence

#: What stands in rows for nothing, for yes and for no: such a cell is no name of a column.
GAPS = frozenset((
    "", "na", "n/a", "#n/a", "nan", "nat", "null", "none", "nil", "missing", "unknown", "-", "--",
    ".", "..", "?",
))  # fmt: skip
_VALUES = GAPS | {"true", "false", "yes", "no"}


def find_other_separator(first: str) -> str | None:
    """What to say for a first line of one cell that looks separated in another way."""
    for other in (";", "\t", "|", ","):
        if other in first:
            return "a tab (name the file .tsv)" if other == "\t" else f"--separator '{other}'"
    return None


def may_be_row(first: Sequence[str]) -> bool:
    """Whether the cells of a first line may be values of a row, rather than names."""
    return any(not cell or is_number(cell) or may_be_value(cell) for cell in first)


def may_be_value(cell: str) -> bool:
    """Whether a text may stand in a row for a number: a date, an amount, a gap, yes or no.

    Names begin with a letter (or _) if they hold a digit: x1, but not 180cm, <5 or 0x1f.
    """
    digits = any(letter.isdigit() for letter in cell)
    return cell.casefold() in _VALUES or (digits and not (cell[0].isalpha() or cell[0] == "_"))


def is_number(cell: str) -> bool:
    """Whether Python reads a cell as a number and a person would, too."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # Python reads 1_000, people mean a name
